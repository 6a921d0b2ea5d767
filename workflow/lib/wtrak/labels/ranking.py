"""Lists of training examples, ranked by how suspicious their labels are."""

import numpy as np
import pandas as pd
from scipy.special import softmax

from wtrak.job.io import without_apostrophes
from wtrak.labels.catalogue import RANKINGS


def suspects(index, given, scores, out_of_fold, classes, rank_by, last=None, **also):
    """A table with one row for each example, the most suspicious first.

    Parameters
    ----------
    index : numpy.ndarray, shape (n,)
        Row of each example in its dataset.
    given : numpy.ndarray, shape (n,), integers
        Given labels.
    scores : dict of str to numpy.ndarray, shape (n,)
        Scores named in `catalogue.RANKINGS`, that of `rank_by` among them.
    out_of_fold : numpy.ndarray, shape (n, C)
        Out-of-fold logits. The class with the largest logit is the suggested label.
    classes : list of str
        Names of the C classes.
    rank_by : str
        One of the `catalogue.RANKINGS`.
    last : numpy.ndarray, shape (n,), bool, optional
        Examples that come after all others, in the same order among themselves.
    also : numpy.ndarray, shape (n,)
        Further columns.

    Returns
    -------
    pandas.DataFrame
        Columns rank (from 1), index, `also`, given_label, suggested_label, p_given and p_suggested
        (out-of-fold probabilities of the two), and the scores.
    """
    names = np.array(classes, dtype=object)
    probabilities = softmax(out_of_fold, axis=1)
    frame = pd.DataFrame(
        {
            "index": index,
            **also,
            "given_label": names[given],
            "suggested_label": names[out_of_fold.argmax(axis=1)],
            "p_given": probabilities[np.arange(len(given)), given],
            "p_suggested": probabilities.max(axis=1),
            **{name: scores[name] for name in RANKINGS if name in scores},
        }
    )
    last = np.zeros(len(frame), bool) if last is None else last
    order = np.lexsort((frame["index"], -frame[rank_by], last))
    frame = frame.iloc[order].reset_index(drop=True)
    frame.insert(0, "rank", np.arange(1, len(frame) + 1))
    return frame


def flag(frame, errors):
    """Add the column flagged to a table of `suspects`: labels to look at.

    An example is flagged if its rank is within the estimated number of errors, another label is
    suggested for it, and no person has confirmed its label.

    Parameters
    ----------
    frame : pandas.DataFrame
        Output of `suspects`.
    errors : float
        Estimated number of wrong labels.
    """
    within = frame["rank"] <= round(errors)
    differs = frame["suggested_label"] != frame["given_label"]
    if "decision" in frame:
        differs &= frame["decision"] != "keep"
    frame.insert(frame.columns.get_loc("p_suggested") + 1, "flagged", within & differs)
    return frame


def read_suspects(path):
    """Read a table of `suspects` from its CSV file. Names of classes and files stay text."""
    words = ("given_label", "suggested_label", "true_label", "people_label", "path", "picture")
    words += ("decision", "original_label", "id", "text")
    frame = pd.read_csv(path, dtype=dict.fromkeys(words, str), keep_default_na=False)
    return without_apostrophes(frame)
