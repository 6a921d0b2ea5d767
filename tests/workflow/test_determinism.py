"""Other threads, batches and blocks give the same numbers up to rounding."""

import numpy as np
import pytest
import yaml

from comparison import differences, differing, files_of, numbers_of
from conftest import QUICK, copy_repository, snakemake

pytestmark = pytest.mark.faults

# Blocks of which none divides the number of rows, and two threads for one.
SETTINGS = {
    "compute": {"block_size": 300},
    "activations": {"batch_size": 17, "shard_size": 102},
    "retraining": {"stack": 3},
}
# What docs/reproducibility.md promises: of the largest number of its kind. Heads stop at a gradient
# norm, and directions with nearly equal eigenvalues mix, so that this is more than rounding itself.
TOLERANCE = 5e-3
# How an optimiser came to the same end, when; and steps of curves, at which the next may be taken.
WAYS = {"step", "y", ".iterations", ".newton_steps", ".gradient_norm"}


# The geometry and the certificates of an experiment, one network, one convex model: small jobs are
# several times as slow on two threads, and all of the quick run would take half an hour.
EXPERIMENT = "results/experiments/digits_half"
TARGETS = [
    *(f"{EXPERIMENT}/{name}.safetensors" for name in ("head", "scores", "cross_leverage")),
    *(f"{EXPERIMENT}/{name}.csv" for name in ("spectrum", "lipschitz", "frontier", "top_k")),
    *(f"{EXPERIMENT}/{name}.csv" for name in ("audit", "amplification", "ood")),
    f"{EXPERIMENT}/lipschitz_tightness.csv",
    "results/retraining/scores/0.safetensors",
    *(
        f"results/convex/diabetes/{name}.csv"
        for name in ("orders", "coverage", "support", "attacks")
    ),
]


@pytest.fixture(scope="module")
def otherwise(finished, tmp_path_factory):
    """Results of a run with other threads, batches and blocks."""
    repository = copy_repository(tmp_path_factory.mktemp("otherwise") / "repository")
    profile = repository / "profiles" / "quick" / "profile.yaml"
    profile.write_text(
        profile.read_text("utf-8").replace("max-threads: 1", "max-threads: 2"), encoding="utf-8"
    )
    (repository / "other.yaml").write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    files = ("--configfile", "profiles/quick/config.yaml", "other.yaml")
    snakemake(repository, *TARGETS, *QUICK, *files)
    return repository / "runs" / "quick" / "results"


def test_numbers_are_the_same_up_to_rounding(finished, otherwise):
    """A result would be that of this machine's number of cores, or of how it was cut in blocks."""
    assert all((otherwise.parent / target).is_file() for target in TARGETS)
    assert differences(finished / "runs/quick/results", otherwise, TOLERANCE, WAYS) == {}


def test_activations_and_convex_models_are_the_same_to_the_byte(finished, otherwise):
    """An image would be seen otherwise beside others, or a small model depend on the machine."""
    results = finished / "runs" / "quick" / "results"
    ours = [name for name in files_of(otherwise) if name.startswith("convex/")]
    assert len(ours) > 3 and not set(ours) & differing(results, otherwise).keys()
    file = "activations/digits/untrained/32.safetensors"
    for name, values in numbers_of(results / file).items():
        assert np.array_equal(values, numbers_of(otherwise / file)[name])


def test_comparison_sees_what_there_is(finished, otherwise):
    """The test before this one would pass whatever the runs hold."""
    results = finished / "runs" / "quick" / "results"
    assert len(differences(results, otherwise, 1e-9, WAYS)) > 20
