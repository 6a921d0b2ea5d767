"""The arms: orders in which training points are removed, with name, title and style.

To add an arm, add it here and compute it in `orders.rankings`. Tables and figures then include it.
"""

from dataclasses import dataclass

from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL


@dataclass(frozen=True)
class Arm:
    """How tables and figures present an arm.

    Attributes
    ----------
    title : str
    color, marker, line : str
        Colour, marker and line style for matplotlib.
    control : bool
        Whether it ranks nothing, for comparison.
    """

    title: str
    color: str
    marker: str
    line: str
    control: bool = False


ARMS = {
    "helpful": Arm("most helpful, Σₜτ", EXPERIMENTS[0], "o", "-"),
    "harmful": Arm("most harmful, −Σₜτ", EXPERIMENTS[1], "s", "-"),
    "magnitude": Arm("largest Σₜ|τ|", EXPERIMENTS[2], "^", "-"),
    "certified": Arm("certified Σₜ|τ|", EXPERIMENTS[4], "v", "--"),
    "self_influence": Arm("self-influence", EXPERIMENTS[5], "D", "-"),
    "loss": Arm("loss", EXPERIMENTS[3], "P", "--"),
    "random": Arm("random", NEUTRAL, "x", ":", control=True),
    "balanced": Arm("random, by class", "black", "+", ":", control=True),
}
