"""Names of a user's classes and files, and a notice, are text in every list, figure and table."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gallery as gallery_script
from chain import call
from wtrak.job.io import save_arrays, write_csv, write_json
from wtrak.labels.ranking import read_suspects
from wtrak.reporting.plotting import literal, save_figure, set_style
from wtrak.reporting.tables import write_documents

# Each would be a formula, markup, an end of a cell or line, no character of XML, or another value.
NAMES = [
    *(
        "$x_$",
        "$\\frac{1$",
        "5 $ and 6 $",
        "a$b",
        "A$$B",
        "$$",
        "\\$x\\$",
        "<b>&amp;</b>",
        "<script>",
        "]]>",
        "--",
    ),
    *("a|b", "a,b", 'a"b', "'", "a\nb", "a\rb", "a\tb", "\x01\x1b", "%", "#", "_^~", "\\textbf{x}"),
    *("{wildcards}", "{}", "nan", "NA", "", " ", "1", "1.0", "True", "🐈", "für", "\u2028"),
    # Formulas of a spreadsheet, an end of a row of macOS, and a name in another script.
    *("=1+1", "-x", "@y", "+z", "'=q", "=\r", "Icon\r", "猫"),
]


def gallery(tmp_path, names):
    frame = pd.DataFrame({"rank": range(1, 1 + len(names)), "index": range(len(names))})
    frame["path"] = [f"{name.strip() or 'x'}/{name}.png" for name in names]
    frame["given_label"], frame["suggested_label"] = names, names[::-1]
    write_csv(tmp_path / "s.csv", frame)
    save_arrays(tmp_path / "d", {"train_images": np.zeros((len(names), 8, 8, 3), np.uint8)})
    write_json(tmp_path / "r.json", {"dataset": "mine"})
    call(
        gallery_script,
        tmp_path,
        {"svg": "g.svg", "pdf": "g.pdf"},
        inputs={"suspects": "s.csv", "dataset": "d", "provenance": ["r.json"]},
        title="mine",
        rank_by="loss",
        shown=len(names),
        notice="costs $5_$ <or> so",
    )
    return frame


def test_gallery_and_list_hold_every_name(tmp_path):
    """A class named like a formula would end the job, or the figure be no picture."""
    frame = gallery(tmp_path, NAMES)
    pd.testing.assert_frame_equal(read_suspects(tmp_path / "s.csv"), frame)
    assert ET.parse(tmp_path / "g.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", [name for name in NAMES if name.isprintable() and name])
def test_literal_shows_what_the_name_is(name):
    """The name would be set as a formula, or with a backslash that it does not have."""
    import matplotlib.pyplot as plt

    set_style()
    figure, axis = plt.subplots()
    shown, math = axis.text(0, 0, literal(name))._preprocess_math(literal(name))
    plt.close(figure)
    assert (shown, bool(math)) == (name, False)


def test_notice_of_several_lines_stays_a_comment_and_a_footer(tmp_path):
    """What follows the first line would be LaTeX, and the figure not be drawn."""
    import matplotlib.pyplot as plt

    notice = "first $x_$\n\\input{second} 50 %\n\n<b>"
    kinds = ("md", "tex", "html", "numbers")
    output = SimpleNamespace(**{kind: tmp_path / f"t.{kind}" for kind in kinds})
    frame = pd.DataFrame({"what": ["a"], "value": ["b"]})
    write_documents(output, "title", {"part": frame}, notice, "tab:x")
    tex = output.tex.read_text("utf-8").splitlines()
    assert [line for line in tex if "second" in line] == [tex[0]] and tex[0].startswith("% first")
    assert "<b>" not in output.html.read_text("utf-8")
    set_style()
    save_figure(plt.figure(), tmp_path / "f.svg", tmp_path / "f.pdf", notice)
    ET.parse(tmp_path / "f.svg")
