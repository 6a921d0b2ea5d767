"""Properties that the results of every run must have; `check_results` runs these tests."""

import os
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from wtrak.certificates.catalogue import CERTIFICATES, of_metric
from wtrak.job.io import load_arrays, read_csv, read_json
from wtrak.labels.catalogue import RANKINGS
from wtrak.reporting.claims import NO_VERDICT, NOT_RUN, VERDICTS

pytestmark = [] if "WTRAK_RESULTS" in os.environ else pytest.mark.slow


def experiments(results):
    """Folders of experiments with scores, without their variations."""
    folders = sorted((results / "experiments").glob("*/scores.safetensors"))
    return [path.parent for path in folders if "__" not in path.parent.name]


def noisy(results):
    """Folders of experiments on wrong labels."""
    return [path.parent for path in sorted((results / "label_noise").glob("*/*/detection.csv"))]


def test_something_is_checked(results):
    """Every test below would pass on an empty folder."""
    assert experiments(results) and noisy(results)


def test_self_influences_are_leverages(results):
    """A wrong Q, or self-influences of other points: each is in 0 to n, their mean is known."""
    for folder in experiments(results):
        spectrum, scores = (
            read_json(folder / "spectrum.json"),
            load_arrays(folder / "scores.safetensors"),
        )
        si = scores["self_influence_train"]
        assert len(si) == spectrum["n_train"] == len(np.unique(scores["train_index"]))
        assert si.min() >= 0 and si.max() <= len(si)
        assert si.mean() == pytest.approx(spectrum["effective_dimension"], rel=1e-6)
        for name, values in scores.items():
            assert np.isfinite(values).all(), f"{folder.name}: {name}"


def test_eigenvalues_are_at_least_the_ridge(results):
    """κ would be of a matrix without its ridge."""
    for folder in experiments(results):
        ridge = read_json(folder / "spectrum.json")["ridge"]
        for _, part in read_csv(folder / "spectrum.csv").groupby("space"):
            values = part.sort_values("rank")["eigenvalue"].to_numpy()
            assert (np.diff(values) <= 0).all() and values.min() >= ridge * (1 - 1e-9)


def test_frontiers_fall_and_are_shares(results):
    """A larger ball would certify more pairs, or more than all."""
    for folder in experiments(results):
        for _, part in read_csv(folder / "frontier.csv").groupby("metric"):
            assert part["share"].between(0, 1).all()
            assert part.sort_values("epsilon")["share"].is_monotonic_decreasing
        removed = read_csv(folder / "deletions.csv").set_index(["kind", "removals"])["share"]
        assert (removed["proved"] <= removed["attack"]).all()


def test_no_attack_breaks_a_corrected_certificate(results):
    """A certificate that is offered as valid would not be."""
    for folder in experiments(results):
        audit = read_csv(folder / "audit.csv")
        for name in of_metric("natural"):
            if CERTIFICATES["natural", name].proved:
                assert (audit[name] <= audit["attack"]).all(), (folder.name, name)
        exact = read_csv(folder / "lipschitz_tightness.csv")
        assert (exact["exact"] <= exact["paper"] * (1 + 1e-9)).all(), folder.name


def test_detection_is_measured_in_range(results):
    """An AUROC beyond 1, or of nothing, would be averaged into the table."""
    for folder in noisy(results):
        table = read_csv(folder / "detection.csv")
        measures = table[["auroc", "average_precision", "recall_5", "recall_10", "recall_20"]]
        assert measures.notna().all().all(), folder
        assert ((measures >= 0) & (measures <= 1)).all().all(), folder
        rising = table[["recall_5", "recall_10", "recall_20"]].diff(axis=1).iloc[:, 1:]
        assert (rising >= 0).all().all(), folder


def test_lists_hold_every_training_image_once(results):
    """An image would be missing from the list that somebody cleans data by."""
    for path in sorted((results / "suspects").glob("*/suspects.csv")):
        table = read_csv(path)
        assert list(table["rank"]) == list(range(1, len(table) + 1))
        name = "index" if "index" in table else "path"
        assert table[name].is_unique
        # A head that is not at its optimum has no self-influence.
        scores = [name for name in RANKINGS if name in table]
        assert {"loss", "out_of_fold_loss"} <= set(scores) and table[scores].notna().all().all()
        probabilities = table[["p_given", "p_suggested"]]
        assert ((probabilities >= 0) & (probabilities <= 1)).all().all()
        assert (table["p_given"] <= table["p_suggested"]).all()
        same = table["given_label"] == table["suggested_label"]
        assert (table["p_given"] == table["p_suggested"])[same].all()
        assert not table.loc[same, "flagged"].any()


def test_counts_by_class_and_pair_add_up_to_the_list(results):
    """A class would hide errors that the list shows."""
    for path in sorted((results / "suspects").glob("*/suspects.csv")):
        table, estimates = read_csv(path), read_csv(path.parent / "estimates.csv")
        classes, pairs = (read_csv(path.parent / f"by_{name}.csv") for name in ("class", "pair"))
        assert classes["examples"].sum() == len(table)
        assert classes["flagged"].sum() == pairs["flagged"].sum() == table["flagged"].sum()
        errors = estimates[estimates["quantity"] == "errors"]["value"].item()
        assert np.isclose(classes["errors"].sum(), errors)
        assert np.isclose(pairs["errors"].sum(), errors)
        shares = estimates[estimates["quantity"] == "precision"][["low", "value", "high"]]
        assert ((shares >= 0) & (shares <= 1)).all().all()
        assert (shares.diff(axis=1).iloc[:, 1:] >= 0).all().all()


def test_removal_curves_start_from_all_points(results):
    """A curve would be of another head or network than the one that lost its points."""
    for path in sorted((results / "removal").glob("*/curves.csv")):
        curves = read_csv(path)
        assert (curves["arm"] == "none").sum() == curves["seed"].nunique()
        assert curves["accuracy"].between(0, 1).all() and (curves["loss"] > 0).all()


def test_datamodeling_scores_are_correlations(results):
    """Attributions would do better than a perfect prediction, beyond its interval, or not."""
    table = read_csv(results / "retraining" / "datamodels.csv")
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
    scores = table[table["quantity"] == "lds"]
    assert scores[["value", "low", "high"]].apply(lambda c: c.between(-1, 1)).all(axis=None)
    ceiling = scores[scores["method"] == "ceiling"]
    if len(ceiling):
        assert scores["value"].max() <= ceiling["high"].item()


def test_remainders_of_the_corrected_kernel_are_of_second_order(results):
    """The kernel that is offered as complete would be no more so than the paper's."""
    table = read_csv(results / "tables" / "convex_table.csv")
    slopes = table[table["quantity"] == "slope"].pivot_table(
        index="task", columns="kernel", values="value"
    )
    assert (slopes["corrected"] > 1.7).all() and (slopes["hessian_only"] < 1.3).all()
    left = table[table["quantity"] == "left_domain"]
    assert (left["value"] == 0).all()


def test_claims_are_decided(results):
    """The ledger would have a hole."""
    ledger = read_csv(results / "tables" / "claims.csv")
    assert ledger["verdict"].isin(VERDICTS).all() and ledger["id"].is_unique
    assert ledger["value"].notna().sum() > 35
    decided = ledger[~ledger["verdict"].isin([NOT_RUN, NO_VERDICT])]
    assert decided["value"].notna().all()
    # A smoke test judges nobody, and any other run judges everything that it has a number for.
    assert (ledger["verdict"] == NO_VERDICT).mean() in (0, 1)


def test_tables_show_numbers(results):
    """A reader would find nan in a cell."""
    for path in sorted((results / "tables").glob("*.md")):
        cells = {
            cell.strip().lower()
            for line in path.read_text("utf-8").splitlines()
            if line.startswith("|")
            for cell in line.strip("|").split("|")
        }
        assert cells and not cells & {"nan", "inf", "-inf", "nan ± nan"}, path.name


def test_figures_are_whole(results):
    """A figure would be cut off in the middle."""
    figures = sorted((results / "figures").glob("*.svg"))
    assert figures
    for path in figures:
        assert ET.parse(path).getroot().tag.endswith("svg")
        assert path.with_suffix(".pdf").read_bytes().rstrip().endswith(b"%%EOF")


# In points: two columns of a page and what may stand out beside them. Five panels need more.
WIDEST, WIDE_FIGURES = 590, {"assumptions_figure": 810}


def test_no_figure_is_widened_by_its_legend(results):
    """Long labels would push the panels together, to a smaller scale than that of other figures."""
    for path in (results / "figures").glob("*.svg"):
        width = float(ET.parse(path).getroot().get("width").removesuffix("pt"))
        assert width <= WIDE_FIGURES.get(path.stem, WIDEST), path.name


def test_provenance_is_complete(results):
    """Nobody could say which data, code and machine a number comes from."""
    record = read_json(results / "provenance.json")
    for key in ("config", "inputs", "jobs", "versions"):
        assert record[key], key
    for name, job in record["jobs"].items():
        assert job["seconds"] > 0, name
    hashes = [found for found in record["inputs"] if "content_sha256" in found]
    assert hashes and all(len(found["content_sha256"]) == 64 for found in hashes)
