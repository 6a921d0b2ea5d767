"""Characters that the font of the figures lacks are drawn with another, or said to be missing."""

import warnings

import matplotlib.pyplot as plt
import pytest
from matplotlib.font_manager import fontManager

from wtrak.reporting import glyphs
from wtrak.reporting.glyphs import MISSING, NOTICE, families_for, lacking, use_fonts
from wtrak.reporting.plotting import FONT, save_figure, set_style

# Of these, fonts that come with matplotlib have the first two, and none has the last.
COPRODUCT, TURNED_BEAK, CAT = "⨿", "˯", "\U000f1234"


@pytest.fixture(autouse=True)
def bundled(monkeypatch):
    """Only the fonts that come with matplotlib, as other machines have others."""
    fonts = [font for font in fontManager.ttflist if "mpl-data" in font.fname]
    assert fonts
    monkeypatch.setattr(glyphs.fontManager, "ttflist", fonts)


def test_characters_are_looked_up():
    """A box would be drawn for what another font has."""
    assert lacking("plain für später → 5 %\n", FONT) == set()
    assert lacking(f"a{COPRODUCT}b{CAT}", FONT) == {COPRODUCT, CAT}
    families, left = families_for({COPRODUCT, CAT})
    assert left == {CAT} and len(families) == 1
    assert not lacking(COPRODUCT, families[0])
    assert families_for(set()) == ([], set())


def test_boxes_of_a_last_resort_are_no_characters():
    """A font that draws one box for all would seem to have everything."""
    assert not any("Last" in name for name in families_for({CAT, "猫"})[0])


def test_figure_says_what_it_cannot_show(tmp_path):
    """Names in another script would be boxes without a word."""
    set_style()
    figure, axis = plt.subplots()
    axis.plot([1, 10], [1, 2], label=f"label {COPRODUCT}")
    axis.set_xscale("log")
    axis.set_title(f"title {CAT}{COPRODUCT}")
    axis.set_yticks([1, 2], ["plain", f"tick {TURNED_BEAK}"])
    axis.legend()
    texts = {text.get_text(): text for text in figure.findobj(plt.Text)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure, tmp_path / "x.svg", tmp_path / "x.pdf", f"footer {CAT}")
    assert axis.get_title() == f"title {MISSING}{COPRODUCT}"
    assert figure.texts[0].get_text() == f"{NOTICE} footer {MISSING}"
    assert texts["plain"].get_fontfamily() == [FONT]


def test_figure_of_known_characters_stays_as_it_is(tmp_path):
    """Published figures would have other bytes on a machine with other fonts."""
    set_style()
    figure = plt.figure()
    text = figure.text(0.5, 0.5, "für → ε")
    assert not use_fonts(figure, FONT)
    assert text.get_fontfamily() == [FONT] and text.get_text() == "für → ε"
    plt.close(figure)
