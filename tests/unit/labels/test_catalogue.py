"""The catalogue of scores: each has what tables and figures say of it, and is told from others."""

from wtrak.labels.catalogue import DETECTORS, RANKINGS


def test_no_two_scores_are_called_or_drawn_alike():
    """A reader would take a curve, or a row, for another."""
    for name in ("title", "style", "curve", "about"):
        given = [getattr(one, name) for one in DETECTORS.values() if getattr(one, name)]
        assert len(set(given)) == len(given) > 1, name
    # Those of one figure differ in their line already, for print without colours.
    drawn = [one.style[1:] for one in DETECTORS.values() if one.style]
    assert len(set(drawn)) == len(drawn)


def test_lists_are_ranked_by_scores_that_there_are():
    """The configuration would allow a ranking that no rule computes."""
    assert set(RANKINGS) <= set(DETECTORS)
