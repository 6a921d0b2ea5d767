"""Human labels are read without running what a pickle asks for, and must belong to the dataset."""

import codecs
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from limits import within_limits
from wtrak.errors import WtrakError
from wtrak.sources.fetch import SourceError
from wtrak.sources.human_labels import CIFAR10N, check_alignment, decode_cifar10n, labels_of


def zipped(name, blob):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, blob)
    return buffer.getvalue()


def wheel(folder, body):
    """The nesting of the real file: a wheel with a zip with a torch file with a pickle."""
    inner = zipped("archive/data.pkl", body)
    blob = zipped("noisy_cifar/CIFAR-N.zip", zipped("CIFAR-N/CIFAR-10_human.pt", inner))
    path = folder / "labels.whl"
    path.write_bytes(blob)
    return path


def columns(**changes):
    rng = np.random.default_rng(0)
    made = {name: rng.integers(0, 10, size=50_000) for name in CIFAR10N.values()}
    return made | changes


@pytest.mark.parametrize("protocol", range(5))
def test_labels_are_read_as_they_are(tmp_path, protocol):
    """Columns would be swapped, or a pickle of another protocol be refused."""
    made = columns()
    found = decode_cifar10n(wheel(tmp_path, pickle.dumps(made, protocol)))
    assert set(found) == set(CIFAR10N)
    for ours, theirs in CIFAR10N.items():
        assert found[ours].dtype == np.uint8
        np.testing.assert_array_equal(found[ours], made[theirs])


class Attack:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_code_in_the_pickle_is_never_run(tmp_path, protocol):
    """A download would own the machine."""
    target = tmp_path / "owned"
    body = pickle.dumps(columns(worse_label=Attack(target)), protocol)
    with pytest.raises(SourceError, match="which no array needs"):
        decode_cifar10n(wheel(tmp_path, body))
    assert not target.exists()


def test_arrays_of_objects_are_refused(tmp_path):
    """An object array would carry anything past the list of what is admitted."""
    objects = np.array([1, 2, None], dtype=object)
    objects = np.resize(objects, 50_000)
    with pytest.raises(SourceError, match="worse_label is not an array of 50,000 integers"):
        decode_cifar10n(wheel(tmp_path, pickle.dumps(columns(worse_label=objects), 2)))


class Dtype:
    """Pickles as a dtype whose state claims that its integers are references to objects."""

    def __reduce__(self):
        return np.dtype, ("i8", False, True), (3, "<", None, None, None, -1, -1, 0x3F)


class Column:
    """Pickles as an array of it."""

    def __reduce__(self):
        state = (1, (50_000,), Dtype(), False, np.full(50_000, 1).tobytes())
        return np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), state


class ListedDtype:
    """Pickles as a dtype whose text is a list."""

    def __reduce__(self):
        return np.dtype, (["i8"], False, True), (3, "<", None, None, None, -1, -1, 0)


class OddColumn(Column):
    def __reduce__(self):
        build, arguments, state = super().__reduce__()
        return build, arguments, (*state[:2], ListedDtype(), *state[3:])


class Bare:
    """Pickles, under another name, as an array that is built without its initialiser or a state."""


@pytest.mark.parametrize("odd", [OddColumn, Bare])
def test_stand_ins_of_other_kinds_are_refused(tmp_path, odd):
    """The run would end in a TypeError or AttributeError of the reader's own."""
    body = pickle.dumps(columns(worse_label=odd()), 2)
    body = body.replace(f"c{__name__}\nBare\n".encode(), b"cnumpy.core.multiarray\n_reconstruct\n")
    with pytest.raises(SourceError, match=r"which no array needs|worse_label is not an array"):
        decode_cifar10n(wheel(tmp_path, body))


class Compressed:
    def __reduce__(self):
        return codecs.encode, ("x" * 100, "bz2")


def test_states_made_to_crash_numpy_do_nothing(tmp_path):
    """Memory would be read at addresses of the file's choice."""
    body = pickle.dumps(columns(worse_label=Column()), 2)
    assert (decode_cifar10n(wheel(tmp_path, body))["worse"] == 1).all()


class PackedColumn(Column):
    def __reduce__(self):
        build, arguments, state = super().__reduce__()
        return build, arguments, (*state[:4], Compressed())


def test_other_encodings_are_refused(tmp_path):
    """A codec is code of its own choice, and some unpack."""
    body = pickle.dumps(columns(worse_label=PackedColumn()), 2)
    with pytest.raises(SourceError, match="encodes text as bz2"):
        decode_cifar10n(wheel(tmp_path, body))


@pytest.mark.parametrize("dtype", ["<i8", ">i4", "u1", "<u2", "i1"])
def test_integers_of_any_width_and_order_are_read(tmp_path, dtype):
    """Labels would be read as others where a machine of another byte order wrote them."""
    made = columns()
    body = pickle.dumps({name: column.astype(dtype) for name, column in made.items()}, 2)
    np.testing.assert_array_equal(
        decode_cifar10n(wheel(tmp_path, body))["worse"], made["worse_label"]
    )


BAD = {
    "no mapping": (pickle.dumps([1, 2], 2), "clean_label is not an array"),
    "a short column": (
        pickle.dumps(columns(aggre_label=np.zeros(7, int)), 2),
        "aggre_label is not an array of 50,000",
    ),
    "a label of ten": (
        pickle.dumps(columns(worse_label=np.full(50_000, 10)), 2),
        "worse_label holds other than labels",
    ),
    "fractions": (
        pickle.dumps(columns(worse_label=np.zeros(50_000)), 2),
        "worse_label is not an array of 50,000 integers",
    ),
    "too long": (pickle.dumps("x" * 15_000_000, 2), "more than labels take"),
    "a cut pickle": (pickle.dumps(columns(), 2)[:1000], "no readable pickle"),
    "no pickle": (b"\n<!DOCTYPE html><html></html>", "no readable pickle"),
}


@pytest.mark.parametrize("case", BAD)
def test_other_content_is_refused_by_name(tmp_path, case):
    """Wrong labels would be taken for human ones."""
    body, reason = BAD[case]
    with pytest.raises(SourceError, match=reason):
        decode_cifar10n(wheel(tmp_path, body))


def one_byte_steps(opcode):
    """A pickle of as many bytes as labels may take, each of which makes an object."""
    return b"\x80\x02" + opcode * 14_000_000 + b"."


# What small pickles can make a reader claim that believes them, and in which words each ends.
CLAIMS = {
    "a memo of 300 million": (b"\x80\x02Nr\x00\xa3\xe1\x11.", "clean_label is not an array"),
    "dictionaries": (one_byte_steps(b"}"), "more than 300,000 steps"),
    "lists": (one_byte_steps(b"]"), "more than 300,000 steps"),
    "marks": (one_byte_steps(b"("), "more than 300,000 steps"),
    "a text of 4 GB": (b"\x80\x02X\xff\xff\xff\xff.", "no readable pickle"),
    "bytes of 2^60": (b"\x80\x04\x8e" + (2**60).to_bytes(8, "little") + b".", "no readable"),
    "a bytearray of 10 GB": (
        pickle.dumps(columns(), 2)[:-1] + b"c__builtin__\nbytearray\n(L10000000000L\ntR.",
        "asks for __builtin__.bytearray",
    ),
    "a shape of 2^40": (
        pickle.dumps(columns(), 2).replace(b"M\x50\xc3\x85", b"\x8a\x06" + bytes(5) + b"\1\x85", 1),
        "clean_label is not an array of 50,000 integers",
    ),
    # One text of the file's length, made bytes by each of many calls.
    "a text encoded 10,000 times": (
        b"\x80\x02X\x80\x84\x1e\x00" + b"x" * 2_000_000 + b"q\x00c_codecs\nencode\nq\x01"
        b"X\x06\x00\x00\x00latin1q\x02" + b"h\x01h\x00h\x02\x86R" * 10_000 + b".",
        "clean_label is not an array",
    ),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_memory_follows_the_file_and_not_what_it_claims(case):
    """Nine bytes of a download took 4.6 GB, the memo being a table up to its largest index."""
    body, reason = CLAIMS[case]
    with pytest.raises(SourceError, match=reason):
        within_limits(labels_of, body, 50_000)


def test_file_that_is_no_wheel_is_refused(tmp_path):
    """A saved error page would crash the run."""
    (tmp_path / "x.whl").write_bytes(b"not a zip")
    with pytest.raises(SourceError):
        decode_cifar10n(tmp_path / "x.whl")


def test_labels_of_another_order_are_refused():
    """Every label would be compared with that of another image."""
    labels = {"clean": np.arange(10) % 3}
    check_alignment(labels, np.arange(10) % 3)
    with pytest.raises(WtrakError, match="2 of 10 clean labels differ"):
        check_alignment(labels, np.array([1, 0, *(np.arange(2, 10) % 3)]))
