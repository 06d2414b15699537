"""Nodes that change nothing, and nodes that always give the same.

    eliminate        identities go; who used one takes what went into it
    fold_constants   what depends on no variable is computed once, while it is small

Nodes that no output needs are no part of a `Graph` in the first place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import resolve
from minimx.core.graph.passes.cse import pure
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import Entry, Graph, Node, retraced
from minimx.core.graph.values.specs import Specs, plan_of
from minimx.core.operators.creation import Creation
from minimx.core.ops.failing import explained
from minimx.core.ops.registry import Kernel, Plan
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape

#: The largest constant that is kept with a graph, in bytes.
LARGEST = 1 << 16

# -- identities ------------------------------------------------------------------------


def eliminate(
    graph: Graph, specs: Specs | None = None, training: bool = True
) -> Passed:
    """The graph without nodes whose output is their input.

    specs: those of the entries; with them a reshape to the same shape or a cast to the
    same type is found, too. training=False: the graph will only predict, so a Dropout
    for training is an identity.

    An identity stays where an array must be one of its own: between a variable, or
    another output, and an output of the graph, and behind an array that some node
    changes. Gradients must have been taken before, or not be wanted: `BlockGrad` and
    the order in which gradients are added up would be lost.
    """
    changed = {entry.node for node in graph for entry in node.states()}
    removed: dict[Node, Change] = {}
    kept: list[Change] = []

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        reason = _idle(node, specs, training)
        if reason is None:
            return None
        source = inputs[0]
        if source.node in changed:
            kept.append(_kept(node, f"{source.name} is changed by another node"))
            return None
        removed[node] = Change("removed", (source.node.name, node.name), reason)
        return [source]

    after, places = retraced(graph, change)
    after = Graph(_own_outputs(graph, after, removed, kept), after.order)
    return Passed("eliminate", graph, after, (*removed.values(), *kept), places)


def _own_outputs(
    before: Graph, after: Graph, removed: dict[Node, Change], kept: list[Change]
) -> list[Entry]:
    """The outputs; an identity is put back where an array would be given twice."""
    pairs = list(zip(before.outputs, after.outputs, strict=True))
    taken = {entry for was, entry in pairs if was.node not in removed}
    outputs: dict[Entry, Entry] = {}
    for was, entry in pairs:
        idle = was.node in removed and was not in outputs
        if idle and (entry.node.op is None or entry in taken):
            back = was.node.with_inputs((entry, *was.node.inputs[1:]))
            del removed[was.node]
            kept.append(_kept(back, "an output must be an array of its own"))
            entry = Entry(back)
        taken.add(outputs.setdefault(was, entry))
    return [outputs[was] for was in before.outputs]


def _kept(node: Node, reason: str) -> Change:
    return Change("kept", (node.name,), reason)


#: Operators that always are identities.
_IDENTITIES = frozenset(("_copy", "BlockGrad", "_identity_with_attr_like_rhs"))
#: The number with which an operator with a number is an identity, to the bit.
_NEUTRAL = {"_mul_scalar": "1.0", "_div_scalar": "1.0", "_minus_scalar": "0.0"}
#: Operators that are identities if they change neither shape nor element type.
_CONVERSIONS = frozenset(
    ("cast", "amp_cast", "Reshape", "_reshape_to", "Flatten", "expand_dims", "squeeze")
    + ("reshape_like", "broadcast_to", "broadcast_axis", "broadcast_like")
    + ("slice", "slice_axis", "slice_like")
)


def _idle(node: Node, specs: Specs | None, training: bool) -> str | None:
    """Why a node's output is its first input, or None if it is not."""
    op = node.op
    if op is None or not node.inputs:
        return None
    name = op.name
    if name in _IDENTITIES:
        return f"{name} gives what it takes"
    if name in _NEUTRAL and str(op.settings["scalar"]) == _NEUTRAL[name]:
        return f"{name} of {_NEUTRAL[name]} gives what it takes"
    if name == "Dropout":
        settings = op.settings
        if settings["p"] == 0:
            return "nothing is dropped with p=0"
        if not training and settings["mode"] == "training":
            return "nothing is dropped in prediction"
    turned = name == "slice" and any((step or 1) < 0 for step in op.settings["step"])
    if name in _CONVERSIONS and specs is not None and not turned:
        known = specs.get(node.inputs[0])
        if known is not None and specs.get(Entry(node)) is known:
            return f"{known} is what it has already"
    return None


# -- constants -------------------------------------------------------------------------


@dataclass(frozen=True)
class Held(Creation):
    """Numbers that were computed when a graph was prepared. out: `shape`.

    data: the bytes of the array
    """

    name: ClassVar[str] = "_constant"

    shape: Shape
    dtype: str
    data: bytes = field(repr=False)

    def infer(self, *specs: Spec) -> Spec:
        """As the settings say."""
        return Spec.of(self.shape, resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy."""
        value = np.frombuffer(self.data, resolve(self.dtype)).reshape(self.shape)
        return lambda out: np.copyto(out, value)


def fold_constants(graph: Graph, specs: Specs, largest: int = LARGEST) -> Passed:
    """The graph with what depends on no variable replaced by its value.

    specs: those of all entries. Arrays of more than `largest` bytes are computed by
    the graph as before: reading them would take longer than making them. An operator
    without inputs that no node reads stays as it is.
    """
    sources: dict[Node, Plan] = {}  # without inputs; computed when asked for
    values: dict[Node, list[Any]] = {}
    changes: list[Change] = []

    def value(entry: Entry) -> Any:
        node = entry.node
        if node not in values:
            values[node] = _computed(sources[node], [])
        return values[node][entry.slot]

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        known = all(e.node in values or e.node in sources for e in node.inputs)
        if (
            node.op is None
            or not known
            or not pure(node.op)
            or Entry(node) not in specs
        ):
            return None
        plan = plan_of(node, specs)
        if sum(spec.nbytes for spec in plan.outs) > largest:
            return None
        if not node.inputs:
            sources[node] = plan
            return None
        found = values[node] = _computed(plan, [value(entry) for entry in node.inputs])
        changes.append(Change("folded", (node.name,), "it depends on no variable"))
        return [
            Entry(Node(held(array), (), name, layer=node.layer))
            for name, array in zip(node.output_names(), found, strict=False)
        ]

    after, places = retraced(graph, change)
    return Passed("fold_constants", graph, after, tuple(changes), places)


def held(value: Any) -> Held:
    """The operator that gives a NumPy array."""
    return Held(value.shape, value.dtype.name, value.tobytes())


def _computed(plan: Plan, inputs: list[Any]) -> list[Any]:
    """The outputs of a node, hidden ones too."""
    outs = [np.empty(spec.shape, spec.dtype) for spec in plan.outs]
    scratch = [np.empty(plan.workspace, np.uint8)] if plan.workspace else []
    try:
        plan.kernel(*inputs, *outs, *scratch)
    except Exception as reason:
        raise explained(plan._op, reason)  # noqa: B904 (it has its cause)
    return outs
