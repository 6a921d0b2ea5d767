"""Every score by which wrong labels may be found: its name, title and look.

A detector is added here and computed in `detectors.all_detectors`; tables and figures follow.
"""

from dataclasses import dataclass

from wtrak.reporting.palette import EXPERIMENTS, NATURAL, NEUTRAL


@dataclass(frozen=True)
class Detector:
    """What tables and figures say of a score, which is higher the more suspicious a label is.

    Attributes
    ----------
    title : str
        In tables and legends.
    about : str
        What it measures, in a sentence without its subject.
    style : tuple of (colour, marker, line style), optional
        In the figure of heads that under- and overfit; without one it is not drawn there.
    curve : tuple of (colour, line style), optional
        In figure 5; without one it is not drawn there.
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
        "the same with the Hessian of the loss in the place of the gradients' covariance",
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
    "margin": Detector("margin", "largest other logit less that of the given label"),
    "leave_one_out_loss": Detector(
        "loss, leave-one-out",
        "loss of a head without the example, by one Newton step",
        (EXPERIMENTS[2], "^", "--"),
    ),
    "out_of_fold_loss": Detector(
        "loss, out-of-fold",
        "loss of a head that has not seen the example's fold",
        (EXPERIMENTS[1], "D", "--"),
    ),
    "confident_learning": Detector(
        "confident learning",
        "cleanlab's ranking of label errors, from the same heads",
        (EXPERIMENTS[5], "v", "--"),
    ),
    "leverage": Detector(
        "label-free leverage", "leverage of the activations, which knows no label"
    ),
    "random": Detector("random", "for comparison", None, (NEUTRAL, ":")),
}
# Scores by which a list of suspicious labels may be ranked.
RANKINGS = ("self_influence", "loss", "out_of_fold_loss")
