"""Arrays in ``.npy`` and ``.npz`` files, read in blocks of rows. Nothing is unpickled."""

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from wtrak.errors import WtrakError
from wtrak.sources.archives import opened_zip

_MAX_HEADER_BYTES = 10_000
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# The fixed part of the header of a member of a zip; two lengths are at its end.
_MEMBER_HEADER_BYTES = 30


@dataclass(frozen=True)
class StoredArray:
    """Where an array lies in a file, and what its header says.

    Attributes
    ----------
    path : Path
    member : str or None
        Name of the member of a ``.npz``.
    shape : tuple of int
    dtype : numpy.dtype
    fortran : bool
        Whether columns are contiguous instead of rows.
    start : int
        Bytes before the first entry: in the file, or in the unpacked member.
    packed : bool
        Whether the member is compressed, so that it cannot be mapped into memory.
    """

    path: Path
    member: str | None
    shape: tuple
    dtype: np.dtype
    fortran: bool
    start: int
    packed: bool

    @property
    def name(self):
        """The file, with the name of the array if it holds several."""
        return f"{self.path}: {self.member}" if self.member else str(self.path)

    def blocks(self, rows):
        """Yield the array in blocks of at most `rows` rows.

        Only one block is mapped or unpacked at a time. An array whose columns are contiguous is
        mapped as a whole, and the system reads what is used.

        Raises
        ------
        WtrakError
            If the file is cut, or an array in this order of columns is compressed.
        """
        count = self.shape[0]
        if self.packed:
            yield from self._unpacked(rows)
        elif self.fortran and len(self.shape) > 1:
            whole = np.memmap(self.path, self.dtype, "r", self.start, self.shape, order="F")
            for first in range(0, count, rows):
                yield whole[first : first + rows]
        else:
            for first in range(0, count, rows):
                shape = (min(rows, count - first), *self.shape[1:])
                start = self.start + first * self._row_bytes()
                # numpy cannot map arrays without entries.
                empty = 0 in shape or not self.dtype.itemsize
                yield (
                    np.zeros(shape, self.dtype)
                    if empty
                    else np.memmap(self.path, self.dtype, "r", start, shape)
                )

    def _row_bytes(self):
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def _unpacked(self, rows):
        if self.fortran and len(self.shape) > 1:
            raise WtrakError(
                f"{self.name} is compressed and in the order of columns, so that its rows cannot "
                "be read one by one; save it with numpy.savez, or as numpy.ascontiguousarray"
            )
        try:
            with opened_zip(self.path) as archive, archive.open(f"{self.member}.npy") as stream:
                stream.read(self.start)
                for first in range(0, self.shape[0], rows):
                    shape = (min(rows, self.shape[0] - first), *self.shape[1:])
                    raw = stream.read(shape[0] * self._row_bytes())
                    yield np.frombuffer(raw, self.dtype).reshape(shape)
        # zipfile and zlib raise several types for damaged files.
        except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
            raise WtrakError(f"{self.name} is damaged or cut ({error})") from error


def stored_arrays(path):
    """The arrays of a ``.npy`` or ``.npz`` file, by name; that of a ``.npy`` has the name "".

    Only headers are read.

    Returns
    -------
    dict of str to StoredArray

    Raises
    ------
    WtrakError
        If the file is damaged or cut, or an array holds Python objects.
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".npy":
            with path.open("rb") as file:
                size = path.stat().st_size
                return {"": _described(file, path, None, size, 0, packed=False)}
        with opened_zip(path) as archive:
            return {
                info.filename.removesuffix(".npy"): _member(archive, path, info)
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
    # zipfile raises several types for damaged files.
    except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise WtrakError(f"{path} is no readable {path.suffix} file ({error})") from error


def _member(archive, path, info):
    packed = info.compress_type != zipfile.ZIP_STORED
    if packed and info.compress_type != zipfile.ZIP_DEFLATED:
        raise ValueError(f"{info.filename} is packed by a method other than deflate")
    offset = 0
    if not packed:
        with path.open("rb") as file:
            file.seek(info.header_offset)
            header = file.read(_MEMBER_HEADER_BYTES)
        lengths = (int.from_bytes(header[k : k + 2], "little") for k in (26, 28))
        offset = info.header_offset + _MEMBER_HEADER_BYTES + sum(lengths)
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as stream:
        return _described(stream, path, name, info.file_size, offset, packed=packed)


def _described(stream, path, member, size, offset, *, packed):
    """The array whose header a stream begins with; `size` is that of header and entries."""
    what = f"the array {member}" if member else "the array"
    version = npy.read_magic(stream)
    if version not in _READERS:
        raise ValueError(f"{what} has the version {version}")
    shape, fortran, dtype = _READERS[version](stream, max_header_size=_MAX_HEADER_BYTES)
    start = stream.tell()
    if dtype.hasobject:
        raise WtrakError(
            f"{path}: {what} holds Python objects, which would have to be unpickled and might run "
            "a program; save numbers as float32, and text with dtype=str"
        )
    if math.prod(shape) * dtype.itemsize != size - start:
        raise ValueError(f"{what} has another size than its header says")
    return StoredArray(path, member, tuple(shape), dtype, fortran, offset + start, packed)
