"""The gradients of one experiment, from the files that its rules wrote."""

from wtrak.gradients import assemble, reduce_to_sum_zero
from wtrak.io import load_arrays, load_metadata


def load_gradients(activations, residuals, factor):
    """Training and test gradients, in the basis that the covariance was factorised in.

    Parameters
    ----------
    activations, residuals, factor : path
        Outputs of the rules activations, residuals and covariance.

    Returns
    -------
    dict of str to Gradients
        For ``train`` and ``test``.
    """
    arrays = load_arrays(residuals)
    features = load_arrays(activations, ["train", "test"])
    reduced = load_metadata(factor)["sum_zero"]
    out = {}
    for split in ("train", "test"):
        g = assemble(features[split], arrays[f"{split}_residuals"], arrays[f"{split}_index"])
        out[split] = reduce_to_sum_zero(g) if reduced else g
    return out
