"""How curves of removal look."""

import numpy as np

from wtrak.removal.arms import ARMS
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.plotting import EXPERIMENTS, NEUTRAL

STYLES = {
    "helpful": (EXPERIMENTS[0], "o", "-"),
    "harmful": (EXPERIMENTS[1], "s", "-"),
    "magnitude": (EXPERIMENTS[2], "^", "-"),
    "certified": (EXPERIMENTS[4], "v", "--"),
    "self_influence": (EXPERIMENTS[5], "D", "-"),
    "loss": (EXPERIMENTS[3], "P", "--"),
    "random": (NEUTRAL, "x", ":"),
    "balanced": ("black", "+", ":"),
}


def draw_curves(axis, curves, metric, scale):
    """Mean over fits against the removed share, with 95 % bands.

    Parameters
    ----------
    curves : pandas.DataFrame
        Columns arm, share and `metric`, one row a fit; arm ``none`` is the fit to all.
    scale : float
        Factor of the values, for percent.
    """
    start = scale * mean_with_interval(curves.loc[curves["arm"] == "none", metric])[0]
    means = scale * curves.groupby(["arm", "share"])[metric].mean()
    room = 0.15 * (means.max() - means.min())
    for arm, (color, marker, linestyle) in STYLES.items():
        part = curves[curves["arm"] == arm]
        groups = list(part.groupby("share"))
        summary = scale * np.array([mean_with_interval(of[metric]) for _, of in groups])
        shares = np.array([0.0, *(100 * share for share, _ in groups)])
        mean = np.append(start, summary[:, 0])
        half = np.append(0.0, np.nan_to_num(summary[:, 1]))
        style = {"color": color, "linestyle": linestyle, "marker": marker}
        axis.plot(shares, mean, markersize=3, label=ARMS[arm], **style)
        axis.fill_between(shares, mean - half, mean + half, color=color, alpha=0.15, linewidth=0)
    # Bands of few fits would stretch the scale far beyond the curves.
    axis.set_ylim(means.min() - room, means.max() + room)
    axis.set_xlabel("removed (%)")
