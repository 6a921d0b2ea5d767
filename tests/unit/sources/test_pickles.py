"""What pickles describe: the values that Python would build, and nothing that it would call."""

import argparse
import collections
import io
import pickle

import pytest

from wtrak.errors import SourceError
from wtrak.sources import pickles
from wtrak.sources.pickles import Call, Named, Stored, read_pickle

SHARED = [1, 2]
VALUES = {
    "numbers": [0, 1, 255, 256, 65_536, -1, 2**31, -(2**40), 2**70, 1.5, -0.0, True, False, None],
    "text": {"": "é", "a b": "x" * 300, "λ\n": ["ε"]},
    "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), ("a", (2,)))),
    "dictionaries": {1: {"a": {}}, "b": [{}, {2: 3}]},
    "lists": [[], [1], list(range(2000))],
    "what stands at two places": [SHARED, SHARED, {"x": SHARED}],
}
ORDERED = ("collections", "OrderedDict")


def read(blob, *admitted):
    return read_pickle(io.BytesIO(blob), set(admitted))


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("case", VALUES)
def test_containers_and_plain_values_are_those_that_were_written(case, protocol):
    """Weights and labels would come out otherwise than they were saved."""
    found = read(pickle.dumps(VALUES[case], protocol))
    assert found == VALUES[case] and repr(found) == repr(VALUES[case])


def test_one_object_at_two_places_stays_one():
    """Tensors that share a storage would come apart."""
    found = read(pickle.dumps(VALUES["what stands at two places"], 2))
    assert found[0] is found[1] is found[2]["x"]


@pytest.mark.parametrize("protocol", [3, 4])
def test_bytes_are_those_that_were_written(protocol):
    """Arrays would have other entries."""
    value = [b"", b"abc", b"x" * 300]
    assert read(pickle.dumps(value, protocol)) == value


class WithState:
    """Pickled as a call with a state."""

    def __reduce__(self):
        return collections.OrderedDict, ((("a", 1),),), {"hidden": [2]}, None, iter([("b", 3)])


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_call_is_described_and_not_made(protocol):
    """A pickle could run any program as the user."""
    found = read(pickle.dumps(WithState(), protocol), ORDERED)
    assert isinstance(found, Call)
    assert found.function == Named(*ORDERED) and found.arguments == ((("a", 1),),)
    assert found.state == {"hidden": [2]} and found.items == {"b": 3}
    assert found.calls(("os", "mkdir"), ORDERED) and not found.calls(("os", "mkdir"))


@pytest.mark.parametrize("protocol", [2, 4])
def test_an_object_is_described_and_not_made(protocol):
    """The settings of a training run, beside its weights, would make the weights unreadable."""
    settings = argparse.Namespace(rate=0.1, layers=[1])
    found = read(pickle.dumps(settings, protocol), ("argparse", "Namespace"))
    assert isinstance(found, Call)
    assert found.function == Named("argparse", "Namespace") and found.arguments == ()
    assert found.state == {"rate": 0.1, "layers": [1]}


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_what_is_not_admitted_is_refused_by_name(protocol):
    """A reader would go on with what it does not know."""
    blob = pickle.dumps(collections.OrderedDict(), protocol)
    with pytest.raises(SourceError, match=r"asks for collections\.OrderedDict, which no array"):
        read(blob, ("collections", "Counter"), ("torch", "OrderedDict"))


def test_what_is_kept_outside_is_known_by_its_label():
    """Tensors would be given the storage of another."""

    class Outside(pickle.Pickler):
        def persistent_id(self, given):
            return ("storage", 7) if given is SHARED else None

    buffer = io.BytesIO()
    Outside(buffer, 2).dump({"w": SHARED})
    assert read(buffer.getvalue()) == {"w": Stored(("storage", 7))}


def test_what_follows_is_left_unread():
    """The second of several pickles in a file would be lost."""
    stream = io.BytesIO(pickle.dumps([1], 2) + pickle.dumps("two", 2) + b"rest")
    assert read_pickle(stream, set()) == [1]
    assert read_pickle(stream, set()) == "two"
    assert stream.read() == b"rest"


def test_steps_end_at_their_limit(monkeypatch):
    """A megabyte of steps would make a hundred of objects."""
    monkeypatch.setattr(pickles, "_MAX_OPCODES", 10)
    assert read(b"]" * 10 + b".") == []
    with pytest.raises(SourceError, match="more than 10 steps"):
        read(b"]" * 11 + b".")


DISORDER = {
    "no end": b"\x80\x02]",
    "an empty stack": b".",
    "a mark for a value": b"(.",
    "no mark": b"K\x01t.",
    "a memo that is not there": b"h\x05.",
    "values of a number": b"K\x01K\x02a.",
    "items of a list": b"]K\x01K\x02s.",
    "an odd number of items": b"}(K\x01u.",
    "a tuple for a key": b"})K\x01s.",
    "a state of a list": b"]}b.",
    "a call of a number": b"K\x01)R.",
    "an object of a number": b"K\x01)\x81.",
    "a name that is no text": b"K\x01K\x02\x93.",
    "no pickle": b"<!doctype html>",
}


@pytest.mark.parametrize("case", DISORDER)
def test_disorder_is_one_named_error(case):
    """A damaged file would end with an exception of Python's own."""
    with pytest.raises(SourceError, match="this is no readable pickle"):
        read(DISORDER[case])


@pytest.mark.parametrize("value", [{1, 2}, bytearray(b"x"), frozenset(), 1j])
def test_other_kinds_of_values_are_refused(value):
    """What arrays do not need would be a way in."""
    with pytest.raises(SourceError, match="no array needs"):
        read(pickle.dumps(value, 4))
