"""In which storage types the values of a graph are, and the gradients of its variables.

    found = storage_types(inference, {"x": "csr"})
    found.values[entry], found.gradients["w"]

Storage types follow the rules of `minimx.operators.sparse`; where there is none, a
value is dense. A gradient is sparse if every way back to the variable is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from minimx.core.errors import ArgumentError
from minimx.core.graph.values.infer import Inference
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, DEFAULT, ROW_SPARSE, STYPES, like, stype_of
from minimx.operators.sparse import answer

#: Operators that hand a gradient on as it is stored.
_PASSING = ("elemwise_add", "elemwise_sub", "add_n", "_copy", "negative", "_mul_scalar")


@dataclass(frozen=True)
class Storage:
    """Storage types of entries, and of gradients by the names of variables."""

    values: dict[Entry, str]
    gradients: dict[str, str]

    def table(self) -> str:
        """The storage types of every value, a line for each."""
        return "\n".join(
            f"{entry.name:40} {stype}" for entry, stype in self.values.items()
        )


def storage_types(found: Inference, known: Mapping[str, str]) -> Storage:
    """What follows from the storage types of some variables.

    known: by the variables' names; they come before what the variables say themselves
    (`__storage_type__`).
    """
    values: dict[Entry, str] = {}
    for node in found.graph:
        if node.op is None:
            values[Entry(node)] = _of_variable(node, known)
            continue
        stypes = _of_outputs(found, node, values)
        for index in range(node.visible):
            values[Entry(node, index)] = stypes[index] if stypes else DEFAULT
    return Storage(values, _gradients(found, values))


def _of_variable(node: Node, known: Mapping[str, str]) -> str:
    if node.name in known:
        return known[node.name]
    code = node.attrs.get("__storage_type__", "0")
    if str(code) not in ("-1", "0", "1", "2"):
        raise ArgumentError(
            f"variable {node.name}: __storage_type__={code!r}: 0 is default, 1 "
            "row_sparse, 2 csr."
        )
    return STYPES[max(0, int(code))]


def _of_outputs(
    found: Inference, node: Node, values: dict[Entry, str]
) -> list[str] | None:
    """The storage types of a node's outputs; None: all dense."""
    assert node.op is not None
    specs: list[Spec] = []
    for entry in node.inputs:
        spec = found.spec(entry)
        if spec is None:
            return None
        specs.append(like(spec, values[entry]))
    if all(values[entry] == DEFAULT for entry in node.inputs):
        return None
    rule = answer(node.op, tuple(specs))
    return None if rule is None else [stype_of(spec) for spec in rule.outs]


def _gradients(found: Inference, values: dict[Entry, str]) -> dict[str, str]:
    """From the outputs, whose gradients are stored as they are, back to variables."""
    arrived: dict[Entry, list[str]] = {}
    for entry in found.graph.outputs:
        arrived.setdefault(entry, []).append(values[entry])
    for node in reversed(list(found.graph)):
        if node.op is None:
            continue
        came = _joined(arrived.get(Entry(node), []))
        for k, entry in enumerate(node.inputs):
            arrived.setdefault(entry, []).append(_way_back(node, k, came, values))
    return {
        node.name: _joined(arrived.get(Entry(node), []))
        for node in found.graph.arguments
    }


def _joined(stypes: list[str]) -> str:
    """The storage type of a sum."""
    return stypes[0] if len(set(stypes)) == 1 else DEFAULT


def _way_back(node: Node, k: int, came: str, values: dict[Entry, str]) -> str:
    """How a node's k-th input gets its gradient."""
    op = node.op
    assert op is not None
    if op.name == "_contrib_SparseEmbedding":
        return ROW_SPARSE if k == 1 else DEFAULT
    if op.name == "Embedding":
        return ROW_SPARSE if k == 1 and op.settings["sparse_grad"] else DEFAULT
    if op.name == "dot":
        straight = not (op.settings["transpose_a"] or op.settings["transpose_b"])
        by_csr = values[node.inputs[0]] == CSR
        return ROW_SPARSE if k == 1 and straight and by_csr else DEFAULT
    return came if op.name in _PASSING else DEFAULT
