"""Decode datasets from any source, and check their content by its hash."""

import gzip
import hashlib
import io
import json
import zlib
from pathlib import Path

import numpy as np

from wtrak.errors import SourceError
from wtrak.sources.archives import read_members
from wtrak.sources.catalogue import FORMATS
from wtrak.sources.fetch import describe_source, first_working

# Images in each of CIFAR-10's six files, and in each split of MNIST.
_CIFAR10_ROWS = 10_000
_MNIST_ROWS = {"train": 60_000, "t10k": 10_000}
# Allowance for everything in a PNG of 30 MB besides its pixels.
_PNG_HEADER_BYTES = 2 * 1024**2
_ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


def _decode_cifar10_binary(path):
    """The authors' binary batches: 10,000 records of one label byte and 3×32×32 pixel bytes."""
    batches = [f"data_batch_{k}.bin" for k in range(1, 6)]
    members = read_members(path, [*batches, "test_batch.bin"])

    def decode(names):
        records = []
        for name in names:
            raw = np.frombuffer(members[name], dtype=np.uint8)
            if raw.size != _CIFAR10_ROWS * 3073:
                raise SourceError(
                    f"{name} has {raw.size:,} bytes, expected {_CIFAR10_ROWS * 3073:,}"
                )
            records.append(raw.reshape(_CIFAR10_ROWS, 3073))
        records = np.concatenate(records)
        images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), records[:, 0].copy()

    return decode(batches), decode(["test_batch.bin"])


def _decode_cifar10_sheets(path):
    """PNG sheets with one 32×32 RGB image in each of 10,000 rows (HWC order), and JSON labels."""
    from PIL import Image

    sheets = [f"data_batch_{k}.png" for k in range(1, 6)]
    members = read_members(
        path, [*sheets, "test_batch.png", "train_lables.json", "test_lables.json"]
    )

    def pixels(name):
        check_length(name, 1024 * 3 * _CIFAR10_ROWS + _PNG_HEADER_BYTES)
        try:
            sheet = Image.open(io.BytesIO(members[name]), formats=("PNG",))
            # The size is checked first, because the image may not fit into memory.
            if sheet.size == (1024, _CIFAR10_ROWS):
                sheet = np.asarray(sheet.convert("RGB"))
                return sheet.reshape(_CIFAR10_ROWS, 32, 32, 3)
        except Exception as error:  # Pillow raises many types on damaged input
            raise SourceError(f"{name} is not a readable PNG ({error})") from error
        raise SourceError(
            f"{name} is {(sheet.height, sheet.width, 3)} pixels, "
            f"expected {(_CIFAR10_ROWS, 1024, 3)}"
        )

    def check_length(name, largest):
        if len(members[name]) > largest:
            raise SourceError(f"{name} has {len(members[name]):,} bytes, more than {largest:,}")

    def labels(name, count):
        # A parsed list of lists takes twenty times the memory of its text.
        check_length(name, 32 * count + 100)
        try:
            values = json.loads(members[name])
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{name} is not a list of labels ({error})") from error
        digits = set(range(10))
        if not isinstance(values, list) or len(values) != count:
            raise SourceError(f"{name} is not a list of {count:,} labels")
        if not all(type(value) is int and value in digits for value in values):
            raise SourceError(f"{name} does not hold {count:,} labels from 0 to 9")
        return np.array(values, dtype=np.uint8)

    train = np.concatenate([pixels(name) for name in sheets])
    return (
        (train, labels("train_lables.json", 5 * _CIFAR10_ROWS)),
        (pixels("test_batch.png"), labels("test_lables.json", _CIFAR10_ROWS)),
    )


def _decode_mnist(path):
    """Four IDX files, plain or gzipped: 28×28 grey images and labels from 0 to 9."""
    packed = Path(path).is_dir() and any(Path(path).rglob("*-ubyte.gz"))
    suffix = ".gz" if packed else ""
    names = [
        f"{split}-{kind}-ubyte{suffix}"
        for split in _MNIST_ROWS
        for kind in ("images-idx3", "labels-idx1")
    ]
    members = read_members(path, names)

    def values(name, *shape):
        raw = members[name + suffix]
        count = int(np.prod(shape))
        # The header is a magic number, which has the number of dimensions, and the dimensions.
        header = np.array([0x0800 + len(shape), *shape], dtype=">u4").tobytes()
        try:
            if packed:
                raw = gzip.GzipFile(fileobj=io.BytesIO(raw)).read(len(header) + count + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"{name}{suffix} is truncated or damaged ({error})") from error
        if raw[: len(header)] != header or len(raw) != len(header) + count:
            raise SourceError(f"{name} is not an IDX file of shape {shape}")
        return np.frombuffer(raw, dtype=np.uint8, offset=len(header)).reshape(shape)

    def split(name):
        images = values(f"{name}-images-idx3-ubyte", _MNIST_ROWS[name], 28, 28)[..., None]
        labels = values(f"{name}-labels-idx1-ubyte", _MNIST_ROWS[name])
        if labels.max() > 9:
            raise SourceError(f"{name}-labels-idx1-ubyte holds a label above 9")
        return images, labels

    return split("train"), split("t10k")


def _decode_measurements(_path):
    """scikit-learn's breast-cancer table as images: 30 scaled measurements as 5×6 grey pixels.

    These are foreign inputs, as they are neither photographs nor handwriting.
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    low, high = table.data.min(axis=0), table.data.max(axis=0)
    greys = np.round(255 * (table.data - low) / (high - low)).astype(np.uint8)
    images, labels = greys.reshape(-1, 5, 6, 1), table.target.astype(np.uint8)
    return (images[:400], labels[:400]), (images[400:], labels[400:])


def _decode_digits(_path):
    """scikit-learn's 1,797 8×8 digits. The last 360, by other writers, are the test set."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.round(digits.images[..., None] * (255 / 16)).astype(np.uint8)
    labels = digits.target.astype(np.uint8)
    return (images[:-360], labels[:-360]), (images[-360:], labels[-360:])


# Each takes a path and returns images and labels of both splits.
DECODERS = {
    "cifar10-binary": _decode_cifar10_binary,
    "cifar10-png-sheets": _decode_cifar10_sheets,
    "mnist-idx": _decode_mnist,
    "sklearn-digits": _decode_digits,
    "sklearn-breast-cancer": _decode_measurements,
}


def content_sha256(arrays):
    """sha256 over name, dtype, shape and bytes of each array, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        # Without a copy, because the array may be a file that memory could not hold.
        digest.update(array.data)
    return digest.hexdigest()


def load_dataset(name, sources, expected_sha256, *, directory, mirrors=()):
    """Decode a dataset from the first source with the expected content.

    Returns
    -------
    arrays : dict
        ``train_images`` and ``test_images`` (N, H, W, channels) uint8, ``train_labels`` and
        ``test_labels`` (N,) uint8.
    record : dict
        Source, content hash and class names, for provenance.

    Raises
    ------
    WtrakError
        If no source has it.
    """

    def use(path, source):
        splits = DECODERS[source["format"]](path)
        (train_images, train_labels), (test_images, test_labels) = splits
        arrays = dict(
            zip(_ARRAYS, (train_images, train_labels, test_images, test_labels), strict=True)
        )
        found = content_sha256(arrays)
        if expected_sha256 and found != expected_sha256:
            raise SourceError(
                f"decoded, but its pixels and labels have sha256 {found[:16]}…, "
                f"expected {expected_sha256[:16]}…"
            )
        return arrays, found, list(FORMATS[source["format"]].classes)

    (arrays, found, classes), source, _ = first_working(
        name, sources, use, directory=directory, mirrors=mirrors
    )
    record = {
        "dataset": name,
        "source": describe_source(source),
        "content_sha256": found,
        "classes": classes,
    }
    return arrays, record
