"""Orders of remainders from their slopes on logarithmic axes."""

import numpy as np


def slopes_of(remainders):
    """Slope of log remainder against log step of each triple, by least squares, shape (triples,).

    Parameters
    ----------
    remainders : pandas.DataFrame
        Columns triple, step and remainder, of one kernel. A remainder of exactly 0 is left out.
    """
    out = []
    for _, part in remainders[remainders["remainder"] > 0].groupby("triple"):
        if len(part) > 1:
            out.append(np.polyfit(np.log(part["step"]), np.log(part["remainder"]), 1)[0])
    return np.array(out)


def derivative_error(remainders):
    """Error of one kernel as derivative: root mean square, over that of the derivative."""
    one = remainders.drop_duplicates("triple")
    difference = one["sensitivity"] - one["derivative"]
    return float(np.sqrt((difference**2).sum() / (one["derivative"] ** 2).sum()))
