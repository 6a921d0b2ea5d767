"""Write arrays to a safetensors file in blocks of rows, with the memory of one block."""

import contextlib
import json
import math

import numpy as np

from wtrak.errors import WtrakError
from wtrak.job.io import METADATA_KEY, atomic_path


@contextlib.contextmanager
def rows_to_write(path, shapes, metadata=None):
    """Yield ``append(name, block)``. The file appears when the block of code ends.

    Parameters
    ----------
    path : path
    shapes : dict of str to tuple of int
        Shape of each array; all are float32.
    metadata : dict, optional
        As in `wtrak.job.io.save_arrays`.

    Raises
    ------
    WtrakError
        If an array got more or fewer rows than its shape says.
    """
    places, end = {}, 0
    header = {"__metadata__": {METADATA_KEY: json.dumps(metadata or {}, sort_keys=True)}}
    for name, shape in shapes.items():
        places[name], size = end, 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    # The arrays have to begin at a multiple of eight bytes.
    text += b" " * (-len(text) % 8)
    written = dict.fromkeys(shapes, 0)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        start = file.tell()
        file.truncate(start + end)

        def append(name, block):
            rows = np.ascontiguousarray(block, dtype="<f4")
            if written[name] + len(rows) > shapes[name][0]:
                raise WtrakError(f"{path}: {name} got more than its {shapes[name][0]:,} rows")
            file.seek(start + places[name] + 4 * written[name] * math.prod(shapes[name][1:]))
            file.write(rows.data)
            written[name] += len(rows)

        yield append
        for name, count in written.items():
            if count != shapes[name][0]:
                raise WtrakError(f"{path}: {name} got {count:,} of its {shapes[name][0]:,} rows")
