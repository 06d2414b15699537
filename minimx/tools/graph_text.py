"""A graph as text: its listing, its program, and settings as MXNet spells them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import Any

from minimx.core.dtypes import resolve
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import Op
from minimx.core.ops.spec import Spec

# Remarks that are read by the framework itself stand under `__name__`; users leave the
# bars away.
READ_BY_US = (
    "ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage",
    "profiler_scope",
)  # fmt: skip
#: Settings that are decided when a node runs, and are no part of a graph.
DECIDED_LATER = ("training", "np_shape")


def settings(op: Op, explicit: Collection[str] = ()) -> dict[str, str]:
    """The settings that are not at their defaults, and those of `explicit`, as text.

    explicit: names of settings that were given, see `Node.explicit`. As MXNet writes
    them to `-symbol.json`: `{"num_hidden": "10"}`.
    """
    if own := getattr(op, "as_text", None):
        return dict(own())
    found: dict[str, str] = {}
    if not dataclasses.is_dataclass(op):  # made for one call, such as that of a graph
        return found
    for field in dataclasses.fields(op):
        value = getattr(op, field.name)
        if field.name in DECIDED_LATER:
            continue
        if value != field.default or field.name in explicit:
            found[field.name] = _text(value)
    return found


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value)) + ".0"
    if isinstance(value, type):  # dtype=np.float32
        return str(resolve(value).name)
    return str(value)


def attributes(node: Node) -> dict[str, str]:
    """Settings and remarks of a node; those that MXNet reads under both names."""
    found = ({} if node.op is None else settings(node.op, node.explicit)) | node.attrs
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
    attrs = settings(node.op, node.explicit) | node.attrs
    if attrs:
        lines.append("Attrs:")
        lines += [f"\t{name}={attrs[name]}" for name in sorted(attrs)]
    return lines


def program(graph: Graph, specs: Callable[[Entry], Spec | None] | None = None) -> str:
    """A line for each node, as if it were a program; specs: what is known of values.

    input data: float32[4, 5]
    fc = FullyConnected(data, fc_weight, fc_bias, num_hidden=3): float32[4, 3]
    return fc
    """
    lines = []
    for node in graph:
        known = "" if specs is None else _kinds(node, specs)
        if node.op is None:
            lines.append(f"input {node.name}{known}")
            continue
        chosen = settings(node.op, node.explicit).items()
        args = [*map(_short, node.inputs), *(f"{k}={v}" for k, v in chosen)]
        lines.append(f"{node.name} = {node.op.name}({', '.join(args)}){known}")
    lines.append(f"return {', '.join(map(_short, graph.outputs))}")
    return "\n".join(lines)


def _short(entry: Entry) -> str:
    return entry.node.name + (f"[{entry.slot}]" if entry.node.visible > 1 else "")


def _kinds(node: Node, specs: Callable[[Entry], Spec | None]) -> str:
    found = [specs(Entry(node, slot)) for slot in range(node.visible)]
    return ": " + ", ".join("?" if spec is None else repr(spec) for spec in found)
