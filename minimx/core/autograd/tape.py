"""The tape: what was computed under `record()`, written down call by call.

    x.attach_grad()             x._entry = (Leaf, 0)
    with autograd.record():
        y = x * x               y._entry = (TapeNode #1, 0)   mul, inputs [Leaf, Leaf]
        z = y.sum()             z._entry = (TapeNode #2, 0)   sum, inputs [TapeNode #1]

A recorded call is a `TapeNode`: the operator, where its inputs came from, and the few
values its gradient rule asked to keep (`Op.saves`: here x, for y). Each array has an
entry: which output of which node it is; None means that no gradient can reach it. In
PyTorch a node is a `grad_fn`, a leaf an `AccumulateGrad`, an entry an edge; in MXNet
they are `nnvm::Node` and `NodeEntry`.

Nodes are numbered in the order of recording, so an input's node always has a smaller
number than its user's. There is no list of nodes: arrays hold them, and they hold each
other. When the last array of a computation is gone, so is its part of the tape.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

from minimx.core.errors import GradientError
from minimx.core.events import attribution
from minimx.core.ops.registry import Op, Plan, Value
from minimx.core.ops.spec import Spec

GRAD_REQS = ("write", "add", "null")
#: Those that variables were marked with so far, in this process.
_used_reqs: set[str] = set()

_numbers = itertools.count(1)


class Leaf:
    """Where gradients end: a marked variable.

    grad: the array to store its gradient in. req: how, "write" or "add".
    """

    __slots__ = ("consumed", "grad", "number", "req")

    flows = True  # gradients arrive here

    def __init__(self, grad: Value, req: str) -> None:
        self.grad = grad
        self.req = req
        self.number = 0  # a leaf is older than any node
        self.consumed = 0  # and is never used up


class TapeNode:
    """One recorded call.

    op: the operator with its settings. inputs: for each input the entry it came from,
    None where no gradient flows. ins, outs: the specs of inputs and outputs. saved:
    (value, position, `Kept`) for each name in `op.saves`, see `_saved`. op_id: the
    operation that the engine gave the call, which records link the backward one to.

    flows: whether gradients pass (not through `argmax`). consumed: 0, or the number at
    which a walk has used the node up. layer: whose work it is, for records.
    """

    __slots__ = (
        "__weakref__", "consumed", "flows", "inputs", "ins", "layer", "number", "op",
        "op_id", "outs", "saved",
    )  # fmt: skip

    def __init__(
        self,
        op: Op,
        inputs: list[TapeEntry | None],
        ins: tuple[Spec, ...],
        outs: tuple[Spec, ...],
        saved: list[Any],
        op_id: int,
    ) -> None:
        self.op = op
        self.flows = op.differentiable
        self.inputs: list[TapeEntry | None] | None = inputs
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


#: Which output of which node an array is; a leaf has only output 0.
TapeEntry = tuple[TapeNode | Leaf, int]


def record_call(
    op: Op,
    inputs: Sequence[Value],
    outs: Sequence[Value],
    plan: Plan,
    op_id: int,
    specs: tuple[Spec, ...] | None = None,
) -> None:
    """Write a call on the tape, if any of its inputs leads to a variable.

    inputs, outs: the arrays of the call; visible outputs get an `_entry`. plan: that of
    the call, whose `outs` are specs. op_id: as in `TapeNode`. specs: those of the
    inputs, if the caller has them at hand.
    """
    entries = [value._entry for value in inputs]
    outside = entries.count(None)
    if outside and "null" in _used_reqs:
        drop_null_grads(inputs)
    if outside == len(entries):
        return
    saves = op.saves if op.differentiable else ()
    kept = [_saved(name, op, inputs, outs) for name in saves] if saves else []
    specs = specs or tuple([value.spec for value in inputs])
    node = TapeNode(op, entries, specs, plan.outs, kept, op_id)
    for index in range(op.visible):
        outs[index]._entry = (node, index)


def drop_null_grads(inputs: Sequence[Value]) -> None:
    """Drop the gradient arrays of variables that have grad_req='null' now.

    As in MXNet, where such a variable has a gradient until it is computed with.
    """
    for value in inputs:
        if value._entry is None and value._grad is not None:
            value._grad = None


def _saved(
    name: str, op: Op, inputs: Sequence[Value], outs: Sequence[Value]
) -> tuple[Value, int, Any]:
    """The value that `op.saves` calls `name`, its position, and what keeps its numbers.

    That is k for input k and -1 - k for output k: for FullyConnected "weight" is 1; for
    sigmoid "out" is -1.
    """
    if name == "out" or (name.startswith("out") and name[3:].isdigit()):
        index = int(name[3:] or 0)
        # An alias: the output itself would point at its node and form a cycle.
        return saved(outs[index]._alias(), -1 - index)
    if op.variadic:  # its inputs are data0, data1, …
        name = name.removeprefix("data")
    index = int(name) if op.variadic else op.inputs.index(name)
    return saved(inputs[index], index)


def saved(value: Value, position: int) -> tuple[Value, int, Any]:
    """What a node keeps of an array: it, its position, and what keeps its numbers.

    Those of results of the tape are kept. Variables and data (None) are read as they
    are when backward comes, as in MXNet.
    """
    entry = value._entry
    result = position < 0 or (entry is not None and not isinstance(entry[0], Leaf))
    return value, position, value.chunk.keep() if result else None


def mark_variables(
    variables: Value | Sequence[Value],
    gradients: Value | Sequence[Value],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Make arrays leaves of the tape, at which gradients end.

    variables: an array or a list of them. gradients: arrays of the same shapes, which
    `backward` fills. grad_reqs: 'write' (overwrite), 'add' (accumulate) or 'null' (no
    gradient), for all or a list for each. As `mx.autograd.mark_variables`. Raises
    GradientError for another grad_req, ValueError for lists of different lengths.
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
        _used_reqs.add(req)
        variable._grad = gradient
        variable._entry = (Leaf(gradient, req), 0) if req != "null" else None


# -- for views of the tape -------------------------------------------------------------


class Watcher(Protocol):
    """Is notified of recorded calls and backward passes; see `tools/tape_watch.py`."""

    def recorded(self, node: TapeNode) -> None:
        """A call was written on the tape."""

    def begun(self) -> None:
        """A walk begins, perhaps inside another one."""

    def arrived(self, entry: TapeEntry, gradient: Value | None) -> None:
        """A gradient was added to an output of a call or to a variable.

        gradient: of the shape of that output; None is zeros, which are not computed.
        """

    def visited(self, node: TapeNode) -> None:
        """All gradients of a call are summed, and its rule is about to be applied."""

    def left(self, node: TapeNode) -> None:
        """A call was walked past; what it kept is gone, unless the tape stays."""

    def ended(self) -> None:
        """The walk is over, or was broken off."""

    def stored(self, leaf: Leaf) -> None:
        """The gradient of a variable is in its gradient array."""


#: The current watcher. Only `Watch` sets it.
watching: Watcher | None = None
