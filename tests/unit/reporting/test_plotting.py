"""Figures come out the same every time, and show a user's text as it is."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.reporting.plotting import provenance_line, save_figure, set_style


def test_provenance_line_names_data_weights_and_notice():
    """A figure could be taken for one on other weights, or for a full run."""
    records = [{"dataset": "cifar10"}, {"weights": "W, untrained"}, {"dataset": "cifar10"}]
    assert provenance_line(records, "") == "Data: cifar10. Weights: W, untrained."
    assert provenance_line(records, "QUICK.").startswith("QUICK. Data")


def test_figures_are_byte_identical(tmp_path):
    """The same data would give another file, and publishing a change where there is none."""
    written = []
    for k in range(2):
        set_style()
        figure, axis = plt.subplots()
        axis.plot(np.arange(5), np.arange(5) ** 2, marker="o", label="α")
        axis.legend()
        svg, pdf = tmp_path / f"{k}.svg", tmp_path / f"{k}.pdf"
        save_figure(figure, svg, pdf, "footer")
        written.append((svg.read_bytes(), pdf.read_bytes()))
    assert written[0] == written[1]
    assert b"<dc:date>" not in written[0][0]
