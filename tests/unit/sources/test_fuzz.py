"""Whatever bytes arrive: the decoders give a value of the right kind, or the error that names them.

Never another exception, more memory than the file is worth, or code of the file's choice.
"""

import argparse
import copy
import functools
import io
import pickle
import tarfile
import zipfile
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from conftest import REPOSITORY
from limits import limited, within_limits
from wtrak.errors import SourceError, WtrakError
from wtrak.job.io import (
    load_arrays,
    load_metadata,
    load_rows,
    read_csv,
    read_json,
    save_arrays,
    write_csv,
    write_json,
)
from wtrak.sources import datasets as data
from wtrak.sources import human_labels
from wtrak.sources.archives import read_members
from wtrak.sources.image_pixels import read_image
from wtrak.sources.weights import read_state_dict
from wtrak_plan import configuration

# A bounded time for each test, and the same examples on every run.
fuzzed = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NUMBERS = [b"\x00", b"\xff", b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 8]


@st.composite
def damaged(draw, seeds):
    """Bytes of one of the seeds after one to eight edits."""
    blob = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 8))):
        place = draw(st.integers(0, max(len(blob) - 1, 0)))
        end = min(place + draw(st.integers(1, 64)), len(blob))
        match draw(st.sampled_from(["flip", "number", "insert", "delete", "repeat", "cut"])):
            case "flip" if blob:
                blob[place] ^= 1 << draw(st.integers(0, 7))
            case "number":
                number = draw(st.sampled_from(NUMBERS))
                blob[place : place + len(number)] = number
            case "insert":
                blob[place:place] = draw(st.binary(min_size=1, max_size=16))
            case "delete":
                del blob[place:end]
            case "repeat":
                blob[place:place] = blob[place:end]
            case "cut" if draw(st.booleans()):
                del blob[place:]
    return bytes(blob)


def written(write):
    """Bytes that a function writes to a binary file."""
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


# --- archives ---


def tar(mode):
    def write(buffer):
        with tarfile.open(fileobj=buffer, mode=mode, format=tarfile.PAX_FORMAT) as archive:
            for name in ("x/a.bin", "é" * 120 + "/b.bin"):
                info = tarfile.TarInfo(name)
                info.size = 300
                archive.addfile(info, io.BytesIO(bytes(range(150)) * 2))

    return written(write)


def zipped(method):
    def write(buffer):
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.writestr("x/a.bin", bytes(300))
            archive.writestr("b.bin", bytes(range(256)))

    return written(write)


ARCHIVES = [tar("w"), tar("w:gz"), tar("w:bz2"), tar("w:xz")]
ARCHIVES += [zipped(zipfile.ZIP_STORED), zipped(zipfile.ZIP_DEFLATED)]


@limited(seconds=120)
@fuzzed
@given(damaged(ARCHIVES))
def test_archives(tmp_path, blob):
    """A damaged archive would end the run instead of the source."""
    path = tmp_path / "archive"
    path.write_bytes(blob)
    try:
        found = read_members(path, ["a.bin", "b.bin"])
    except SourceError as error:
        assert "archive" in str(error) or ".bin" in str(error)
    else:
        assert set(found) == {"a.bin", "b.bin"}
        assert all(type(value) is bytes for value in found.values())
    assert list(tmp_path.iterdir()) == [path]


# --- datasets, of three images a file ---


def folder_of(files):
    """A zip of named files."""

    def write(buffer):
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, blob in files.items():
                archive.writestr(name, blob)

    return written(write)


def sheet(buffer):
    Image.fromarray(np.arange(3 * 1024 * 3, dtype=np.uint8).reshape(3, 1024, 3)).save(buffer, "PNG")


def idx(*shape):
    header = np.array([0x0800 + len(shape), *shape], dtype=">u4").tobytes()
    return header + bytes(range(10)) * (int(np.prod(shape)) // 10 + 1)


def idx_files():
    for split in ("train", "t10k"):
        for kind, shape in (("images-idx3", (3, 28, 28)), ("labels-idx1", (3,))):
            size = 4 + 4 * len(shape) + int(np.prod(shape))
            yield f"{split}-{kind}-ubyte", idx(*shape)[:size]


BATCHES = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
LABELS_JSON = {"train_lables.json": str([*range(10), *[3] * 5]).encode()}
LABELS_JSON |= {"test_lables.json": b"[7, 8, 9]"}
DATASETS = {
    "cifar10-binary": {f"{name}.bin": bytes(3 * 3073) for name in BATCHES},
    "cifar10-png-sheets": {f"{name}.png": written(sheet) for name in BATCHES} | LABELS_JSON,
    "mnist-idx": dict(idx_files()),
}


@pytest.mark.parametrize("kind", DATASETS)
def test_datasets(tmp_path, monkeypatch, kind):
    """A damaged member would end the run, or be decoded to other shapes and labels."""
    monkeypatch.setattr(data, "_CIFAR10_ROWS", 3)
    monkeypatch.setattr(data, "_MNIST_ROWS", {"train": 3, "t10k": 3})
    decode, classes = data.DECODERS[kind], data.FORMATS[kind].classes
    path = tmp_path / "dataset.zip"
    path.write_bytes(folder_of(DATASETS[kind]))
    assert len(decode(path)[1][0]) == 3

    @settings(fuzzed, max_examples=150)
    @given(st.sampled_from(sorted(DATASETS[kind])), st.data())
    def check(name, source):
        blob = source.draw(damaged([DATASETS[kind][name]]))
        path.write_bytes(folder_of(DATASETS[kind] | {name: blob}))
        try:
            splits = decode(path)
        except SourceError as error:
            assert name in str(error)
            return
        for images, labels in splits:
            assert images.dtype == labels.dtype == np.uint8 and images.ndim == 4
            assert len(images) == len(labels)
            # The binary form has no list of what a label may be; its content is hashed.
            assert kind == "cifar10-binary" or labels.max() < len(classes)

    within_limits(check, seconds=120)


# --- weights ---

STATE = {"a": torch.arange(6.0).reshape(2, 3), "b.c": torch.ones(2, dtype=torch.int64)}
CHECKPOINT = {"model": STATE, "moments": [torch.ones(3)], "args": argparse.Namespace(rate=0.1)}
WEIGHTS = {
    ".pth": [
        written(lambda buffer: torch.save(STATE, buffer)),
        written(lambda buffer: torch.save(STATE, buffer, _use_new_zipfile_serialization=False)),
        written(lambda buffer: torch.save(CHECKPOINT, buffer)),
        written(
            lambda buffer: torch.save(CHECKPOINT, buffer, _use_new_zipfile_serialization=False)
        ),
    ],
    ".safetensors": [safetensors.torch.save(STATE)],
    ".npz": [
        written(lambda buffer: np.savez(buffer, a=np.ones((2, 3)), b=np.arange(4))),
        written(lambda buffer: np.savez_compressed(buffer, a=np.ones((2, 3), np.float16))),
    ],
}


@pytest.mark.parametrize("suffix", WEIGHTS)
@pytest.mark.filterwarnings("ignore")
def test_weights(tmp_path, suffix):
    """A damaged file of weights would end the run instead of the source."""
    path = tmp_path / f"weights{suffix}"

    @fuzzed
    @given(damaged(WEIGHTS[suffix]))
    def check(blob):
        path.write_bytes(blob)
        try:
            state = read_state_dict(path)
        except SourceError as error:
            assert path.name in str(error)
        else:
            assert all(torch.is_tensor(value) for value in state.values())

    within_limits(check, seconds=120)


# --- labels by people ---


class Meddling:
    def __reduce__(self):
        return pytest.fail, ("a pickle ran code",)


LABELS = {name: np.arange(30) % 10 for name in human_labels.CIFAR10N.values()}
PICKLES = [pickle.dumps(LABELS, protocol) for protocol in (2, 3, 4)]
PICKLES += [pickle.dumps({"clean_label": Meddling()}, protocol) for protocol in (0, 2, 4)]


@limited(seconds=120)
@fuzzed
@given(damaged(PICKLES))
@example(b"\x80\x02Nr\xff\xff\xff\x11.")  # puts None under a memo index of 300 million
def test_pickles(blob):
    """A damaged pickle would crash, or run what it names."""
    try:
        found = human_labels.labels_of(blob, 30)
    except SourceError:
        return
    assert set(found) == set(human_labels.CIFAR10N)
    for values in found.values():
        assert values.shape == (30,) and values.dtype == np.uint8 and values.max() <= 9


# --- pictures ---


def picture(kind, mode="RGB", **options):
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, size=(12, 10, 3), dtype=np.uint8)).convert(mode)
    return written(lambda buffer: image.save(buffer, kind, **options))


PICTURES = [picture(kind) for kind in ("PNG", "JPEG", "BMP", "WEBP", "TIFF", "PPM", "JPEG2000")]
PICTURES += [picture("GIF", "P"), picture("PNG", "P"), picture("TIFF", "F"), picture("AVIF")]
PICTURES += [picture("TIFF", "CMYK", compression="tiff_lzw"), picture("PNG", "I;16")]


@limited(seconds=120)
@fuzzed
@given(damaged(PICTURES))
@pytest.mark.filterwarnings("ignore")
def test_pictures(tmp_path, blob):
    """A damaged picture would be read as one of another shape, or as something that is none."""
    path = tmp_path / "picture"
    path.write_bytes(blob)
    try:
        found = read_image(path, 8).square
    except Exception as error:
        # All of them are a reason in the list of skipped files; these would be no reason.
        assert not isinstance(error, MemoryError | RecursionError | AttributeError | NameError)
    else:
        assert found.shape == (8, 8, 3) and found.dtype == np.uint8


# --- results ---


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The bytes of a result of each kind."""
    folder = tmp_path_factory.mktemp("results")
    save_arrays(folder / "x", {"a": np.arange(6.0), "b": np.ones((2, 2), int)}, {"classes": ["é"]})
    write_json(folder / "y", {"a": [1.5, None, "é"], "b": {"c": -3}})
    write_csv(folder / "z", pd.DataFrame({"a": [0.1, np.nan], "b": ["x", "y, z"]}))
    return [(folder / name).read_bytes() for name in "xyz"]


READERS = {
    "arrays": (0, load_arrays, dict),
    "metadata": (0, load_metadata, object),
    "rows": (0, lambda path: load_rows(path, "a", slice(1, 3)), np.ndarray),
    "JSON": (1, read_json, object),
    "CSV": (2, read_csv, pd.DataFrame),
}


@pytest.mark.parametrize("kind", READERS)
def test_results(results, tmp_path, kind):
    """A damaged result would be a traceback that does not name it."""
    which, read, expected = READERS[kind]
    path = tmp_path / "result"

    @fuzzed
    @given(damaged([results[which]]))
    def check(blob):
        path.write_bytes(blob)
        try:
            found = read(path)
        except WtrakError as error:
            assert str(path) in str(error)
        else:
            assert isinstance(found, expected)

    within_limits(check, seconds=120)


# --- the configuration ---

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["all", "digits", "cifar10", "lbfgs", "1e-3", "results/../x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=4,
)


def keys(value, path=()):
    """Path of every key of the configuration, of sections too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from keys(inner, (*path, key))


KEYS = list(keys(CONFIG))
SCHEMA = functools.cache(configuration.load_schema)


@settings(fuzzed, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), min_size=1, max_size=3))
def test_configurations(changes):
    """A wrong value would end in a traceback of the workflow's own, or be taken."""
    config = copy.deepcopy(CONFIG)
    for path, value in changes:
        block = config
        for key in path[:-1]:
            block = block.get(key) if isinstance(block, dict) else None
        if isinstance(block, dict):
            block[path[-1]] = value
    # The schema is the same for every configuration, and reading it takes most of the time.
    with mock.patch.object(configuration, "load_schema", SCHEMA):
        problems = configuration.problems_of(config)
    assert all(isinstance(problem, str) for problem in problems)
