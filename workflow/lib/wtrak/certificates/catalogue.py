"""Every certificate of the order of a pair within a Wasserstein ball: its title, look and reach.

A certificate is added here and computed in `radii.RADII`; tables and figures follow.
"""

from dataclasses import dataclass

from wtrak.reporting.palette import EUCLIDEAN, NATURAL, NEUTRAL


@dataclass(frozen=True)
class Certificate:
    """What tables and figures say of a certificate in one metric.

    Attributes
    ----------
    title : str
        In tables and legends, without the metric.
    proved : bool
        Whether no distribution in the ball, however far, turns the pair. Otherwise the certificate
        holds to first order in the radius alone, or is not valid.
    color, line : str
        As matplotlib takes them.
    """

    title: str
    proved: bool
    color: str
    line: str


# By metric and name. The paper caps the self-influence of test points, which no proof covers.
CERTIFICATES = {
    ("euclidean", "paper"): Certificate("paper's intervals", False, EUCLIDEAN, ":"),
    ("euclidean", "tight"): Certificate("tight intervals", False, EUCLIDEAN, "--"),
    ("euclidean", "direct"): Certificate("direct", False, EUCLIDEAN, "-"),
    ("natural", "paper"): Certificate("paper's intervals, capped", False, NEUTRAL, ":"),
    ("natural", "tight"): Certificate("tight intervals", True, NATURAL, "--"),
    ("natural", "direct"): Certificate("direct", True, NATURAL, "-"),
}


def of_metric(metric):
    """The certificates of one metric, as a dict by name."""
    return {name: row for (own, name), row in CERTIFICATES.items() if own == metric}


def full_title(metric, name):
    """A certificate's title with its metric and with what is proved."""
    row = CERTIFICATES[metric, name]
    metric_title = {"euclidean": "Euclidean", "natural": "natural"}[metric]
    return f"{metric_title}, {row.title}{' (proved)' if row.proved else ''}"
