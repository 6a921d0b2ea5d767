"""Lists of training examples, ranked by how suspicious their labels are."""

import numpy as np
import pandas as pd

from wtrak.labels.catalogue import RANKINGS


def suspects(index, given, scores, out_of_fold, classes, rank_by, **also):
    """A table with one row for each example, the most suspicious first.

    Parameters
    ----------
    index : numpy.ndarray, shape (n,)
        Row of each example in its dataset.
    given : numpy.ndarray, shape (n,), integers
        Given labels.
    scores : dict of str to numpy.ndarray, shape (n,)
        Scores named in `catalogue.RANKINGS`.
    out_of_fold : numpy.ndarray, shape (n, C)
        Out-of-fold logits. The class with the largest logit is the suggested label.
    classes : list of str
        Names of the C classes.
    rank_by : str
        One of the `catalogue.RANKINGS`.
    also : numpy.ndarray, shape (n,)
        Further columns.

    Returns
    -------
    pandas.DataFrame
        Columns rank (from 1), index, `also`, given_label, suggested_label, and the scores.
    """
    names = np.array(classes, dtype=object)
    frame = pd.DataFrame(
        {
            "index": index,
            **also,
            "given_label": names[given],
            "suggested_label": names[out_of_fold.argmax(axis=1)],
            **{name: scores[name] for name in RANKINGS},
        }
    )
    frame = frame.sort_values([rank_by, "index"], ascending=[False, True], ignore_index=True)
    frame.insert(0, "rank", np.arange(1, len(frame) + 1))
    return frame


def read_suspects(path):
    """Read a table of `suspects` from its CSV file. Names of classes and files stay text."""
    words = ("given_label", "suggested_label", "true_label", "people_label", "id", "text", "path")
    # `write_csv` does not quote carriage returns, so only line feeds may end a row.
    return pd.read_csv(
        path, dtype=dict.fromkeys(words, str), keep_default_na=False, lineterminator="\n"
    )
