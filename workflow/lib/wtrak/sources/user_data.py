"""Tell of what kind a user's data are, by their content. Only their beginning is read."""

from dataclasses import dataclass
from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.sources.annotations import as_texts
from wtrak.sources.tables import TABLES, header_of, text_column

KINDS = ("image_folder", "image_list", "features")
_ARRAYS = (".npy", ".npz")
TAKEN = (
    "taken are a folder with a sub-folder of images for every class; a list of images, CSV or "
    "Parquet with the columns path and label; and features: a .npz with the arrays features and "
    "labels, features.npy with labels.npy, .csv or .txt beside it, or CSV or Parquet with a column "
    "label and columns of numbers"
)


@dataclass(frozen=True)
class Outline:
    """What is known of a user's data before they are read.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    most_rows : int
        Upper limit for the number of rows; 0 for a folder.
    has_split : bool
        Whether a column says which rows are for testing.
    files : tuple of Path
        The files themselves, without the images that they name.
    """

    kind: str
    most_rows: int
    has_split: bool
    files: tuple


def kind_of(path):
    """One of `KINDS`.

    Raises
    ------
    WtrakError
        If it is none of them. It says what was found, and what is taken.
    """
    path = Path(path)
    if path.is_dir():
        if (path / "features.npy").is_file():
            return "features"
        try:
            entries = list(path.iterdir())
        except OSError as error:
            raise WtrakError(f"the folder {str(path)!r} cannot be opened ({error})") from error
        if any(entry.is_dir() and not entry.name.startswith(".") for entry in entries):
            return "image_folder"
        raise WtrakError(f"{path} is a folder without sub-folders; {TAKEN}")
    if not path.is_file():
        raise WtrakError(f"there is no file or folder {str(path)!r}")
    suffix = path.suffix.lower()
    if suffix in _ARRAYS:
        return "features"
    if suffix not in TABLES:
        raise WtrakError(f"{path} is a file of another kind; {TAKEN}")
    header = header_of(path)
    names = ", ".join(header.names[:10])
    if "label" not in header.names:
        raise WtrakError(f"{path} has no column label, but {names}; {TAKEN}")
    if header.numeric:
        return "features"
    if "path" in header.names:
        return "image_list"
    raise WtrakError(
        f"{path} has neither a column path nor columns of numbers, but {names}; {TAKEN}"
    )


def outline_of(path, kind):
    """`Outline` of data of a kind.

    Raises
    ------
    WtrakError
        If the data cannot be of this kind.
    """
    path = Path(path)
    if kind == "image_folder":
        if not path.is_dir():
            raise WtrakError(f"there is no folder {str(path)!r}")
        return Outline(kind, 0, False, ())
    if kind == "features":
        if not path.exists():
            raise WtrakError(f"there is no file or folder {str(path)!r}")
        if kind_of(path) != "features":
            raise WtrakError(f"{path} holds no features; {TAKEN}")
        # Imports numpy, which few runs need before the first job.
        from wtrak.sources.features import open_features

        found = open_features(path)
        return Outline(kind, found.most_rows, found.has_split, found.files)
    if not path.is_file() or path.suffix.lower() not in TABLES:
        raise WtrakError(f"there is no CSV or Parquet file {str(path)!r}")
    header = header_of(path)
    missing = [name for name in ("path", "label") if name not in header.names]
    if missing:
        raise WtrakError(f"{path} has no column {' and no column '.join(missing)}; {TAKEN}")
    return Outline(kind, header.most_rows, "split" in header.names, (path,))


def image_paths(path):
    """The images that a list names, as a list of Path; relative ones are beside the list.

    An empty path leads to the folder of the list, which is no image.
    """
    names = as_texts(path, "path", text_column(path, "path"))
    return [Path(path).parent / name for name in names]
