"""Checks of the arguments of the public classes."""

import numbers

import numpy as np
import pandas as pd
import torch

from wtrak.errors import InputError


def random_generator(random_state):
    """A numpy.random.Generator; of an older RandomState, one that it seeds."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31, size=4)
    return np.random.default_rng(random_state)


def check_integer(name, value, least, most=None):
    """Refuse what is no integer in a range."""
    too_large = most is not None and isinstance(value, numbers.Integral) and value > most
    if not isinstance(value, numbers.Integral) or value < least or too_large:
        upper = "or more" if most is None else f"to {most}"
        raise InputError(f"{name} is {value!r}, expected an integer, {least} {upper}")


def check_positive(name, value):
    """Refuse what is no finite number above 0."""
    if not isinstance(value, numbers.Real) or not 0 < value < np.inf:
        raise InputError(f"{name} is {value!r}, expected a number above 0")


def usable_device(device):
    """The torch device of a name."""
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device is {device!r}: {error}") from error
    return found


def training_rows(name, rows, m, n):
    """Rows of training examples, shape (m,), from one number for all m or one for each."""
    rows = np.asarray(rows)
    if rows.dtype.kind not in "iu" or rows.shape not in ((), (m,)):
        raise InputError(
            f"{name} has shape {rows.shape} and type {rows.dtype}, expected an integer, or one for "
            f"each of the {m} test examples"
        )
    if rows.min() < 0 or rows.max() >= n:
        raise InputError(f"{name} names a row outside 0 to {n - 1} of the training set")
    return np.broadcast_to(rows.astype(np.int64), (m,))


def class_numbers(y_test, classes, m):
    """Number of each of m labels among the classes, shape (m,)."""
    y = np.asarray(y_test)
    if y.shape != (m,):
        raise InputError(
            f"y_test has shape {y.shape}, expected ({m},): one label for each row of X_test"
        )
    found = pd.Index(classes).get_indexer(y)
    if (found < 0).any():
        raise InputError(
            f"y_test holds {y[found < 0][0]}, which is none of the classes that the training set "
            f"has: {', '.join(map(str, classes))}"
        )
    return found
