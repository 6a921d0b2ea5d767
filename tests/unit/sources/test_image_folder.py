"""A folder of one's own becomes images and labels, and nothing in it is left out silently."""

import errno
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import image_folder as image_folder_script
from chain import call
from limits import within_limits
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, load_metadata, load_rows, read_csv, read_json
from wtrak.job.shown import WITH_PICTURE, shown_columns
from wtrak.sources.datasets import content_sha256
from wtrak.sources.image_folder import read_image_folder

RED = (200, 30, 40)


def save(folder, name, image):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two cats and two dogs, each in another form."""
    root = tmp_path / "mine"
    save(root, "cat/b.png", Image.new("RGB", (30, 20), RED))
    save(root, "cat/a.jpg", Image.new("L", (20, 20), 100))
    save(root, "dog/deep/er/c.bmp", Image.new("RGB", (9, 40), (0, 0, 255)))
    save(root, "dog/d.webp", Image.new("RGB", (9, 9), (250, 250, 250)))
    return root


def test_sub_folders_are_the_labels_in_alphabetical_order(folder):
    """Labels would belong to other images, or change from machine to machine."""
    found = read_image_folder(folder, 16, threads=3)
    assert found.classes == ["cat", "dog"]
    assert found.files == ["cat/a.jpg", "cat/b.png", "dog/d.webp", "dog/deep/er/c.bmp"]
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1])
    assert found.images.shape == (4, 16, 16, 3) and found.images.dtype == np.uint8
    np.testing.assert_allclose(found.images[0], 100, atol=2)
    assert (found.images[1] == RED).all()
    assert (found.images[3] == (0, 0, 255)).all()
    assert found.skipped == []


def test_what_is_no_image_is_listed_with_the_reason(folder):
    """A user would take silence for a clean folder."""
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / "cat" / "empty.png").touch()
    (folder / "cat" / "text.jpg").write_text("no image", encoding="utf-8")
    whole = (folder / "cat" / "b.png").read_bytes()
    (folder / "cat" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "dog" / "gone.png").symlink_to(folder / "nowhere.png")
    (folder / "dog" / "other").symlink_to(folder / "cat")
    found = read_image_folder(folder, 16)
    assert len(found.files) == 4
    reasons = {entry["path"]: entry["reason"] for entry in found.skipped}
    assert set(reasons) == {
        *("notes.txt", ".git", "cat/empty.png", "cat/text.jpg", "cat/cut.png"),
        *("dog/gone.png", "dog/other"),
    }
    assert reasons["notes.txt"] == "not in a class's sub-folder"
    assert reasons[".git"] == "hidden"
    assert reasons["dog/other"] == "a link to a folder"
    assert reasons["dog/gone.png"] == "a link that leads nowhere"
    # Folders of this machine are no business of the list's reader.
    assert not any(str(folder) in reason for reason in reasons.values())


def test_what_only_looks_like_a_file_is_listed_and_not_waited_for(folder):
    """A pipe would hold the run for ever, and a loop of links would end it."""
    os.mkfifo(folder / "cat" / "pipe.png")
    (folder / "cat" / "zeros.png").symlink_to("/dev/zero")
    (folder / "dog" / "loop").symlink_to(folder / "dog")
    (folder / "dog" / "knot.png").symlink_to(folder / "dog" / "knot.png")
    reasons = {entry["path"]: entry["reason"] for entry in read_image_folder(folder, 16).skipped}
    assert reasons == {
        "cat/pipe.png": "no file",
        "cat/zeros.png": "a link that leads nowhere",
        "dog/knot.png": "a link that leads nowhere",
        "dog/loop": "a link to a folder",
    }


def test_names_that_are_no_text(folder, tmp_path):
    """The list could not be written, after all images were read."""
    (folder / "cat" / os.fsdecode(b"\xff\n.png")).touch()
    (folder / "dog" / "día de\nlluvia ☂.png").write_bytes((folder / "cat" / "b.png").read_bytes())
    found = read_image_folder(folder, 16)
    assert "dog/día de\nlluvia ☂.png" in found.files
    (entry,) = found.skipped
    assert entry["path"] == "cat/\\udcff\n.png" and "no UTF-8" in entry["reason"]
    (folder / os.fsdecode(b"\xfe")).mkdir()
    with pytest.raises(WtrakError, match=r"names are no UTF-8.*\\udcfe; rename"):
        read_image_folder(folder, 16)


def test_programs_are_not_started_for_an_image(folder, monkeypatch):
    """PostScript is a language, and Pillow hands it to an interpreter."""
    monkeypatch.setattr(subprocess, "check_call", lambda *_, **__: pytest.fail("a program ran"))
    picture = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"
    (folder / "cat" / "drawing.jpg").write_text(picture, encoding="utf-8")
    found = read_image_folder(folder, 16)
    assert [entry["path"] for entry in found.skipped] == ["cat/drawing.jpg"]


def test_values_that_are_no_numbers_are_skipped(folder):
    """They would become black, or white, or what the processor makes of them."""
    values = np.full((8, 8), 0.5, np.float32)
    values[3, 3] = np.nan
    Image.fromarray(values).save(folder / "cat" / "nan.tif")
    (entry,) = read_image_folder(folder, 16).skipped
    assert entry["path"] == "cat/nan.tif" and "not finite" in entry["reason"]


def test_a_bomb_is_skipped(folder, monkeypatch):
    """One image of a billion pixels would take the machine down."""
    save(folder, "cat/c.png", Image.new("RGB", (9, 9), RED))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200)
    found = read_image_folder(folder, 16)
    assert found.files == ["cat/a.jpg", "cat/c.png", "dog/d.webp", "dog/deep/er/c.bmp"]
    assert "DecompressionBombError" in found.skipped[0]["reason"]


def empty_class(root):
    (root / "fish").mkdir()


def class_without_images(root):
    (root / "fish").mkdir()
    (root / "fish" / "x.png").write_text("no image", encoding="utf-8")


def one_class(root):
    (root / "dog" / "deep" / "er" / "c.bmp").unlink()
    (root / "dog" / "d.webp").unlink()
    for name in ("dog/deep/er", "dog/deep", "dog"):
        (root / name).rmdir()


def one_dog(root):
    (root / "dog" / "d.webp").write_bytes(b"no image")


def parts(root):
    (root / "cat").rename(root / "Train")
    (root / "dog").rename(root / "val")


def one_image(root):
    one_class(root)
    (root / "cat" / "a.jpg").unlink()


def no_classes(root):
    one_class(root)
    (root / "cat" / "a.jpg").rename(root / "a.jpg")
    (root / "cat" / "b.png").unlink()
    (root / "cat").rmdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (empty_class, "the sub-folder fish holds no image that can be read; fill or remove it"),
        (class_without_images, r"no readable images: 1\); fill or remove it"),
        (one_class, "has only the class cat; wrong labels can be found among two or more"),
        (one_dog, "dog has 1 image; two classes with 2 images or more are needed"),
        (parts, "the sub-folders Train, val look like parts of a dataset.*as in .*/Train, or"),
        (one_image, "holds only one image; there is nothing to compare it with"),
        (no_classes, "has no sub-folders; it needs one for every class"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_with_what_to_do(folder, spoil, message):
    """The user would meet a traceback hours later, or a list of suspects that means nothing."""
    spoil(folder)
    with pytest.raises(WtrakError, match=message) as caught:
        read_image_folder(folder, 16)
    assert str(folder) in str(caught.value)


def test_test_images_are_of_the_training_classes(folder, tmp_path):
    """Class 1 of the test images would be class 2 of the training images."""
    test, train = tmp_path / "test", read_image_folder(folder, 16)
    save(test, "dog/x.png", Image.new("RGB", (8, 8), RED))
    save(test, "dog/y.png", Image.new("RGB", (8, 8), RED))
    found = read_image_folder(test, 16, train=train)
    np.testing.assert_array_equal(found.labels, [1, 1])
    save(test, "fish/x.png", Image.new("RGB", (8, 8), RED))
    with pytest.raises(WtrakError, match="has classes that the training images do not: fish"):
        read_image_folder(test, 16, train=train)


@pytest.mark.parametrize("with_test", [False, True])
def test_script_writes_a_dataset_like_any_other(folder, tmp_path, with_test):
    """The rules after it would need to know where the images came from."""
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    test_path = None
    if with_test:
        save(tmp_path / "test", "dog/x.png", Image.new("RGB", (8, 8), RED))
        save(tmp_path / "test", "cat/x.png", Image.new("RGB", (8, 8), RED))
        test_path = str(tmp_path / "test")
    call(
        image_folder_script,
        tmp_path,
        {"arrays": "d", "record": "d.json", "skipped": "skipped.csv", "quality": "quality.csv"},
        inputs={},
        wildcards={"dataset": "mine"},
        path=str(folder),
        test_path=test_path,
        side=16,
        n_files=4,
    )
    arrays = load_arrays(tmp_path / "d")
    assert {"train_images", "train_labels", "test_images", "test_labels"} <= set(arrays)
    assert arrays["train_images"].shape == (4, 16, 16, 3)
    assert arrays["test_images"].shape == (2 if with_test else 0, 16, 16, 3)
    shown = shown_columns(tmp_path / "d", names=WITH_PICTURE)
    assert list(shown["path"]) == ["cat/a.jpg", "cat/b.png", "dog/d.webp", "dog/deep/er/c.bmp"]
    assert list(shown["picture"]) == ["constant"] * 4
    assert load_metadata(tmp_path / "d")["classes"] == ["cat", "dog"]
    record = read_json(tmp_path / "d.json")
    assert record["content_sha256"] == content_sha256(
        {k: a for k, a in arrays.items() if "shown" not in k}
    )
    assert record["images_per_class"] == {"cat": 2, "dog": 2} and record["skipped"] == 1
    assert str(tmp_path) not in (tmp_path / "d.json").read_text("utf-8")
    skipped = pd.read_csv(tmp_path / "skipped.csv")
    assert skipped.to_dict("records") == [
        {"split": "train", "path": "notes.txt", "reason": "not in a class's sub-folder"}
    ]
    quality = read_csv(tmp_path / "quality.csv")
    assert list(quality["split"]) == ["train"] * 4 + ["test"] * (2 if with_test else 0)
    assert list(quality["width"])[:4] == [20, 30, 9, 9]
    # Nothing stays of the files into which images were read.
    expected = {"d", "d.json", "skipped.csv", "quality.csv", "mine", *(["test"] * with_test)}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_unreadable_places_are_listed_and_never_passed_over(folder, monkeypatch):
    """Images of a folder without permission would vanish without a line."""
    save(folder, "dog/closed/x.png", Image.new("RGB", (9, 9), RED))
    save(folder, "dog/deep/closed/x.png", Image.new("RGB", (9, 9), RED))
    real = os.scandir

    def scandir(path):
        if os.fspath(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = read_image_folder(folder, 16)
    assert found.skipped == [
        {"path": path, "reason": "a folder that cannot be opened: Permission denied"}
        for path in ("dog/closed", "dog/deep/closed")
    ]


def test_grey_of_more_than_eight_bits_has_one_scale_in_a_folder(tmp_path):
    """Images of 12 bits in 16 would come out black, and a dark one bright among others."""
    for name, value in {"cat/a": 4000, "cat/b": 200, "dog/a": 2000, "dog/b": 0}.items():
        save(tmp_path / "f", f"{name}.png", Image.fromarray(np.full((8, 8), value, np.uint16)))
    found = read_image_folder(tmp_path / "f", 8, threads=2)
    expected = [round(value * 255 / 4095) for value in (4000, 200, 2000, 0)]
    np.testing.assert_array_equal(found.images[:, 0, 0, 0], expected)
    np.testing.assert_array_equal(found.quality["brightest"], expected)
    # Test images have the scale of the training images; what is beyond it is listed.
    for name, value in {"cat/x": 1000, "dog/x": 5000, "dog/y": 100}.items():
        save(tmp_path / "t", f"{name}.png", Image.fromarray(np.full((8, 8), value, np.uint16)))
    test = read_image_folder(tmp_path / "t", 8, train=found)
    np.testing.assert_array_equal(test.images[:, 0, 0, 0], [62, 6])
    (entry,) = test.skipped
    assert entry["path"] == "dog/x.png" and "from 0 to 4095" in entry["reason"]


def test_forms_of_unicode_are_one_class(tmp_path):
    """A class would fall apart into two, or test images be of an unknown class."""
    composed, apart = "caf\u00e9", "cafe\u0301"
    for name in (f"{composed}/a", f"{apart}/b", "tea/a", "tea/b"):
        save(tmp_path / "f", f"{name}.png", Image.new("RGB", (8, 8), RED))
    found = read_image_folder(tmp_path / "f", 8)
    assert found.classes == [composed, "tea"]
    assert [found.classes[k] for k in found.labels] == [composed, composed, "tea", "tea"]
    # Paths are those on the disk.
    assert all((tmp_path / "f" / path).is_file() for path in found.files)
    save(tmp_path / "t", f"{apart}/x.png", Image.new("RGB", (8, 8), RED))
    assert read_image_folder(tmp_path / "t", 8, train=found).classes == [composed, "tea"]


def test_more_images_than_fit_into_memory_are_read(tmp_path):
    """A folder of 30,000 images would take 9 GB."""
    for k in range(250):
        save(tmp_path / "f", f"{'ab'[k % 2]}/{k}.png", Image.new("RGB", (8, 8), (k, 0, 0)))
    within_limits(
        call,
        *(image_folder_script, tmp_path),
        {"arrays": "d", "record": "d.json", "skipped": "s.csv", "quality": "q.csv"},
        inputs={},
        wildcards={"dataset": "mine"},
        path=str(tmp_path / "f"),
        test_path=None,
        side=480,
        n_files=250,
        memory=120 * 1024**2,
        seconds=120,
    )
    images = load_rows(tmp_path / "d", "train_images", slice(124, 126))
    assert (tmp_path / "d").stat().st_size > 160 * 1024**2
    # The last of the first class and the first of the second.
    np.testing.assert_array_equal(images[:, 0, 0, 0], [98, 1])
