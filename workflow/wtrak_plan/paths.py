"""Where the scripts of jobs find the library."""

import os


def expose(library):
    """Put a folder first on the path on which Python processes that start later find modules.

    Scripts run in processes of their own and lie in other folders than the library.

    Parameters
    ----------
    library : path
    """
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    first = dict.fromkeys([str(library), *filter(None, known)])
    os.environ["PYTHONPATH"] = os.pathsep.join(first)
