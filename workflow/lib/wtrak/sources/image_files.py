"""Find the files of a folder of images, class by class. Nothing is passed over without a line.

The plan watches what this finds and the job reads it, so that both see the same files.
"""

import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from wtrak.errors import WtrakError

# Folders and files that systems and programs make beside a user's own, in lower case.
_MADE_BY_SYSTEMS = {
    *("__macosx", "@eadir", "@tmp", "#recycle", "#snapshot", "$recycle.bin", "lost+found"),
    *("system volume information", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"),
    *("__pycache__", "picasa.ini"),
}
# Names of parts of a dataset, in lower case.
_PARTS = {
    *("train", "training", "trainset", "train_set", "val", "valid", "validation", "dev", "devel"),
    *("test", "testing", "testset", "test_set", "eval", "evaluation", "holdout"),
}

_CLOSED = "a folder that cannot be opened"


@dataclass(frozen=True)
class ImageFile:
    """A file below a folder of images.

    Attributes
    ----------
    name : str
        Path below the folder, with slashes. Bytes that are not UTF-8 are lone surrogates.
    reason : str
        Why it is not to be read as an image; empty if it is.
    size : int
        In bytes. For a link, that of the file that it leads to.
    modified : int
        Time of the last change in nanoseconds; for a link as for `size`.
    """

    name: str
    reason: str = ""
    size: int = 0
    modified: int = 0

    @property
    def label(self):
        """Class of the image: the sub-folder in which it lies."""
        return class_name(self.name.split("/")[0])


def class_name(name):
    """The class of a sub-folder: its name in the composed form of Unicode (NFC).

    macOS writes é as two characters where Linux and Windows write one. Both are one class.
    """
    return unicodedata.normalize("NFC", as_utf8(name))


def as_utf8(name):
    """A file's name decoded as UTF-8, even if the locale has another encoding."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def shown(name):
    """A file's name, with escapes for bytes that are not UTF-8."""
    return as_utf8(name).encode("utf-8", "backslashreplace").decode()


def _is_text(name):
    """Whether a file's name is valid UTF-8. On Linux it may be any bytes."""
    return shown(name) == as_utf8(name)


def find_images(folder):
    """Sub-folders and files of a folder of images.

    Links to files are followed, and so are links to folders that stand for a class. Links to
    folders below are not, because they may lead back. Hidden folders and files, and those that
    systems make, are left out at every level.

    Parameters
    ----------
    folder : path

    Returns
    -------
    classes : list of str
        Classes in alphabetical order. Sub-folders whose names differ only in the form of Unicode
        are one class.
    files : list of ImageFile
        In alphabetical order. Folders that are not entered are among them, with the
        reason.

    Raises
    ------
    WtrakError
        If the folder is missing, cannot be opened or has no sub-folders, or if a sub-folder has a
        name that is not UTF-8.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise WtrakError(f"{folder} is no folder; give one with a sub-folder for every class")
    try:
        entries = _entries(folder)
    except OSError as error:
        raise WtrakError(
            f"{folder} cannot be opened ({error.strerror}); allow reading it"
        ) from error
    names, files = [], []
    for entry in entries:
        reason = _unwanted(entry.name)
        if _is_folder(entry) and not reason:
            names.append(entry.name)
        else:
            files.append(_described(entry, entry.name, reason or "not in a class's sub-folder"))
    if not names:
        raise WtrakError(
            f"{folder} has no sub-folders; it needs one for every class, named after it, with the "
            "images in it"
        )
    nameless = [shown(name) for name in names if not _is_text(name)]
    if nameless:
        raise WtrakError(
            f"{folder} has sub-folders whose names are no UTF-8, so that no list can hold them: "
            f"{', '.join(nameless)}; rename them"
        )
    for name in names:
        files += _files_below(folder / name, name)
    return sorted({class_name(name) for name in names}), sorted(files, key=_place)


def _place(file):
    """Sorts files by their sub-folder and then by their name."""
    return file.name.partition("/")


def _entries(folder):
    with os.scandir(folder) as entries:
        return list(entries)


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        return False


def _unwanted(name):
    """Why a folder or file of this name is left out at any level; empty if it is not."""
    if name.startswith("."):
        return "hidden"
    return "made by a system, no picture of yours" if name.lower() in _MADE_BY_SYSTEMS else ""


def _files_below(folder, name):
    """Yield an `ImageFile` for all in a sub-folder. `name` is its path below the whole folder."""
    try:
        entries = _entries(folder)
    except OSError as error:
        yield ImageFile(name, f"{_CLOSED}: {error.strerror}")
        return
    for entry in entries:
        path = f"{name}/{entry.name}"
        reason = _unwanted(entry.name)
        if not _is_folder(entry):
            yield _described(entry, path, reason)
        elif reason or entry.is_symlink():
            yield ImageFile(path, reason or "a link to a folder")
        else:
            yield from _files_below(folder / entry.name, path)


def _described(entry, name, reason):
    """An `ImageFile` for an entry of a folder, with a reason if it is no file that can be read."""
    try:
        about = entry.stat()
    except OSError as error:
        link = entry.is_symlink()
        trouble = "a link that leads nowhere" if link else f"cannot be read: {error.strerror}"
        return ImageFile(name, reason or trouble)
    # Reading a pipe or a device might never end.
    if not reason and not stat.S_ISREG(about.st_mode):
        reason = "a link that leads nowhere" if entry.is_symlink() else "no file"
    if not reason and not _is_text(name):
        reason = "its name is no UTF-8, so that no list can hold it"
    if not reason and not os.access(entry.path, os.R_OK):
        reason = "cannot be read: no permission"
    return ImageFile(name, reason, about.st_size, about.st_mtime_ns)


def check_classes(folder, classes, files):
    """Raise an error that names the folder if these classes cannot be told apart by a head.

    Cross-validation judges an image by a head that has seen others of its class. So two classes
    need two images or more.

    Parameters
    ----------
    folder : path
        For the message.
    classes : list of str
    files : list of ImageFile
        Those with a reason do not count.

    Returns
    -------
    dict of str to int
        Number of images of each class.

    Raises
    ------
    WtrakError
        If the sub-folders have names of parts of a dataset, if one has no image, if there is only
        one class or one image, or if fewer than two classes have two images.
    """
    parts = [name for name in classes if name.lower() in _PARTS]
    if parts and (len(parts) > 1 or len(classes) == 1):
        several = len(parts) > 1
        raise WtrakError(
            f"{folder}: the sub-folder{'s' if several else ''} {', '.join(parts)} "
            f"look{'' if several else 's'} like parts of a dataset and not like classes; give one "
            f"of them, as in {Path(folder) / parts[0]}, or rename those that are classes"
        )
    counts = _counts(folder, classes, files)
    if sum(counts.values()) == 1:
        raise WtrakError(f"{folder} holds only one image; there is nothing to compare it with")
    if len(classes) < 2:
        raise WtrakError(
            f"{folder} has only the class {classes[0]}; wrong labels can be found among two or more"
        )
    rare = rare_classes(counts)
    if len(classes) - len(rare) < 2:
        raise WtrakError(
            f"{folder}: {', '.join(f'{name} has 1 image' for name in rare)}; two classes with 2 "
            "images or more are needed, because an image is judged by others of its class"
        )
    return counts


def check_test_classes(folder, classes, files, train_classes):
    """Raise an error that names the folder if a class is empty or none of the training classes.

    Parameters
    ----------
    folder, classes, files
        As in `check_classes`, of the test images.
    train_classes : list of str

    Raises
    ------
    WtrakError
    """
    unknown = [name for name in classes if name not in train_classes]
    if unknown:
        raise WtrakError(
            f"{folder} has classes that the training images do not: {', '.join(unknown)}"
        )
    _counts(folder, classes, files)


def _counts(folder, classes, files):
    """Number of images of each class; an error if there is none of one."""
    counts = dict.fromkeys(classes, 0)
    for file in files:
        if not file.reason:
            counts[file.label] += 1
    empty = [name for name in classes if not counts[name]]
    if empty:
        left_out = [file for file in files if file.reason and file.label in empty]
        closed = [shown(file.name) for file in left_out if file.reason.startswith(_CLOSED)]
        hint = f" (files there that are no readable images: {len(left_out)})" if left_out else ""
        hint = f" ({', '.join(closed)}: {_CLOSED})" if closed else hint
        several = len(empty) > 1
        raise WtrakError(
            f"{folder}: the sub-folder{'s' if several else ''} {', '.join(empty)} "
            f"hold{'' if several else 's'} no image that can be read{hint}; fill or remove "
            f"{'them' if several else 'it'}"
        )
    return counts


def rare_classes(counts):
    """Names of classes with a single image, of which cross-validation can say nothing.

    Parameters
    ----------
    counts : dict of str to int
    """
    return [name for name, count in counts.items() if count < 2]
