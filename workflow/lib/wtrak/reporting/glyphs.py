"""Fonts for characters that the font of the figures lacks, such as those of Chinese names."""

from functools import cache

from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

MISSING = "\N{REPLACEMENT CHARACTER}"
NOTICE = f"{MISSING} stands for characters that no font on this machine has."


@cache
def _characters(path):
    """Code points that a font file can draw; none for one that has only pictures."""
    try:
        font = get_font(path)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()


def lacking(text, family):
    """Characters of a text that a family of fonts does not have, as a set of str.

    Line ends and spaces are never lacking.
    """
    known = _characters(findfont(FontProperties(family=family)))
    return {char for char in text if not char.isspace() and ord(char) not in known}


def families_for(characters):
    """Families of installed fonts that together draw these characters, as far as any do.

    Parameters
    ----------
    characters : set of str

    Returns
    -------
    families : list of str
        As few as their alphabetical order gives.
    left : set of str
        Characters that no font has.
    """
    families, left = [], set(characters)
    # "Last Resort" draws a box for every character.
    fonts = [
        font
        for font in fontManager.ttflist
        if (font.style, font.stretch) == ("normal", "normal")
        and font.weight in (400, "normal", "regular")
        and not font.name.startswith(("Last Resort", "LastResort", ".LastResort"))
    ]
    for font in sorted(fonts, key=lambda font: (font.name, font.fname)):
        if not left:
            break
        drawn = {char for char in left if ord(char) in _characters(font.fname)}
        # The family stands for the file that matplotlib chooses for it.
        if drawn and font.name not in families:
            drawn -= lacking("".join(drawn), font.name)
            families += [font.name] if drawn else []
            left -= drawn
    return families, left


def use_fonts(figure, family):
    """Give each text of a figure the fonts that its characters need.

    Texts whose characters the family has stay as they are. Characters that no font has become
    `MISSING`.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    family : str
        Font of the figure.

    Returns
    -------
    bool
        Whether a character was replaced.
    """
    replaced = False
    for text in figure.findobj(Text):
        wanted = lacking(text.get_text(), family)
        if not wanted:
            continue
        families, left = families_for(wanted)
        text.set_fontfamily([family, *families])
        text.set_text(text.get_text().translate(dict.fromkeys(map(ord, left), MISSING)))
        replaced |= bool(left)
    return replaced
