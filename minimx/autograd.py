"""The tape: what was computed under `record()`, and how to walk it backwards.

Every call recorded is a `Node`: the operator, where its inputs came from, and the few
values its gradient rule asked to keep. Nodes are numbered in the order of recording, so
an input's node always has a smaller number than its user's, and walking from the
largest number down is a topological order. Nothing recurses, so depth has no limit.

The tape knows operators, not arrays: a gradient rule is written with operators, and
`bind` hands them to whatever world the values belong to. Recording *during* the walk
(`create_graph=True`) therefore gives gradients of gradients for free.

MXNet's own names: `record`, `pause`, `train_mode`, `predict_mode`, `is_recording`,
`is_training`, `mark_variables`, `backward`, `grad`, `Function`.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from minimx import engine
from minimx.errors import GradientError, OperatorError
from minimx.events import attribute, attribution
from minimx.knobs import knobs
from minimx.ops.registry import Op, Plan, Site, Value, bind, lookup
from minimx.ops.spec import Spec

GRAD_REQS = ("write", "add", "null")


class _State(threading.local):
    def __init__(self) -> None:
        self.recording = False
        self.training = False


state = _State()
_numbers = itertools.count(1)


class Leaf:
    """Where a gradient ends: a marked variable, its gradient array and what to do."""

    __slots__ = ("grad", "number", "req")

    def __init__(self, grad: Value, req: str) -> None:
        self.grad = grad
        self.req = req
        self.number = 0  # a leaf is older than any node


class Node:
    """One recorded call."""

    __slots__ = (
        "inputs",
        "ins",
        "layer",
        "number",
        "op",
        "op_id",
        "outs",
        "saved",
    )

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
        self.inputs: list[Entry | None] | None = inputs
        self.ins = ins
        self.outs = outs
        self.saved = saved
        self.op_id = op_id
        self.number = next(_numbers)
        self.layer = attribution.layer

    def __repr__(self) -> str:
        return f"<{self.op.name} #{self.number}: {self.ins} → {self.outs}>"


# Which output of which node a value is; a leaf has only output 0.
Entry = tuple[Node | Leaf, int]


# -- modes ----------------------------------------------------------------------------


def is_recording() -> bool:
    """Whether calls of this thread are being recorded."""
    return state.recording


def is_training() -> bool:
    """Whether dropout drops and batch normalisation uses its batch."""
    return state.training


def set_recording(flag: bool) -> bool:
    """Turn recording on or off; returns what it was."""
    old, state.recording = state.recording, bool(flag)
    return old


def set_training(flag: bool) -> bool:
    """Turn training mode on or off; returns what it was."""
    old, state.training = state.training, bool(flag)
    return old


class _Mode:
    """A `with` scope (and decorator) that sets recording and training mode."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._saved: list[tuple[bool, bool, tuple[str, str, str]]] = []

    def __enter__(self) -> None:
        at = attribution
        before = (at.layer, at.phase, at.category)
        if self._recording:
            attribute(at.layer, "forward", "activation")
        self._saved.append((state.recording, state.training, before))
        if self._recording is not None:
            state.recording = self._recording
        if self._training is not None:
            state.training = self._training

    def __exit__(self, *_: object) -> None:
        state.recording, state.training, before = self._saved.pop()
        attribute(*before)

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def record(train_mode: bool = True) -> _Mode:
    """Record what is computed inside the `with` block, in training mode by default."""
    return _Mode(True, train_mode)


def pause(train_mode: bool = False) -> _Mode:
    """Do not record what is computed inside the `with` block."""
    return _Mode(False, train_mode)


def train_mode() -> _Mode:
    """Training behaviour inside the `with` block, recording as it was."""
    return _Mode(None, True)


def predict_mode() -> _Mode:
    """Prediction behaviour inside the `with` block, recording as it was."""
    return _Mode(None, False)


# -- recording ------------------------------------------------------------------------


def record_call(
    op: Op, inputs: Sequence[Value], outs: Sequence[Value], plan: Plan, op_id: int
) -> None:
    """Write a call on the tape, if any of its inputs leads to a variable."""
    entries = [value._entry for value in inputs]
    if entries.count(None) == len(entries) or not op.differentiable:
        return
    saved = [_pick(name, op, inputs, outs) for name in op.saves]
    node = Node(op, entries, tuple(v.spec for v in inputs), plan.outs, saved, op_id)
    for index in range(op.visible):
        outs[index]._entry = (node, index)


def _pick(
    name: str, op: Op, inputs: Sequence[Value], outs: Sequence[Value]
) -> tuple[Value, int]:
    """The value that `saves` calls `name`, and its place: ≥ 0 input, < 0 output."""
    if name == "out" or (name.startswith("out") and name[3:].isdigit()):
        index = int(name[3:] or 0)
        # An alias: the output itself would point at its node and form a cycle.
        return outs[index]._alias(), -1 - index
    if op.variadic:
        raise OperatorError(f"{op.name}: a variadic operator saves no single input")
    index = op.inputs.index(name)
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
        variable._grad = gradient
        variable._entry = (Leaf(gradient, req), 0) if req != "null" else None


# -- walking back ---------------------------------------------------------------------


def backward(
    heads: Value | Sequence[Value],
    head_grads: Value | Sequence[Value | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Fill the gradients of every marked variable that `heads` depend on.

    heads: arrays computed under `record()`.
    head_grads: one array for each head, of its shape; None means ones.
    retain_graph: keep the tape, so that it can be walked again.
    """
    heads_, grads_ = _as_lists(heads, head_grads)
    found = _walk(heads_, grads_, retain_graph, train_mode, create_graph=False)
    for leaf, gradient in found.items():
        _deliver(leaf, gradient)


def grad(
    heads: Value | Sequence[Value],
    variables: Value | Sequence[Value],
    head_grads: Value | Sequence[Value | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any:
    """Gradients of heads with respect to variables, returned instead of stored.

    create_graph: record the walk itself, so that the result can be differentiated.
    """
    single = not isinstance(variables, (list, tuple))
    wanted: list[Value] = [variables] if single else list(variables)
    leaves = []
    for variable in wanted:
        entry = variable._entry
        if entry is None or not isinstance(entry[0], Leaf):
            raise GradientError(
                "grad: a variable was not marked. Call attach_grad() on it before "
                "record()."
            )
        leaves.append(entry[0])
    heads_, grads_ = _as_lists(heads, head_grads)
    keep = create_graph if retain_graph is None else retain_graph
    found = _walk(heads_, grads_, keep, train_mode, create_graph)
    results = []
    for leaf, variable in zip(leaves, wanted, strict=True):
        if leaf not in found:
            raise GradientError(
                f"grad: the heads do not depend on a variable of shape "
                f"{variable.shape}. Was it used inside record()?"
            )
        results.append(found[leaf])
    return results[0] if single else results


def _as_lists(heads: Any, head_grads: Any) -> tuple[list[Value], list[Value | None]]:
    if not isinstance(heads, (list, tuple)):
        heads, head_grads = [heads], [head_grads]
    if head_grads is None:
        head_grads = [None] * len(heads)
    if len(heads) != len(head_grads):
        raise GradientError(
            f"backward: {len(heads)} heads but {len(head_grads)} head gradients. "
            "Give one for each, or none at all."
        )
    for head, gradient in zip(heads, head_grads, strict=True):
        if head._entry is None:
            raise GradientError(
                f"backward: the array of shape {head.shape} was not computed from a "
                "marked variable inside `with autograd.record():`. Call attach_grad() "
                "on the inputs first, and compute inside the block."
            )
        if gradient is not None and gradient.shape != head.shape:
            raise GradientError(
                f"backward: head gradient {gradient.shape} does not have the shape "
                f"{head.shape} of its head."
            )
    return list(heads), list(head_grads)


class _Pending:
    """Gradients that have arrived at each output of each node, not yet summed."""

    def __init__(self) -> None:
        self.arrived: dict[Node | Leaf, list[list[Value]]] = {}
        self._heap: list[tuple[int, Node]] = []

    def add(self, entry: Entry, gradient: Value) -> None:
        node, index = entry
        lists = self.arrived.get(node)
        if lists is None:
            count = 1 if isinstance(node, Leaf) else node.op.visible
            lists = self.arrived[node] = [[] for _ in range(count)]
            if isinstance(node, Node):
                heapq.heappush(self._heap, (-node.number, node))
        lists[index].append(gradient)

    def pop(self) -> tuple[Node, list[Value | None]] | None:
        if not self._heap:
            return None
        node = heapq.heappop(self._heap)[1]
        return node, [_sum(values) for values in self.arrived.pop(node)]

    def leaves(self) -> dict[Leaf, Value]:
        return {
            cast(Leaf, leaf): _sum(lists[0]) for leaf, lists in self.arrived.items()
        }


def _sum(values: list[Value]) -> Value | None:
    if not values:
        return None
    return values[0] if len(values) == 1 else bind(lookup("add_n").of(), *values)


@contextmanager
def _walking(train: bool, create_graph: bool) -> Iterator[None]:
    """The modes, the attribution and the bulk in which the tape is walked."""
    at = attribution
    before = (at.layer, at.phase, at.category)
    modes = state.recording, state.training
    state.recording, state.training = create_graph, train
    bulk = knobs.MXNET_EXEC_BULK_EXEC_TRAIN and not create_graph
    size = knobs.MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD if bulk else 0
    try:
        with engine.bulk(size):
            yield
    finally:
        state.recording, state.training = modes
        attribute(*before)
        at.forward_op = 0


def _walk(
    heads: list[Value],
    head_grads: list[Value | None],
    retain: bool,
    train: bool,
    create_graph: bool,
) -> dict[Leaf, Value]:
    pending = _Pending()
    with _walking(train, create_graph):
        attribute("", "backward", "gradient")
        for head, gradient in zip(heads, head_grads, strict=True):
            if gradient is None:
                gradient = bind(lookup("ones_like").of(), head._alias())
            pending.add(head._entry, gradient)
        while (popped := pending.pop()) is not None:
            node, douts = popped
            _step(node, douts, pending, create_graph)
            if not retain:
                node.inputs = None
                node.saved = []
        return pending.leaves()


def _step(
    node: Node, douts: list[Value | None], pending: _Pending, create_graph: bool
) -> None:
    """Apply one node's rule and pass the gradients on to where its inputs came from."""
    inputs = node.inputs
    if inputs is None:
        raise GradientError(
            f"backward: the tape was already walked past {node.op.name}, and its saved "
            "values are gone. Give retain_graph=True to the first backward()."
        )
    if attribution.layer is not node.layer:
        attribute(node.layer, "backward", "gradient")
    attribution.forward_op = node.op_id
    wants = tuple(entry is not None for entry in inputs)
    saved = [_restore(node, value, place, create_graph) for value, place in node.saved]
    if node.op.visible > 1:
        dout: Any = tuple(
            _zeros(node.outs[i], douts) if d is None else d for i, d in enumerate(douts)
        )
    else:
        dout = douts[0]
    gradients = node.op.grad(Site(node.ins, node.outs, wants), dout, *saved)
    for entry, gradient in zip(inputs, gradients, strict=True):
        if entry is not None and gradient is not None:
            pending.add(entry, gradient)


def _restore(node: Node, value: Value, place: int, create_graph: bool) -> Value:
    """A saved value; while recording, one that still knows where it came from."""
    alias = value._alias()
    if create_graph:
        assert node.inputs is not None
        alias._entry = node.inputs[place] if place >= 0 else (node, -1 - place)
    return alias


def _zeros(spec: Spec, douts: list[Value | None]) -> Value:
    """Zeros for an output that nobody used, in the world of its neighbours."""
    example = next(d for d in douts if d is not None)
    return example._zeros_like_spec(spec)


def _deliver(leaf: Leaf, gradient: Value) -> None:
    """Store a gradient as the variable's `grad_req` says."""
    target = leaf.grad
    if leaf.req == "add":
        target._assign(bind(lookup("broadcast_add").of(), target._alias(), gradient))
    else:
        target._assign(gradient)
    target._fresh_grad = True


# -- custom functions -----------------------------------------------------------------


class _FunctionOp(Op):
    """The operator that stands on the tape for a user's `Function`."""

    name = "Function"
    variadic = True

    def __init__(self, function: Function, outputs: int) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "visible", outputs)

    def grad(self, at: Site, dout: Any, *saved: Value) -> Sequence[Value | None]:
        function: Function = self.function  # type: ignore[attr-defined]
        douts = dout if isinstance(dout, tuple) else (dout,)
        with pause(train_mode=state.training):
            results = function.backward(*douts)
        if not isinstance(results, (list, tuple)):
            results = (results,)
        if len(results) != len(at.ins):
            raise GradientError(
                f"{type(function).__name__}.backward returned {len(results)} "
                f"gradients for {len(at.ins)} inputs. Return one for each."
            )
        return list(results)


class Function:
    """A function with its own gradient: write `forward` and `backward` on arrays.

    `forward(*inputs)` returns an array or a tuple of arrays; `backward(*douts)` returns
    one gradient for each input. `save_for_backward` keeps what the second needs in
    `saved_tensors`.
    """

    def __init__(self) -> None:
        self._saved: tuple[Value, ...] = ()

    def save_for_backward(self, *values: Value) -> None:
        """Keep arrays for `backward`."""
        self._saved = values

    @property
    def saved_tensors(self) -> tuple[Value, ...]:
        """What `save_for_backward` kept."""
        return self._saved

    def forward(self, *inputs: Value) -> Any:
        """Compute the outputs."""
        raise OperatorError(f"{type(self).__name__} has no forward(); write one.")

    def backward(self, *douts: Value) -> Any:
        """Compute the gradients of the inputs."""
        raise OperatorError(f"{type(self).__name__} has no backward(); write one.")

    def __call__(self, *inputs: Value) -> Any:
        """Run `forward` unrecorded, and put the whole function on the tape as one."""
        with pause(train_mode=state.training):
            result = self.forward(*inputs)
        single = not isinstance(result, (list, tuple))
        outs = [result] if single else list(result)
        if state.recording:
            entries = [value._entry for value in inputs]
            if any(entry is not None for entry in entries):
                # An output may be an input handed through: it needs its own entry.
                outs = [out._alias() for out in outs]
                op = _FunctionOp(self, len(outs))
                ins = tuple(value.spec for value in inputs)
                node = Node(op, entries, ins, tuple(o.spec for o in outs), [], 0)
                for index, out in enumerate(outs):
                    out._entry = (node, index)
        return outs[0] if single else outs
