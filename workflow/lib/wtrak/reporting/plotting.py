"""Style, labels and files of figures."""

import textwrap

import matplotlib as mpl
import matplotlib.pyplot as plt
import seaborn as sns

from wtrak.job.io import atomic_path
from wtrak.reporting.glyphs import NOTICE, use_fonts
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL

mpl.use("Agg")  # no display on a cluster node

DASHES = ["-", "--", "-.", ":"]

FONT = "DejaVu Sans"

WIDTH = 7.2  # inches: two columns of a page


def set_style():
    """Set font sizes and grid, and fix identifiers so that the same data give the same bytes."""
    sns.set_theme(context="paper", style="whitegrid", font_scale=1.0)
    plt.rcParams.update(
        {
            "svg.hashsalt": "wtrak",
            "pdf.fonttype": 42,
            "font.family": FONT,
            "axes.titlesize": 9.5,
            "axes.labelsize": 9,
            "xtick.labelsize": 8,
            "ytick.labelsize": 8,
            "legend.fontsize": 8,
            "legend.frameon": True,
            "legend.framealpha": 0.9,
            "grid.linewidth": 0.4,
            "grid.color": "#dddddd",
            "axes.edgecolor": "#888888",
            "lines.linewidth": 1.6,
            "figure.constrained_layout.use": True,
        }
    )


def experiment_style(position):
    """Colour and line style of the experiment at `position` in the configuration."""
    return {
        "color": EXPERIMENTS[position % len(EXPERIMENTS)],
        "linestyle": DASHES[position % len(DASHES)],
    }


def literal(text):
    """A user's text for a figure, without formulas and without characters that SVG forbids."""
    shown = (char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return "".join(shown).replace("$", r"\$")


def provenance_line(records, notice):
    """The sentence below a figure that names its data and weights.

    Parameters
    ----------
    records : list of dict
        Provenance records of datasets and backbones.
    notice : str
        Put first if not empty.
    """
    data = sorted({record["dataset"] for record in records if "dataset" in record})
    weights = sorted({record["weights"] for record in records if "weights" in record})
    line = f"Data: {', '.join(data)}."
    if weights:
        line += f" Weights: {'; '.join(weights)}."
    return f"{notice} {line}" if notice else line


def _wrapped(footer):
    return "\n".join(map(literal, textwrap.wrap(footer, 165)))


def save_figure(figure, svg, pdf, footer):
    """Write a figure with its footer as SVG and PDF, without dates in the files.

    Characters that the font lacks are drawn with others of this machine (see `glyphs`).
    """
    below = figure.text(0.0, -0.01, "", fontsize=6.5, color=NEUTRAL, ha="left", va="top")
    below.set_text(_wrapped(footer))
    if use_fonts(figure, FONT):
        below.set_text(_wrapped(f"{NOTICE} {footer}"))
        use_fonts(figure, FONT)
    options = {"bbox_inches": "tight", "pad_inches": 0.06}
    with atomic_path(svg) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None}, **options)
    with atomic_path(pdf) as temporary:
        figure.savefig(temporary, format="pdf", metadata={"CreationDate": None}, **options)
    plt.close(figure)
