"""The catalogue of orders of removal: each is told from the others in every figure."""

from matplotlib import colors, lines

from wtrak.removal.catalogue import ARMS


def test_no_two_orders_are_called_or_drawn_alike():
    """A reader would take a curve for another, with colours or without."""
    arms = list(ARMS.values())
    assert len({arm.title for arm in arms}) == len(arms)
    assert len({arm.marker for arm in arms}) == len(arms)
    assert len({(arm.color, arm.line) for arm in arms}) == len(arms)
    for arm in arms:
        assert colors.is_color_like(arm.color)
        assert arm.marker in lines.Line2D.markers and arm.line in lines.Line2D.lineStyles


def test_what_others_are_compared_with_is_there():
    """Ratios and tables name the order that is random."""
    assert "random" in ARMS
    # The fit to all points is no order, and would be drawn as one.
    assert "none" not in ARMS
