"""Features of one's own in each form that is taken; anything else is refused in a sentence."""

import numpy as np
import pandas as pd
import pytest

import features as features_script
from chain import call
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, load_metadata, read_json
from wtrak.job.shown import shown_columns
from wtrak.sources.arrays import stored_arrays
from wtrak.sources.features import labels_beside, open_features, rows_of
from wtrak.sources.scaling import survey

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3)).astype(np.float32)
Y = np.array(["cat", "dog", "01", "NA"] * 3)
IDS = np.array([f"no {k}" for k in range(12)])
SPLIT = np.array(["train"] * 8 + ["test"] * 4)


def npz(folder, **arrays):
    np.savez(folder / "x.npz", **arrays)
    return folder / "x.npz"


def npy(folder, save_labels):
    np.save(folder / "features.npy", X)
    save_labels(folder)
    return folder / "features.npy"


def table(columns):
    return pd.DataFrame(dict(zip("abc", X.T, strict=True)) | columns)


def csv(folder, **columns):
    table(columns).to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def parquet(folder, **columns):
    pytest.importorskip("pyarrow")
    table(columns).to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


FORMS = {
    "npz": lambda folder: npz(folder, features=X, labels=Y),
    "npz, X and y": lambda folder: npz(folder, X=X, y=Y, other=np.arange(3)),
    "npz, embeddings": lambda folder: npz(folder, embeddings=X, label=Y),
    "npy, labels.npy": lambda folder: npy(folder, lambda f: np.save(f / "labels.npy", Y)),
    "npy, labels.txt": lambda folder: npy(
        folder, lambda f: (f / "labels.txt").write_text("\n".join(Y) + "\n", "utf-8")
    ),
    "npy, labels.csv": lambda folder: npy(
        folder, lambda f: pd.DataFrame({"label": Y}).to_csv(f / "labels.csv", index=False)
    ),
    "npy, its own labels": lambda folder: npy(
        folder, lambda f: np.save(f / "features_labels.npy", Y)
    ),
    "a folder": lambda folder: npy(folder, lambda f: np.save(f / "labels.npy", Y)).parent,
    "csv": lambda folder: csv(folder, label=Y),
    "parquet": lambda folder: parquet(folder, label=Y),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same_rows(tmp_path, form):
    """A form that the page names would not be taken, or its rows be out of step."""
    found = open_features(FORMS[form](tmp_path))
    assert found.width == 3 and found.most_rows >= 12 and not found.has_split
    assert found.names == (["a", "b", "c"] if form in ("csv", "parquet") else None)
    blocks = list(found.read(5))
    np.testing.assert_allclose(np.concatenate([values for values, _ in blocks]), X, rtol=1e-6)
    assert [label for _, columns in blocks for label in columns["label"]] == Y.tolist()
    assert all(file.is_file() for file in found.files)
    assert len(found.files) == (2 if form.startswith(("npy", "a folder")) else 1)


@pytest.mark.parametrize("form", [npz, csv, parquet])
def test_columns_beside_the_features_are_read(tmp_path, form):
    """Ids would be features, or be missing from the list."""
    arrays = {"features": X, "labels": Y} if form is npz else {"label": Y}
    path = form(tmp_path, **arrays, id=IDS, text=IDS, split=SPLIT, path=IDS)
    found = open_features(path)
    assert found.has_split and found.width == 3
    ((_, columns),) = found.read(100)
    assert set(columns) == {"label", "id", "text", "split", "path"}
    assert columns["id"] == IDS.tolist() and columns["split"] == SPLIT.tolist()


def test_columns_of_a_table_of_labels_belong_to_the_array(tmp_path):
    """Who keeps ids beside an array would not see them in the list."""
    frame = pd.DataFrame({"label": Y, "id": IDS, "split": SPLIT, "score": 1.5})
    path = npy(tmp_path, lambda folder: frame.to_csv(folder / "labels.csv", index=False))
    found = open_features(path)
    assert found.has_split
    assert [name for _, part in found.read(5) for name in part["id"]] == IDS.tolist()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i8", "u1", "?"])
def test_numbers_of_every_kind_are_features(tmp_path, dtype):
    """Embeddings in half precision would have to be converted first."""
    values = (10 * np.abs(X)).astype(dtype)
    ((read, _),) = open_features(npz(tmp_path, X=values, y=Y)).read(100)
    np.testing.assert_array_equal(read, values)


WRONG = {
    "no features": (
        lambda f: npz(f, other=X, labels=Y),
        "holds the arrays other, labels; it needs exactly one of features, X, embeddings",
    ),
    "two labels": (lambda f: npz(f, X=X, y=Y, labels=Y), "exactly one of labels, y, label"),
    "text": (lambda f: npz(f, X=X.astype(str), y=Y), "X is of the type <U"),
    "complex": (lambda f: npz(f, X=X.astype(complex), y=Y), "float16, float32, float64 or whole"),
    "images": (lambda f: npz(f, X=X[..., None], y=Y), r"shape \(12, 3, 1\); .* \(rows, columns\)"),
    "one column": (lambda f: npz(f, X=X[:, 0], y=Y), r"the shape \(12,\)"),
    "fewer labels": (lambda f: npz(f, X=X, y=Y[:5]), r"y has the shape \(5,\), but there are 12"),
    "labels in columns": (lambda f: npz(f, X=X, y=np.eye(12)), r"y has the shape \(12, 12\)"),
    "times": (lambda f: npz(f, X=X, y=np.zeros(12, "M8[s]")), "a label is text or a number"),
    "no labels": (
        lambda f: npy(f, lambda _: None),
        "no labels beside it; looked for features_labels.npy, .*, labels.npy, labels.csv, ",
    ),
    "labels twice": (
        lambda f: npy(f, lambda g: [np.save(g / "labels.npy", Y), (g / "labels.txt").touch()]),
        "labels in both labels.npy and labels.txt; keep one",
    ),
    "a table without label": (lambda f: csv(f, y=Y), "columns a, b, c, y, but no column label"),
    "words": (lambda f: csv(f, label=Y, city=Y), "the column 'city' holds no numbers; drop or enc"),
}


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_is_refused_before_it_is_read(tmp_path, name):
    """A newcomer would read a traceback, or a result of the wrong columns."""
    make, message = WRONG[name]
    with pytest.raises(WtrakError, match=message) as caught:
        open_features(make(tmp_path))
    assert str(tmp_path) in str(caught.value)


def test_a_table_of_labels_alone_has_no_features(tmp_path):
    """A list of images would be taken for features of no columns."""
    pd.DataFrame({"label": Y, "id": IDS}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(WtrakError, match="no columns of numbers"):
        open_features(tmp_path / "x.csv")


@pytest.mark.parametrize("count", [11, 13])
def test_labels_of_another_length_are_noticed_when_they_are_read(tmp_path, count):
    """Labels would belong to other rows."""
    text = "x\n" * count
    path = npy(tmp_path, lambda folder: (folder / "labels.txt").write_text(text, "utf-8"))
    with pytest.raises(WtrakError, match=f"labels.txt holds {count} labels, but there are 12"):
        list(open_features(path).read(5))


def test_a_label_may_hold_what_only_looks_like_the_end_of_a_line(tmp_path):
    """Labels after it would belong to other rows."""
    labels = ["a\u2028b", "c\x0bd", "e"] * 4
    path = npy(
        tmp_path, lambda folder: (folder / "labels.txt").write_text("\n".join(labels), "utf-8")
    )
    assert [x for _, part in open_features(path).read(5) for x in part["label"]] == labels


def test_helpers_name_files_and_rows(tmp_path):
    """A message would name another file than the one that is looked for."""
    path = npy(tmp_path, lambda folder: np.save(folder / "labels.npy", Y))
    assert labels_beside(path) == tmp_path / "labels.npy"
    np.save(tmp_path / "features_labels.npy", Y)
    assert labels_beside(path) == tmp_path / "features_labels.npy"
    assert rows_of(stored_arrays(path)[""]) == 12


@pytest.mark.parametrize("test_form", ["none", "split", "file"])
def test_script_writes_what_a_backbone_would_have_written(tmp_path, test_form):
    """Rules after it would have to know where activations came from, or rows be out of step."""
    arrays = {"features": X, "labels": Y, "id": IDS, "text": IDS}
    arrays |= {"split": np.array(["train", "test", "train"] * 4)} if test_form == "split" else {}
    path, test_path = npz(tmp_path, **arrays), None
    if test_form == "file":
        (tmp_path / "test").mkdir()
        test_path = str(npz(tmp_path / "test", features=2 * X[:5], labels=Y[:5]))
    call(
        features_script,
        tmp_path,
        {"arrays": "d", "record": "d.json", "activations": "a"},
        inputs={},
        wildcards={"dataset": "mine"},
        path=str(path),
        test_path=test_path,
        scale="rms",
    )
    train = np.arange(12) if test_form != "split" else np.flatnonzero(arrays["split"] == "train")
    test = {"none": X[:0], "split": X[1::3], "file": 2 * X[:5]}[test_form]
    divisor = np.sqrt(np.mean(X[train].astype(np.float64) ** 2))
    activations, dataset = load_arrays(tmp_path / "a"), load_arrays(tmp_path / "d")
    np.testing.assert_allclose(activations["train"], X[train] / divisor, rtol=1e-6)
    np.testing.assert_allclose(activations["test"], test / divisor, rtol=1e-6)
    assert activations["train"].dtype == activations["test"].dtype == np.float32
    classes = load_metadata(tmp_path / "d")["classes"]
    assert classes == ["01", "NA", "cat", "dog"]
    assert [classes[k] for k in dataset["train_labels"]] == Y[train].tolist()
    assert len(dataset["test_labels"]) == len(test)
    shown = shown_columns(tmp_path / "d", np.array([0, len(train) - 1]))
    assert shown["id"].tolist() == [IDS[train[0]], IDS[train[-1]]] == shown["text"].tolist()
    record = read_json(tmp_path / "d.json")
    assert record["features"] == 3 and record["scale"] == "rms"
    assert sum(record["rows_per_class"].values()) == len(train)
    assert str(tmp_path) not in (tmp_path / "d.json").read_text("utf-8")


def test_a_survey_names_the_file_of_a_test_row_of_a_new_class(tmp_path):
    """The user would look for it in the training file."""
    (tmp_path / "test").mkdir()
    path = npz(tmp_path, X=X, y=Y)
    test = npz(tmp_path / "test", X=X[:2], y=np.array(["cat", "fish"]))
    with pytest.raises(WtrakError, match=r"test.x.npz has test rows .* no training row has: fish"):
        survey(path, test)
