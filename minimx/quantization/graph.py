"""A graph on real numbers, turned into one that computes on integers of eight bits.

    found = quantized(graph, offline, choice)
    found.graph        with quantize, requantize and dequantize where types meet
    found.layers       what calibration has to measure, by the names that monitors see
    with_table(found.graph, {"conv0_output": (-1.5, 2.0)})    the same, calibrated

Between two operators on integers values stay integers. Parameters of which the values
are known beforehand (`offline`) are no longer computed in the graph: they become
variables called `conv0_weight_quantize`, and `…_min` and `…_max` for their range.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.ops.registry import Op, lookup
from minimx.quantization.rules import Choice, Rule, chosen, on_integers

#: What the names of nodes on integers begin with, and of variables on integers end in.
PREFIX, SUFFIX = "quantized_", "_quantize"
_QUANTIZE, _REQUANTIZE = "_contrib_quantize_v2", "_contrib_requantize"

Table = Mapping[str, tuple[float, float]]
#: Integers, and the two ends of their range.
Ranged = tuple[Entry, Entry, Entry]


class Quantized(NamedTuple):
    """A graph on integers, and the names of what calibration has to measure."""

    graph: Graph
    layers: list[str]


def quantized(graph: Graph, offline: Collection[str], choice: Choice) -> Quantized:
    """The graph on integers. offline: parameters whose values are known, by name."""
    after = _Pass(graph, offline, choice).after()
    return Quantized(after, [name for node in after if (name := measured(node))])


class _Pass:
    """A graph on its way."""

    def __init__(self, graph: Graph, offline: Collection[str], choice: Choice) -> None:
        self.graph, self.offline, self.choice = graph, offline, choice
        self.rules = chosen(graph, choice)
        # Where the entries of the old graph are in the new one, as either kind.
        self.reals: dict[Entry, Entry] = {}
        self.integers: dict[Entry, Ranged] = {}

    def after(self) -> Graph:
        """The new graph."""
        for node in self.graph:
            if node in self.rules:
                self.integers[Entry(node)] = self._made(node, self.rules[node])
                continue
            inputs = [self.real(entry) for entry in node.inputs]
            kept = node if tuple(inputs) == node.inputs else node.with_inputs(inputs)
            outs = outputs_of(kept)
            self.reals |= {Entry(node, k): outs[k] for k in range(node.visible)}
        return Graph([self.real(entry) for entry in self.graph.outputs])

    def real(self, entry: Entry) -> Entry:
        """An entry of the old graph as real numbers; made of integers if need be."""
        found = self.reals.get(entry)
        if found is None:
            op, name = (
                lookup("_contrib_dequantize").of(),
                f"{entry.node.name}_dequantize",
            )
            made = Node(op, self.integers[entry], name, layer=entry.node.layer)
            found = self.reals[entry] = Entry(made)
        return found

    def _made(self, node: Node, rule: Rule) -> Ranged:
        """The node on integers, and what brings its sums to eight bits."""
        assert node.op is not None
        op = on_integers(node.op, rule, self.choice)
        values, ranges = [], []
        for place, entry in enumerate(node.inputs):
            word = "" if node.op.variadic else str(node.op.inputs[place])
            if word in rule.real:
                values.append(self.real(entry))
                continue
            value, *ends = self._ranged(entry)
            values.append(value)
            ranges += ends
        made = Node(
            op, [*values, *ranges], PREFIX + node.name, node.attrs, layer=node.layer
        )
        if rule.requantize:
            narrow = lookup(_REQUANTIZE).of(out_type=self.choice.dtype)
            name = f"requantize_{node.name}"
            made = Node(narrow, _ranged_outs(made), name, layer=node.layer)
        return _ranged_outs(made)

    def _ranged(self, entry: Entry) -> Ranged:
        """An entry of the old graph as integers; made of real numbers if need be."""
        found = self.integers.get(entry)
        if found is not None:
            return found
        source = entry.node
        if source.op is None and source.name in self.offline:
            name = source.name + SUFFIX
            kinds = {name: "int8", f"{name}_min": "float32", f"{name}_max": "float32"}
            one, low, high = (
                Entry(Node(None, (), word, {"__dtype__": kind}, layer=source.layer))
                for word, kind in kinds.items()
            )
            outs = one, low, high
        else:
            op = lookup(_QUANTIZE).of(out_type=self.choice.dtype)
            name = entry.name + SUFFIX
            made = Node(op, [self.real(entry)], name, layer=source.layer)
            outs = _ranged_outs(made)
        self.integers[entry] = outs
        return outs


def _ranged_outs(node: Node) -> Ranged:
    """The integers that a node gives, and the ends of their range."""
    return Entry(node, 0), Entry(node, 1), Entry(node, 2)


def _with_range(
    node: Node, op: Op, inputs: Sequence[Entry], low: Any, high: Any
) -> Sequence[Entry]:
    """The outputs of a node whose operator `op` has a measured range."""
    settings: dict[str, Any] = dict(op.settings)
    settings |= {"min_calib_range": low, "max_calib_range": high}
    return outputs_of(node.with_op(type(op).of(**settings), tuple(inputs)))


def measured(node: Node) -> str:
    """What has to be measured for a node, by the name that monitors see; or ""."""
    if node.op is None or "min_calib_range" not in node.op.settings:
        return ""
    if node.op.name == _QUANTIZE:
        return node.name.removesuffix(SUFFIX)
    if node.op.name == _REQUANTIZE:
        node = node.inputs[0].node
    elif _is_requantized(node.op):
        return ""
    return node.name.removeprefix(PREFIX) + "_output"


def _is_requantized(op: Op | None) -> bool:
    """Whether a node after it brings its sums to eight bits."""
    return op is not None and op.name in (
        "_contrib_quantized_elemwise_add",
        "_contrib_quantized_elemwise_mul",
    )


def with_table(graph: Graph, table: Table) -> Graph:
    """The graph with measured ranges, by the names that monitors saw."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        found = table.get(measured(node))
        if found is None or node.op is None:
            return None
        low, high = map(float, found)
        return _with_range(node, node.op, inputs, low, high)

    return rewritten(graph, change)


def narrowed(graph: Graph) -> Graph:
    """Sums and products whose range was measured, rounded at once, not by a node."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is None or node.op.name != _REQUANTIZE:
            return None
        made = inputs[0].node
        ends: Any = node.op.settings
        low, high = ends["min_calib_range"], ends["max_calib_range"]
        if made.op is None or not _is_requantized(made.op) or low is None:
            return None
        return _with_range(made, made.op, made.inputs, low, high)

    return rewritten(graph, change)
