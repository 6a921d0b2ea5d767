"""Data of one's own, before the first job: of which kind they are, and which files they are."""

from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.sources.user_data import image_paths, kind_of, outline_of

IMAGES = ("image_folder", "image_list")
# Settings of features and what they are by default. Images have a side instead.
_OF_FEATURES = {"scale": "auto", "copies": "exact"}


def settled(block):
    """The block of a dataset with the kind of its data, and only the settings of this kind."""
    kind = kind_of(block["path"]) if block["kind"] == "auto" else block["kind"]
    block = block | {"kind": kind}
    if kind == "features":
        return _OF_FEATURES | {key: value for key, value in block.items() if key != "side"}
    return {key: value for key, value in block.items() if key not in _OF_FEATURES}


def are_features(block):
    """Whether the block of a dataset leads to features; False if it leads to nothing."""
    try:
        return "kind" in block and settled(block)["kind"] == "features"
    except WtrakError:
        return False


def problems_of(key, block):
    """Yield a sentence for each path of a block that leads to no data of its kind.

    Parameters
    ----------
    key : str
        Of the block in the configuration.
    block : dict
        It fits the schema and has a kind.
    """
    kind = block["kind"]
    for name in ("path", "test_path"):
        if name not in block:
            continue
        try:
            if kind == "auto":
                kind = kind_of(block[name])
            outline = outline_of(block[name], kind)
        except WtrakError as error:
            yield f"{key}.{name}: {error}"
            return
        if outline.has_split and "test_path" in block:
            yield (
                f"{key}.{name}: {block[name]!r} has a split, and test_path names test rows; drop "
                "one of the two"
            )


def outlines_of(block):
    """`Outline` of the data at ``path`` and ``test_path``, by these keys."""
    return {
        key: outline_of(block[key], block["kind"]) for key in ("path", "test_path") if key in block
    }


def listing(block):
    """Path, size and modification time of every file of a list of images or of features.

    A file that is missing has None instead of the two.
    """
    files = []
    for key, outline in outlines_of(block).items():
        files += outline.files
        if outline.kind == "image_list":
            files += image_paths(block[key])
    return [(Path(file).as_posix(), *_state(file)) for file in files]


def _state(file):
    try:
        found = file.stat()
    except OSError:
        return None, None
    return found.st_size, found.st_mtime_ns
