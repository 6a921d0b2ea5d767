"""One page on which a person looks at suspicious labels and corrects them.

The page is one file that loads nothing else. Rows are JSON; pictures are JPEG in base64, in blocks
that are decoded when they are shown.
"""

import base64
import hashlib
import io
import json
from pathlib import Path

import numpy as np
from markupsafe import Markup
from PIL import Image

from wtrak.reporting.html import render

TEMPLATE = Path(__file__).with_suffix(".html")
# Longer side of a picture in pixels. Small pictures stay as they are.
SIDE = 128
# Pictures in a block.
PER_CHUNK = 60
# Examples on the page. More would make it slow to open.
MOST_ROWS = 100_000
# Columns of a list that are shown as text. Those of KEYS may name an example in corrections.csv.
SHOWN = ("path", "id", "text", "picture")
KEYS = ("path", "id")
# Characters of a text that are shown.
_TEXT = 400
# Bits of a row's marks, as in the template.
_MARKS = {"flagged": 1, "cleanlab": 2, "copied": 4, "copies_differ": 8, "exact": 16}


def thumbnail(image):
    """A picture as JPEG, at most `SIDE` pixels long.

    Parameters
    ----------
    image : numpy.ndarray, shape (height, width, 3) or (height, width, 1), uint8

    Returns
    -------
    bytes
    """
    picture = Image.fromarray(image.squeeze(axis=2) if image.shape[2] == 1 else image)
    picture.thumbnail((SIDE, SIDE), Image.Resampling.BILINEAR)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=75)
    return out.getvalue()


def on_page(frame, most=MOST_ROWS):
    """The first `most` rows of a list, and those that a person has decided, as a data frame."""
    shown = np.arange(len(frame)) < most
    if "decision" in frame:
        shown |= frame["decision"] != ""
    return frame[shown].reset_index(drop=True)


def pictured_rows(frame, most):
    """Rows of a list that get a picture, in ascending order, as a list of int.

    They are the first `most` of the list, and as many copies under two labels from further down.
    """
    first = np.arange(len(frame)) < most
    conflicts = np.flatnonzero(frame["copies_differ"].to_numpy(bool) & ~first)[:most]
    return [*np.flatnonzero(first).tolist(), *conflicts.tolist()]


def as_json(value):
    """JSON for a script element: no character of it can end the element or open another."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def rows_of(frame, copies, classes, removed):
    """What the page knows of each example, in a form for JSON.

    Parameters
    ----------
    frame : pandas.DataFrame
        A list of `wtrak.labels.ranking.suspects`, flagged.
    copies : pandas.DataFrame
        Columns index, group and exact of examples that have copies.
    classes : list of str
    removed : pandas.DataFrame
        Examples that earlier corrections removed: columns index, given_label and those of `KEYS`
        that the list has.
    """
    number = {name: k for k, name in enumerate(classes)}
    of_copies = copies.set_index("index").reindex(frame["index"])
    marks = {
        "flagged": frame["flagged"],
        "cleanlab": frame["cleanlab"],
        "copied": frame["copies"] > 0,
        "copies_differ": frame["copies_differ"],
        "exact": of_copies["exact"].eq(True),
    }
    given = frame["given_label"].map(number).tolist()
    names = [name for name in SHOWN if name in frame]
    # A name that two examples share cannot say which of them is meant.
    keys = [name for name in KEYS if name in frame and frame[name].is_unique]
    decided = [] if "decision" not in frame else enumerate(frame["decision"])
    original = frame.get("original_label", frame["given_label"])
    return {
        "classes": list(classes),
        "names": names,
        "keys": keys,
        "shown": {name: [_shown(name, text) for text in frame[name]] for name in names},
        "rank": frame["rank"].tolist(),
        "index": frame["index"].tolist(),
        "given": given,
        "original": original.map(number).tolist(),
        "suggested": frame["suggested_label"].map(number).tolist(),
        "p_given": frame["p_given"].round(4).tolist(),
        "p_suggested": frame["p_suggested"].round(4).tolist(),
        "marks": sum(
            _MARKS[name] * np.asarray(values, int) for name, values in marks.items()
        ).tolist(),
        "group": of_copies["group"].fillna(-1).astype(int).tolist(),
        "decided": [[row, word] for row, word in decided if word],
        "removed": [
            [[str(getattr(row, key)) for key in keys], row.index, number[row.given_label]]
            for row in removed.itertuples(index=False)
        ],
    }


def _shown(name, text):
    """A text cut off if it is long. A name stays whole, because corrections need it."""
    text = str(text)
    return text if name in KEYS or len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def suspects_page(rows, pictures, *, title, lead, footer):
    """The page as text.

    Parameters
    ----------
    rows : dict
        Output of `rows_of`.
    pictures : list of (int, bytes)
        Row of the list and JPEG, for rows that have a picture.
    title : str
    lead : list of str
        Sentences above the list.
    footer : str

    Returns
    -------
    str
    """
    encoded = [base64.b64encode(picture).decode("ascii") for _, picture in pictures]
    chunks = [
        Markup("\n".join(encoded[start : start + PER_CHUNK]))
        for start in range(0, len(encoded), PER_CHUNK)
    ]
    sides = [Image.open(io.BytesIO(picture)).size for _, picture in pictures[:1]]
    rows = rows | {
        "pictured": [row for row, _ in pictures],
        "per_chunk": PER_CHUNK,
        "side": max(map(max, sides), default=0),
    }
    # Decisions that a browser keeps belong to this list alone.
    key = hashlib.sha256(json.dumps([title, rows]).encode()).hexdigest()[:16]
    return render(
        TEMPLATE,
        title=title,
        lead=lead,
        rows=as_json(rows | {"key": key}),
        chunks=chunks,
        footer=footer,
    )


# Measured in docs/label-errors.md, "How many labels are wrong".
CAVEAT = "Intervals cover chance alone. On hard examples, like photographs, estimates are high."


def lead_of(frame, estimates):
    """Sentences that say how many labels of a list are likely wrong.

    Parameters
    ----------
    frame : pandas.DataFrame
        A list of suspicious labels, flagged.
    estimates : pandas.DataFrame
        Output of `wtrak.labels.summaries.estimates`.

    Returns
    -------
    list of str
    """
    (errors,) = estimates[estimates["quantity"] == "errors"].itertuples()
    flagged = int(frame["flagged"].sum())
    lines = [
        f"{len(frame):,} examples. About {errors.value:,.0f} labels are estimated to be wrong "
        f"(95 % interval {errors.low:,.0f} to {errors.high:,.0f}); {flagged:,} are flagged."
    ]
    shares = estimates[estimates["quantity"] == "precision"]
    if len(on_page(frame)) < len(frame):
        lines.append(f"This page holds the first {MOST_ROWS:,}; suspects.csv holds all.")
    words = [
        f"{row.value:.0%} of the first {row.top:,} ({row.low:.0%} to {row.high:.0%})".replace(
            "%", " %"
        )
        for row in shares.itertuples()
    ]
    if words:
        lines.append(f"Estimated to be wrong: {', '.join(words)}.")
    return [*lines, CAVEAT]
