"""Conversions that let some operators compute in two-byte numbers.

    passed = insert_casts(graph, kinds_of(graph), rules)

Which operator computes in which type, and what that asks of its inputs, is decided by
the policy in ops/casting.py; the conversions, `amp_cast` and `amp_multicast`, follow.
One entry is converted to one type once, for all that need it. Shapes do not matter
here, and need not be known. What an operator changes, such as the running means of
BatchNorm, is never converted. The outputs of the graph keep their types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minimx.core.dtypes import FLOAT32, DType, is_float, resolve
from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import (
    Entry,
    Graph,
    Node,
    outputs_of,
    retraced,
    rewritten,
)
from minimx.core.ops.casting import (
    TARGETS,
    Rules,
    conversion,
    group,
    is_mixed,
    types_asked,
)
from minimx.core.ops.registry import Op
from minimx.operators.arrays.precision import AmpCast, AmpMulticast, ScaledLoss

#: What mixed precision puts in front of operators.
ADDED = (AmpCast, AmpMulticast, ScaledLoss)

Kinds = Mapping[Entry, DType]


def kinds_of(graph: Graph, given: Mapping[str, DType] | None = None) -> Kinds:
    """The element type of every entry.

    given: those of variables, by name; the others are what they say, or float32.
    """
    kinds: dict[Entry, DType] = {}
    for node in graph:
        if node.op is None:
            declared = node.attrs.get("__dtype__")
            own = (
                FLOAT32 if declared in (None, "None", "-1") else _of_code(str(declared))
            )
            kinds[Entry(node)] = (given or {}).get(node.name, own)
        else:
            kinds |= _made(node, kinds)
    return kinds


def without_casts(graph: Graph) -> Graph:
    """The graph without what mixed precision added to it, as files have it."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        return inputs if isinstance(node.op, ADDED) else None

    return rewritten(graph, change)


def _of_code(text: str) -> DType:
    """A type from the number that MXNet writes for it, or from its name."""
    return resolve(int(text) if text.isdecimal() else text)


def _made(node: Node, kinds: Kinds) -> dict[Entry, DType]:
    """The types of what a node gives, from those of what goes in."""
    assert node.op is not None
    ins: list[DType | None] = [kinds[entry] for entry in node.inputs]
    _, outs = node.op.deduce_types(ins, [None] * node.op.visible)
    first = next((kind for kind in ins if kind is not None), FLOAT32)
    return {Entry(node, slot): kind or first for slot, kind in enumerate(outs)}


def insert_casts(graph: Graph, kinds: Kinds, rules: Rules) -> Passed:
    """The graph with conversions in front of the operators that the rules name.

    kinds: those of all entries; variables keep theirs. Raises ArgumentError unless the
    rules aim at float16 or bfloat16.
    """
    dtype = resolve(rules.target)
    if dtype.name not in TARGETS:
        raise ArgumentError(
            f"insert_casts: {dtype.name} is no two-byte type of real numbers. Give "
            "float16 or bfloat16."
        )
    return _Casting(graph, kinds, dtype, rules).passed()


def _fit(op: Op, kinds: Sequence[DType | None]) -> bool:
    """Whether inputs have the types that an operator asks for beside such data."""
    first = kinds[0]
    if first is None or not is_mixed(first):
        return False
    asked = types_asked(op, first, len(kinds))
    return all(
        not is_mixed(kind) or kind == wanted
        for kind, wanted in zip(kinds, asked, strict=True)
    )


def _has_parameters(node: Node) -> bool:
    """Whether a node has data, and beside them variables only."""
    assert node.op is not None
    named = len(node.inputs) > 1 and [*node.op.inputs][:1] == ["data"]
    return named and all(entry.node.op is None for entry in node.inputs[1:])


class _Casting:
    """A graph on its way to mixed precision."""

    def __init__(self, graph: Graph, kinds: Kinds, target: DType, rules: Rules) -> None:
        self.graph = graph
        self.before = kinds
        self.target = target
        self.rules = rules
        #: The types of the entries of the new graph.
        self.kinds: dict[Entry, DType] = {}
        self.made: dict[tuple[Entry, DType], Entry] = {}
        self.changes: list[Change] = []

    def passed(self) -> Passed:
        """Node by node, then the outputs."""
        after, places = retraced(self.graph, self._node)
        outputs = [
            self._as(new, self.before[old], "the graph gives it out")
            for old, new in zip(self.graph.outputs, after.outputs, strict=True)
        ]
        after = Graph(outputs, after.order)
        return Passed("casts", self.graph, after, tuple(self.changes), places)

    def _node(self, node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry]:
        if node.op is None:
            self.kinds[Entry(node)] = self.before[Entry(node)]
            return outputs_of(node)
        if not isinstance(node.op, ADDED):
            inputs = self._converted(node, inputs)
        kept = node if inputs == node.inputs else node.with_inputs(inputs)
        self._learn(kept)
        return outputs_of(kept)

    def _learn(self, node: Node) -> None:
        self.kinds |= _made(node, self.kinds)

    def _converted(self, node: Node, inputs: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """What goes into a node, in the types that it computes in."""
        op = node.op
        assert op is not None
        found, why = group(op, self.rules, node.name)
        states = node.states()
        kinds = [
            None if old in states else self.kinds[new]
            for old, new in zip(node.inputs, inputs, strict=True)
        ]
        asked = conversion(op, found, self.target, kinds, self._fits(node, kinds))
        if asked.together:
            return self._together(node, inputs, asked.together, why)
        return tuple(
            entry if kind is None else self._as(entry, kind, why)
            for entry, kind in zip(inputs, asked.to, strict=True)
        )

    def _fits(
        self, node: Node, kinds: Sequence[DType | None]
    ) -> Callable[[], bool] | None:
        """Whether an operator takes inputs of just these types; None: unknown.

        Inputs of several types were there before if it takes them. If parameters stand
        beside the data, and nothing that was computed, they follow the data.
        """
        assert node.op is not None
        if len({self.before[entry] for entry in node.inputs}) != 1:
            return lambda: True
        if not _has_parameters(node):
            return None
        fit = _fit(node.op, kinds)
        return lambda: fit

    def _together(
        self, node: Node, inputs: tuple[Entry, ...], places: Sequence[int], why: str
    ) -> tuple[Entry, ...]:
        """One type for some of the inputs, the widest."""
        chosen = [inputs[k] for k in places]
        cast = Node(
            AmpMulticast.of(num_outputs=len(chosen)),
            chosen,
            f"{chosen[0].name}_amp_multicast",
            layer=node.layer,
        )
        self._learn(cast)
        self.changes.append(Change("converted", (cast.name, node.name), why))
        found = dict(zip(places, outputs_of(cast), strict=True))
        return tuple(found.get(k, entry) for k, entry in enumerate(inputs))

    def _as(self, entry: Entry, dtype: DType, why: str) -> Entry:
        """An entry in a type; the same conversion as before, if there was one."""
        if self.kinds[entry] == dtype or not is_float(dtype):
            return entry
        found = self.made.get((entry, dtype))
        if found is None:
            name = f"{entry.name}_amp_cast_{dtype.name}"
            op = AmpCast.of(dtype=dtype.name)
            cast = Node(op, [entry], name, layer=entry.node.layer)
            self._learn(cast)
            self.changes.append(Change("converted", (name, entry.node.name), why))
            found = self.made[entry, dtype] = Entry(cast)
        return found
