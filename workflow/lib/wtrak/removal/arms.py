"""Compare how fast the test loss rises under different orders of removal."""

import numpy as np
import pandas as pd

from wtrak.removal.catalogue import ARMS
from wtrak.reporting.cells import with_ends


def times_faster(shares, rises, random_rises):
    """How many times faster the test loss rises than under random removal, by three measures.

    Parameters
    ----------
    shares : numpy.ndarray, shape (K,)
        In rising order.
    rises, random_rises : numpy.ndarray, shape (..., K)
        Rise of the mean test loss at these shares, compared with no removal.

    Returns
    -------
    dict of str to numpy.ndarray
        ``at``, shape (..., K): ratio of the rises at each share. ``area``, shape (...): ratio of
        the areas below both curves. ``largest``, shape (...): largest ratio over the shares. NaN
        where random removal does not raise the loss.
    """
    edges = np.append(0.0, shares)

    def ratio(value, reference):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(reference > 0, value / reference, np.nan)

    def area(rise):
        start = np.zeros((*rise.shape[:-1], 1))
        return np.trapezoid(np.concatenate([start, rise], axis=-1), edges, axis=-1)

    at = ratio(rises, random_rises)
    largest = np.max(np.where(np.isnan(at), -np.inf, at), axis=-1)
    return {
        "at": at,
        "area": ratio(area(rises), area(random_rises)),
        "largest": np.where(np.isfinite(largest), largest, np.nan),
    }


def times_faster_over_seeds(curves, resamples=2000):
    """`times_faster` with 95 % bootstrap intervals over seeds.

    The upper end is infinite if random removal does not raise the loss in one of forty resamples or
    more, because the ratio may then be arbitrarily large.

    Parameters
    ----------
    curves : pandas.DataFrame
        Columns seed, arm, share and loss, one row for each fit. Arm ``none`` removes nothing.

    Returns
    -------
    pandas.DataFrame
        Columns arm, reading, value, low and high. A reading is a measure: ``at SHARE %``,
        ``areas`` or ``largest``. The value is NaN if random removal does not raise the loss.
    """
    wide = curves.pivot_table(index="seed", columns=["arm", "share"], values="loss")
    draws = np.random.default_rng(0).integers(len(wide), size=(resamples, len(wide)))

    def rises(arm):
        """Shares of an arm, and rises averaged over all seeds (row 0) and over each resample."""
        by_seed = wide[arm].sort_index(axis=1).sub(wide["none"].iloc[:, 0], axis=0)
        values = by_seed.to_numpy()
        means = np.vstack([values.mean(axis=0), values[draws].mean(axis=1)])
        return by_seed.columns.to_numpy(), means

    shares, random = rises("random")
    rows = []
    for arm in ARMS:
        if arm == "random":
            continue
        ratios = times_faster(shares, rises(arm)[1], random)
        readings = dict(
            zip((f"at {100 * share:g} %" for share in shares), ratios["at"].T, strict=True)
        )
        readings |= {"areas": ratios["area"], "largest": ratios["largest"]}
        for reading, values in readings.items():
            resampled = np.where(np.isnan(values[1:]), np.inf, values[1:])
            low, high = np.quantile(resampled, [0.025, 0.975], method="nearest")
            row = {"arm": arm, "reading": reading, "value": values[0], "low": low, "high": high}
            rows.append(row)
    return pd.DataFrame(rows)


def faster_rows(faster):
    """Yield the output of `times_faster_over_seeds` as cells, one row for each arm."""
    for arm, group in faster.groupby("arm", sort=False):
        cells = {
            row.reading: with_ends(row.value, row.low, row.high, "ratio")
            for row in group.itertuples()
        }
        yield {"removed first": ARMS[arm].title} | cells
