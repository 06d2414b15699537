"""The tape: what was computed under `record()`, written down call by call.

A recorded call is a `Node`: the operator, where its inputs came from, and the few
values its gradient rule asked to keep. Nodes are numbered in the order of recording, so
an input's node always has a smaller number than its user's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol

from minimx.core.errors import GradientError
from minimx.core.events import attribution
from minimx.core.ops.registry import Op, Plan, Value
from minimx.core.ops.spec import Spec

GRAD_REQS = ("write", "add", "null")
#: Which of them variables were marked with, so far.
_requests: set[str] = set()

_numbers = itertools.count(1)


class Watcher(Protocol):
    """A watcher of what is recorded and of the way back; see `tools/tape_watch.py`."""

    def recorded(self, node: Node) -> None:
        """A call was written on the tape."""

    def begun(self) -> None:
        """A walk begins, perhaps inside another one."""

    def arrived(self, entry: Entry, gradient: Value | None) -> None:
        """A gradient came to an output of a call, or to a variable; None is zeros."""

    def visited(self, node: Node) -> None:
        """All gradients of a call are summed, and its rule is about to be applied."""

    def left(self, node: Node) -> None:
        """A call was walked past; what it kept is gone, unless the tape stays."""

    def ended(self) -> None:
        """The walk is over, or was broken off."""

    def stored(self, leaf: Leaf) -> None:
        """The gradient of a variable is where it belongs."""


#: The current watcher. Only `Watch` sets it.
watching: Watcher | None = None


class Leaf:
    """Where a gradient ends: a marked variable, its gradient array and what to do."""

    __slots__ = ("consumed", "grad", "number", "req")

    flows = True  # gradients arrive here

    def __init__(self, grad: Value, req: str) -> None:
        self.grad = grad
        self.req = req
        self.number = 0  # a leaf is older than any node
        self.consumed = 0  # and is never used up


class Node:
    """One recorded call."""

    __slots__ = (
        "__weakref__", "consumed", "flows", "inputs", "ins", "layer", "number", "op",
        "op_id", "outs", "saved",
    )  # fmt: skip

    def __init__(
        self,
        op: Op,
        inputs: list[Entry | None],
        ins: tuple[Spec, ...],
        outs: tuple[Spec, ...],
        saved: list[Value],
        op_id: int,
    ) -> None:
        self.op = op
        self.flows = op.differentiable
        self.inputs: list[Entry | None] | None = inputs
        self.ins = ins
        self.outs = outs
        self.saved = saved
        self.op_id = op_id
        self.number = next(_numbers)
        self.consumed = 0
        self.layer = attribution.layer
        if watching is not None:
            watching.recorded(self)

    def consume(self) -> None:
        """Forget what a walk has used up; calls recorded later see a constant here."""
        self.inputs = None
        self.saved = []
        self.consumed = next(_numbers)

    def __repr__(self) -> str:
        return f"<{self.op.name} #{self.number}: {self.ins} → {self.outs}>"


# Which output of which node a value is; a leaf has only output 0.
Entry = tuple[Node | Leaf, int]


def record_call(
    op: Op, inputs: Sequence[Value], outs: Sequence[Value], plan: Plan, op_id: int
) -> None:
    """Write a call on the tape, if any of its inputs leads to a variable.

    outs: what the call returned; those that gradients flow through get an `_entry`.
    plan: that of the call, whose `outs` are specs. op_id: the operation that the engine
    gave it, which records link the backward operation to.
    """
    entries = [value._entry for value in inputs]
    outside = entries.count(None)
    if outside and "null" in _requests:
        let_go(inputs)
    if outside == len(entries):
        return
    saves = op.saves if op.differentiable else ()
    saved = [_pick(name, op, inputs, outs) for name in saves]
    node = Node(op, entries, tuple(v.spec for v in inputs), plan.outs, saved, op_id)
    for index in range(op.visible):
        outs[index]._entry = (node, index)


def let_go(inputs: Sequence[Value]) -> None:
    """Forget the gradients that variables with grad_req='null' do not get."""
    for value in inputs:
        if value._entry is None and value._grad is not None:
            value._grad = None


def _pick(
    name: str, op: Op, inputs: Sequence[Value], outs: Sequence[Value]
) -> tuple[Value, int]:
    """The value that `saves` calls `name`, and its place: ≥ 0 input, < 0 output."""
    if name == "out" or (name.startswith("out") and name[3:].isdigit()):
        index = int(name[3:] or 0)
        # An alias: the output itself would point at its node and form a cycle.
        return outs[index]._alias(), -1 - index
    if op.variadic:  # its inputs are data0, data1, …
        name = name.removeprefix("data")
    index = int(name) if op.variadic else op.inputs.index(name)
    return inputs[index], index


def mark_variables(
    variables: Value | Sequence[Value],
    gradients: Value | Sequence[Value],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Make arrays the places where gradients end.

    gradients: arrays of the same shapes, which `backward` fills.
    grad_reqs: 'write', 'add' or 'null', for all or for each.
    """
    if not isinstance(variables, (list, tuple)):
        variables, gradients = [variables], [gradients]
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    for variable, gradient, req in zip(variables, gradients, grad_reqs, strict=True):
        if req not in GRAD_REQS:
            raise GradientError(
                f"grad_req={req!r}: choose one of {', '.join(GRAD_REQS)}."
            )
        _requests.add(req)
        variable._grad = gradient
        variable._entry = (Leaf(gradient, req), 0) if req != "null" else None
