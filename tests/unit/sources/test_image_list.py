"""Images that a table lists become a dataset, and no row of it is left out silently."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import image_list as image_list_script
from chain import call
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, load_metadata, read_csv, read_json
from wtrak.job.shown import shown_columns
from wtrak.sources.image_folder import read_image_folder
from wtrak.sources.image_list import read_image_list, read_list

LABELS = ["cat", "dog", "01", "cat", "dog", "01"]


def write_list(folder, frame, name="list.csv"):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(folder / name)
    else:
        frame.to_csv(folder / name, index=False)
    return folder / name


@pytest.fixture
def frame(tmp_path):
    """Six images, of which image k has the grey value 40·k."""
    (tmp_path / "images").mkdir()
    for k in range(6):
        Image.new("L", (9, 12), 40 * k).save(tmp_path / "images" / f"{k}.png")
    paths = [f"images/{k}.png" for k in range(6)]
    return pd.DataFrame({"path": paths, "label": LABELS, "id": [f"no {k}" for k in range(6)]})


def greys(images):
    return images[:, 0, 0, 0].tolist()


@pytest.mark.parametrize("name", ["list.csv", "list.parquet"])
def test_rows_become_images_in_their_order(tmp_path, frame, name):
    """Labels would belong to other images."""
    frame.loc[1, "path"] = str(tmp_path / "images" / "1.png")
    found = read_image_list(write_list(tmp_path, frame.assign(width=9), name), 8, threads=3)
    assert found.classes == ["01", "cat", "dog"]
    assert found.images["train"].shape == (6, 8, 8, 3)
    assert greys(found.images["train"]) == [0, 40, 80, 120, 160, 200]
    assert [found.classes[k] for k in found.labels["train"]] == LABELS
    assert found.shown == {"id": frame["id"].tolist(), "path": frame["path"].tolist()}
    assert len(found.images["test"]) == len(found.labels["test"]) == 0 and found.skipped == []


def test_images_that_cannot_be_read_are_listed(tmp_path, frame):
    """They would be missing without a word, or stop the run; or rows after them be out of step."""
    (tmp_path / "images" / "1.png").write_bytes(b"no image")
    (tmp_path / "images" / "3.png").unlink()
    frame.loc[5, "path"] = "images"
    more = frame.assign(path=frame["path"].replace("images", "images/5.png"))
    path = write_list(tmp_path, pd.concat([frame, more.iloc[[0, 4, 5]].assign(id=list("xyz"))]))
    found = read_image_list(path, 8)
    assert [entry["path"] for entry in found.skipped] == ["images/1.png", "images/3.png", "images"]
    reasons = [entry["reason"] for entry in found.skipped]
    assert "UnidentifiedImageError" in reasons[0] and str(tmp_path) not in reasons[0]
    assert reasons[1:] == ["no such file", "no file"]
    assert greys(found.images["train"]) == [0, 80, 160, 0, 160, 200]
    assert [found.classes[k] for k in found.labels["train"]] == [
        "cat",
        "01",
        "dog",
        "cat",
        "dog",
        "01",
    ]
    assert found.shown["id"] == ["no 0", "no 2", "no 4", "x", "y", "z"]


@pytest.mark.parametrize("form", ["split", "file"])
def test_test_images_are_named_by_a_split_or_a_second_list(tmp_path, frame, form):
    """They would be ranked with the training images."""
    if form == "split":
        split = ["train", "train", "train", "train", "test", "train"]
        more = pd.concat([frame, frame.iloc[[1, 2]].assign(id=["x", "y"])])
        path, test = write_list(tmp_path, more.assign(split=[*split, "train", "test"])), None
        expected = [0, 40, 80, 120, 200, 40], [160, 80]
    else:
        path = write_list(tmp_path, frame)
        test = write_list(tmp_path, frame.iloc[[5]], "test.csv")
        expected = [0, 40, 80, 120, 160, 200], [200]
    found = read_image_list(path, 8, test_path=test)
    assert (greys(found.images["train"]), greys(found.images["test"])) == expected
    assert found.classes[found.labels["test"][-1]] == "01"
    assert len(found.shown["path"]) == 6


WRONG = {
    "one class": (lambda frame: frame.assign(label="cat"), "only the class 'cat'"),
    "no label": (lambda frame: frame.assign(label=["", *LABELS[1:]]), "label is missing in row 0"),
    "an id twice": (lambda frame: frame.assign(id="x"), "the id 'x' stands in rows 0, 1"),
    "another split": (lambda frame: frame.assign(split="val"), "split is 'val' in rows 0"),
    "one image in one of two classes": (
        lambda frame: frame.iloc[[0, 1, 3]],
        "dog has 1 row; two classes with 2 training rows or more",
    ),
    "no such images": (
        lambda frame: frame.assign(path="gone/" + frame["path"]),
        r"no train image can be read; the first is gone.* \(no such file\)\. Relative paths begin",
    ),
    "a class without images": (
        lambda frame: frame.assign(path=["x", *frame["path"][1:3], "x", *frame["path"][4:]]),
        r"of the class cat; the first file that cannot is x \(no such file\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_list_that_cannot_be_used_is_refused_with_what_to_do(tmp_path, frame, name):
    """A user would meet a traceback, or a list of suspects that means nothing."""
    change, message = WRONG[name]
    path = write_list(tmp_path, change(frame))
    with pytest.raises(WtrakError, match=message) as caught:
        read_image_list(path, 8)
    assert str(path) in str(caught.value)


def test_a_second_list_has_to_fit_the_first(tmp_path, frame):
    """Class 1 of the test images would be another one, or test rows be in both lists."""
    path = write_list(tmp_path, frame)
    test = write_list(tmp_path, frame.assign(label="fish"), "test.csv")
    with pytest.raises(WtrakError, match=r"test\.csv has test rows .* no training row has: fish"):
        read_image_list(path, 8, test_path=test)
    split = write_list(tmp_path, frame.assign(split=["train", "train", "test"] * 2), "split.csv")
    with pytest.raises(WtrakError, match=r"split\.csv has a split, but all test rows are those of"):
        read_image_list(split, 8, test_path=path)
    with pytest.raises(WtrakError, match=r"split\.csv has a split"):
        read_image_list(path, 8, test_path=split)


def test_columns_of_a_list_are_text(tmp_path, frame):
    """A number among names would be another class than its text."""
    found = read_list(write_list(tmp_path, frame))
    assert found.labels == LABELS and found.shown["path"] == frame["path"].tolist()


def test_script_writes_a_dataset_like_any_other(tmp_path, frame):
    """Rules after it would have to know where the images came from."""
    frame.loc[0, "path"] = "gone.png"
    path = write_list(tmp_path, frame)
    call(
        image_list_script,
        tmp_path,
        {"arrays": "d", "record": "d.json", "skipped": "skipped.csv", "quality": "quality.csv"},
        inputs={},
        wildcards={"dataset": "mine"},
        path=str(path),
        test_path=None,
        side=8,
        n_files=6,
    )
    arrays = load_arrays(tmp_path / "d")
    assert {"train_images", "train_labels", "test_images", "test_labels"} <= set(arrays)
    assert greys(arrays["train_images"]) == [40, 80, 120, 160, 200]
    assert load_metadata(tmp_path / "d")["classes"] == ["01", "cat", "dog"]
    shown = shown_columns(tmp_path / "d", np.array([4, 0]))
    assert shown["path"].tolist() == ["images/5.png", "images/1.png"]
    record = read_json(tmp_path / "d.json")
    assert record["images_per_class"] == {"01": 2, "cat": 1, "dog": 2} and record["skipped"] == 1
    assert str(tmp_path) not in (tmp_path / "d.json").read_text("utf-8")
    assert record["rare_classes"] == ["cat"]
    skipped = pd.read_csv(tmp_path / "skipped.csv").to_dict("records")
    assert skipped == [{"split": "train", "path": "gone.png", "reason": "no such file"}]
    quality = read_csv(tmp_path / "quality.csv")
    assert list(quality["path"]) == frame["path"].tolist()[1:]
    assert list(quality["width"]) == [9] * 5 and list(quality["height"]) == [12] * 5


def test_images_of_a_list_are_read_as_those_of_a_folder(tmp_path):
    """A list of transparent, deep or blank images would give other pixels than their folder."""
    rng = np.random.default_rng(0)
    for k in range(6):
        (tmp_path / "f" / "ab"[k % 2]).mkdir(parents=True, exist_ok=True)
        deep = rng.integers(0, 4096 if k else 200, (9, 9)).astype(np.uint16)
        clear = np.dstack([rng.integers(0, 256, (9, 9, 3)), 90 * np.ones((9, 9))]).astype(np.uint8)
        image = Image.fromarray(deep if k < 3 else clear)
        image.save(tmp_path / "f" / "ab"[k % 2] / f"{k}.png")
    folder = read_image_folder(tmp_path / "f", 8)
    labels = [folder.classes[k] for k in folder.labels]
    frame = pd.DataFrame({"path": folder.files, "label": labels})
    found = read_image_list(write_list(tmp_path / "f", frame), 8)
    np.testing.assert_array_equal(found.images["train"], folder.images)
    assert found.levels == folder.levels
    pd.testing.assert_frame_equal(found.quality.drop(columns="split"), folder.quality)


def test_test_images_have_the_scale_of_the_training_images(tmp_path):
    """A dark test image would be as bright as the brightest training image."""
    for name, white in (("a", 4000), ("b", 4000), ("c", 4000), ("d", 4000), ("t", 200)):
        Image.fromarray(np.full((8, 8), white, np.uint16)).save(tmp_path / f"{name}.png")
    frame = pd.DataFrame({"path": [f"{name}.png" for name in "abcdt"], "label": list("xyxyx")})
    path = write_list(tmp_path, frame.assign(split=["train"] * 4 + ["test"]))
    found = read_image_list(path, 8)
    assert greys(found.images["test"])[0] == pytest.approx(200 / 4095 * 255, abs=1)
    assert list(found.quality["split"]) == ["train"] * 4 + ["test"]
