"""A graph in words: its listing, and the settings of nodes as MXNet spells them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from minimx.attribute import READ_BY_US
from minimx.graph.ir import Graph, Node
from minimx.ops.registry import Op

#: Settings that are decided when a node runs, and are no part of a graph.
DECIDED_LATER = ("training", "np_shape")


def settings(op: Op, said: Collection[str] = ()) -> dict[str, str]:
    """The settings that are not at their defaults, and those of `said`, as text."""
    if own := getattr(op, "as_text", None):
        return dict(own())
    found = {}
    for field in dataclasses.fields(op):  # type: ignore[arg-type]
        value = getattr(op, field.name)
        if field.name in DECIDED_LATER:
            continue
        if value != field.default or field.name in said:
            found[field.name] = _text(value)
    return found


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value)) + ".0"
    return str(value)


def attributes(node: Node) -> dict[str, str]:
    """Settings and remarks of a node; those that MXNet reads under both names."""
    found = ({} if node.op is None else settings(node.op, node.said)) | node.attrs
    for name in READ_BY_US:
        if f"__{name}__" in found:
            found[name] = found[f"__{name}__"]
    return found


def listing(graph: Graph) -> str:
    """All nodes in order, one below the other."""
    lines = ["Symbol Outputs:"]
    for k, entry in enumerate(graph.outputs):
        lines.append(f"\toutput[{k}]={entry.node.name}({entry.slot})")
    for node in graph:
        lines += _described(node)
    return "\n".join(lines) + "\n"


def _described(node: Node) -> list[str]:
    if node.op is None:
        return [f"Variable:{node.name}"]
    lines = ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
    for k, entry in enumerate(node.inputs):
        lines.append(f"\targ[{k}]={entry.node.name}({entry.slot}) version=0")
    attrs = settings(node.op, node.said) | node.attrs
    if attrs:
        lines.append("Attrs:")
        lines += [f"\t{name}={attrs[name]}" for name in sorted(attrs)]
    return lines
