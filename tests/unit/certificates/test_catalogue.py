"""Every certificate of the catalogue is computed, and looks like no other."""

from wtrak.certificates.catalogue import CERTIFICATES, full_title
from wtrak.certificates.radii import RADII


def test_every_certificate_has_a_radius_and_a_title():
    """A row of the catalogue would not be computed, or two would look alike in a table."""
    assert set(RADII) == {name for _, name in CERTIFICATES}
    titles = [full_title(*key) for key in CERTIFICATES]
    assert len(set(titles)) == len(titles)
    looks = [(row.color, row.line) for row in CERTIFICATES.values()]
    assert len(set(looks)) == len(looks)
    # What the paper caps, and what is of another metric than the ball's, is proved by nothing.
    proved = {key for key, row in CERTIFICATES.items() if row.proved}
    assert proved == {("natural", "tight"), ("natural", "direct")}
