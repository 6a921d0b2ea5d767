"""Read members of untrusted archives with bounded memory and time.

Nothing is unpacked to disk, and links are not followed.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

from wtrak.errors import SourceError

_MIB = 1024**2
# Limits for one member, and for all requested members together.
_MAX_MEMBER_BYTES = 200 * _MIB
_MAX_TOTAL_BYTES = 400 * _MIB
# Limit for the unpacked size of a tar, including members that are not requested.
_MAX_ARCHIVE_BYTES = 1024 * _MIB
# Limit for the list of members of a zip, which is read at once.
_MAX_DIRECTORY_BYTES = 4 * _MIB
# Limits for one extended header of a tar (for a long name), and for the number of headers.
_MAX_EXTENDED_BYTES = 64 * 1024
_MAX_TAR_HEADERS = 20_000
# Limit for the dictionary of an xz file. The strongest preset takes 65 MiB.
_MAX_XZ_BYTES = 128 * _MIB
_STEP = _MIB
_EXTENDED = {
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
}


def looks_like_html(path):
    """Whether a file begins like a web page. Servers may send one instead of a download."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(512).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def read_members(path, names):
    """Read the members of a tar, zip or folder whose base names are `names`, as bytes.

    Refused are members over 200 MiB, more than 400 MiB in total, and tars that unpack to more than
    1 GiB.

    Raises
    ------
    SourceError
        If the archive is damaged, or a member is missing, too large or not unique.
    """
    path = Path(path)
    found = {}

    def take(name, size, read):
        base = name.rsplit("/", 1)[-1]
        if base not in names:
            return False
        if base in found:
            raise SourceError(f"{path.name} has more than one {base}")
        total = size + sum(map(len, found.values()))
        if size > _MAX_MEMBER_BYTES or total > _MAX_TOTAL_BYTES:
            raise SourceError(f"{base} in {path.name} claims {size:,} bytes; too large")
        found[base] = bytes(read())
        return True

    try:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    take(file.as_posix(), file.stat().st_size, file.read_bytes)
        elif zipfile.is_zipfile(path):
            with opened_zip(path) as archive:
                for info in archive.infolist():
                    take(info.filename, info.file_size, lambda info=info: unzip(archive, info))
        else:
            with path.open("rb") as raw:
                _read_tar(_Counted(_unpacked(raw), path.name), take)
    except SourceError:
        raise
    # For damaged archives the modules raise a dozen types, among them TypeError and RuntimeError.
    except Exception as error:
        what = "an HTML page" if looks_like_html(path) else "damaged"
        raise SourceError(
            f"{path.name} is {what}, or truncated, or not an archive ({error})"
        ) from error
    missing = [name for name in names if name not in found]
    if missing:
        raise SourceError(f"{path.name} lacks {', '.join(missing)}; it may be truncated")
    return found


# --- zip ---


class _DirectoryBounded:
    """A file for zipfile with a limit for the list of members, which zipfile reads at once."""

    def __init__(self, file, name):
        self._file, self._name, self.opening = file, name, True

    def read(self, size=-1):
        if not self.opening:
            return self._file.read(size)
        if size > _MAX_DIRECTORY_BYTES:
            raise SourceError(f"{self._name} has a list of {size:,} bytes of members; too large")
        # zipfile reads without a size only for the short record at the end.
        return self._file.read(_MAX_DIRECTORY_BYTES if size < 0 else size)

    def __getattr__(self, name):
        return getattr(self._file, name)


@contextlib.contextmanager
def opened_zip(path):
    """Yield a `zipfile.ZipFile` after a check of the length of its list of members.

    Raises
    ------
    SourceError
        If the list has more than about 50,000 members.
    """
    with Path(path).open("rb") as raw:
        file = _DirectoryBounded(raw, Path(path).name)
        with zipfile.ZipFile(file) as archive:
            file.opening = False
            yield archive


def unzip(archive, info):
    """Bytes of a member, at most as many as it claims.

    Members must be stored or deflated, because zipfile limits the unpacked size of no other method.
    """
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SourceError(f"{info.filename} is packed by a method other than deflate")
    with archive.open(info) as member:
        return _exactly(member, info.file_size)


def _exactly(stream, size):
    """Read `size` bytes of a stream in steps, because the claimed size cannot be trusted."""
    body = bytearray()
    while len(body) < size:
        step = stream.read(min(_STEP, size - len(body)))
        if not step:
            raise EOFError(f"{len(body):,} of {size:,} bytes are there")
        body += step
    return body


# --- tar ---


def _unpacked(raw):
    """The decompressed stream of a file, by its first bytes; the file itself if not compressed."""
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    return io.BufferedReader(_Xz(raw), _STEP) if start == b"\xfd7zXZ\x00" else raw


class _Xz(io.RawIOBase):
    """The decompressed stream of an xz file. `lzma.LZMAFile` has no limit for memory."""

    def __init__(self, raw):
        self._raw, self._decompressor = raw, None

    def readable(self):
        return True

    def readinto(self, buffer):
        while True:
            data = b""
            if self._decompressor is None or self._decompressor.eof:
                # After the end of a stream another may follow, possibly after zeros.
                data = self._decompressor.unused_data if self._decompressor else b""
                data = (data or self._raw.read(_STEP)).lstrip(b"\0")
                if not data:
                    return 0
                self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_XZ_BYTES)
            elif self._decompressor.needs_input:
                data = self._raw.read(_STEP)
                if not data:
                    raise EOFError("the xz file is cut")
            if found := self._decompressor.decompress(data, len(buffer)):
                buffer[: len(found)] = found
                return len(found)


class _Counted:
    """A stream that is read to no more than an archive may hold."""

    def __init__(self, stream, name):
        self._stream, self._name, self._left = stream, name, _MAX_ARCHIVE_BYTES

    def read(self, size):
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise SourceError(f"{self._name} unpacks to more than an archive may hold")
        return data

    def skip(self, size):
        while size > 0:
            step = len(self.read(min(_STEP, size)))
            if not step:
                raise EOFError("it ends within a member")
            size -= step


def _read_tar(stream, take):
    """Offer each file of a tar to `take`, which returns whether it has read the file.

    tarfile stores every header and trusts the lengths in headers of long names and sparse files. So
    only its parser for the header of 512 bytes is used here.
    """
    name, size = None, None
    for count in range(_MAX_TAR_HEADERS):
        block = stream.read(tarfile.BLOCKSIZE)
        if count and not block.strip(b"\0"):
            return
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if info.size < 0:
            raise ValueError("a member of negative size")
        if info.type in _EXTENDED:
            if info.size > _MAX_EXTENDED_BYTES:
                raise ValueError(f"a header claims {info.size:,} bytes")
            body = _exactly(stream, info.size)
            stream.skip(-info.size % tarfile.BLOCKSIZE)
            if info.type == tarfile.GNUTYPE_LONGNAME:
                name = body.rstrip(b"\0").decode("utf-8", "surrogateescape")
            elif info.type != tarfile.GNUTYPE_LONGLINK and info.type != tarfile.XGLTYPE:
                name, size = _name_and_size(body)
            continue
        name, size = name or info.name, info.size if size is None else size
        if info.type == tarfile.GNUTYPE_SPARSE:
            raise ValueError(f"{name} is a sparse file, which no source needs"[:300])
        if info.isreg() or info.type not in tarfile.SUPPORTED_TYPES:
            taken = info.isreg() and take(name, size, lambda size=size: _exactly(stream, size))
            stream.skip((0 if taken else size) + -size % tarfile.BLOCKSIZE)
        name, size = None, None
    raise ValueError(f"it has more than {_MAX_TAR_HEADERS:,} headers")


def _name_and_size(body):
    """Name and size of the next member from a POSIX extended header; None if it has none."""
    name, size, place = None, None, 0
    # Records are "length key=value\n"; the length is that of the whole record.
    while place < len(body):
        blank = body.index(b" ", place, place + 10)
        end = place + int(body[place:blank])
        key, is_there, value = body[blank + 1 : end - 1].partition(b"=")
        if end <= blank or end > len(body) or not is_there:
            raise ValueError("a damaged extended header")
        if key.startswith(b"GNU.sparse."):
            raise ValueError("a member is a sparse file, which no source needs")
        if key == b"path":
            name = value.decode("utf-8", "surrogateescape")
        elif key == b"size":
            size = int(value)
            if size < 0:
                raise ValueError("a member of negative size")
        place = end
    return name, size
