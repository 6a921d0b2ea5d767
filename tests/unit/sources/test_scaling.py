"""Features are scaled as the page says, in bounded memory, and their faults named by row."""

import numpy as np
import pandas as pd
import pytest

from limits import within_limits
from wtrak.errors import WtrakError
from wtrak.sources import features
from wtrak.sources.scaling import SCALES, ContentHash, scaled_blocks, survey

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) * [1, 10, 100] + [0, 5, 1e6]
Y = np.array(["a", "b"] * 20)


def saved(folder, values=X, labels=Y, **more):
    path = folder / "x.npz"
    np.savez(path, X=values, y=labels, **more)
    return path


def as_table(folder, values=X, labels=Y, name="x.csv", **more):
    columns = dict(zip("pqr", np.transpose(values), strict=True))
    pd.DataFrame(columns | {"label": labels} | more).to_csv(folder / name, index=False)
    return folder / name


def scaled(found, split="train"):
    blocks = [block for name, block in scaled_blocks(found) if name == split]
    return np.concatenate(blocks) if blocks else np.zeros((0, 3), np.float32)


EXPECTED = {
    "none": lambda x, train: x,
    "rms": lambda x, train: x / np.sqrt((train**2).mean()),
    "columns": lambda x, train: (x - train.mean(axis=0)) / train.std(axis=0),
}


@pytest.mark.parametrize("rows", [1, 7, 10**6])
@pytest.mark.parametrize("scale", EXPECTED)
def test_scales_are_those_of_the_formula(tmp_path, monkeypatch, scale, rows):
    """The head's penalty would mean another thing, or the size of a block change the result."""
    monkeypatch.setattr(features, "_BLOCK_BYTES", 8 * 3 * rows)
    split = np.where(np.arange(40) % 4 == 1, "test", "train")
    found = survey(saved(tmp_path, split=split), scale=scale)
    train, test = X[split == "train"], X[split == "test"]
    np.testing.assert_allclose(scaled(found), EXPECTED[scale](train, train), rtol=2e-6)
    # By the numbers of the training rows alone.
    np.testing.assert_allclose(scaled(found, "test"), EXPECTED[scale](test, train), rtol=2e-6)
    assert found.shape("train") == (30, 3) and found.shape("test") == (10, 3)
    assert found.classes == ["a", "b"]
    assert found.labels["test"].tolist() == [int(y == "b") for y in Y[split == "test"]]


def test_columns_are_for_tables_and_one_number_for_arrays(tmp_path):
    """Distances between embeddings would be distorted, or one unit outweigh all others."""
    assert survey(saved(tmp_path)).scaling.name == "rms"
    assert survey(as_table(tmp_path)).scaling.name == "columns"
    assert {"auto", *EXPECTED} == set(SCALES)


def test_large_offsets_do_not_drown_small_variations(tmp_path):
    """Dates would become noise: the mean of squares less the squared mean has no digits left."""
    x = np.column_stack([1.7e9 + RNG.standard_normal(40), np.full(40, 0.1), X[:, 0]])
    found = survey(as_table(tmp_path, x))
    np.testing.assert_allclose(scaled(found)[:, 0].std(), 1, rtol=1e-4)
    # A column that does not vary is 0, and no rounding that was divided by itself.
    assert found.scaling.constant == [1] and (scaled(found)[:, 1] == 0).all()


@pytest.mark.parametrize("make", [saved, as_table])
def test_missing_and_infinite_features_are_named_by_row(tmp_path, make):
    """One of them would make every score NaN, after the costly part."""
    x = X.copy()
    x[7, 1] = np.nan
    with pytest.raises(WtrakError, match=r"in 1 row: 7 \(counted from 0\), column ('q'|1); fill"):
        survey(make(tmp_path, x))
    x[[9, 30, 31, 32, 33], 2] = np.inf
    message = r"in 6 rows: 7, 9, 30, 31, 32 and 1 more \(counted from 0\), columns ('q', 'r'|1, 2);"
    with pytest.raises(WtrakError, match=message):
        survey(make(tmp_path, x))


def test_rows_are_counted_across_blocks(tmp_path, monkeypatch):
    """The row that is named would be that of its block."""
    monkeypatch.setattr(features, "_BLOCK_BYTES", 8 * 3 * 6)
    x = X.copy()
    x[[13, 29], 0] = np.nan
    with pytest.raises(WtrakError, match="in 2 rows: 13, 29"):
        survey(saved(tmp_path, x))


@pytest.mark.parametrize(
    ("values", "scale", "message"),
    [
        (np.zeros((40, 3)), "rms", "all features are the same in all training rows"),
        (np.ones((40, 3)), "columns", "all features are the same"),
        (np.full((40, 3), 1e200), "rms", "so large that their squares overflow"),
        (X * 1e35, "none", r"too large for float32 in rows 0, 1, 2, 3, 4 and 35 more"),
    ],
)
def test_features_that_no_scale_suits_are_refused(tmp_path, values, scale, message):
    """The head would be fitted to infinities, or to nothing."""
    with pytest.raises(WtrakError, match=message):
        scaled(survey(saved(tmp_path, values), scale=scale))


def test_faults_of_labels_reach_the_user(tmp_path):
    """A file with one class, or with a missing label, would be read to its end for nothing."""
    with pytest.raises(WtrakError, match="only the class 'a'"):
        survey(saved(tmp_path, labels=np.full(40, "a")))
    with pytest.raises(WtrakError, match="the label is missing in row 3"):
        survey(saved(tmp_path, labels=np.where(np.arange(40) == 3, "", Y)))
    with pytest.raises(WtrakError, match=r"the label 0\.5 is a number with a fraction"):
        survey(saved(tmp_path, labels=np.arange(40) / 2))
    with pytest.raises(WtrakError, match="the id 'x' stands in rows 0, 1"):
        survey(saved(tmp_path, id=np.array(["x", "x", *map(str, range(38))])))


def test_a_second_file_is_for_testing(tmp_path):
    """Its rows would be ranked with the others, or be scaled by numbers of their own."""
    path = as_table(tmp_path)
    test = as_table(tmp_path, 2 * X[:4], Y[:4], "test.csv")
    found = survey(path, test)
    assert found.shape("train") == (40, 3) and found.shape("test") == (4, 3)
    expected = EXPECTED["columns"](2 * X[:4], X)
    np.testing.assert_allclose(scaled(found, "test"), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.rename(columns={"q": "s"}), "only one of them has 'q', 's'"),
        (lambda frame: frame[["q", "p", "r", "label"]], "their columns in another order"),
        (lambda frame: frame.drop(columns="q"), "only one of them has 'q'"),
        (lambda frame: frame.assign(split="test"), "has a split, but all test rows are those of"),
        (lambda frame: frame.assign(label="fish"), "no training row has: fish"),
    ],
)
def test_a_second_file_has_to_fit_the_first(tmp_path, change, message):
    """A feature would stand in the place of another one."""
    path = as_table(tmp_path)
    change(pd.read_csv(path)).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(WtrakError, match=message):
        survey(path, tmp_path / "test.csv")


def test_an_array_does_not_test_a_table(tmp_path):
    """Scaled columns would be compared with others of the same number."""
    with pytest.raises(WtrakError, match="both have to be of the same kind"):
        survey(as_table(tmp_path), saved(tmp_path))


def test_the_hash_follows_labels_and_features_and_no_block(tmp_path, monkeypatch):
    """A new file would pass for the old one, or the size of a block re-run everything."""
    path = saved(tmp_path, split=np.where(np.arange(40) % 3, "train", "test"))

    def content():
        found = survey(path)
        content = ContentHash(found.labels)
        for split, block in scaled_blocks(found):
            content.add(split, block)
        return content.hexdigest()

    first = content()
    monkeypatch.setattr(features, "_BLOCK_BYTES", 8 * 3 * 7)
    assert content() == first
    saved(tmp_path, X[::-1], split=np.where(np.arange(40) % 3, "train", "test"))
    assert content() != first
    saved(tmp_path, labels=Y[::-1], split=np.where(np.arange(40) % 3, "train", "test"))
    assert content() != first


def count_rows(path):
    return sum(len(block) for _, block in scaled_blocks(survey(path)))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_memory_does_not_grow_with_the_rows(tmp_path, save):
    """1.3 million rows of 768 features would take more memory than a machine has."""
    rows, part = 100_000, RNG.standard_normal((1000, 256)).astype(np.float16)
    path = tmp_path / "large.npz"
    # 51 MB in the file, 205 MB as float64.
    save(path, X=np.tile(part, (100, 1)), y=np.arange(rows) % 10)
    assert within_limits(count_rows, path, memory=120 * 1024**2, seconds=120) == rows
