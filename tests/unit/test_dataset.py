"""`read_dataset` gives the arrays that `Attributor` takes, from every kind of data."""

import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import wtrak
from wtrak import Attributor, InputError, read_dataset

RNG = np.random.default_rng(0)
Y = np.array(["cat", "dog", "eel"] * 20)
X = RNG.standard_normal((60, 4)) + 3 * np.eye(3, 4)[np.arange(60) % 3]


def table(folder, **more):
    frame = pd.DataFrame(dict(zip("abcd", X.T, strict=True)) | {"label": Y} | more)
    frame.to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def test_a_table_becomes_arrays_for_an_attributor(tmp_path):
    """Rows would be out of step with labels, or labels be of a type that is not taken."""
    wrong = Y.copy()
    wrong[7] = "eel"
    split = np.where(np.arange(60) < 45, "train", "test")
    path = table(tmp_path, label=wrong, split=split, id=[f"no {k}" for k in range(60)])
    data = read_dataset(path)
    assert data.X.shape == (45, 4) and data.X_test.shape == (15, 4) and data.X.dtype == np.float32
    assert data.y.tolist() == wrong[:45].tolist() and data.y_test.tolist() == Y[45:].tolist()
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(data.X.std(axis=0), 1, rtol=1e-5)
    assert data.feature_names == ["a", "b", "c", "d"]
    issues = Attributor(folds=3).fit(data.X, data.y).label_issues()
    first = issues.iloc[0]
    assert data.columns["id"].iloc[first["index"]] == "no 7"
    assert (first["given_label"], first["suggested_label"]) == ("eel", "dog")


def test_an_array_keeps_its_distances_and_has_no_names(tmp_path):
    """Embeddings would be distorted column by column."""
    np.savez(tmp_path / "x.npz", features=X.astype(np.float16), labels=np.arange(60) % 3)
    data = read_dataset(tmp_path / "x.npz")
    np.testing.assert_allclose(data.X, X / np.sqrt((X**2).mean()), atol=5e-3)
    assert data.feature_names is None and data.columns.shape == (60, 0)
    assert data.y.tolist() == [str(k % 3) for k in range(60)] and len(data.X_test) == 0
    plain = read_dataset(tmp_path / "x.npz", tmp_path / "x.npz", scale="none")
    np.testing.assert_array_equal(plain.X, X.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(plain.X_test, plain.X)


def means(images):
    """The mean of each colour, as a network."""
    assert images.dtype == np.uint8 and images.shape[1:] == (16, 16, 3) and len(images) <= 64
    return images.mean(axis=(1, 2))


@pytest.fixture
def images(tmp_path):
    """A folder of 70 images of two classes, of which image k has the grey value k."""
    for k in range(70):
        path = tmp_path / "images" / ("cat" if k % 2 else "dog") / f"{k:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (20, 20), k).save(path)
    return tmp_path / "images"


@pytest.mark.parametrize("kind", ["folder", "list"])
def test_a_network_makes_features_of_images(images, tmp_path, kind):
    """Whoever has images would have to read them without the workflow's care."""
    files = sorted(images.glob("*/*.png"))
    path = images
    if kind == "list":
        path = tmp_path / "list.csv"
        names = [str(file.relative_to(tmp_path)) for file in files]
        labels = [file.parent.name for file in files]
        pd.DataFrame({"path": names, "label": labels}).to_csv(path, index=False)
    data = read_dataset(path, path, network=means, side=16, scale="none")
    expected = [int(file.stem) for file in files]
    assert data.X[:, 0].tolist() == data.X_test[:, 2].tolist() == expected
    assert data.y.tolist() == data.y_test.tolist() == [file.parent.name for file in files]
    assert [name.split("/")[-1] for name in data.columns["path"]] == [file.name for file in files]


def test_what_cannot_be_read_is_an_error_of_the_argument(images, tmp_path):
    """A caller could not catch it, or would read a traceback of a library."""
    for arguments, message in (
        ({"path": tmp_path / "gone"}, "there is no file or folder"),
        ({"path": images}, "holds images; give a network that maps them to features"),
        ({"path": images, "scale": "big"}, "scale is 'big', expected one of auto, rms"),
        ({"path": images, "network": lambda x: x, "side": 8}, r"shape \(64, 8, 8, 3\) .* for 64"),
        ({"path": table(tmp_path, a=np.nan)}, "holds no numbers"),
    ):
        with pytest.raises(InputError, match=message):
            read_dataset(**arguments)


def test_without_pillow_the_message_says_what_to_install(images, monkeypatch):
    """Pillow is no requirement of the library."""
    monkeypatch.setitem(sys.modules, "wtrak.sources.image_folder", None)
    with pytest.raises(InputError, match="pip install pillow"):
        read_dataset(images, network=means)


def test_the_names_are_public():
    """The page of the library names them."""
    assert {"read_dataset", "Dataset"} <= set(wtrak.__all__)
