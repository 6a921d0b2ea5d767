"""Arms of removal: their names, and how much faster one raises the test loss than another."""

import numpy as np

# What a figure or table calls each order in which training points are removed.
ARMS = {
    "helpful": "most helpful, Σₜτ",
    "harmful": "most harmful, −Σₜτ",
    "magnitude": "largest Σₜ|τ|",
    "certified": "certified Σₜ|τ|",
    "self_influence": "self-influence",
    "loss": "loss",
    "random": "random",
    "balanced": "random, by class",
}


def times_faster(shares, losses, random_losses, start):
    """How many times faster the test loss rises than under random removal, in three readings.

    Parameters
    ----------
    shares : numpy.ndarray, shape (K,)
        In rising order.
    losses, random_losses : numpy.ndarray, shape (K,)
        Mean test losses at these shares.
    start : float
        Test loss without removal.

    Returns
    -------
    dict
        ``at``: for each share the ratio of the rises; ``area``: ratio of the areas below the rises;
        ``largest``: the largest of the first. NaN where random removal does not raise the loss.
    """
    rise, random = np.asarray(losses) - start, np.asarray(random_losses) - start
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(random > 0, rise / random, np.nan)
    edges = np.append(0.0, shares)
    area, random_area = (np.trapezoid(np.append(0.0, values), edges) for values in (rise, random))
    return {
        "at": at,
        "area": area / random_area if random_area > 0 else np.nan,
        "largest": np.nanmax(at) if np.isfinite(at).any() else np.nan,
    }
