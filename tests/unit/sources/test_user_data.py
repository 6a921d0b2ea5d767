"""Of what kind data are is told by their content, and what is none of them gets a sentence."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wtrak.errors import WtrakError
from wtrak.sources import features, user_data
from wtrak.sources.user_data import KINDS, image_paths, kind_of, outline_of


def written(folder, text, name="x.csv"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def class_folders(folder):
    (folder / "images" / "cat").mkdir(parents=True)
    return folder / "images"


def npz(folder):
    np.savez(folder / "x.npz", X=np.ones((6, 2)), y=np.arange(6))
    return folder / "x.npz"


def pair(folder):
    np.save(folder / "features.npy", np.ones((6, 2)))
    np.save(folder / "labels.npy", np.arange(6))
    return folder


EXAMPLES = {
    "a folder of class folders": (class_folders, "image_folder"),
    "a list": (lambda f: written(f, "path,label\na.png,1\nb.png,2\n"), "image_list"),
    "a list with an id": (lambda f: written(f, "id,path,label\n1,a.png,1\n"), "image_list"),
    "a list with words": (lambda f: written(f, "path,label,by\na.png,1,me\n"), "image_list"),
    "a table of features": (lambda f: written(f, "a,label\n1.5,x\n"), "features"),
    "features with paths": (lambda f: written(f, "path,a,label\nx.wav,1,x\n"), "features"),
    "npz": (npz, "features"),
    "npy": (lambda f: pair(f) / "features.npy", "features"),
    "a folder of arrays": (pair, "features"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_kind_is_told_by_the_content(tmp_path, name):
    """A user would have to set it, or get the results of another reading."""
    make, kind = EXAMPLES[name]
    path = make(tmp_path)
    assert kind_of(path) == kind in KINDS
    outline = outline_of(path, kind)
    assert outline.kind == kind and not outline.has_split
    assert all(file.is_file() for file in outline.files)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda f: f / "gone", "there is no file or folder"),
        (lambda f: f, "is a folder without sub-folders; taken are a folder with a sub-folder of"),
        (lambda f: written(f, "x", "x.docx"), "x.docx is a file of another kind; taken are"),
        (lambda f: written(f, "a,b\n1,2\n"), "has no column label, but a, b; taken are"),
        (lambda f: written(f, "label,b\n1,x\n"), "neither a column path nor columns of numbers"),
    ],
)
def test_anything_else_gets_a_sentence_that_says_what_is_taken(tmp_path, make, found):
    """A newcomer would not know what to bring."""
    with pytest.raises(WtrakError, match=found):
        kind_of(make(tmp_path))


@pytest.mark.parametrize(
    ("make", "kind", "found"),
    [
        (npz, "image_folder", "there is no folder"),
        (npz, "image_list", "there is no CSV or Parquet file"),
        (class_folders, "features", "holds no features; taken are"),
        (lambda f: f / "gone.npz", "features", "there is no file or folder"),
        (lambda f: written(f, "id,label\n1,x\n"), "image_list", "has no column path; taken are"),
        (lambda f: written(f, "id\n1\n"), "image_list", "has no column path and no column label"),
    ],
)
def test_data_of_another_kind_than_is_said_are_refused(tmp_path, make, kind, found):
    """The job would end in a traceback."""
    with pytest.raises(WtrakError, match=found):
        outline_of(make(tmp_path), kind)


def test_a_list_may_have_columns_of_numbers_if_its_kind_is_said(tmp_path):
    """A list with the sizes of its images could not be used."""
    path = written(tmp_path, "path,label,width\na.png,cat,100\n")
    assert kind_of(path) == "features" and outline_of(path, "image_list").kind == "image_list"


def test_an_outline_knows_rows_and_split(tmp_path):
    """Certificates would be planned without test points, or refused in spite of them."""
    path = written(tmp_path, "a,label,split\n1,x,train\n2,y,test\n")
    found = outline_of(path, "features")
    assert found.has_split and found.most_rows >= 2 and found.files == (path,)
    path = written(tmp_path, "path,label,split\na,x,train\nb,y,test\n")
    assert outline_of(path, "image_list").has_split
    found = outline_of(pair(tmp_path), "features")
    assert found.most_rows == 6 and [file.name for file in found.files] == [
        "features.npy",
        "labels.npy",
    ]


def test_paths_of_a_list_begin_in_its_folder(tmp_path, monkeypatch):
    """Which images are watched would depend on where the command is given."""
    path = written(tmp_path, "label,path\nx,a/b.png\ny,/c.png\nz,\n")
    monkeypatch.chdir("/")
    assert image_paths(path) == [tmp_path / "a/b.png", Path("/c.png"), tmp_path]


def test_a_folder_that_may_not_be_opened_is_named(tmp_path, monkeypatch):
    """A user would read a traceback."""

    def refuse(_path):
        raise PermissionError("Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(WtrakError, match=r"cannot be opened \(Permission denied"):
        kind_of(tmp_path)


def test_names_of_files_are_those_of_the_reader():
    """A folder would be told to be features that the reader does not find."""
    assert user_data._ARRAYS == features.ARRAYS
    assert features.FOLDER_ARRAY in user_data.TAKEN


def test_a_table_is_told_without_what_takes_long_to_import(tmp_path):
    """Every job of a cluster parses the Snakefile, and would wait for pandas each time."""
    path = written(tmp_path, "path,label\na.png,1\n")
    library = Path(user_data.__file__).resolve().parents[2]
    text = f"""
import sys
sys.path.insert(0, {str(library)!r})
from wtrak.sources.user_data import image_paths, kind_of, outline_of
outline_of({str(path)!r}, kind_of({str(path)!r}))
image_paths({str(path)!r})
print({{"numpy", "pandas", "torch", "pyarrow", "PIL"}} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "set()"
