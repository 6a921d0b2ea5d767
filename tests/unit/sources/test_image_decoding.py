"""Many images are decoded in their order, with one scale, within a bounded memory."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from PIL import Image

from unit.sources.test_image_memory import png
from wtrak.errors import WtrakError
from wtrak.sources import image_decoding
from wtrak.sources.image_decoding import decode_images
from wtrak.sources.image_levels import Levels


def deep(folder, *values):
    """Grey images of one value each, with 16 bits."""
    paths = [folder / f"{k}.png" for k in range(len(values))]
    for path, value in zip(paths, values, strict=True):
        Image.fromarray(np.full((8, 8), value, np.uint16)).save(path)
    return paths


@pytest.mark.parametrize("threads", [1, 3])
def test_images_are_in_their_rows_and_others_have_a_reason(tmp_path, threads):
    """A label would belong to another image."""
    paths = [tmp_path / f"{k}.png" for k in range(30)]
    for k, path in enumerate(paths):
        Image.new("RGB", (8, 8 + k), (k, 0, 0)).save(path)
    paths[7].write_bytes(b"no image")
    paths[8].unlink()
    paths[9].unlink()
    os.mkfifo(paths[9])
    seen = []
    found = decode_images(paths, 8, threads=threads, advance=seen.append)
    assert found.rows == [k for k in range(30) if k not in (7, 8, 9)] and seen == [1] * 30
    np.testing.assert_array_equal(found.images[:, 0, 0, 0], found.rows)
    np.testing.assert_array_equal(found.quality["height"], 8 + np.array(found.rows))
    assert found.refused[7].startswith("UnidentifiedImageError") and found.refused[9] == "no file"
    assert str(tmp_path) not in repr(found.refused) and set(found.refused) == {7, 8, 9}
    assert found.levels == {}


def test_no_images_are_no_error(tmp_path):
    """A test set without files would end the run."""
    found = decode_images([], 8)
    assert found.images.shape == (0, 8, 8, 3) and len(found.quality) == 0


def test_values_of_more_than_eight_bits_have_one_scale(tmp_path):
    """The scale of each image would be its own, and the numbers of its quality of another one."""
    paths = deep(tmp_path, 100, 4000, 300)
    Image.fromarray(np.full((8, 8), 0.5, np.float32)).save(tmp_path / "x.tif")
    found = decode_images([*paths, tmp_path / "x.tif"], 8, threads=2)
    expected = [round(value * 255 / 4095) for value in (100, 4000, 300)] + [128]
    np.testing.assert_array_equal(found.images[:, 0, 0, 0], expected)
    np.testing.assert_array_equal(found.quality["darkest"], expected)
    assert found.levels["whole numbers"] == Levels("whole numbers", 100, 4000)
    test = decode_images(deep(tmp_path, 50, 5000), 8, known=found.levels)
    np.testing.assert_array_equal(test.images[:, 0, 0, 0], [round(50 * 255 / 4095)])
    assert "values from 5000" in test.refused[1] and test.levels == found.levels


def test_an_image_is_decoded_twice_only_if_its_scale_changes(tmp_path, monkeypatch):
    """Reading would take twice as long for nothing."""
    real, read = image_decoding.read_image, []

    def counted(path, side, known):
        read.append(path.name)
        return real(path, side, known)

    monkeypatch.setattr(image_decoding, "read_image", counted)
    paths = deep(tmp_path, 3000, 100, 4000)
    levels = decode_images(paths, 8).levels
    assert sorted(read) == ["0.png", "1.png", "1.png", "2.png"]
    read.clear()
    decode_images(paths, 8, known=levels)
    assert sorted(read) == ["0.png", "1.png", "2.png"]


def test_file_that_changes_between_two_looks_ends_the_run(tmp_path, monkeypatch):
    """Another image would stand in its row, or half of it."""
    real = image_decoding.read_image

    def once(path, side, known):
        if known:
            raise OSError("gone")
        return real(path, side, known)

    monkeypatch.setattr(image_decoding, "read_image", once)
    with pytest.raises(WtrakError, match=r"/1\.png changed while it was read; run again"):
        decode_images(deep(tmp_path, 4000, 100), 8)


def test_images_wait_in_a_bounded_line(tmp_path, monkeypatch):
    """Memory would grow with the number of files while one large image is decoded."""
    paths = [tmp_path / f"{k:02d}.png" for k in range(60)]
    for path in paths:
        Image.new("RGB", (8, 8)).save(path)
    started, first, most = [], threading.Event(), []
    real = image_decoding.read_image

    def slow(path, side, known):
        started.append(path.name)
        if path.name == "00.png":
            first.wait(5)
        return real(path, side, known)

    def watch():
        time.sleep(0.5)
        most.append(len(started))
        first.set()

    monkeypatch.setattr(image_decoding, "read_image", slow)
    watcher = threading.Thread(target=watch)
    watcher.start()
    assert len(decode_images(paths, 8, threads=2).rows) == 60
    watcher.join()
    assert 1 <= most[0] <= 8


def test_large_images_on_several_threads_take_no_more_than_is_asked(tmp_path):
    """Each thread would take what one may, 6.5 GB where 1 GB was asked."""
    paths = [tmp_path / f"{k}.png" for k in range(4)]
    for path in paths:
        path.write_bytes(png(7000, 7000, 8, 6, rows=bytes((1 + 4 * 7000) * 7000)))
    # A process of its own, because memory that other tests have freed stays in pieces.
    code = (
        "import sys; from limits import within_limits;"
        "from wtrak.sources.image_decoding import decode_images;"
        "print(within_limits(decode_images, sys.argv[1:], 16, threads=4, seconds=60).rows)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.stdout.strip() == "[0, 1, 2, 3]", done.stderr
