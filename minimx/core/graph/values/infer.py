"""What shapes and element types flow through a graph.

    found = infer(graph, {"data": (32, 784)}, {"data": float32})
    found.shapes[entry], found.dtypes[entry]

Knowledge starts at variables and travels both ways along the nodes until nothing new
comes: forward by the operators' own `infer`, to parameters by `complete`, backward and
sideways by `deduce`. Where only some axes of a shape are known, `infer` is asked twice,
with two different lengths in the places of the unknown: what comes out alike is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minimx.core.dtypes import FLOAT32, DType, resolve
from minimx.core.errors import DTypeError, MXNetError, ShapeError
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.np_semantics import is_np_shape
from minimx.core.ops.registry import Op
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Open, Shape, is_whole, merge

# Lengths that most strides and groups divide, for axes that are not known.
_PROBES = (27720, 55440)
# Knowledge that travels against the order of the nodes needs further rounds.
_ROUNDS = 50


class Inference:
    """Shapes and element types of a graph's entries, as far as they are known."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.shapes: dict[Entry, Open] = {}
        self.dtypes: dict[Entry, DType | None] = {}

    def spec(self, entry: Entry) -> Spec | None:
        """Shape and type of an entry, if both are known."""
        shape, dtype = self.shapes.get(entry), self.dtypes.get(entry)
        if shape is None or dtype is None or None in shape:
            return None
        return Spec.of(shape, dtype)  # type: ignore[arg-type]

    # -- learning ---------------------------------------------------------------------

    def learn_shape(self, entry: Entry, shape: Open, who: str) -> bool:
        """Take in what a node says of the shape of an entry; whether something was new.

        who: the node's name, for the error. Raises ShapeError if it contradicts what
        was known.
        """
        before = self.shapes.get(entry)
        after = merge(f"{who}: {entry.name}", before, shape)
        self.shapes[entry] = after
        return after != before

    def learn_dtype(self, entry: Entry, dtype: DType | None) -> bool:
        """Take in an element type; the first account counts. Whether it was new.

        Later accounts may differ: operators convert, and say so when they run.
        """
        if dtype is None or self.dtypes.get(entry) is not None:
            return False
        self.dtypes[entry] = dtype
        return True


def infer(
    graph: Graph,
    shapes: Mapping[str, Open],
    dtypes: Mapping[str, DType | None],
    default: DType | None = FLOAT32,
) -> Inference:
    """What follows for all entries from what is known of some variables.

    shapes, dtypes: by the variables' names; they come before what the variables say of
    themselves (`__shape__`, `__dtype__`). default: the element type of what is still
    not known at the end. Raises ShapeError or DTypeError where accounts differ.
    """
    found = Inference(graph)
    for node in graph.variables:
        known = node.name in shapes
        shape = shapes[node.name] if known else declared_shape(node)
        found.learn_shape(Entry(node), shape, node.name)
        dtype = dtypes.get(node.name) or declared_dtype(node)
        found.learn_dtype(Entry(node), dtype)
    _propagate(found)
    if default is not None and _give_default(found, default):
        _propagate(found)
    return found


def declared_shape(node: Node) -> Open:
    """What a variable says of its own shape; `opened` finds the unknown axes."""
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    from ast import literal_eval

    try:
        value = literal_eval(text)
        axes = tuple(int(n) for n in value)
    except (ValueError, SyntaxError, TypeError):
        raise ShapeError(
            f"variable {node.name}: __shape__={text!r} is no shape. Write one like "
            "'(32, 784)'."
        ) from None
    return opened(axes, is_np_shape())


def declared_dtype(node: Node) -> DType | None:
    """What a variable says of its own element type: a name, or MXNet's number."""
    text = node.attrs.get("__dtype__")
    if text is None or text == "-1":
        return None
    return resolve(int(text) if text.isdigit() else text)


def opened(shape: Shape, np_shape: bool = False) -> Open:
    """A shape as users write it; unknown axes are 0, or -1 where NumPy's rules hold.

    >>> opened((0, 10)), opened(()), opened((0, -1), np_shape=True)
    ((None, 10), None, (0, None))
    """
    if not shape and not np_shape:
        return None
    return tuple(None if n < 0 or (n == 0 and not np_shape) else n for n in shape)


def _propagate(found: Inference) -> None:
    """Ask every node until nothing new comes."""
    nodes = [node for node in found.graph if node.op is not None]
    for turn in range(_ROUNDS):
        news = False
        for node in nodes if turn % 2 == 0 else reversed(nodes):
            news |= _ask(found, node)
        if not news:
            return


def _give_default(found: Inference, default: DType) -> bool:
    news = False
    for node in found.graph.variables:
        news |= found.learn_dtype(Entry(node), default)
    return news


def _ask(found: Inference, node: Node) -> bool:
    """Let one node tell what it knows; whether anything was new."""
    op = node.op
    assert op is not None
    outs = [Entry(node, index) for index in range(op.visible)]
    specs = [found.spec(entry) for entry in node.inputs]
    news = False
    try:
        if all(found.spec(out) for out in outs) and all(specs):
            return False
        if op.unresolved:
            news |= _types(found, op, node.inputs, outs)
            return _deduced(found, op, node, outs) or news
        if not all(specs):
            news |= _types(found, op, node.inputs, outs)
            news |= _parameters(found, op, node)
            news |= _deduced(found, op, node, outs)
            specs = [found.spec(entry) for entry in node.inputs]
        return _forward(found, op, node, outs, specs) or news
    except (ShapeError, DTypeError) as reason:
        where = f"{node.name}: "
        if str(reason).startswith(where):
            raise
        raise type(reason)(where + str(reason)) from None


def _forward(
    found: Inference, op: Op, node: Node, outs: list[Entry], specs: list[Spec | None]
) -> bool:
    """What comes out, from what goes in."""
    if op.eager is not None and not has_own(op, "infer"):
        return False
    news = False
    if all(specs):
        results = _results(op, tuple(s for s in specs if s is not None))
        for out, spec in zip(outs, results, strict=False):
            news |= found.learn_shape(out, spec.shape, op.name)
            news |= found.learn_dtype(out, spec.dtype)
        return news
    shapes = [found.shapes.get(entry) for entry in node.inputs]
    dtypes = [found.dtypes.get(entry) or FLOAT32 for entry in node.inputs]
    for out, shape in zip(outs, probed(op, shapes, dtypes), strict=False):
        news |= found.learn_shape(out, shape, op.name)
    return news


def has_own(op: Op, name: str) -> bool:
    """Whether a sheet has its own answer to a question."""
    return getattr(type(op), name) is not getattr(Op, name)


def _results(op: Op, specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    results = op.infer(*specs)
    return results if isinstance(results, tuple) else (results,)


def probed(op: Op, shapes: list[Open], dtypes: list[DType]) -> list[Open]:
    """The shapes of the outputs, as far as the known axes of the inputs settle them.

    The operator's `infer` is asked twice, with two different lengths in the place of
    each open axis: what both answers have in common does not depend on it. An empty
    list if an input has no shape at all, or the operator refuses the lengths.
    """
    if any(shape is None for shape in shapes):
        return []
    answers: list[tuple[Spec, ...]] = []
    for length in _PROBES:
        specs = tuple(
            Spec.of(_filled(shape, length), dtype)
            for shape, dtype in zip(shapes, dtypes, strict=True)
        )
        try:
            answers.append(_results(op, specs))
        except MXNetError:
            return []  # the unknown axes are tied to others: nothing follows
    found = [_common(a.shape, b.shape) for a, b in zip(*answers, strict=True)]
    return [_clipped(shape, shapes[0]) for shape in found] if op.clips else found


def _clipped(out: Open, data: Open) -> Open:
    """Only axes that are known of the input are known of the output."""
    if out is None or data is None or len(out) != len(data):
        return None
    return tuple(None if m is None else n for m, n in zip(data, out, strict=True))


def _filled(shape: Open, length: int) -> Shape:
    assert shape is not None
    return tuple(length if n is None else n for n in shape)


def _common(a: Shape, b: Shape) -> Open:
    if len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def _parameters(found: Inference, op: Op, node: Node) -> bool:
    """The shapes of parameters, from that of the data."""
    rule: Any = getattr(op, "complete", None)
    data = found.shapes.get(node.inputs[0]) if node.inputs else None
    if rule is None or data is None:
        return False
    dtype = found.dtypes.get(node.inputs[0]) or FLOAT32
    answers = []
    for length in _PROBES:
        answers.append(rule(Spec.of(_filled(data, length), dtype)))
        if is_whole(data):
            answers *= 2
            break
    news = False
    for name, entry in zip(op.inputs, node.inputs, strict=True):
        # Of a whole shape `infer` judges, in better words.
        if name in answers[0] and not is_whole(found.shapes.get(entry)):
            shape = _common(answers[0][name], answers[1][name])
            news |= found.learn_shape(entry, shape, op.name)
    return news


def _deduced(found: Inference, op: Op, node: Node, outs: list[Entry]) -> bool:
    """What inputs and outputs tell of each other."""
    ins = [found.shapes.get(entry) for entry in node.inputs]
    results = [found.shapes.get(entry) for entry in outs]
    ins, results = op.deduce(ins, results)
    news = False
    for entry, shape in zip((*node.inputs, *outs), (*ins, *results), strict=True):
        news |= found.learn_shape(entry, shape, op.name)
    return news


def _types(found: Inference, op: Op, ins: tuple[Entry, ...], outs: list[Entry]) -> bool:
    """Element types where shapes are not known yet: the sheet's rule, or all alike."""
    known = [found.dtypes.get(entry) for entry in ins]
    results = [found.dtypes.get(entry) for entry in outs]
    known, results = op.deduce_types(known, results)
    news = False
    for entry, dtype in zip((*ins, *outs), (*known, *results), strict=True):
        news |= found.learn_dtype(entry, dtype)
    return news


def resolved(graph: Graph, specs: Mapping[str, Spec]) -> Graph:
    """The graph with operators that waited for a shape, such as `zeros((0, 3))`, fixed.

    specs: those of the variables, by name. Raises ShapeError or DTypeError for specs
    that an operator does not accept.
    """
    shapes = {name: spec.shape for name, spec in specs.items()}
    found = infer(graph, shapes, {name: spec.dtype for name, spec in specs.items()})

    if not any(node.op is not None and node.op.unresolved for node in graph):
        return graph

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        spec = found.spec(Entry(node))
        if node.op is None or not node.op.unresolved or spec is None:
            return None
        op = node.op.resolve(spec)
        attrs, explicit = node.attrs, node.explicit
        return [Entry(Node(op, inputs, node.name, attrs, explicit, node.layer))]

    return rewritten(graph, change)
