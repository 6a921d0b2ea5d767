"""Images of one's own, from a folder to the list of suspicious labels, as a user would do it."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from sklearn.datasets import load_digits

from conftest import copy_repository, snakemake

pytestmark = pytest.mark.slow

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
# No download, and small: the rest is as for `make suspects`.
SMALL = {"experiments": {"own": {"backbone": "untrained", "image_size": 32}}}
SMALL["experiments"]["own"]["dataset"] = {"side": 32}
KINDS = ["png", "jpg", "bmp"]
# How the list shows a name that is no UTF-8.
SPELT_OUT = "two/caf\\udce9.png"
BLACK = "0000_black.png"


def make_folder(folder, n=300, planted=15):
    """Digits as images of several kinds and sizes, the first `planted` in a wrong class.

    One more is a copy of the last image, as a file of another kind in a wrong class. One is black,
    and one a link to a file outside the folder.
    """
    digits, rng = load_digits(), np.random.default_rng(0)
    wrong = set()
    for count, k in enumerate(rng.permutation(len(digits.target))[:n]):
        label = digits.target[k]
        if count < planted:
            label = (label + rng.integers(1, 10)) % 10
        image = Image.fromarray((digits.images[k] * 15.9).astype(np.uint8))
        image = image.resize(tuple(rng.integers(30, 60, size=2)))
        image = image.convert("RGB") if count % 2 else image
        path = folder / NAMES[label] / f"{k:04d}.{KINDS[count % 3]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path)
        if count < planted:
            wrong.add(path.relative_to(folder).as_posix())
    copied = folder / NAMES[(label + 1) % 10] / f"{path.stem}_again.tiff"
    image.save(copied)
    wrong.add(copied.relative_to(folder).as_posix())
    Image.new("L", (40, 40)).save(folder / "zero" / BLACK)
    outside = folder.parent / "outside.png"
    path.rename(outside)
    path.symlink_to(outside)
    (folder / "one" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "two" / os.fsdecode(b"caf\xe9.png")).write_bytes(b"named by another system")
    return wrong


def look(repository, folder, *arguments, target="suspects", check=True, **changes):
    """What `make suspects DATA=folder` runs, at small scale."""
    config = repository / "small.yaml"
    config.write_text(yaml.safe_dump(SMALL | changes), encoding="utf-8")
    own = {"own": {"dataset": {"path": str(folder)}}}
    return snakemake(
        repository,
        target,
        *("--profile", "profiles/suspects", "--workflow-profile", "none", "--cores", "2"),
        *("--configfile", "profiles/suspects/config.yaml", str(config), *arguments),
        *("--config", f"experiments={json.dumps(own)}"),
        check=check,
    )


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """A copy of the repository in which a folder was looked through, the folder, its errors."""
    root = tmp_path_factory.mktemp("own")
    repository, folder = copy_repository(root / "repository"), root / "my images, für später ☂"
    wrong = make_folder(folder)
    look(repository, folder)
    return repository, folder, wrong


def test_planted_errors_come_first_and_their_class_is_suggested(looked):
    """The list would send the user to the wrong images."""
    repository, folder, wrong = looked
    results = repository / "runs" / "suspects" / "results"
    frame = pd.read_csv(results / "suspects" / "own" / "suspects.csv")
    assert len(frame) == 302 and list(frame["rank"]) == list(range(1, 303))
    assert all((folder / path).is_file() for path in frame["path"])
    assert (frame["given_label"] == frame["path"].str.split("/").str[0]).all()
    found = frame["path"].isin(wrong)
    assert found.head(30).sum() >= 12
    true = [NAMES[load_digits().target[int(path.split("/")[1][:4])]] for path in frame["path"]]
    assert (frame["suggested_label"] == true)[found].mean() > 0.6
    assert {"self_influence", "loss", "out_of_fold_loss"} <= set(frame)
    assert found[frame["flagged"]].mean() > 0.3 and frame["flagged"].sum() < 100
    summary = json.loads((results / "suspects" / "own" / "summary.json").read_text("utf-8"))
    assert summary["examples"] == 302 and summary["classes"] == 10
    assert summary["skipped"]["files"] == 3 and summary["flagged"] == frame["flagged"].sum()
    page = (results / "suspects" / "own" / "suspects.html").read_text("utf-8")
    assert all(path.rsplit("/", 1)[1] in page for path in frame["path"])
    assert (results / "figures" / "gallery_own.svg").stat().st_size > 10_000


def test_copies_under_two_labels_are_listed_first(looked):
    """The surest label error would have to be looked for."""
    repository, folder, _ = looked
    results = repository / "runs" / "suspects" / "results"
    table = pd.read_csv(results / "copies" / "own.csv")
    first = table[table["group"] == table.loc[0, "group"]]
    assert first["labels_differ"].all()
    (copied,) = folder.glob("*/*_again.tiff")
    conflicts = table[table["labels_differ"]]
    group = conflicts.loc[conflicts["path"].str.endswith(copied.name), "group"]
    paths = set(conflicts.loc[conflicts["group"].isin(group), "path"])
    assert {path.split("/")[1][:4] for path in paths} == {copied.name[:4]} and len(paths) == 2


def test_files_that_could_not_be_used_are_listed(looked):
    """They would be missing without a word."""
    path = looked[0] / "runs" / "suspects" / "results" / "datasets" / "own.skipped.csv"
    assert set(pd.read_csv(path)["path"]) == {"notes.txt", "one/broken.jpg", SPELT_OUT}


def test_odd_images_are_named_in_the_list(looked):
    """A user would look for a wrong label where there is nothing to see."""
    results = looked[0] / "runs" / "suspects" / "results"
    frame = pd.read_csv(results / "suspects" / "own" / "suspects.csv", keep_default_na=False)
    pictures = frame.set_index("path")["picture"]
    assert pictures[f"zero/{BLACK}"] == "constant"
    assert (pictures != "").sum() <= 10
    quality = pd.read_csv(results / "datasets" / "own.quality.csv", keep_default_na=False)
    assert quality.set_index("path")["picture"].to_dict() == pictures.to_dict()


def test_second_look_has_nothing_to_do_and_another_image_has(looked):
    """A folder that the user has corrected would show its old errors, or work be repeated."""
    repository, folder, _ = looked
    assert "Nothing to be done" in look(repository, folder, "--dry-run").stdout
    image = next((folder / "two").glob("[0-9]*.png"))
    image.rename(folder / "three" / image.name)
    try:
        again = look(repository, folder, "--dry-run").stdout
    finally:
        (folder / "three" / image.name).rename(image)
    for rule in ("image_folder", "activations", "head", "suspicious_labels", "gallery"):
        assert f"\n{rule} " in again, rule
    assert "\nbackbone " not in again
    # Of a link it counts what it leads to.
    outside, times = folder.parent / "outside.png", (folder.parent / "outside.png").stat()
    os.utime(outside, ns=(1, 1))
    try:
        assert "\nimage_folder " in look(repository, folder, "--dry-run").stdout
    finally:
        os.utime(outside, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "Nothing to be done" in look(repository, folder, "--dry-run").stdout


def test_everything_of_an_experiment_without_test_points_is_its_suspects(looked):
    """`all` would fail on figures that need test points, or plan other experiments."""
    repository, folder, _ = looked
    look(repository, folder, target="all")
    record = json.loads(
        (repository / "runs" / "suspects" / "results" / "provenance.json").read_text("utf-8")
    )
    assert set(record["config"]["experiments"]) == {"own"}
    assert str(folder) not in json.dumps(record)
    assert {"image_folder/own", "suspicious_labels/own"} <= set(record["jobs"])


def started(repository, folder, check=True, **variables):
    """What `make suspects` starts, at small scale."""
    (repository / "small.yaml").write_text(yaml.safe_dump(SMALL), encoding="utf-8")
    program = repository / "snakemake"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m snakemake "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    words = ["suspects", "--profile", "profiles/suspects", "--workflow-profile", "none"]
    variables = {"DATA": str(folder), "CORES": "2"} | variables
    done = subprocess.run(
        [sys.executable, "workflow/start.py", str(program), *words],
        cwd=repository,
        env=os.environ
        | {"ARGS": "--configfile profiles/suspects/config.yaml small.yaml"}
        | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert not check or done.returncode == 0, done.stderr[-4000:]
    return done


def test_two_datasets_and_corrections_of_one(tmp_path):
    """A second dataset would touch the first's results, or corrections read all images again."""
    repository = copy_repository(tmp_path / "repository")
    one, other = tmp_path / "one" / "digits", tmp_path / "other"
    make_folder(one, n=80, planted=5)
    make_folder(other, n=30, planted=5)
    said = started(repository, one).stdout
    assert "82 images in 10 classes; 3 files skipped" in said
    assert "runs/digits/results/suspects/own/suspects.html" in said
    results = repository / "runs" / "digits" / "results"
    path = results / "suspects" / "own" / "suspects.csv"
    first = path.read_bytes()
    until = "--until image_folder --configfile profiles/suspects/config.yaml small.yaml"
    started(repository, other, NAME="more digits", ARGS=until)
    assert path.read_bytes() == first
    assert (repository / "runs/more-digits/results/datasets/own.safetensors").is_file()
    taken = started(repository, tmp_path / "two" / "digits", check=False)
    assert taken.returncode == 1 and "runs/digits holds the results of" in taken.stderr
    frame = pd.read_csv(path)
    kept, changed, removed = frame["path"].iloc[:3]
    file = tmp_path / "my corrections.csv"
    new = frame["suggested_label"].iloc[1]
    rows = [(kept, "keep", ""), (changed, "relabel", new), (removed, "remove", "")]
    pd.DataFrame(rows, columns=["path", "decision", "new_label"]).to_csv(file, index=False)
    done = started(repository, one, CORRECTIONS=str(file))
    assert "81 images in" in done.stdout
    assert "corrections: 1 confirmed, 1 relabelled, 1 removed" in done.stdout
    jobs = done.stdout + done.stderr
    assert "(Rule: corrected_labels)" in jobs and "(Rule: activations)" not in jobs
    assert "(Rule: image_folder)" not in jobs
    again = pd.read_csv(path).set_index("path")
    assert removed not in again.index and again.index[-1] == kept
    assert again.loc[changed, "given_label"] == new
    assert again.loc[changed, "original_label"] == frame["given_label"].iloc[1]
    # A mistake in the file is named, and the results of the run before stay whole.
    second = path.read_bytes()
    file.write_text("path,decision\nno/such.png,keep\n", encoding="utf-8")
    failed = started(repository, one, CORRECTIONS=str(file), check=False)
    assert failed.returncode == 1
    assert "line 2 ('no/such.png'): there is no example with this path" in failed.stderr
    assert "Traceback" not in failed.stderr + failed.stdout
    assert path.read_bytes() == second and "images in" not in failed.stdout
    gone = started(repository, one, CORRECTIONS="/no/such.csv", check=False)
    assert "experiments.own.dataset.corrections: there is no file '/no/such.csv'" in gone.stderr


def test_with_test_images_the_whole_chain_is_planned(looked):
    """Certificates for images of one's own would not be reachable."""
    repository, folder, _ = looked
    own = {"dataset": {"side": 32, "test_path": str(folder)}}
    changes = {"experiments": {"own": SMALL["experiments"]["own"] | own}}
    # There are only 300 of them.
    changes |= {"ood": {"n_images": 100}}
    planned = look(repository, folder, "--dry-run", target="all", **changes).stdout
    for rule in ("certificates", "audit", "detectors", "fig4_frontier", "suspicious_labels"):
        assert f"\n{rule} " in planned, rule


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("missing", "experiments.own.dataset.path: there is no file or folder"),
        ("empty class", "the sub-folder fish holds no image that can be read"),
        ("one class", "has only the class one"),
        ("one image", "holds only one image"),
        ("rare class", "two has 1 image; two classes with 2 images or more are needed"),
        ("parts", "the sub-folders train, val look like parts of a dataset and not like classes"),
    ],
)
def test_a_folder_that_cannot_be_used_ends_in_one_clear_line(looked, tmp_path, spoil, message):
    """A newcomer would read a traceback."""
    repository, folder, _ = looked
    own = tmp_path / "images"
    if spoil != "missing":
        (own / "one").mkdir(parents=True)
        for path in sorted((folder / "one").glob("*.png"))[: 1 if spoil == "one image" else None]:
            os.link(path, own / "one" / path.name)
    if spoil == "empty class":
        (own / "fish").mkdir()
    if spoil == "rare class":
        (own / "two").mkdir()
        os.link(next((folder / "two").glob("*.bmp")), own / "two" / "x.bmp")
    if spoil == "parts":
        (own / "one").rename(own / "train")
        (own / "val").mkdir()
    arguments = ("--directory", str(tmp_path / "run"))
    done = look(repository, own, *arguments, check=False)
    assert done.returncode == 1
    assert message in done.stdout
    assert "Traceback" not in done.stdout
    assert done.stdout.count(message) == 1


def test_without_a_folder_the_missing_key_is_named(looked):
    """`snakemake --profile profiles/suspects` alone would fail in a KeyError."""
    done = snakemake(
        looked[0],
        *("suspects", "--profile", "profiles/suspects", "--workflow-profile", "none"),
        check=False,
    )
    assert "experiments.own.dataset.path: missing (a folder with a sub-folder" in done.stdout
    assert "Traceback" not in done.stdout
