"""Training labels of a dataset as jobs use them: the given ones, or corrected ones."""

from dataclasses import dataclass

import numpy as np

from wtrak.job.io import load_arrays, save_arrays
from wtrak.labels.corrections import DECISIONS


@dataclass(frozen=True)
class TrainingLabels:
    """Labels of all training examples of a dataset.

    Attributes
    ----------
    given : numpy.ndarray, shape (n,), int64
        Labels as they come.
    labels : numpy.ndarray, shape (n,), int64
        Labels after corrections.
    decisions : numpy.ndarray, shape (n,), object, or None
        What a person decided for each example, as in `corrections.DECISIONS`. None without
        corrections.
    """

    given: np.ndarray
    labels: np.ndarray
    decisions: np.ndarray = None

    @property
    def kept(self):
        """Whether each example is used, shape (n,), bool."""
        if self.decisions is None:
            return np.ones(len(self.labels), bool)
        return self.decisions != "remove"


def save_corrected(path, corrected):
    """Write a `corrections.Corrected` to a file for `load_training_labels`."""
    numbers = {name: number for number, name in enumerate(DECISIONS)}
    decisions = np.array([numbers[name] for name in corrected.decisions], np.uint8)
    save_arrays(path, {"labels": corrected.labels, "decisions": decisions})


def load_training_labels(dataset, corrections):
    """Training labels of a dataset.

    Parameters
    ----------
    dataset : path
        File of the dataset.
    corrections : list of path
        The file of `save_corrected`, or nothing.

    Returns
    -------
    TrainingLabels
    """
    given = load_arrays(dataset, ["train_labels"])["train_labels"].astype(np.int64)
    if not corrections:
        return TrainingLabels(given, given)
    arrays = load_arrays(corrections[0], ["labels", "decisions"])
    decisions = np.array(DECISIONS, dtype=object)[arrays["decisions"]]
    return TrainingLabels(given, arrays["labels"], decisions)
