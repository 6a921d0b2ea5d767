"""Corrections of labels by a person: read from a CSV file, checked and applied."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from wtrak.errors import WtrakError
from wtrak.job.io import without_apostrophes

# Columns that may name an example, in the order in which they are looked for.
KEYS = ("path", "id", "index")
# keep: the given label is right. relabel: new_label is. remove: the example is left out.
# skip: nothing was decided.
DECISIONS = ("keep", "relabel", "remove", "skip")
# Number of mistakes that a message lists, and of classes.
_SHOWN = 5


@dataclass(frozen=True)
class Corrected:
    """Labels after corrections.

    Attributes
    ----------
    labels : numpy.ndarray, shape (n,), int64
    decisions : numpy.ndarray, shape (n,), object
        What was decided for each example: one of `DECISIONS`, "skip" for most.
    """

    labels: np.ndarray
    decisions: np.ndarray


def read_corrections(path):
    """Read a file of corrections as a table of text.

    Parameters
    ----------
    path : path
        CSV in UTF-8 with the columns decision, one or more of `KEYS`, new_label if a decision is
        "relabel", and optionally given_label.

    Raises
    ------
    WtrakError
        If the file is missing, is no CSV or lacks a column.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        # suspects.csv has them, and a spreadsheet may write them.
        frame = without_apostrophes(frame)
    except (OSError, ValueError) as error:
        raise WtrakError(f"{path} cannot be read as a CSV file of corrections: {error}") from error
    lacking = [] if "decision" in frame else ["decision"]
    lacking += [] if {*KEYS} & {*frame} else [" or ".join(KEYS)]
    if "decision" in frame and "new_label" not in frame and (frame["decision"] == "relabel").any():
        lacking.append("new_label")
    if lacking:
        raise WtrakError(
            f"{path} has no column {', '.join(lacking)}; its columns are {', '.join(frame.columns)}"
        )
    return frame


def apply_corrections(frame, names, labels, classes, source="the corrections"):
    """Apply a table of corrections to the labels of a dataset.

    Parameters
    ----------
    frame : pandas.DataFrame
        Output of `read_corrections`.
    names : dict of str to sequence of str, shape (n,)
        Names of all examples by each of the `KEYS` that the data have. The first of them that the
        table has, too, is used, if no two examples share a name.
    labels : numpy.ndarray, shape (n,), integers
        Given labels, as positions in `classes`.
    classes : list of str
    source : str
        What messages call the table.

    Returns
    -------
    Corrected

    Raises
    ------
    WtrakError
        If a row names no example or the same as another row, an unknown decision or label, or
        another given label than the data have; or if less than two classes are left. The message
        names the lines.
    """
    # A name that two examples share cannot say which of them is meant.
    known = [key for key in KEYS if key in names and len(set(names[key])) == len(labels)]
    keys = [key for key in known if key in frame]
    if not keys:
        raise WtrakError(f"{source}: examples of these data are named by {' or '.join(known)}")
    place = {name: row for row, name in enumerate(names[keys[0]])}
    numbers = {name: number for number, name in enumerate(classes)}
    corrected, decisions = labels.astype(np.int64), np.full(len(labels), "skip", dtype=object)
    problems, seen = [], {}
    for count, entry in enumerate(frame.to_dict("records")):
        name, decision, line = entry[keys[0]], entry["decision"], count + 2
        row, new = place.get(name), entry.get("new_label", "")
        where = f"line {line} ({name!r})"
        if row is None:
            problems.append(f"{where}: there is no example with this {keys[0]}")
        elif name in seen:
            problems.append(f"{where}: the example is also on line {seen[name]}")
        elif decision not in DECISIONS:
            problems.append(f"{where}: the decision {decision!r} is not {', '.join(DECISIONS)}")
        elif decision == "relabel" and new not in numbers:
            problems.append(f"{where}: there is no label {new!r}; known are {_some(classes)}")
        elif entry.get("given_label", "") not in ("", classes[labels[row]]):
            problems.append(
                f"{where}: the label is {classes[labels[row]]!r} in the data and "
                f"{entry['given_label']!r} here"
            )
        else:
            if decision == "relabel":
                corrected[row] = numbers[new]
                decision = "keep" if corrected[row] == labels[row] else decision
            decisions[row] = decision
        seen.setdefault(name, line)
    if problems:
        raise WtrakError(f"{source}: {_some(problems, '; ')}")
    if len(np.unique(corrected[decisions != "remove"])) < 2:
        raise WtrakError(f"{source}: less than two classes are left")
    return Corrected(corrected, decisions)


def _some(words, separator=", "):
    more = len(words) - _SHOWN
    return separator.join(words[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
