"""Generate mutants of a module: each changes one place of its syntax tree that affects results.

A mutation is told apart by the function that it is in, the text before and after, and its place
among equal ones of that function: none of which moves with the lines above it.
"""

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One changed copy of a module.

    Attributes
    ----------
    function : str
        Qualified name of the outermost function or method, or ``<module>``.
    before, after : str
        The part that is changed, and what it becomes.
    place : int
        Which of several equal changes of the function, from 0.
    compiled : callable
        Maps the module's file name to the code of the whole module after the change.
    """

    function: str
    before: str
    after: str
    place: int
    compiled: Callable

    @property
    def key(self):
        """Identifier of the mutant in the list of equivalent mutations."""
        return self.function, self.before, self.after, self.place


SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
# Comparisons with and without equality, and reversed.
COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OPPOSITE = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
    "mean": "median",
    "median": "mean",
    "all": "any",
    "any": "all",
    "floor": "ceil",
    "ceil": "floor",
    "triu": "tril",
    "tril": "triu",
}
# Calls that may be replaced by their first argument, or by the object whose method they are.
DROPPED = {
    "abs",
    "absolute",
    "sqrt",
    "clip",
    "clamp",
    "maximum",
    "minimum",
    "max",
    "min",
    "square",
    "log",
    "exp",
    "sort",
    "cumsum",
    "sign",
    "abs_",
    "clamp_",
    "sqrt_",
    "fill_diagonal_",
    "fill_diagonal",
}


# Calls whose value does not depend on the order of arguments, or that fail at once with another.
SYMMETRIC = {"max", "min", "maximum", "minimum", "broadcast_shapes", "isinstance", "logaddexp"}


# Arguments for output, progress, number of workers and order of ties; changes do not matter.
UNSEEN = {
    "out",
    "dtype",
    "device",
    "advance",
    "threads",
    "strict",
    "kind",
    "block_size",
    "optimize",
}


def _name(call):
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def mutations(node):
    """Yield replacements of one expression or statement, each with the changed part."""
    if isinstance(node, ast.BinOp):
        yield from _arithmetic(node)
    elif isinstance(node, ast.AugAssign) and type(node.op) in SWAPPED:
        yield _with(node, op=SWAPPED[type(node.op)]())
        yield ast.Pass()
    elif isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            for other in COMPARED.get(type(operator), ()):
                yield _with(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])
    elif isinstance(node, ast.BoolOp):
        for k in range(len(node.values)):
            rest = node.values[:k] + node.values[k + 1 :]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield from _slices(node)
    elif isinstance(node, ast.If):
        never = ast.Constant(value=False)
        yield _with(node, test=never)
        yield _with(node, test=ast.Constant(value=True))
    elif isinstance(node, ast.Tuple | ast.List) and isinstance(
        getattr(node, "ctx", None), ast.Load
    ):
        for k in range(len(node.elts) - 1):
            swapped = [*node.elts]
            swapped[k], swapped[k + 1] = swapped[k + 1], swapped[k]
            yield _with(node, elts=swapped)
    elif isinstance(node, ast.Break) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()


def _arithmetic(node):
    if type(node.op) in SWAPPED:
        yield _with(node, op=SWAPPED[type(node.op)]())
    if isinstance(node.op, ast.Add | ast.Mult):
        yield node.left
        yield node.right
    elif isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.FloorDiv | ast.Mod):
        yield node.left
    if isinstance(node.op, ast.Sub):
        yield _with(node, left=node.right, right=node.left)
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield node.left
        yield node.right


def _constants(node):
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(value=not value)
    elif isinstance(value, int):
        yield ast.Constant(value=value + 1)
        if value not in (0, 1):
            yield ast.Constant(value=value - 1)
        elif value == 1:
            yield ast.Constant(value=0)
    elif isinstance(value, float):
        yield ast.Constant(value=2 * value if value else 1.0)
        if value:
            yield ast.Constant(value=value / 2)


def _calls(node):
    name = _name(node)
    # A slice beyond the last row has the same value.
    if name == "min" and "block_size" in ast.unparse(node):
        return
    if name in OPPOSITE:
        other = OPPOSITE[name]
        if isinstance(node.func, ast.Attribute):
            yield _with(node, func=_with(node.func, attr=other))
        else:
            yield _with(node, func=ast.Name(id=other, ctx=ast.Load()))
    of_module = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") in (
        "np",
        "torch",
    )
    if name in DROPPED:
        if isinstance(node.func, ast.Attribute) and not of_module:
            yield node.func.value
        elif node.args:
            yield node.args[0]
            if name in ("maximum", "minimum") and len(node.args) > 1:
                yield node.args[1]
    # Swap two neighbouring arguments of a plain call.
    plain = not any(isinstance(one, ast.Starred) for one in node.args)
    if plain and name not in SYMMETRIC:
        for k in range(len(node.args) - 1):
            args = [*node.args]
            args[k], args[k + 1] = args[k + 1], args[k]
            yield _with(node, args=args)
    for k, keyword in enumerate(node.keywords):
        if keyword.arg in UNSEEN:
            continue
        if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant):
            continue  # changed as a constant
        yield _with(node, keywords=node.keywords[:k] + node.keywords[k + 1 :])


def _slices(node):
    part = node.slice
    for end in ("lower", "upper"):
        value = getattr(part, end)
        if value is not None and not isinstance(value, ast.Constant):
            moved = ast.BinOp(left=value, op=ast.Add(), right=ast.Constant(value=1))
            yield _with(node, slice=_with(part, **{end: moved}))
            moved = ast.BinOp(left=value, op=ast.Sub(), right=ast.Constant(value=1))
            yield _with(node, slice=_with(part, **{end: moved}))
    if part.step is not None:
        yield _with(node, slice=_with(part, step=None))


def _with(node, **changes):
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


def mutants_of(source):
    """All mutants of a module's source text, in the order of its lines."""
    tree = ast.parse(source)
    seen = {}
    for node, function, put in _places(tree):
        for change in mutations(node):
            before, after = ast.unparse(node), ast.unparse(change)
            if isinstance(node, ast.If):
                before, after = f"if {ast.unparse(node.test)}", f"if {ast.unparse(change.test)}"
            if before == after or (function == "<module>" and _is_of_names(node)):
                continue
            key = function, before, after
            place = seen[key] = seen.get(key, -1) + 1

            def compiled(file, node=node, put=put, change=change):
                put(change)
                try:
                    return compile(ast.fix_missing_locations(tree), file, "exec")
                finally:
                    put(node)

            yield Mutant(function, before, after, place, compiled)


def _places(tree):
    """Yield (node, function, put) for every replaceable node; ``put`` replaces it in the tree."""

    def visit(node, function, inside):
        for name, value in ast.iter_fields(node):
            many = isinstance(value, list)
            for k, child in enumerate(value if many else [value]):
                if not isinstance(child, ast.AST) or _is_plain(node, name, child):
                    continue
                within, nested = function, inside
                if isinstance(child, ast.FunctionDef | ast.ClassDef) and not inside:
                    within = child.name if function == "<module>" else f"{function}.{child.name}"
                    nested = isinstance(child, ast.FunctionDef)

                def put(new, value=value, k=k, node=node, name=name, many=many):
                    if many:
                        value[k] = new
                    else:
                        setattr(node, name, new)

                yield child, within, put
                yield from visit(child, within, nested)

    yield from visit(tree, "<module>", False)


def _is_of_names(node):
    """A list of names in the order in which they are shown."""
    return isinstance(node, ast.Tuple | ast.List) and all(
        isinstance(one, ast.Constant) and isinstance(one.value, str) for one in node.elts
    )


def _is_plain(node, name, child):
    """Whether a child affects no result: annotations, docstrings, messages and imports."""
    if name in ("annotation", "returns", "decorator_list", "bases"):
        return True
    if isinstance(node, ast.keyword) and node.arg in UNSEEN:
        return True
    if isinstance(node, ast.For) and name == "iter" and _is_of_names(child):
        return True
    # Which arrays of a file are read, in any order.
    if isinstance(node, ast.Call) and _name(node) == "load_arrays" and isinstance(child, ast.List):
        return True
    if isinstance(child, ast.Import | ast.ImportFrom | ast.Raise | ast.JoinedStr):
        return True
    if isinstance(child, ast.Constant) and isinstance(child.value, str | bytes | type(None)):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    # Messages, progress, and settings of numpy's warnings.
    silent = ("say", "WtrakError", "advance", "progress", "errstate")
    if isinstance(child, ast.Call) and _name(child) in silent:
        return True
    if isinstance(child, ast.Expr) and _is_plain(child, "value", child.value):
        return True
    # Code that runs only as a script.
    return isinstance(child, ast.If) and "__name__" in ast.unparse(child.test)
