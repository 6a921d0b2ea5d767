"""Numbers of suspicious labels: by class, by pair of classes, and of a whole list."""

from collections import Counter

import numpy as np
import pandas as pd


def by_class(frame, classes, estimate):
    """One row for each class: its examples, those that are flagged, and its estimated errors.

    Parameters
    ----------
    frame : pandas.DataFrame
        A list of `ranking.suspects` with the columns flagged and cleanlab.
    classes : list of str
    estimate : wtrak.labels.confident.ErrorEstimate

    Returns
    -------
    pandas.DataFrame
        Columns given_label, examples, another_suggested, flagged, cleanlab, errors, low and high
        (the ends of a 95 % interval); the class with the most flagged labels first.
    """
    differs = frame["suggested_label"] != frame["given_label"]
    counts = (
        frame.assign(examples=1, another_suggested=differs)
        .groupby("given_label")[["examples", "another_suggested", "flagged", "cleanlab"]]
        .sum()
        .reindex(classes, fill_value=0)
        .astype(int)
    )
    counts["errors"] = estimate.class_errors
    counts["low"], counts["high"] = estimate.class_low, estimate.class_high
    counts = counts.rename_axis("given_label").reset_index()
    return counts.sort_values(
        ["flagged", "errors"], ascending=False, kind="stable", ignore_index=True
    )


def by_pair(frame, classes, estimate):
    """One row for each pair of a given and another suggested label.

    Parameters
    ----------
    frame, classes, estimate
        As in `by_class`.

    Returns
    -------
    pandas.DataFrame
        Columns given_label, suggested_label, examples (to which the label is suggested), flagged,
        cleanlab and errors (estimated number of examples whose true label it is); the pair with the
        most flagged labels first. Pairs without any of these are left out.
    """
    pairs = pd.MultiIndex.from_product([classes, classes], names=["given_label", "suggested_label"])
    counts = (
        frame.assign(examples=1)
        .groupby(["given_label", "suggested_label"])[["examples", "flagged", "cleanlab"]]
        .sum()
        .reindex(pairs, fill_value=0)
        .astype(int)
    )
    counts["errors"] = estimate.joint.ravel()
    off_diagonal = ~np.eye(len(classes), dtype=bool).ravel()
    some = (counts["examples"] > 0) | (counts["errors"] > 0)
    return (
        counts[off_diagonal & some]
        .reset_index()
        .sort_values(
            ["flagged", "examples", "errors"], ascending=False, kind="stable", ignore_index=True
        )
    )


def estimates(errors, precisions, tops, n):
    """Estimated number of errors and precision of the first of a list, as a table.

    Parameters
    ----------
    errors : wtrak.labels.confident.ErrorEstimate
    precisions : list of (float, float, float)
        Output of `confident.precision_at`.
    tops : list of int
        Numbers of examples that the `precisions` are of.
    n : int
        Number of examples in the list.

    Returns
    -------
    pandas.DataFrame
        Columns quantity ("errors" or "precision"), top (examples from the top of the list), value,
        low and high (the ends of a 95 % interval).
    """
    rows = [("errors", n, errors.errors, errors.low, errors.high)]
    rows += [("precision", top, *numbers) for top, numbers in zip(tops, precisions, strict=True)]
    return pd.DataFrame(rows, columns=["quantity", "top", "value", "low", "high"])


def reasons(skipped):
    """Number of files by the kind of reason for which they were skipped, the most frequent first.

    Parameters
    ----------
    skipped : pandas.DataFrame
        With the column reason. The text before its first colon is the kind; files that raised an
        error cannot be read.

    Returns
    -------
    dict of str to int
    """
    kinds = (str(reason).partition(":")[0] for reason in skipped["reason"])
    counts = Counter("cannot be read" if kind.endswith("Error") else kind for kind in kinds)
    return dict(counts.most_common())


def summary(frame, numbers, copies, skipped, removed=0):
    """What a list of suspicious labels holds, in a few numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
        A list of `ranking.suspects` with the columns flagged and cleanlab.
    numbers : pandas.DataFrame
        Output of `estimates`.
    copies : pandas.DataFrame
        Examples that have copies: columns group, exact and labels_differ.
    skipped : pandas.DataFrame or None
        Files that could not be used: column reason. None for data that are no folder.
    removed : int
        Examples that corrections removed.

    Returns
    -------
    dict
        JSON-able.
    """
    (errors,) = numbers[numbers["quantity"] == "errors"].itertuples()
    groups = copies.drop_duplicates("group")
    out = {
        "examples": len(frame),
        "classes": int(frame["given_label"].nunique()),
        "flagged": int(frame["flagged"].sum()),
        "cleanlab": int(frame["cleanlab"].sum()),
        "errors": {key: float(getattr(errors, key)) for key in ("value", "low", "high")},
        "precision": {
            str(row.top): {key: float(getattr(row, key)) for key in ("value", "low", "high")}
            for row in numbers[numbers["quantity"] == "precision"].itertuples()
        },
        "copies": {
            "examples": len(copies),
            "exact": int(copies["exact"].sum()),
            "groups": len(groups),
            "groups_under_two_labels": int(groups["labels_differ"].sum()),
        },
    }
    if skipped is not None:
        out["skipped"] = {"files": len(skipped), "by_reason": reasons(skipped)}
    if "decision" in frame:
        counts = frame["decision"].value_counts()
        out["corrected"] = {name: int(counts.get(name, 0)) for name in ("keep", "relabel")}
        out["corrected"]["remove"] = removed
    return out
