"""Data of one's own, before the first job: of which kind they are, and which files they are."""

import os
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


def have_test(block):
    """Whether the block of a dataset leads to data with test points; False if to nothing."""
    try:
        outlines = outlines_of(settled(block))
    except WtrakError:
        return False
    return "test_path" in outlines or outlines["path"].has_split


def problems_of(key, block):
    """Yield a sentence for each path of a block that leads to no data of its kind.

    Corrections have to be a file, and are for data without test points.

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
    corrections = block.get("corrections")
    if corrections is None:
        return
    if not Path(corrections).is_file():
        yield f"{key}.corrections: there is no file {corrections!r}"
    if have_test(block):
        yield (
            f"{key}.corrections: certificates are of the data as they are; correct the data "
            "themselves, or leave the test points out"
        )


def outlines_of(block):
    """`Outline` of the data at ``path`` and ``test_path``, by these keys."""
    return {
        key: outline_of(block[key], block["kind"]) for key in ("path", "test_path") if key in block
    }


def listing(block):
    """What is watched of the files of a list of images or of features, as a list of tuples.

    Each has the path of a file, its size, the time of its last change in nanoseconds, and whether
    it can be read. Of a link they are those of the file that it leads to. A file that is missing
    has None instead.
    """
    files = []
    for key, outline in outlines_of(block).items():
        files += outline.files
        if outline.kind == "image_list":
            files += image_paths(block[key])
    return [(file.as_posix(), *_state(file)) for file in map(Path, files)]


def _state(file):
    try:
        found = file.stat()
    # ValueError: a name with the character 0.
    except (OSError, ValueError):
        return None, None, None
    return found.st_size, found.st_mtime_ns, os.access(file, os.R_OK)
