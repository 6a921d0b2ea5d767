"""Corrections by a person: applied to the example that they name, or refused in a sentence."""

import numpy as np
import pandas as pd
import pytest

import corrected_labels as corrected_labels_script
from chain import call
from wtrak.errors import WtrakError
from wtrak.job.io import save_arrays, write_csv
from wtrak.job.shown import packed_columns
from wtrak.job.training_labels import load_training_labels
from wtrak.labels.corrections import apply_corrections, read_corrections

CLASSES = ["01", "NA", "dog, big"]
LABELS = np.array([0, 1, 2, 0, 1])
NAMES = {"index": list("01234"), "path": [f"x/{k}.png" for k in "abcde"]}


def written(folder, text):
    path = folder / "corrections.csv"
    path.write_bytes(text.encode("utf-8"))
    return path


def applied(folder, text):
    return apply_corrections(read_corrections(written(folder, text)), NAMES, LABELS, CLASSES)


GOOD = """path,given_label,decision,new_label
x/b.png,NA,relabel,"dog, big"
x/a.png,01,keep,
x/e.png,,remove,
x/d.png,01,skip,
x/c.png,"dog, big",relabel,"dog, big"
"""


@pytest.mark.parametrize("change", ["", "bom", "crlf", "by index"])
def test_each_decision_reaches_its_example(tmp_path, change):
    """Another example would be relabelled, or a file that a spreadsheet saved be refused."""
    text = GOOD
    if change == "bom":
        text = "\ufeff" + text
    if change == "crlf":
        text = text.replace("\n", "\r\n")
    if change == "by index":
        text = text.replace("path,", "index,", 1)
        for number, letter in enumerate("abcde"):
            text = text.replace(f"x/{letter}.png", str(number))
    found = applied(tmp_path, text)
    assert found.labels.tolist() == [0, 2, 2, 0, 1]
    # To give an example the label that it has is to confirm it.
    assert found.decisions.tolist() == ["keep", "relabel", "keep", "skip", "remove"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,decision\nx/z.png,keep\n", r"line 2 \('x/z.png'\): there is no example with this"),
        ("path,decision\nx/a.png,keep\nx/a.png,skip\n", "line 3 .*: the example is also on line 2"),
        ("path,decision\nx/a.png,delete\n", "the decision 'delete' is not keep, relabel, remove"),
        ("path,decision,new_label\nx/a.png,relabel,1\n", "there is no label '1'; known are 01, NA"),
        ("path,decision,new_label\nx/a.png,relabel,\n", "there is no label ''"),
        ("path,given_label,decision\nx/a.png,NA,keep\n", "the label is '01' in the data and 'NA'"),
        ("path,new_label\nx/a.png,NA\n", "has no column decision; its columns are path, new_label"),
        ("name,decision\na,keep\n", "has no column path or id or index"),
        ("path,decision\nx/a.png,relabel\n", "has no column new_label"),
        ("id,decision\nx,keep\n", "examples of these data are named by path or index"),
        ("", "cannot be read as a CSV file of corrections"),
        (
            "path,decision\nx/b.png,remove\nx/e.png,remove\nx/c.png,remove\n",
            "less than two classes",
        ),
    ],
)
def test_what_cannot_be_applied_is_named(tmp_path, text, message):
    """A correction would be lost without a word, or end in a traceback."""
    with pytest.raises(WtrakError, match=message):
        applied(tmp_path, text)


def test_many_mistakes_make_a_short_message(tmp_path):
    """Corrections of other data would fill the terminal."""
    rows = "".join(f"y/{k}.png,keep\n" for k in range(100))
    with pytest.raises(WtrakError, match=r"line 6 .* and 95 more$"):
        applied(tmp_path, f"path,decision\n{rows}")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    """A picture or a spreadsheet would end in a traceback."""
    path = tmp_path / "x.xlsx"
    path.write_bytes(b"PK\x03\x04\xff\xfe\x00" * 20)
    with pytest.raises(WtrakError, match="cannot be read as a CSV file of corrections"):
        read_corrections(path)
    with pytest.raises(WtrakError, match="cannot be read as a CSV file of corrections"):
        read_corrections(tmp_path / "gone.csv")


@pytest.mark.parametrize("key", ["path", "id", "index"])
def test_script_finds_examples_by_what_names_them(tmp_path, key):
    """Corrections of data without files could not be applied."""
    names = {"path": NAMES["path"], "id": list("vwxyz"), "index": list("01234")}[key]
    shown = {} if key == "index" else {key: names}
    arrays = {"train_labels": LABELS.astype(np.uint16)} | packed_columns(shown)
    save_arrays(tmp_path / "d", arrays, {"classes": CLASSES, "shown": list(shown)})
    frame = pd.DataFrame({key: [names[3]], "decision": ["relabel"], "new_label": ["NA"]})
    frame.to_csv(tmp_path / "c.csv", index=False)
    call(
        corrected_labels_script,
        tmp_path,
        {"labels": "corrected"},
        inputs={"dataset": "d"},
        path=str(tmp_path / "c.csv"),
    )
    found = load_training_labels(tmp_path / "d", [tmp_path / "corrected"])
    assert found.labels.tolist() == [0, 1, 2, 1, 1]
    assert found.decisions.tolist() == ["skip", "skip", "skip", "relabel", "skip"]


def test_names_that_examples_share_are_passed_over():
    """A correction would change the label of another example, or of the last that has the path."""
    names = {"path": ["a", "a", "b", "c", "d"], "id": list("vwxyz")}
    frame = pd.DataFrame({"path": ["a"], "id": ["v"], "decision": ["relabel"], "new_label": ["NA"]})
    found = apply_corrections(frame, names, LABELS, CLASSES)
    assert found.decisions.tolist() == ["relabel", "skip", "skip", "skip", "skip"]
    with pytest.raises(WtrakError, match=r"examples of these data are named by id$"):
        apply_corrections(frame.drop(columns="id"), names, LABELS, CLASSES)


def test_cells_guarded_against_formulas_are_names_as_they_were(tmp_path):
    """An example with a name like =1 could not be corrected with a row of suspects.csv."""
    write_csv(tmp_path / "c.csv", pd.DataFrame({"id": ["=1", "-b", "c"], "decision": "keep"}))
    assert "'=1" in (tmp_path / "c.csv").read_text("utf-8")
    assert read_corrections(tmp_path / "c.csv")["id"].tolist() == ["=1", "-b", "c"]
