"""What is written and said of a user's images, whatever kind of data they were."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from wtrak.job.image_dataset import rooms_in, save_image_dataset
from wtrak.job.io import load_arrays, load_metadata, read_csv, read_json
from wtrak.job.shown import WITH_PICTURE, shown_columns
from wtrak.sources.datasets import content_sha256
from wtrak.sources.image_levels import Levels


def saved(folder, capsys):
    arrays = {
        "train_images": np.arange(3 * 12, dtype=np.uint8).reshape(3, 2, 2, 3),
        "train_labels": np.array([0, 1, 0], np.uint16),
        "test_images": np.zeros((1, 2, 2, 3), np.uint8),
        "test_labels": np.array([1], np.uint16),
    }
    quality = pd.DataFrame({"split": ["train"] * 3 + ["test"], "path": list("abct")})
    quality["picture"] = ["", "dark", "", "blank"]
    names = ("arrays", "record", "skipped", "quality")
    output = SimpleNamespace(**{name: folder / name for name in names})
    save_image_dataset(
        output,
        arrays,
        {"id": ["1", "2", "3"], "path": list("abc")},
        [{"split": "train", "path": "=x", "reason": "no file"}],
        quality,
        name="mine",
        source="a list of images",
        classes=["cat", "dog"],
        levels={"whole numbers": Levels("whole numbers", 0, 4000)},
    )
    return output, arrays, capsys.readouterr().out


def test_a_dataset_has_its_columns_and_its_record(tmp_path, capsys):
    """What is odd would stand in the row of another image, or a record be of other pixels."""
    output, arrays, log = saved(tmp_path, capsys)
    found = load_arrays(output.arrays, list(arrays))
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
    shown = shown_columns(output.arrays, names=WITH_PICTURE)
    assert {name: list(column) for name, column in shown.items()} == {
        "id": ["1", "2", "3"],
        "path": ["a", "b", "c"],
        "picture": ["", "dark", ""],
    }
    record = read_json(output.record)
    assert record["content_sha256"] == content_sha256(arrays)
    assert record["images_per_class"] == {"cat": 2, "dog": 1}
    assert record["rare_classes"] == ["dog"] and record["skipped"] == 1
    assert load_metadata(output.arrays)["classes"] == ["cat", "dog"]
    assert read_csv(output.skipped)["path"].tolist() == ["=x"]
    assert read_csv(output.quality)["path"].tolist() == list("abct")
    for words in ("skipped in train: =x (no file)", "class dog has 1 image", "white 4095"):
        assert words in log


def test_rooms_are_files_of_their_own(tmp_path):
    """Test images would be written over the training images."""
    room = rooms_in(tmp_path)
    first, second = room((2, 3), np.uint8), room((1, 3), np.uint8)
    first[:], second[:] = 1, 2
    assert first.sum() == 6 and second.sum() == 6
    assert len(list(tmp_path.iterdir())) == 2
