"""What shapes and element types flow through a graph.

    found = infer(graph, {"data": (32, 784)}, {"data": float32})
    found.shapes[entry], found.dtypes[entry]

Shapes are known of some variables at first, such as the data. Then every node is asked,
forwards and backwards through the graph in turns, until nothing new is learnt. A node
y = FullyConnected(data, weight, bias, num_hidden=10) with data of shape (32, 784) says:

    complete   data -> parameters             weight is (10, 784), bias (10,)
    infer      all inputs -> outputs          y is (32, 10)
    deduce     what is known -> the others    of y (32, …): data has 32 samples

Axes may be unknown (None in an `Open` shape). For data (None, 784) `infer` is called
twice, with two different lengths in its place: from (27720, 10) and (55440, 10) follows
(None, 10), for what both answers have in common does not depend on the length.

MXNet does the same in its passes InferShape and InferType (`src/nnvm`,
`infer_graph_attr_pass.cc`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minimx.core.dtypes import FLOAT32, DType, resolve
from minimx.core.errors import DTypeError, MXNetError, OperatorError, ShapeError
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.np_semantics import is_np_shape
from minimx.core.ops.failing import explained
from minimx.core.ops.registry import Op
from minimx.core.ops.settings import to_type
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Open, Shape, is_whole, merge

# Lengths for axes that are not known; most strides and groups divide them.
_PROBES = (27720, 55440)
# So often all nodes are asked, at most; two or three times are usual.
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
        """Merge what a node says of the shape of an entry; returns whether it was new.

        who: the node's name, for the error. Raises ShapeError if it contradicts what
        was known.
        """
        before = self.shapes.get(entry)
        after = merge(f"{who}: {entry.name}", before, shape)
        self.shapes[entry] = after
        return after != before

    def learn_dtype(self, entry: Entry, dtype: DType | None) -> bool:
        """Note an element type, unless one is known; returns whether it was new.

        A different one later is no error: operators convert, or refuse when they run.
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

    shapes, dtypes: by the variables' names; they come before the remarks `__shape__`
    and `__dtype__` of the variables. default: the element type of variables of which
    none is known at the end. Raises ShapeError or DTypeError, with the name of the
    node, where two things that are known contradict each other.
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
    """The shape in a variable's remark `__shape__`; None if there is none.

    Raises ShapeError for a text that is no shape.
    """
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    try:
        axes = to_type(node.name, "__shape__", text, "Shape")
    except OperatorError:
        raise ShapeError(
            f"variable {node.name}: __shape__={text!r:.60} is no shape. Write one like "
            "'(32, 784)'."
        ) from None
    return opened(axes, is_np_shape())


def declared_dtype(node: Node) -> DType | None:
    """The type in a variable's remark `__dtype__`: a name, or MXNet's number for it."""
    text = node.attrs.get("__dtype__")
    if text is None or text == "-1":
        return None
    return resolve(int(text) if len(text) < 4 and text.isdigit() else text)


def opened(shape: Shape, np_shape: bool = False) -> Open:
    """A shape as users write it; unknown axes are 0, or -1 where NumPy's rules hold.

    >>> opened((0, 10)), opened(()), opened((0, -1), np_shape=True)
    ((None, 10), None, (0, None))
    """
    if not shape and not np_shape:
        return None
    return tuple(None if n < 0 or (n == 0 and not np_shape) else n for n in shape)


def _propagate(found: Inference) -> None:
    """Ask every node until nothing new is learnt.

    In turns from inputs to outputs and back, since both may be known.
    """
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
    """Learn what follows from one node; returns whether anything was new."""
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
    except Exception as reason:
        raise explained(op, reason)  # noqa: B904 (it has its cause)


def _forward(
    found: Inference, op: Op, node: Node, outs: list[Entry], specs: list[Spec | None]
) -> bool:
    """Learn the outputs of a node from its inputs (`infer`)."""
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
    """Whether an operator's sheet overrides a method of `Op`, such as `grad`."""
    return getattr(type(op), name) is not getattr(Op, name)


def _results(op: Op, specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    results = op.infer(*specs)
    return results if isinstance(results, tuple) else (results,)


def probed(op: Op, shapes: list[Open], dtypes: list[DType]) -> list[Open]:
    """The shapes of the outputs, as far as known axes of the inputs decide them.

    See the top of this file for the two calls of `infer`. An empty list if an input has
    no shape at all, or the operator refuses the lengths.
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
    """The output's shape without the axes that are unknown of the input.

    For operators such as `slice`, which cut what is longer: both lengths may be cut to
    the same one, although a third would not be.
    """
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
    """Learn the shapes of parameters from that of the data (`complete`)."""
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
        # A shape that is known already is checked by `infer`, with a better message.
        if name in answers[0] and not is_whole(found.shapes.get(entry)):
            shape = _common(answers[0][name], answers[1][name])
            news |= found.learn_shape(entry, shape, op.name)
    return news


def _deduced(found: Inference, op: Op, node: Node, outs: list[Entry]) -> bool:
    """Learn what shapes of inputs and outputs say of each other (`deduce`)."""
    ins = [found.shapes.get(entry) for entry in node.inputs]
    results = [found.shapes.get(entry) for entry in outs]
    ins, results = op.deduce(ins, results)
    news = False
    for entry, shape in zip((*node.inputs, *outs), (*ins, *results), strict=True):
        news |= found.learn_shape(entry, shape, op.name)
    return news


def _types(found: Inference, op: Op, ins: tuple[Entry, ...], outs: list[Entry]) -> bool:
    """Learn element types, whether shapes are known or not (`deduce_types`)."""
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
