"""Formats of the catalogue are decoded, and hold what it says."""

import pytest

from wtrak.sources.catalogue import EMBEDDED, FORMATS
from wtrak.sources.datasets import DECODERS


def test_every_format_has_a_decoder_and_names_for_its_classes():
    """A configuration would be accepted that no job can read."""
    assert set(FORMATS) == set(DECODERS)
    for name, row in FORMATS.items():
        assert len(set(row.classes)) == len(row.classes) >= 2, name


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_datasets_are_as_large_as_is_said(name):
    """Too large a request would fail within a job."""
    row = FORMATS[name]
    (train, train_labels), (test, test_labels) = DECODERS[name](None)
    assert train.shape[:3] == (row.train, row.height, row.width)
    assert test.shape[:3] == (row.test, row.height, row.width)
    assert set(train_labels) | set(test_labels) == set(range(len(row.classes)))
