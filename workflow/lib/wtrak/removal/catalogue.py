"""Every order in which training points are removed: its name, title and look.

An order is added here and computed in `orders.rankings`; tables and figures follow.
"""

from dataclasses import dataclass

from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL


@dataclass(frozen=True)
class Arm:
    """What tables and figures say of an order.

    Attributes
    ----------
    title : str
    color, marker, line : str
        As matplotlib takes them.
    """

    title: str
    color: str
    marker: str
    line: str


ARMS = {
    "helpful": Arm("most helpful, Σₜτ", EXPERIMENTS[0], "o", "-"),
    "harmful": Arm("most harmful, −Σₜτ", EXPERIMENTS[1], "s", "-"),
    "magnitude": Arm("largest Σₜ|τ|", EXPERIMENTS[2], "^", "-"),
    "certified": Arm("certified Σₜ|τ|", EXPERIMENTS[4], "v", "--"),
    "self_influence": Arm("self-influence", EXPERIMENTS[5], "D", "-"),
    "loss": Arm("loss", EXPERIMENTS[3], "P", "--"),
    "random": Arm("random", NEUTRAL, "x", ":"),
    "balanced": Arm("random, by class", "black", "+", ":"),
}
