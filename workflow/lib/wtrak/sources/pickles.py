"""Read what a pickle describes, without building the objects.

Nothing that the pickle names is imported or called. A call is stored as its name and arguments.
Memory is proportional to the length of the pickle, whatever sizes it claims.
"""

import pickletools
from dataclasses import dataclass, field

from wtrak.errors import SourceError

# A state dict of ResNet-152 has 45,000. An opcode of one byte may create an object of 100 bytes.
_MAX_OPCODES = 300_000
_MARK = object()


@dataclass(frozen=True)
class Named:
    """An object that the pickle refers to by module and name."""

    module: str
    name: str


@dataclass(eq=False)
class Call:
    """A call in the pickle, with the state and items to set on its result."""

    function: Named
    arguments: tuple
    state: object = None
    items: dict = field(default_factory=dict)

    def calls(self, *names):
        """Whether the function is one of `names`, which are pairs of module and name."""
        return (self.function.module, self.function.name) in names


@dataclass(frozen=True)
class Stored:
    """A reference to an object outside the pickle, by its label."""

    label: object


_VALUES = {
    *("NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES"),
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def read_pickle(stream, admitted):
    """Read a pickle of containers, numbers, text, bytes and calls, up to protocol 4.

    Parameters
    ----------
    stream : binary file
        Data after the pickle are not read. The caller must limit the length.
    admitted : set of tuple of str
        Modules and names that the pickle may refer to.

    Returns
    -------
    object
        Dictionaries, lists, tuples, numbers, text and bytes. Other objects become `Named`, `Call`
        and `Stored`.

    Raises
    ------
    SourceError
        If the pickle is damaged, refers to another name, or has an opcode that arrays of numbers do
        not need.
    """
    machine = _Machine(admitted)
    try:
        for count, (opcode, argument, place) in enumerate(pickletools.genops(stream)):
            if opcode.name == "STOP":
                return machine.pop()
            if count == _MAX_OPCODES:
                raise SourceError(f"the pickle has more than {_MAX_OPCODES:,} steps")
            machine.step(opcode.name, argument, place)
    except (ValueError, LookupError) as error:  # of pickletools, and of a stack or memo in disorder
        raise SourceError(f"this is no readable pickle ({str(error)[:200]})") from error


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self, admitted):
        self._admitted, self._stack, self._memo = admitted, [], {}

    def pop(self):
        value = self._stack.pop()
        if value is _MARK:
            raise ValueError("a mark is no value")
        return value

    def _pop_to_mark(self):
        start = len(self._stack) - 1
        while self._stack[start] is not _MARK:
            start -= 1
            if start < 0:
                raise ValueError("no mark")
        values = tuple(self._stack[start + 1 :])
        del self._stack[start:]
        return values

    def _pop_several(self, count):
        return tuple(reversed([self.pop() for _ in range(count)]))

    def step(self, name, argument, place):
        """Execute one opcode other than STOP."""
        push = self._stack.append
        if name in _VALUES:
            push(_CONSTANTS.get(name, argument))
        elif name in _TUPLES:
            push(self._pop_several(_TUPLES[name]))
        elif name == "TUPLE":
            push(self._pop_to_mark())
        elif name == "EMPTY_DICT":
            push({})
        elif name == "DICT":
            items = self._pop_to_mark()
            push({})
            self._set(items)
        elif name == "EMPTY_LIST":
            push([])
        elif name in ("APPEND", "APPENDS"):
            self._extend((self.pop(),) if name == "APPEND" else self._pop_to_mark())
        elif name == "MARK":
            push(_MARK)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self._memo[len(self._memo) if argument is None else argument] = self._stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            push(self._memo[argument])
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            push(self._named(argument))
        elif name in ("REDUCE", "NEWOBJ"):
            function, arguments = self._pop_several(2)
            if not isinstance(function, Named) or not isinstance(arguments, tuple):
                raise ValueError("a call of what cannot be called")
            push(Call(function, arguments))
        elif name == "BUILD":
            state = self.pop()
            if not isinstance(self._stack[-1], Call):
                raise ValueError("a state of what has none")
            self._stack[-1].state = state
        elif name == "BINPERSID":
            push(Stored(self.pop()))
        elif name in ("SETITEM", "SETITEMS"):
            self._set(self._pop_several(2) if name == "SETITEM" else self._pop_to_mark())
        elif name not in ("PROTO", "FRAME"):
            raise SourceError(f"the pickle has {name} at byte {place:,}, which no array needs")

    def _named(self, argument):
        module, name = argument.split(" ", 1) if argument else self._pop_several(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("a name that is no text")
        if (module, name) not in self._admitted:
            raise SourceError(f"the pickle asks for {module}.{name}, which no array needs"[:300])
        return Named(module, name)

    def _extend(self, values):
        if not isinstance(self._stack[-1], list):
            raise ValueError("values of what has none")
        self._stack[-1].extend(values)

    def _set(self, items):
        target = self._stack[-1]
        if isinstance(target, Call):
            target = target.items
        keys = items[::2]
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("items of what has none")
        # Hashing nested tuples could take very long.
        if not all(isinstance(key, str | int) for key in keys):
            raise ValueError("a key that is neither text nor number")
        target.update(zip(keys, items[1::2], strict=True))
