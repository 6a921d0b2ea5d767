"""Draw removal curves."""

import numpy as np

from wtrak.removal.catalogue import ARMS
from wtrak.reporting.intervals import mean_with_interval


def draw_curves(axis, curves, metric, scale):
    """Draw the mean over fits against the removed share, with 95 % bands.

    Parameters
    ----------
    curves : pandas.DataFrame
        Columns arm, share and `metric`, one row for each fit. Arm ``none`` removes nothing.
    scale : float
        Factor for the values, as 100 for percent.
    """
    start = scale * mean_with_interval(curves.loc[curves["arm"] == "none", metric])[0]
    means = scale * curves.groupby(["arm", "share"])[metric].mean()
    room = 0.15 * (means.max() - means.min())
    for name, arm in ARMS.items():
        part = curves[curves["arm"] == name]
        groups = list(part.groupby("share"))
        summary = scale * np.array([mean_with_interval(group[metric]) for _, group in groups])
        shares = np.array([0.0, *(100 * share for share, _ in groups)])
        mean = np.append(start, summary[:, 0])
        half = np.append(0.0, np.nan_to_num(summary[:, 1]))
        style = {"color": arm.color, "linestyle": arm.line, "marker": arm.marker}
        axis.plot(shares, mean, markersize=3, label=arm.title, **style)
        band = {"color": arm.color, "alpha": 0.15, "linewidth": 0}
        axis.fill_between(shares, mean - half, mean + half, **band)
    # Bands over few fits may reach far beyond the curves.
    axis.set_ylim(means.min() - room, means.max() + room)
    axis.set_xlabel("removed (%)")
