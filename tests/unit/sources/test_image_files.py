"""Every file of a folder is found or named, at every level, by the plan and by the job alike."""

import errno
import os
import unicodedata

import pytest

from limits import within_limits
from wtrak.errors import WtrakError
from wtrak.sources.image_files import (
    ImageFile,
    check_classes,
    check_test_classes,
    class_name,
    find_images,
    rare_classes,
)
from wtrak_plan.experiments import Plan


def touch(folder, *names, content=b"x"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def reasons(folder):
    return {file.name: file.reason for file in find_images(folder)[1]}


LITTER = [".ipynb_checkpoints", "__MACOSX", "@eaDir", ".thumbnails", ".git", "$RECYCLE.BIN"]


@pytest.mark.parametrize("place", ["", "cat/", "cat/deep/er/"])
@pytest.mark.parametrize("name", LITTER)
def test_litter_of_systems_is_left_out_at_every_level(tmp_path, place, name):
    """Thumbnails and old copies would be classes, or images of the class in which they lie."""
    touch(tmp_path, "cat/a.png", "dog/b.png", f"{place}{name}/a.png", f"{place}{name}/x/b.png")
    classes, _ = find_images(tmp_path)
    found = reasons(tmp_path)
    assert classes == ["cat", "dog"]
    assert found.pop(f"{place}{name}") in ("hidden", "made by a system, no picture of yours")
    assert found == {"cat/a.png": "", "dog/b.png": ""}


@pytest.mark.parametrize("name", ["._a.png", ".DS_Store", "Thumbs.db", "desktop.ini", "Icon\r"])
@pytest.mark.parametrize("place", ["", "cat/", "cat/deep/"])
def test_files_of_systems_are_left_out_at_every_level(tmp_path, place, name):
    """Each would be an image that cannot be read; or be read, as the copy that it may be."""
    touch(tmp_path, "cat/a.png", "dog/b.png", f"{place}{name}")
    found = reasons(tmp_path)
    assert found.pop(f"{place}{name}")
    assert found == {"cat/a.png": "", "dog/b.png": ""}


def test_every_entry_is_found_or_named(tmp_path):
    """Something in the folder would be neither read nor listed."""
    touch(tmp_path, "cat/a.png", "dog/deep/b.png", "notes.txt", "elsewhere/c.png")
    (tmp_path / "elsewhere").rename(tmp_path.parent / f"{tmp_path.name}_elsewhere")
    other = tmp_path.parent / f"{tmp_path.name}_elsewhere"
    (tmp_path / "bird").symlink_to(other)
    (tmp_path / "cat" / "link.png").symlink_to(other / "c.png")
    (tmp_path / "cat" / "more").symlink_to(other)
    (tmp_path / "cat" / "gone.png").symlink_to(other / "no.png")
    (tmp_path / "dog" / "knot").symlink_to("knot")
    (tmp_path / "out.png").symlink_to(other / "no.png")
    os.mkfifo(tmp_path / "dog" / "pipe")
    touch(tmp_path, "dog/" + os.fsdecode(b"\xff.png"))
    assert find_images(tmp_path)[0] == ["bird", "cat", "dog"]
    found = reasons(tmp_path)
    assert found.pop("dog/" + os.fsdecode(b"\xff.png")).startswith("its name is no UTF-8")
    assert found == {
        "bird/c.png": "",
        "cat/a.png": "",
        "cat/gone.png": "a link that leads nowhere",
        "cat/link.png": "",
        "cat/more": "a link to a folder",
        "dog/deep/b.png": "",
        "dog/knot": "a link that leads nowhere",
        "dog/pipe": "no file",
        "notes.txt": "not in a class's sub-folder",
        "out.png": "not in a class's sub-folder",
    }
    assert list(found) == sorted(found, key=lambda name: name.partition("/"))


def as_nobody(folder):
    """Reasons, as a user finds them who may not open everything."""
    os.setuid(65534)
    return reasons(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_what_has_no_permission_is_named(tmp_path):
    """Images of a folder without permission would vanish without a line."""
    touch(tmp_path, "cat/a.png", "cat/closed/x.png", "cat/deep/closed/x.png", "dog/b.png")
    touch(tmp_path, "dog/secret.png")
    for name in ("cat/closed", "cat/deep/closed", "dog/secret.png"):
        (tmp_path / name).chmod(0)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.getuid() and parent != parent.parent:
            parent.chmod(parent.stat().st_mode | 0o055)
    assert within_limits(as_nobody, tmp_path) == {
        "cat/a.png": "",
        "cat/closed": "a folder that cannot be opened: Permission denied",
        "cat/deep/closed": "a folder that cannot be opened: Permission denied",
        "dog/b.png": "",
        "dog/secret.png": "cannot be read: no permission",
    }


@pytest.mark.parametrize("closed", ["", "cat"])
def test_closed_folder_is_an_error_that_says_so(tmp_path, monkeypatch, closed):
    """A user would be told to fill a folder that is full."""
    touch(tmp_path, "cat/a.png", "dog/b.png", "dog/c.png")
    real = os.scandir

    def scandir(path):
        if os.fspath(path) == os.fspath(tmp_path / closed):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(WtrakError, match=r"cannot be opened.*(allow reading|fill or remove)"):
        check_classes(tmp_path, *find_images(tmp_path))


@pytest.fixture
def plan(tmp_path):
    """The hash of the plan for a folder of images, anew at each call."""
    touch(tmp_path / "f", "cat/a.png", "cat/b.png", "dog/c.png", "dog/d.png")
    touch(tmp_path, "elsewhere/x.png", "other/y.png")
    (tmp_path / "f" / "cat" / "link.png").symlink_to(tmp_path / "elsewhere" / "x.png")
    (tmp_path / "f" / "bird").symlink_to(tmp_path / "other")

    def content():
        block = {"kind": "image_folder", "path": str(tmp_path / "f"), "side": 8}
        config = {"datasets": {"own": block}}
        return Plan(config).content_of(type("Wildcards", (), {"dataset": "own"}))

    return content


def overwritten(path):
    path.write_bytes(b"another")


CHANGES = {
    "a file": lambda root: overwritten(root / "f/cat/a.png"),
    "the file of a link": lambda root: overwritten(root / "elsewhere/x.png"),
    "a file in the folder of a link": lambda root: overwritten(root / "other/y.png"),
    "a new file in the folder of a link": lambda root: touch(root, "other/z.png"),
    "a file that is gone": lambda root: (root / "f/dog/c.png").unlink(),
    "another name": lambda root: (root / "f/dog/c.png").rename(root / "f/dog/e.png"),
    "the same size, later": lambda root: os.utime(root / "f/dog/c.png", ns=(1, 1)),
    "the same size behind a link, later": lambda root: os.utime(
        root / "elsewhere/x.png", ns=(1, 1)
    ),
    "a link that leads nowhere now": lambda root: (root / "elsewhere/x.png").unlink(),
    "another target": lambda root: (
        (root / "f/cat/link.png").unlink(),
        (root / "f/cat/link.png").symlink_to(root / "other/y.png"),
    ),
    "a new class without images": lambda root: (root / "f/fish").mkdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_read_is_watched(tmp_path, plan, change):
    """The list would be of images that are no longer there."""
    # Two links to files of one size and time differ in nothing else.
    os.utime(tmp_path / "other/y.png", ns=(5, 5))
    before = plan()
    assert plan() == before
    CHANGES[change](tmp_path)
    assert plan() != before


def test_permission_is_watched(tmp_path, plan, monkeypatch):
    """A file that was allowed to be read would stay among those that could not be used."""
    before = plan()
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith("a.png"))
    assert plan() != before


FORMS = ["NFC", "NFD"]


@pytest.mark.parametrize("form", FORMS)
def test_one_class_for_all_forms_of_its_name(form):
    """A folder from a Mac would be another class."""
    for name in ("café", "Ångström", "한국어", "plain"):
        assert class_name(unicodedata.normalize(form, name)) == unicodedata.normalize("NFC", name)


def files(**counts):
    return [ImageFile(f"{name}/{k}.png") for name, count in counts.items() for k in range(count)]


@pytest.mark.parametrize(
    "classes",
    [
        {"cat": 2, "dog": 2},
        {"cat": 5, "dog": 5, "bird": 1},
        # One name of a part among classes may be a vehicle or an exam.
        {"train": 2, "plane": 2},
    ],
)
def test_folders_that_can_be_used(classes):
    """A user would have to rename what is right."""
    assert check_classes("/f", list(classes), files(**classes)) == classes


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ({"train": 9, "val": 9}, "sub-folders train, val look like parts of a dataset"),
        ({"Train": 9, "TEST": 9, "notes": 1}, "sub-folders Train, TEST look like parts"),
        ({"train": 9}, "sub-folder train looks like parts of a dataset"),
        ({"cat": 9, "dog": 1}, "dog has 1 image; two classes with 2 images or more are needed"),
        ({"a": 1, "b": 1, "c": 1}, "a has 1 image, b has 1 image, c has 1 image; two classes"),
        ({"cat": 9, "dog": 0}, "the sub-folder dog holds no image"),
        ({"cat": 9}, "has only the class cat"),
        ({"cat": 1}, "holds only one image"),
    ],
)
def test_folders_that_cannot_be_used_are_refused_in_a_sentence(classes, words):
    """The run would end after its costly part, or in a list that means nothing."""
    with pytest.raises(WtrakError, match=f"^/f.*{words}"):
        check_classes("/f", list(classes), files(**classes))


def test_test_images_may_be_few_but_of_known_classes():
    """A test set would be refused for what only training images need."""
    check_test_classes("/g", ["dog"], files(dog=1), ["cat", "dog"])
    with pytest.raises(WtrakError, match="/g has classes that the training images do not: fish"):
        check_test_classes("/g", ["dog", "fish"], files(dog=1, fish=1), ["cat", "dog"])
    with pytest.raises(WtrakError, match="/g: the sub-folder dog holds no image"):
        check_test_classes("/g", ["dog"], [], ["cat", "dog"])


def test_rare_classes():
    """A class would be named that has enough."""
    assert rare_classes({"a": 1, "b": 2, "c": 30}) == ["a"]
