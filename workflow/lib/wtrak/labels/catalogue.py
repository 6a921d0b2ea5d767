"""The detectors of wrong labels: name, title and style of each score.

To add a detector, add it here and compute it in `detectors.all_detectors`. Tables and figures then
include it.
"""

from dataclasses import dataclass

from wtrak.reporting.palette import EXPERIMENTS, NATURAL, NEUTRAL


@dataclass(frozen=True)
class Detector:
    """How tables and figures present a score. Higher scores are more suspicious.

    Attributes
    ----------
    title : str
        Name in tables and legends.
    about : str
        Short description of what it measures.
    style : tuple of (colour, marker, line style), optional
        Style in the figure of heads that under- and overfit, which omits detectors without one.
    curve : tuple of (colour, line style), optional
        Style in figure 5, which omits detectors without one.
    """

    title: str
    about: str
    style: tuple = None
    curve: tuple = None


DETECTORS = {
    "self_influence": Detector(
        "self-influence",
        "squared length of the example's gradient in the natural metric",
        (EXPERIMENTS[0], "o", "-"),
        (NATURAL, "-"),
    ),
    "hessian_influence": Detector(
        "self-influence, Hessian",
        "self-influence with the Hessian of the loss instead of the covariance of gradients",
        (EXPERIMENTS[4], "s", "-"),
    ),
    "tracin": Detector(
        "TracIn over epochs",
        "squared length of the gradient, summed over epochs of training",
        (EXPERIMENTS[3], "P", "-"),
    ),
    "loss": Detector(
        "loss", "cross-entropy at the given label", ("black", "x", ":"), ("black", "--")
    ),
    "el2n": Detector("EL2N, ‖e‖", "length of the vector of residuals"),
    "gradient_norm": Detector("gradient norm, ‖e‖‖h‖", "length of the gradient"),
    "margin": Detector(
        "margin", "largest logit of another class minus the logit of the given label"
    ),
    "leave_one_out_loss": Detector(
        "loss, leave-one-out",
        "loss of the head refitted without the example, by one Newton step",
        (EXPERIMENTS[2], "^", "--"),
    ),
    "out_of_fold_loss": Detector(
        "loss, out-of-fold",
        "loss of a head that has not seen the example's fold",
        (EXPERIMENTS[1], "D", "--"),
    ),
    "confident_learning": Detector(
        "confident learning",
        "cleanlab's ranking of label errors, from the out-of-fold heads",
        (EXPERIMENTS[5], "v", "--"),
    ),
    "leverage": Detector(
        "label-free leverage", "leverage of the activations, which does not use labels"
    ),
    "random": Detector("random", "random numbers, for comparison", None, (NEUTRAL, ":")),
}
# Scores that may rank a list of suspicious labels.
RANKINGS = ("self_influence", "loss", "out_of_fold_loss")
