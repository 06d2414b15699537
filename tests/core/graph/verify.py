"""What must hold of every graph, so that a pass that breaks it is found at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minimx.core.errors import OperatorError
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.spec import Spec


def verify(graph: Graph, specs: Mapping[str, Spec] | None = None) -> None:
    """Raise OperatorError unless a graph is sound.

    No circles; every operator has the inputs that it asks for; every input is an output
    that there is, if only for gradients; variables have names of their own. With the
    specs of the variables also: every operator accepts what it gets (ShapeError,
    DTypeError).
    """
    for node in graph.nodes:  # which refuses circles
        _verify_inputs(node)
    for entry in graph.outputs:
        _verify_entry(entry, "the outputs")
    seen: dict[str, Node] = {}
    for node in graph.variables:
        if seen.setdefault(node.name, node) is not node:
            raise OperatorError(
                f"two variables are called {node.name!r}; arrays could not be given by "
                "name. Rename one of them."
            )
    if specs is not None:
        shapes = {name: spec.shape for name, spec in specs.items()}
        infer(graph, shapes, {name: spec.dtype for name, spec in specs.items()})


def _verify_inputs(node: Node) -> None:
    if node.op is None:
        if node.inputs:
            raise OperatorError(f"the variable {node.name} has inputs.")
        return
    if not node.op.variadic and len(node.inputs) != len(node.op.inputs):
        raise OperatorError(
            f"{node!r} has {len(node.inputs)} inputs; it takes "
            f"{', '.join(node.op.inputs) or 'none'}."
        )
    for entry in node.inputs:
        _verify_entry(entry, repr(node))


def _verify_entry(entry: Entry, user: str) -> None:
    if not 0 <= entry.slot < _outputs(entry.node):
        raise OperatorError(
            f"{user} takes output {entry.slot} of {entry.node!r}, which has "
            f"{entry.node.visible}."
        )


def _outputs(node: Node) -> int:
    """How many outputs a node has, with the hidden ones that its gradient reads."""
    saves: Sequence[str] = () if node.op is None else node.op.saves
    hidden = [int(word[3:]) for word in saves if re.fullmatch(r"out\d+", word)]
    return max(node.visible, *(slot + 1 for slot in hidden), 0)
