"""What is left of a file without metadata is its pixels, and what decides how they are decoded."""

import io

import numpy as np
import pytest
from PIL import Image

from wtrak.sources import image_metadata
from wtrak.sources.image_metadata import without_metadata


def noise(mode="RGB"):
    values = np.random.default_rng(0).integers(0, 256, size=(24, 24, 4), dtype=np.uint8)
    return Image.fromarray(values, "RGBA").convert(mode)


@pytest.mark.parametrize(
    ("suffix", "mode", "options"),
    [
        ("png", "RGB", {}),
        ("png", "RGBA", {}),
        ("png", "P", {"transparency": 3}),
        ("png", "L", {"transparency": 3}),
        ("png", "1", {}),
        ("jpg", "RGB", {}),
        ("jpg", "RGB", {"progressive": True, "subsampling": 2}),
        ("jpg", "L", {}),
        ("jpg", "CMYK", {}),
    ],
)
def test_pixels_are_the_same_and_metadata_are_gone(tmp_path, suffix, mode, options):
    """Colours would be inverted, or transparency lost, where metadata are damaged."""
    image, exif = noise(mode), Image.Exif()
    exif[0x010E] = "a secret description"
    path = tmp_path / f"x.{suffix}"
    image.save(path, exif=exif, icc_profile=b"a secret profile", comment="secret", **options)
    assert b"secret" in path.read_bytes()
    copy = without_metadata(path)
    assert b"secret" not in copy.getvalue()
    with Image.open(path) as before, Image.open(copy) as after:
        for one in (before, after):
            one.load()
        assert before.mode == after.mode
        np.testing.assert_array_equal(
            np.asarray(before.convert("RGBA")), np.asarray(after.convert("RGBA"))
        )


def test_what_cannot_be_copied(tmp_path, monkeypatch):
    """A file would be copied that fills the memory, or a broken header end the run."""
    noise().save(tmp_path / "x.gif")
    assert without_metadata(tmp_path / "x.gif") is None
    for name in ("x.png", "x.jpg"):
        noise().save(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        for keep in (*range(2, 60), len(content) - 2):
            (tmp_path / "cut").write_bytes(content[:keep])
            copy = without_metadata(tmp_path / "cut")
            assert copy is None or isinstance(copy, io.BytesIO)
    (tmp_path / "odd.jpg").write_bytes(b"\xff\xd8\xff\xff\xff\xe1\0\x02no marker")
    assert without_metadata(tmp_path / "odd.jpg") is None
    monkeypatch.setattr(image_metadata, "_MAX_BYTES", 100)
    assert without_metadata(tmp_path / "x.png") is None


def test_a_segment_without_length_ends(tmp_path):
    """A segment that claims a length of 0 would be read for ever."""
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8" + b"\xff\xe1\0\0" * 5 + b"\xff\xda\0\x02")
    assert without_metadata(tmp_path / "x.jpg") is None
