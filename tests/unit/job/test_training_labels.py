"""Labels that jobs train on: as given, or as a person corrected them."""

import numpy as np
import pytest

from wtrak.job.io import save_arrays
from wtrak.job.training_labels import load_training_labels, save_corrected
from wtrak.labels.corrections import Corrected


@pytest.fixture
def dataset(tmp_path):
    save_arrays(tmp_path / "d", {"train_labels": np.array([3, 1, 2], np.uint16)})
    return tmp_path / "d"


def test_without_corrections_labels_are_those_of_the_data(dataset):
    """Every experiment would need a file of corrections."""
    found = load_training_labels(dataset, [])
    assert found.labels.tolist() == found.given.tolist() == [3, 1, 2]
    assert found.labels.dtype == np.int64
    assert found.decisions is None and found.kept.all()


def test_corrected_labels_come_back(dataset, tmp_path):
    """A removed example would be used, or a decision be taken for another one."""
    decisions = np.array(["remove", "relabel", "keep"], dtype=object)
    save_corrected(tmp_path / "c", Corrected(np.array([3, 0, 2]), decisions))
    found = load_training_labels(dataset, [tmp_path / "c"])
    assert found.labels.tolist() == [3, 0, 2] and found.given.tolist() == [3, 1, 2]
    assert found.decisions.tolist() == decisions.tolist()
    assert found.kept.tolist() == [False, True, True]
