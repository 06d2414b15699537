"""Which operators have a counterpart on integers of eight bits, and when it is taken.

rule = rule_of(node, choice)    # None: it stays an operator on real numbers
chosen(graph, choice)           # {node: rule} for a whole graph
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.ops.registry import Op, lookup
from minimx.graphs.onednn_backends import REPLACED

#: Operators that are one with what follows them; their weights stay real numbers.
FUSED = ("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected")


@dataclass(frozen=True)
class Rule:
    """How an operator becomes one on integers.

    name: of that one. must: it is worth it alone; others only between such. requantize:
    its sums of 32 bits are brought to eight. real: the inputs, by name, that stay real
    numbers. fits: whether it can be done with these settings.
    """

    name: str
    must: bool = False
    requantize: bool = False
    real: Collection[str] = ()
    fits: Callable[[Any], bool] = field(default=lambda op: True)


_NORM = ("gamma", "beta", "moving_mean", "moving_var")
RULES = {
    "Convolution": Rule("_contrib_quantized_conv", True, True),
    "FullyConnected": Rule("_contrib_quantized_fully_connected", True, True),
    "Embedding": Rule("_contrib_quantized_embedding", True, real=("data",)),
    "elemwise_mul": Rule("_contrib_quantized_elemwise_mul", True, True),
    "elemwise_add": Rule("_contrib_quantized_elemwise_add", False, True),
    "Flatten": Rule("_contrib_quantized_flatten"),
    "Activation": Rule("_contrib_quantized_act", fits=lambda op: op.act_type == "relu"),
    "Pooling": Rule(
        "_contrib_quantized_pooling", fits=lambda op: op.pool_type in ("max", "avg")
    ),
    "Concat": Rule("_contrib_quantized_concat", fits=lambda op: op.dim > 0),
    "BatchNorm": Rule(
        "_contrib_quantized_batch_norm",
        real=_NORM,
        fits=lambda op: not op.output_mean_var,
    ),
} | {name: Rule(name, True, real=("weight", "bias", *_NORM)) for name in FUSED}


@dataclass(frozen=True)
class Choice:
    """What a user asks for; see `quantize_model` for the words."""

    excluded_names: Collection[str] = ()
    excluded_operators: Collection[str] = ()
    dtype: str = "int8"
    mode: str = "full"
    granularity: str = "tensor-wise"
    calibrated: bool = True

    def __post_init__(self) -> None:
        for word, given, known in (
            ("quantized_dtype", self.dtype, ("int8", "uint8", "auto")),
            ("quantize_mode", self.mode, ("full", "smart")),
            (
                "quantize_granularity",
                self.granularity,
                ("tensor-wise", "channel-wise"),
            ),
        ):
            if given not in known:
                raise ArgumentError(
                    f"{word}={given!r}: choose one of {', '.join(known)}."
                )


def rule_of(node: Node, choice: Choice) -> Rule | None:
    """The rule for a node; None if it has none, or is excluded."""
    op = node.op
    rule = None if op is None else RULES.get(op.name)
    if op is None or rule is None or not rule.fits(op):
        return None
    names = {node.name, *node.attrs.get(REPLACED, "").split()}
    if op.name in choice.excluded_operators or names & {*choice.excluded_names}:
        return None
    # Its operator on integers needs to know the range of what comes out.
    return None if op.name == "BatchNorm" and not choice.calibrated else rule


def chosen(graph: Graph, choice: Choice) -> dict[Node, Rule]:
    """The nodes that become operators on integers.

    In the mode 'smart', operators that only move integers do so between others that
    are worth it: with one before them and one after, and nothing else between.
    """
    found = {node: rule for node in graph if (rule := rule_of(node, choice))}
    if choice.mode == "full":
        return found
    users: dict[Node, list[Node]] = {node: [] for node in graph}
    for node in graph:
        for entry in node.inputs:
            users[entry.node].append(node)
    before = {node: [e.node for e in node.inputs] for node in graph}
    starts = [node for node, rule in found.items() if rule.must]
    may = {node for node, rule in found.items() if not rule.must}
    both = _reached(starts, before, may) & _reached(starts, users, may)
    return {node: rule for node, rule in found.items() if rule.must or node in both}


def _reached(
    starts: Iterable[Node],
    ways: Mapping[Node, Iterable[Node]],
    through: Collection[Node],
) -> set[Node]:
    """The nodes of `through` that are reached from others without leaving it."""
    found: set[Node] = set()
    waiting = deque(starts)
    while waiting:
        for node in ways[waiting.popleft()]:
            if node in through and node not in found:
                found.add(node)
                waiting.append(node)
    return found


def on_integers(op: Op, rule: Rule, choice: Choice) -> Op:
    """The operator on integers for one on real numbers."""
    settings = dict(op.settings)
    if op.name in FUSED:
        settings["quantized"] = True
        if op.name == FUSED[1]:
            settings["channel_wise_quantize"] = choice.granularity == "channel-wise"
    return lookup(rule.name).of(**settings)
