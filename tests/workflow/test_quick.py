"""The newcomer's run, end to end, and the results it leaves."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from conftest import QUICK, REPOSITORY, snakemake
from wtrak.certificates.frontier import certified_shares
from wtrak.certificates.lipschitz import Lipschitz, natural
from wtrak.job.io import load_arrays, read_json

pytestmark = pytest.mark.slow

EXPERIMENTS = ["digits", "digits_half"]
METHODS = ("paper", "tight", "direct")
# Of every script that writes one: a figure or table that is no target would be missed.
SCRIPTS = {
    path.stem: path.read_text("utf-8") for path in (REPOSITORY / "workflow/scripts").glob("*/*.py")
}
TABLES = sorted(name for name, text in SCRIPTS.items() if "write_documents(" in text)
FIGURES = sorted(name for name, text in SCRIPTS.items() if "save_figure(" in text)


@pytest.fixture(scope="module")
def results(finished):
    return finished / "runs" / "quick" / "results"


def test_every_target_is_there(results):
    """A figure or table of docs/targets.md would not be made."""
    assert len(FIGURES) >= 20 and len(TABLES) >= 12
    galleries = [f"{kind}_{name}" for kind in ("gallery", "noisy_gallery") for name in EXPERIMENTS]
    for name in {*FIGURES, *galleries} - {"gallery"}:
        assert (results / "figures" / f"{name}.svg").read_text("utf-8").startswith("<?xml")
        assert (results / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    for suffix in ("csv", "numbers.csv", "md", "tex", "html"):
        for table in TABLES:
            assert (results / "tables" / f"{table}.{suffix}").stat().st_size > 200


def test_second_run_has_nothing_to_do(finished):
    """Unstable parameters would re-run a finished workflow."""
    done = snakemake(finished, *QUICK, "--dry-run")
    assert "Nothing to be done" in done.stdout


def test_no_temporary_files_are_left(results):
    """A killed or careless writer would leave parts that look like results."""
    assert not list(results.rglob("*.part"))
    assert not list(results.rglob("*.shards"))


def test_logs_and_benchmarks_of_every_job(results):
    """A failed job could not be looked into, and wall times would be missing."""
    jobs = read_json(results / "provenance.json")["jobs"]
    for rule in ("head", "residuals", "covariance", "scores", "lipschitz", "frontier"):
        for experiment in EXPERIMENTS:
            assert (results / "logs" / rule / f"{experiment}.log").exists()
            assert jobs[f"{rule}/{experiment}"]["seconds"] > 0


def test_two_jobs_at_once_fit_in_three_gigabytes(results):
    """The newcomer's laptop would run out of memory."""
    jobs = read_json(results / "provenance.json")["jobs"].values()
    peaks = sorted(job["peak_memory_mb"] for job in jobs if "peak_memory_mb" in job)
    assert len(peaks) > 5
    assert sum(peaks[-2:]) < 3000


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_identities_hold_in_the_results(results, experiment):
    """SI above n, or a mean SI other than the effective dimension, means a wrong Q."""
    folder = results / "experiments" / experiment
    spectrum = read_json(folder / "spectrum.json")
    scores = load_arrays(folder / "scores.safetensors")
    si = scores["self_influence_train"]
    assert len(si) == spectrum["n_train"]
    assert si.min() >= 0 and si.max() <= len(si)
    assert si.mean() == pytest.approx(spectrum["effective_dimension"], rel=1e-8)
    assert spectrum["parameters"] == 5130
    assert spectrum["spaces"]["sum_zero"]["dimension"] == 4617
    assert spectrum["spaces"]["full"]["smallest_eigenvalue"] == spectrum["ridge"]
    for name, values in scores.items():
        assert np.isfinite(values).all(), name


def test_subset_rows_carry_their_dataset_index(results):
    """Scores of the smaller experiment would belong to other images."""
    half = load_arrays(results / "experiments" / "digits_half" / "scores.safetensors")
    whole = load_arrays(results / "experiments" / "digits" / "scores.safetensors")
    dataset = load_arrays(results / "datasets" / "digits.safetensors")
    residuals = load_arrays(results / "experiments" / "digits_half" / "residuals.safetensors")
    index = half["train_index"]
    assert len(index) == 700 and len(np.unique(index)) == 700
    np.testing.assert_array_equal(index, residuals["train_index"])
    np.testing.assert_array_equal(residuals["train_labels"], dataset["train_labels"][index])
    np.testing.assert_array_equal(whole["train_index"], np.arange(1437))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_frontier_is_a_frontier(results, experiment):
    """Shares outside 0 to 1, or rising with ε, are miscounted."""
    frontier = pd.read_csv(results / "experiments" / experiment / "frontier.csv")
    for _, part in frontier.groupby("metric"):
        assert len(part) == 25
        assert part["share"].between(0, 1).all()
        assert part["share"].is_monotonic_decreasing
        assert (part["share_p10"] <= part["share_p90"]).all()
    record = read_json(results / "experiments" / experiment / "frontier.json")
    at = record["at_paper_share"]["natural"]
    natural = frontier[frontier["metric"] == "natural"]
    shares = np.interp(np.log(at["epsilon"]), np.log(natural["epsilon"]), natural["share"])
    assert shares == pytest.approx(record["paper_share"], abs=0.02)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_certificates_keep_their_order(results, experiment):
    """A certificate that should certify more certifies less, or a larger ball more."""
    folder = results / "experiments" / experiment
    curve = pd.read_csv(folder / "certificates_curve.csv")
    share = {key: part["share"].to_numpy() for key, part in curve.groupby(["metric", "method"])}
    assert set(share) == {
        *((metric, method) for metric in ("euclidean", "natural") for method in METHODS),
    }
    for values in share.values():
        assert np.all(np.diff(values) <= 0) and values.max() <= 1 and values.min() >= 0
    for metric in ("euclidean", "natural"):
        assert np.all(share[metric, "tight"] <= share[metric, "direct"])
    assert np.all(share["euclidean", "paper"] <= share["euclidean", "tight"])

    removed = pd.read_csv(folder / "deletions.csv").set_index(["kind", "removals"])["share"]
    # One removal is where the first-order effect is the exact one.
    assert removed["exact", 1] == removed["first_order", 1]
    assert removed["replacement", 1] <= removed["exact", 1]
    for kind in ("first_order", "proved", "attack"):
        assert removed[kind].is_monotonic_decreasing
    assert (removed["proved"] <= removed["attack"]).all()


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_audit_breaks_no_proved_certificate(results, experiment):
    """An explicit perturbation inside the ball would turn a pair that is certified against all."""
    audit = pd.read_csv(results / "experiments" / experiment / "audit.csv")
    assert len(audit) > 400
    assert (audit["direct"] <= audit["attack"]).all()
    assert (audit["tight"] <= audit["direct"]).all()
    # An attack that never comes within a factor of three would prove nothing.
    assert (audit["direct"] / audit["attack"]).max() > 1 / 3


def test_every_attack_is_tried_on_every_pair(results):
    """The audit would look thorough and not be."""
    audit = pd.read_csv(results / "experiments" / "digits" / "audit.csv")
    costs = audit[[f"attack_{kind}" for kind in ("move", "spread", "reweighting", "deletion")]]
    assert (costs > 0).all().all()
    assert np.isfinite(costs).mean().gt(0).all()
    np.testing.assert_array_equal(audit["attack"], costs.min(axis=1))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_foreign_inputs_are_further_and_nothing_is_missing(results, experiment):
    """A set of figure 3 would be empty, or be the test images under another name."""
    ood = pd.read_csv(results / "experiments" / experiment / "ood.csv")
    medians = ood.groupby("set")["distance"].median()
    assert set(medians.index) == {"test", "blurred", "inverted", "noise", "measurements"}
    assert (medians.drop("test") > medians["test"]).all()
    assert ood.drop(columns="si_true_label").notna().all().all()
    unlabelled = ood["set"].isin(["noise", "measurements"])
    assert ood.loc[unlabelled, "si_true_label"].isna().all()
    assert ood.loc[~unlabelled, "si_true_label"].notna().all()


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_sweep_holds_the_experiment_itself(results, experiment):
    """The range of readings would not be around the numbers that Table 1 shows."""
    sweep = pd.read_csv(results / "tables" / "assumptions_table.csv")
    sweep = sweep[sweep["experiment"] == experiment].set_index(["variation", "test_label", "ridge"])
    assert len(sweep) == 3 * 2 * 6
    assert sweep.notna().all().all()
    found = sweep.loc[("as configured", "true_label", 1e-4)]
    constants = pd.read_csv(results / "experiments" / experiment / "lipschitz.csv")
    of = constants.set_index(["definition", "aggregate"])["lipschitz"]
    for name, definition in {"natural": "capped", "gradient": "gradient"}.items():
        for aggregate in ("max", "median", "mean"):
            assert found[f"{name}_{aggregate}"] == pytest.approx(
                of[definition, aggregate], rel=1e-4
            )
    spectrum = read_json(results / "experiments" / experiment / "spectrum.json")
    kappa = spectrum["spaces"]["full"]["condition_number"]
    assert found["kappa"] == pytest.approx(kappa, rel=1e-9)
    # At the ε of the paper's share: sampled pairs against all pairs of the same test points.
    scores = load_arrays(results / "experiments" / experiment / "scores.safetensors")
    constants = natural(scores["self_influence_test"], scores["self_influence_train"])
    first = Lipschitz(constants.test[:20], constants.train)
    frontier = read_json(results / "experiments" / experiment / "frontier.json")
    epsilon = frontier["at_paper_share"]["natural"]["epsilon"]
    share = certified_shares(scores["trak_scores"][:20], first, [epsilon]).mean()
    assert found["natural_share"] == pytest.approx(share, abs=4 * np.sqrt(0.25 / 40_000))


def test_realised_amplification_is_below_the_worst_case(results):
    """A unit step would move a score further than Q⁻¹, or the natural metric, lets it."""
    table = pd.read_csv(results / "experiments" / "digits_half" / "amplification.csv")
    assert len(table) == 4617
    assert (table["euclidean_median"] <= 1 / table["eigenvalue"]).all()
    assert (table["natural_median"] <= 1).all()


def test_table_1_holds_the_computed_numbers(results):
    """A number in the table would have been typed, or taken from another experiment."""
    table = pd.read_csv(results / "tables" / "table1_robustness.csv")
    for experiment in EXPERIMENTS:
        constants = pd.read_csv(results / "experiments" / experiment / "lipschitz.csv")
        mine = table[table["experiment"] == experiment]
        for aggregate in ("max", "median", "mean"):
            value = {
                row["quantity"]: row["value"]
                for _, row in mine[mine["aggregate"] == aggregate].iterrows()
                if row["definition"] in ("gradient", "capped")
            }
            expected = constants[constants["aggregate"] == aggregate].set_index("definition")
            assert value["lipschitz_natural"] == expected["lipschitz"]["capped"]
            assert value["lipschitz_euclidean"] == expected["lipschitz"]["gradient"]
            ratio = value["lipschitz_euclidean"] / value["lipschitz_natural"]
            assert value["reduction"] == pytest.approx(ratio, rel=1e-12)
        assert mine["paper_value"].isna().all()


def test_every_page_says_that_quick_numbers_are_not_the_papers(results):
    """Somebody would quote a number of the quick run as a reproduction."""
    for suffix in ("md", "tex", "html"):
        for table in TABLES:
            assert "QUICK RUN" in (results / "tables" / f"{table}.{suffix}").read_text("utf-8")
    assert "QUICK RUN" in json.dumps(read_json(results / "provenance.json"))


def test_publishing_a_quick_run_is_refused(editable):
    """Numbers on embedded data would be shown as the paper's."""
    done = snakemake(editable, *QUICK, "publish", check=False)
    assert done.returncode != 0
    assert "only a run without a notice is published" in done.stdout
    assert not (editable / "runs" / "quick" / "results" / "published" / "figures").exists()


def test_report_is_built_with_every_figure_and_table(editable):
    """The front door would be missing or incomplete."""
    snakemake(editable, *QUICK, "--report", "results/report.html")
    report = (editable / "runs" / "quick" / "results" / "report.html").read_text("utf-8")
    for title in ("Fig. 2", "Fig. 4", "Table 1", "QUICK RUN", "training curves"):
        assert title in report, title
    assert len(report) < 20e6


def test_provenance_names_no_folder_of_this_machine(results, finished):
    """Published files would carry somebody's paths."""
    text = (results / "provenance.json").read_text("utf-8")
    assert str(finished) not in text
    assert not re.search(r'"(/home|/root|/tmp|/Users)', text)
