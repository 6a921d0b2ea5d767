"""Decide claims of the paper: find the number that decides a claim, and give a verdict.

A claim names the results file, the rows and the column that decide it (see `evidence`). It also
names a rule of the configuration, which sets the tolerance. All claims of a kind share one rule.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from wtrak.errors import WtrakError
from wtrak.job.io import read_csv, read_json
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.tables import number

REPRODUCED = "reproduced"
DIRECTION = "holds in direction"
NOT_REPRODUCED = "not reproduced"
UNSTATED = "depends on an unstated choice"
REFUTED = "refuted"
IDENTITY = "true by definition"
NOT_RUN = "not run"
NO_VERDICT = "smoke test: no verdict"
VERDICTS = (
    REPRODUCED,
    DIRECTION,
    UNSTATED,
    NOT_REPRODUCED,
    REFUTED,
    IDENTITY,
    NOT_RUN,
    NO_VERDICT,
)

# What a quantity of a unit can be. Intervals end there.
LIMITS = {"share": (0.0, 1.0), "%": (0.0, 100.0), "correlation": (-1.0, 1.0)}

REDUCTIONS = ("value", "mean", "median", "sum", "least", "most", "spread")


@dataclass(frozen=True)
class Evidence:
    """Our numbers for a claim.

    Attributes
    ----------
    value : float
    low, high : float
        95 % interval over seeds or resamples; NaN without one.
    sweep : tuple of float
        Smallest and largest value over choices that the paper does not state; empty if none are
        varied.
    mean : float
        The mean beside a value that is a maximum; NaN without one.
    """

    value: float
    low: float = np.nan
    high: float = np.nan
    sweep: tuple = ()
    mean: float = np.nan

    def within(self, least, most):
        """The same with the ends of its interval moved to the limits of the quantity."""
        low, high = (float(np.clip(end, least, most)) for end in (self.low, self.high))
        return replace(self, low=low, high=high)


def table(path):
    """A results file as a data frame; JSON is one row, with nested keys joined by underscores."""
    if str(path).endswith(".json"):
        return pd.json_normalize(read_json(path), sep="_")
    return read_csv(path)


def selected(frame, conditions):
    """Rows that meet every condition.

    Parameters
    ----------
    frame : pandas.DataFrame
    conditions : str
        For example ``experiment=cifar10; aggregate=max|median``, where a bar separates the allowed
        values of a column.

    Raises
    ------
    WtrakError
        If a column does not exist.
    """
    for condition in filter(None, (part.strip() for part in conditions.split(";"))):
        column, _, allowed = condition.partition("=")
        if column not in frame:
            raise WtrakError(f"claims: no column {column!r}; there are {', '.join(frame)}")
        values = allowed.split("|")
        own = frame[column]
        if pd.api.types.is_numeric_dtype(own) and not pd.api.types.is_bool_dtype(own):
            frame = frame[np.isin(own.to_numpy(float), [float(value) for value in values])]
        else:
            frame = frame[own.astype(str).isin(values)]
    return frame


def values_of(frame, expressions):
    """Values of one or more expressions in the columns, separated by semicolons, as one array."""
    parts = [part.strip() for part in expressions.split(";")]
    found = [np.atleast_1d(np.asarray(frame.eval(part), dtype=float)) for part in parts]
    return np.concatenate(found)


def reduced(values, how):
    """Reduce several values to one, with an interval if there is one.

    Parameters
    ----------
    values : numpy.ndarray, shape (k,)
    how : str
        One of `REDUCTIONS`. ``value`` takes exactly one value, ``mean`` gives a Student interval,
        and ``spread`` is the largest value over the smallest.

    Returns
    -------
    value, low, high : float

    Raises
    ------
    WtrakError
        If there is no value, more than one for ``value``, or one that is not a number.
    """
    if how not in REDUCTIONS:
        raise WtrakError(f"claims: reduction {how!r}, expected one of {', '.join(REDUCTIONS)}")
    if len(values) == 0 or (how == "value" and len(values) > 1):
        raise WtrakError(f"claims: {len(values)} values where {how} is wanted")
    if np.isnan(values).any():
        raise WtrakError(f"claims: {int(np.isnan(values).sum())} values are not a number")
    if how == "mean":
        mean, half = mean_with_interval(values)
        return mean, mean - half, mean + half
    simple = {
        "value": lambda v: v[0],
        "median": np.median,
        "sum": np.sum,
        "least": np.min,
        "most": np.max,
        "spread": lambda v: v.max() / v.min(),
    }
    return float(simple[how](values)), np.nan, np.nan


def evidence(claim, sources):
    """The numbers that decide a claim; None if the results lack its rows or its value.

    Parameters
    ----------
    claim : dict
        A row of ``paper_claims.csv``. Keys select, column and reduce find our value, sweep_select
        and sweep_column its range over choices. If a single row has columns ``low`` and ``high``,
        they are the interval. The unit limits the interval (`LIMITS`). mean_select finds the mean
        beside a maximum, in the same column.
    sources : dict of str to str
        Path ``source``, path ``sweep`` if choices are varied, and the name of the ``experiment``.

    Returns
    -------
    Evidence or None

    Raises
    ------
    WtrakError
        If a file is missing, a column does not exist, or `reduced` refuses the values.
    """
    about = {"experiment": sources["experiment"]}
    results = table(sources["source"])
    rows = selected(results, claim["select"].format(**about))
    if rows.empty:
        return None
    values = values_of(rows, claim["column"])
    if claim["reduce"] == "value" and np.isnan(values).all():
        return None
    value, low, high = reduced(values, claim["reduce"])
    if claim["reduce"] == "value" and {"low", "high"} <= set(rows):
        low, high = rows[["low", "high"]].iloc[0].astype(float)
    sweep = ()
    if "sweep" in sources:
        swept = selected(table(sources["sweep"]), claim["sweep_select"].format(**about))
        found = values_of(swept, claim["sweep_column"])
        found = found[np.isfinite(found)]
        sweep = (float(found.min()), float(found.max())) if len(found) else ()
    mean = np.nan
    if claim.get("mean_select"):
        beside = selected(results, claim["mean_select"].format(**about))
        mean, _, _ = reduced(values_of(beside, claim["column"]), "value")
    limits = LIMITS.get(claim["unit"], (-np.inf, np.inf))
    return Evidence(value, low, high, sweep, mean).within(*limits)


def _reached(value, rule):
    """The verdict that a value earns by the limits of a rule ``at_least`` or ``at_most``."""
    sign = 1 if rule["compare"] == "at_least" else -1
    for key, name in (("reproduced", REPRODUCED), ("direction", DIRECTION)):
        if key in rule and sign * value >= sign * rule[key]:
            return name
    return rule.get("otherwise", NOT_REPRODUCED)


def _against_limits(found, rule):
    """The verdict of a rule ``at_least`` or ``at_most``."""
    # The end of the interval that speaks against the claim.
    end = found.low if rule["compare"] == "at_least" else found.high
    own = _reached(found.value if np.isnan(end) else end, rule)
    if any(_reached(value, rule) != own for value in found.sweep):
        return UNSTATED
    return own


def _against_paper(found, paper, rule):
    """The verdict of a rule ``factor`` or ``absolute``."""
    if rule["compare"] == "factor":
        ratio = found.value / paper
        distance = max(ratio, 1 / ratio) if ratio > 0 else np.inf
    else:
        distance = abs(found.value - paper)
    if distance <= rule["reproduced"] or found.low <= paper <= found.high:
        return REPRODUCED
    if found.sweep and found.sweep[0] <= paper <= found.sweep[1]:
        return UNSTATED
    if distance <= rule.get("direction", -np.inf):
        return DIRECTION
    return rule.get("otherwise", NOT_REPRODUCED)


def verdict(found, paper, rule, kind=""):
    """The verdict of a rule on our numbers.

    Rules ``factor`` and ``absolute`` compare with the paper's value. A claim is reproduced if our
    value is within the rule's limit, or the paper's value lies in our interval. If not, it depends
    on an unstated choice if the paper's value lies in the range over choices. If not, it holds in
    direction if our value is within the wider limit.

    Rules ``at_least`` and ``at_most`` have limits of their own. With an interval, its end that
    speaks against the claim is judged. The claim depends on an unstated choice if an end of the
    range over choices earns another verdict.

    Otherwise the rule's ``otherwise`` is the verdict.

    Parameters
    ----------
    found : Evidence or None
    paper : float or None
        The paper's value. Rules with their own limits do not use it.
    rule : dict
        compare, reproduced, and optionally direction and otherwise.
    kind : str, optional
        ``identity`` if the claim is true by definition; then a reproduced value says just that.

    Returns
    -------
    str
        One of `VERDICTS`.
    """
    if found is None:
        return NOT_RUN
    if rule["compare"] in ("at_least", "at_most"):
        name = _against_limits(found, rule)
    else:
        name = _against_paper(found, paper, rule)
    return IDENTITY if kind == "identity" and name == REPRODUCED else name


def has_interval(row):
    """Whether our value for a claim has an interval with positive width."""
    return not np.isnan(row.low) and row.low != row.high


def ours(row):
    """Our value with its interval, as text."""
    if np.isnan(row.value):
        return "–"
    text = number(row.value)
    if has_interval(row):
        text += f" ({number(row.low)} to {number(row.high)})"
    return text


def unit_in_words(unit):
    """The unit of a claim for readers; a dash for pure numbers."""
    return "–" if unit == "1" else unit.replace("|phi|", "‖φ‖")


def short(ledger):
    """The ledger for the docs: claim, verdict, both values with their unit, place in the paper."""
    rows = [
        {
            "claim": row.claim,
            "verdict": row.verdict,
            "paper": number(row.paper),
            "ours": ours(row),
            # Ledgers that were published before units were kept have none.
            **({"unit": unit_in_words(row.unit)} if "unit" in ledger else {}),
            "where": row.where,
        }
        for row in ledger.itertuples()
    ]
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 2
    return frame
