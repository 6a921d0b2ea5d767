"""What is known of a pair's order after the removal of any set of training points."""

import numpy as np

from wtrak.certificates.pairs import (
    gap_without,
    harmful_order,
    removal_bound,
    survives_removal,
)


def removal_verdicts(gap, x, y, slack, bounds, cross):
    """Whether removals of at most m training points turn or tie a pair, for several m.

    Parameters
    ----------
    gap : float
        Δ; 0 has no order to keep.
    x, y : numpy.ndarray, shape (n,)
        a·ψ_k and c·ψ_k, as in `certificates.pairs`.
    slack : numpy.ndarray, shape (n,)
        D_k = n − SI_k.
    bounds : dict of int to numpy.ndarray, shape (n,)
        For each m, `cross_leverage.row_bounds` for sets of m points; that of m = 1 is not used.
    cross : callable
        Maps rows to their inner products ψ_k·ψ_l, shape (rows, rows).

    Returns
    -------
    dict of int to str
        ``holds`` if `removal_bound` proves that no such removal turns or ties the pair, ``turns``
        if one of the sets of `harmful_order` does, ``undecided`` otherwise. For m = 1 every removal
        is looked at: never undecided.
    """
    if gap == 0:
        return dict.fromkeys(bounds, "turns")
    rows, _ = harmful_order(gap, x, y, slack, max(bounds))
    inner = cross(rows)

    def turned_without(count):
        k = rows[:count]
        return np.sign(gap) * gap_without(gap, x[k], y[k], slack[k], inner[:count, :count]) <= 0

    turning = next((m for m in range(1, len(rows) + 1) if turned_without(m)), np.inf)
    verdicts = {}
    for m, of_size in bounds.items():
        if m == 1:
            verdicts[m] = "holds" if survives_removal(gap, x, y, slack) else "turns"
        elif m >= turning:
            verdicts[m] = "turns"
        elif abs(gap) > removal_bound(gap, x, y, slack, of_size, m):
            verdicts[m] = "holds"
        else:
            verdicts[m] = "undecided"
    # What holds for sets of m points holds for smaller ones, even where their bound is looser.
    held = max((m for m, verdict in verdicts.items() if verdict == "holds"), default=0)
    return {m: "holds" if m <= held else verdict for m, verdict in verdicts.items()}
