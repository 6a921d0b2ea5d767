"""Read state dicts from untrusted files."""

import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from safetensors.torch import load_file

from wtrak.errors import SourceError
from wtrak.sources.archives import looks_like_html, opened_zip, unzip
from wtrak.sources.pickles import Call, Named, Stored, read_pickle

_MIB = 1024**2
# Most networks of torchvision have less. A checkpoint holds the weights and up to three times their
# size for the optimizer.
_MAX_WEIGHTS_BYTES = 640 * _MIB
_CHECKPOINT_FACTOR = 4
# Limits for the part of a file that describes the tensors.
_MAX_PICKLE_BYTES = 16 * _MIB
_MAX_SAFETENSORS_HEADER_BYTES = 4 * _MIB
_MAX_NPY_HEADER_BYTES = 1000
_MAX_DIMENSIONS = 8

_STORAGES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
_ORDERED = ("collections", "OrderedDict")
_PARAMETER = ("torch._utils", "_rebuild_parameter")
_TENSOR = (("torch._utils", "_rebuild_tensor_v2"), ("torch._utils", "_rebuild_tensor"))
# The settings of a training run, which torchvision's own training puts beside the weights.
_SETTINGS = ("argparse", "Namespace")
# Names that a pickle of tensors needs. None of them is called.
_ADMITTED = {_ORDERED, _PARAMETER, *_TENSOR, _SETTINGS, *(("torch", name) for name in _STORAGES)}
# Names under which a checkpoint may hold the state dict, beside other things.
_NESTED = ("state_dict", "model_state_dict", "model")
# Old files of torch.save begin with pickles of these two numbers.
_LEGACY_MAGIC, _LEGACY_VERSION = 0x1950A86A20F9469CFC6C, 1001


def read_state_dict(path, network_bytes=0):
    """Read a state dict from ``.pth``/``.pt``, ``.safetensors`` or ``.npz`` as torch tensors.

    Pickles are not executed. Only the description of the tensors is read from them. Of a checkpoint
    the state dict is read that lies under ``state_dict``, ``model_state_dict`` or ``model``.

    Parameters
    ----------
    path : path
    network_bytes : int
        Memory of the weights of the network that the file is for. The file may have four times
        that, and 640 MiB in any case.

    Raises
    ------
    SourceError
        If the file is of another kind or cannot be read.
    """
    path = Path(path)
    readers = {".pth": _read_torch, ".pt": _read_torch}
    readers |= {".safetensors": _read_safetensors, ".npz": _read_npz}
    if path.suffix not in readers:
        raise SourceError(f"{path.name}: a state dict is a .pth, .pt, .safetensors or .npz")
    limit = max(_MAX_WEIGHTS_BYTES, _CHECKPOINT_FACTOR * network_bytes)
    try:
        if path.stat().st_size > limit:
            raise _too_large(path.stat().st_size)
        state = readers[path.suffix](path, limit)
    # zipfile, safetensors and others raise many types for damaged files.
    except Exception as error:
        what = "an HTML page" if looks_like_html(path) else "damaged or unsafe"
        first_line = str(error).strip().split("\n")[0][:200]
        raise SourceError(f"{path.name} is {what}: {first_line}") from error
    if state is None:
        raise SourceError(
            f"{path.name} does not hold a flat state dict of tensors, nor one under "
            f"{', '.join(_NESTED)}"
        )
    return state


def _too_large(size):
    return ValueError(f"it claims {size:,} bytes of weights; too large")


def _checked(archive, limit):
    """The members of a zip, after a check of their total claimed size."""
    size = sum(info.file_size for info in archive.infolist())
    if size > limit:
        raise _too_large(size)
    return archive.infolist()


# --- torch.save ---


def _read_torch(path, limit):
    with path.open("rb") as file:
        is_zip = file.read(4) == b"PK\x03\x04"
        file.seek(0)
        return _read_zipped(path, limit) if is_zip else _read_legacy(file)


def _read_zipped(path, limit):
    """A zip of a folder: ``data.pkl`` describes the tensors, ``data/<key>`` are their storages."""
    with opened_zip(path) as archive:
        members = {info.filename.partition("/")[2]: info for info in _checked(archive, limit)}
        if "byteorder" in members and unzip(archive, members["byteorder"]) != b"little":
            raise ValueError("it is of a machine of another byte order")
        if members["data.pkl"].file_size > _MAX_PICKLE_BYTES:
            raise ValueError(f"its pickle claims {members['data.pkl'].file_size:,} bytes")
        found = read_pickle(io.BytesIO(unzip(archive, members["data.pkl"])), _ADMITTED)
        tensors = _described(found)
        return tensors and _built(tensors, lambda key: unzip(archive, members[f"data/{key}"]))


def _read_legacy(file):
    """Read an old file: pickles of two numbers, machine, tensors and keys, then the storages."""
    head = io.BytesIO(file.read(_MAX_PICKLE_BYTES))
    magic, version, machine, found, keys = (read_pickle(head, _ADMITTED) for _ in range(5))
    if (magic, version) != (_LEGACY_MAGIC, _LEGACY_VERSION) or not isinstance(keys, list):
        raise ValueError("it is no file of torch.save")
    end = file.seek(0, io.SEEK_END)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise ValueError("it is of a machine of another byte order")
    tensors = _described(found)
    if not tensors:
        return tensors
    file.seek(head.tell())
    raw, needed = {}, {tensor.key for tensor in tensors.values()}
    sizes = {tensor.key: (tensor.entries, tensor.dtype.itemsize) for tensor in _all_tensors(found)}
    for key in keys:
        if not isinstance(key, str):
            raise ValueError("the key of a storage is no text")
        entries, itemsize = sizes[key]
        if int.from_bytes(file.read(8), "little") != entries:
            raise ValueError(f"the storage {key} is of another length than its tensors say")
        # `read` would allocate the claimed length before it finds fewer bytes.
        if file.tell() + entries * itemsize > end:
            raise ValueError("it is cut")
        if key in needed:
            raw[key] = bytearray(file.read(entries * itemsize))
        else:
            file.seek(entries * itemsize, io.SEEK_CUR)
    return _built(tensors, raw.pop)


@dataclass(frozen=True)
class _Tensor:
    """Description of a tensor in a pickle: a view of a storage."""

    key: str
    dtype: torch.dtype
    entries: int
    offset: int
    size: tuple
    stride: tuple


def _items_of(value):
    """The items of a dict, ordered or not; None if the object is anything else."""
    if isinstance(value, Call):
        return value.items if value.calls(_ORDERED) else None
    return value if isinstance(value, dict) else None


def _described(found):
    """The tensors of a state dict, by name, which may lie in a checkpoint.

    None if the object is anything else.
    """
    found = _items_of(found)
    if found is None:
        return None
    nested = (_items_of(found.get(name)) for name in _NESTED)
    found = next((items for items in nested if items is not None), found)
    tensors = {key: _tensor(value) for key, value in found.items()}
    flat = all(isinstance(key, str) and value for key, value in tensors.items())
    return tensors if flat else None


def _all_tensors(found):
    """Yield every tensor that an object describes, however deep."""
    queue, seen = [found], set()
    while queue:
        value = queue.pop()
        # A hostile object may contain itself, or one part a great many times.
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Call):
            tensor = _tensor(value)
            if tensor:
                yield tensor
                continue
            queue += [value.state, *value.items.values()]
        elif isinstance(value, dict):
            queue += value.values()
        elif isinstance(value, list | tuple):
            queue += value


def _tensor(call):
    """The tensor that a call describes, or None if it describes none."""
    if isinstance(call, Call) and call.calls(_PARAMETER) and call.arguments:
        call = call.arguments[0]
    if not isinstance(call, Call) or not call.calls(*_TENSOR) or len(call.arguments) < 4:
        return None
    stored, offset, size, stride = call.arguments[:4]
    label = stored.label if isinstance(stored, Stored) else None
    if not isinstance(label, tuple) or len(label) not in (5, 6) or label[0] != "storage":
        raise ValueError("a tensor of no storage")
    _, kind, key, _, entries, *view = label
    if not isinstance(kind, Named) or kind.name not in _STORAGES or view not in ([], [None]):
        raise ValueError("a storage of another kind")
    if not isinstance(key, str) or not isinstance(size, tuple) or not isinstance(stride, tuple):
        raise ValueError("a tensor without a shape")
    numbers = (entries, offset, *size, *stride)
    if not all(type(number) is int and 0 <= number < 2**40 for number in numbers):
        raise ValueError("a tensor of an impossible shape")
    # A tensor with more entries than its storage would repeat them.
    if len(size) > _MAX_DIMENSIONS or len(size) != len(stride) or math.prod(size) > entries:
        raise ValueError("a tensor of another shape than its storage")
    return _Tensor(key, _STORAGES[kind.name], entries, offset, size, stride)


def _built(tensors, read):
    """Tensors as views of storages, whose bytes ``read(key)`` gives once for each storage."""
    storages, state = {}, {}
    for name, tensor in tensors.items():
        key, kind, entries = tensor.key, tensor.dtype, tensor.entries
        if key not in storages:
            storages[key] = kind, _flat(read(key), kind, entries)
        dtype, flat = storages[key]
        if (dtype, len(flat)) != (kind, entries):
            raise ValueError(f"{name} is of another kind than the storage it shares")
        state[name] = flat.as_strided(tensor.size, tensor.stride, tensor.offset)
    return state


def _flat(raw, dtype, entries):
    if len(raw) != entries * dtype.itemsize:
        raise ValueError(f"a storage has {len(raw):,} bytes and claims {entries:,} entries")
    return torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)


# --- safetensors ---


def _read_safetensors(path, _limit):
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
    if size > _MAX_SAFETENSORS_HEADER_BYTES:
        raise ValueError(f"its header claims {size:,} bytes; too large")
    return load_file(path)


# --- numpy ---


def _read_npz(path, limit):
    with opened_zip(path) as archive:
        return {
            info.filename.removesuffix(".npy"): torch.from_numpy(_array(unzip(archive, info)))
            for info in _checked(archive, limit)
        }


def _array(raw):
    """The array of a ``.npy`` file of numbers, after a check of its shape against its length."""
    stream = io.BytesIO(raw[: 2 * _MAX_NPY_HEADER_BYTES])
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"a .npy file of version {version}")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(stream, max_header_size=_MAX_NPY_HEADER_BYTES)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"an array of {dtype}, which no weights are")
    if len(shape) > _MAX_DIMENSIONS or min(shape, default=0) < 0:
        raise ValueError("an array of an impossible shape")
    if math.prod(shape) * dtype.itemsize != len(raw) - stream.tell():
        raise ValueError("an array claims another shape than it has bytes for")
    values = np.frombuffer(raw, dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")
