"""Features and lists of one's own, from a file to the list of suspicious labels."""

import json
import os
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from sklearn.datasets import load_digits

from conftest import copy_repository, snakemake
from start import command

pytestmark = pytest.mark.slow

PLANTED = 12


def suspects(
    repository, data, *, name, target="suspects", arguments=(), check=True, corrections="", **own
):
    """What `make suspects DATA=… NAME=…` runs, with settings of the experiment."""
    variables = {"DATA": str(data), "NAME": name, "CORRECTIONS": str(corrections), "CORES": "1"}
    config = repository / "own.yaml"
    config.write_text(yaml.safe_dump({"experiments": {"own": own}}), encoding="utf-8")
    return snakemake(
        repository,
        *([] if target == "suspects" else [target]),
        *("suspects", "--profile", "profiles/suspects", "--workflow-profile", "none", *arguments),
        *("--configfile", "profiles/suspects/config.yaml", str(config)),
        *command([target, "suspects"], variables)[2:],
        check=check,
    )


def results_of(repository, name):
    return repository / "runs" / name / "results"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("own") / "repository")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """300 digits as features, of which the first rows of a random order have a wrong label."""
    features, true = (x[:300] for x in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wrong, given = rng.permutation(300)[:PLANTED], true.copy()
    given[wrong] = (true[wrong] + rng.integers(1, 10, PLANTED)) % 10
    # A copy under another label.
    features, given = np.vstack([features, features[:1]]), [*given, (given[0] + 1) % 10]
    return tmp_path_factory.mktemp("digits"), features, np.array(given), {*wrong.tolist(), 300}


@pytest.fixture(scope="module")
def looked(repository, digits):
    """The results for the digits, in half precision with ids and texts."""
    folder, features, given, _ = digits
    np.savez(
        folder / "digits.npz",
        features=features.astype(np.float16),
        labels=given,
        id=np.array([f"00{k}" for k in range(301)]),
        text=np.array([f'=digit "{k}",\n and {"more " * 100}' for k in range(301)]),
    )
    suspects(repository, folder / "digits.npz", name="digits")
    return results_of(repository, "digits")


def test_planted_errors_come_first_with_their_ids_and_texts(looked, digits):
    """The list would send the user to the wrong rows."""
    *_, given, wrong = digits
    frame = pd.read_csv(looked / "suspects/own/suspects.csv", dtype={"id": str})
    assert len(frame) == 301 and frame["index"].is_unique
    assert frame["index"].isin(wrong).head(20).sum() >= PLANTED - 2
    assert (frame["id"] == [f"00{k}" for k in frame["index"]]).all()
    assert (frame["given_label"] == given[frame["index"]]).all()
    assert frame["text"].str.len().eq(201).all() and frame["text"].str.startswith("'=").all()
    assert all(f'digit "{k}", and more' in text for k, text in frame[["index", "text"]].to_numpy())


def test_a_copy_under_another_label_is_listed(looked):
    """The surest label error would have to be looked for."""
    table = pd.read_csv(looked / "copies/own.csv", dtype={"id": str})
    assert table["id"].tolist() == ["000", "00300"] and table["labels_differ"].all()
    assert table["exact"].all()


def test_the_page_shows_what_there_is_instead_of_pictures(looked):
    """A user would decide on numbers of rows alone."""
    page = (looked / "suspects/own/suspects.html").read_text("utf-8")
    rows = json.loads(re.search(r'id="rows">(.*?)</script>', page, flags=re.DOTALL)[1])
    assert rows["names"] == ["id", "text"] and rows["keys"] == ["id"] and rows["pictured"] == []
    assert rows["shown"]["text"][0].startswith("=digit ")
    summary = json.loads((looked / "suspects/own/summary.json").read_text("utf-8"))
    assert summary["examples"] == 301 and "skipped" not in summary


def test_nothing_of_images_is_made_or_fetched(looked):
    """Weights of 45 MB would be fetched for features that need none."""
    assert not (looked / "backbones").exists() and not (looked / "figures").exists()
    record = json.loads((looked / "datasets/own.json").read_text("utf-8"))
    assert record["features"] == 64 and record["scale"] == "rms"


def test_a_second_look_has_nothing_to_do_and_new_labels_have(looked, repository, digits):
    """Corrected labels would show their old errors, or work be repeated."""
    folder, features, given, _ = digits
    path, again = folder / "digits.npz", ("--dry-run",)
    assert "Nothing to be done" in suspects(repository, path, name="digits", arguments=again).stdout
    before, times = path.read_bytes(), path.stat()
    np.savez(path, features=features, labels=np.roll(given, 1))
    planned = suspects(repository, path, name="digits", arguments=again).stdout
    path.write_bytes(before)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    for rule in ("features", "head", "copies", "suspicious_labels"):
        assert f"\n{rule} " in planned, rule


def test_corrections_name_examples_by_their_ids(looked, repository, digits, tmp_path):
    """Labels of data without files could not be corrected, or features be read again."""
    folder, *_, given, _ = digits
    frame = pd.read_csv(looked / "suspects/own/suspects.csv", dtype=str)
    kept, changed, removed = frame["id"][frame["suggested_label"] != frame["given_label"]][:3]
    new = frame.set_index("id").loc[changed, "suggested_label"]
    file = tmp_path / "corrections.csv"
    file.write_text(
        f"id,decision,new_label\n{kept},keep,\n{changed},relabel,{new}\n{removed},remove,\n",
        "utf-8",
    )
    done = suspects(repository, folder / "digits.npz", name="digits", corrections=file)
    assert "(Rule: corrected_labels)" in done.stdout and "(Rule: features)" not in done.stdout
    again = pd.read_csv(looked / "suspects/own/suspects.csv", dtype=str).set_index("id")
    assert removed not in again.index and again.index[-1] == kept and len(again) == 300
    assert again.loc[changed, "given_label"] == new
    assert again.loc[changed, "original_label"] == str(given[int(changed)])


def test_with_a_split_the_whole_chain_but_images_is_planned(looked, repository, digits):
    """Certificates for features would not be reachable, or ask for foreign images."""
    folder, features, given, _ = digits
    path = folder / "split.csv"
    frame = pd.DataFrame(features, columns=[f"pixel {k}" for k in range(64)])
    split = np.where(np.arange(301) % 2, "train", "test")
    frame.assign(label=given, split=split).to_csv(path, index=False)
    done = suspects(
        repository, path, name="split", target="all", arguments=("--dry-run",), n_train=100
    )
    for rule in ("certificates", "audit", "detectors", "fig4_frontier", "suspicious_labels"):
        assert f"\n{rule} " in done.stdout, rule
    for rule in ("ood", "fig3_ood", "gallery", "noisy_gallery", "activations", "backbone"):
        assert f"\n{rule} " not in done.stdout, rule
    assert "own__margin" in done.stdout and "own__size_32" not in done.stdout


def test_corrections_are_refused_where_a_split_makes_certificates(repository, digits, tmp_path):
    """Certificates would be of other labels than those that the data have."""
    (tmp_path / "c.csv").write_text("id,decision\n", "utf-8")
    _, features, given, _ = digits
    frame = pd.DataFrame(features[:, :9], columns=list("abcdefghi"))
    frame.assign(label=given, split=["train", "train", "test"] * 100 + ["test"]).to_csv(
        tmp_path / "s.csv", index=False
    )
    done = suspects(
        repository, tmp_path / "s.csv", name="both", corrections=tmp_path / "c.csv", check=False
    )
    assert "corrections: certificates are of the data as they are" in done.stdout


def test_a_list_of_images_is_looked_through(repository, digits, tmp_path):
    """Whoever has a table of images would have to build folders first."""
    _, features, given, _ = digits
    for k in range(60):
        image = Image.fromarray((features[k] * 15.9).astype(np.uint8).reshape(8, 8))
        image.save(tmp_path / f"{k}.png")
    paths = [f"{k}.png" for k in range(60)]
    frame = pd.DataFrame({"path": [*paths, "gone.png"], "label": [*given[:60], 0]})
    frame.to_csv(tmp_path / "list.csv", index=False)
    suspects(
        repository,
        tmp_path / "list.csv",
        name="list",
        backbone="untrained",
        image_size=32,
    )
    results = results_of(repository, "list")
    found = pd.read_csv(results / "suspects/own/suspects.csv")
    assert sorted(found["path"]) == sorted(paths)
    assert (found["path"] == [f"{k}.png" for k in found["index"]]).all()
    skipped = pd.read_csv(results / "datasets/own.skipped.csv")
    assert skipped["path"].tolist() == ["gone.png"]
    quality = pd.read_csv(results / "datasets/own.quality.csv")
    assert quality["path"].tolist() == paths and (quality["width"] == 8).all()
    assert "picture" in found
    assert (results / "figures/gallery_own.svg").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,label\n1,x\n,y\n3,x\n", "features are missing or not finite in 1 row: 1"),
        ("a,b\n1,x\n2,y\n", "own.dataset.path: "),
    ],
)
def test_a_file_that_cannot_be_used_ends_in_one_clear_line(repository, tmp_path, text, message):
    """A newcomer would read a traceback, or wait for the costly part first."""
    (tmp_path / "x.csv").write_text(text, "utf-8")
    done = suspects(repository, tmp_path / "x.csv", name=f"wrong {len(text)}", check=False)
    assert done.returncode == 1 and message in done.stdout
    assert "Traceback" not in done.stdout and "Fine-tune the last layer" not in done.stdout
