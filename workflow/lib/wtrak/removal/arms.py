"""How much faster one order of removal raises the test loss than another."""

import numpy as np
import pandas as pd

from wtrak.removal.catalogue import ARMS
from wtrak.reporting.cells import with_ends


def times_faster(shares, rises, random_rises):
    """How many times faster the test loss rises than under random removal, in three readings.

    Parameters
    ----------
    shares : numpy.ndarray, shape (K,)
        In rising order.
    rises, random_rises : numpy.ndarray, shape (..., K)
        Of the mean test loss at these shares over that without removal.

    Returns
    -------
    dict of str to numpy.ndarray
        ``at``, shape (..., K): for each share the ratio of the rises; ``area``, shape (...): ratio
        of the areas below the rises; ``largest``, shape (...): the largest of the first. NaN where
        random removal does not raise the loss.
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

    Where random removal fails to raise the loss in one of forty resamples, the upper end is
    infinite: the ratio is not known to be finite.

    Parameters
    ----------
    curves : pandas.DataFrame
        Columns seed, arm, share and loss, one row a fit; arm ``none`` is the fit to all.

    Returns
    -------
    pandas.DataFrame
        Columns arm, reading, value, low and high; the value is NaN where random removal does not
        raise the loss. Readings are ``at SHARE %``, ``areas`` and ``largest``.
    """
    wide = curves.pivot_table(index="seed", columns=["arm", "share"], values="loss")
    draws = np.random.default_rng(0).integers(len(wide), size=(resamples, len(wide)))

    def rises(arm):
        """Of the mean over all seeds, and over those of each resample."""
        of = wide[arm].sort_index(axis=1).sub(wide["none"].iloc[:, 0], axis=0)
        values = of.to_numpy()
        return of.columns.to_numpy(), np.vstack([values.mean(axis=0), values[draws].mean(axis=1)])

    shares, random = rises("random")
    rows = []
    for arm in ARMS:
        if arm == "random":
            continue
        found = times_faster(shares, rises(arm)[1], random)
        readings = dict(
            zip((f"at {100 * share:g} %" for share in shares), found["at"].T, strict=True)
        )
        readings |= {"areas": found["area"], "largest": found["largest"]}
        for reading, values in readings.items():
            resampled = np.where(np.isnan(values[1:]), np.inf, values[1:])
            low, high = np.quantile(resampled, [0.025, 0.975], method="nearest")
            row = {"arm": arm, "reading": reading, "value": values[0], "low": low, "high": high}
            rows.append(row)
    return pd.DataFrame(rows)


def faster_rows(faster):
    """`times_faster_over_seeds` as cells, one row an arm."""
    for arm, of in faster.groupby("arm", sort=False):
        cells = {
            row.reading: with_ends(row.value, row.low, row.high, "ratio") for row in of.itertuples()
        }
        yield {"removed first": ARMS[arm].title} | cells
