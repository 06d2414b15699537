"""Walking the tape backwards: reverse-mode differentiation.

    x = 3; y = x * x; z = y * x; z.backward()          z = x³, so dz/dx = 3x² = 27

`Pending` holds, for every call of the tape, the gradients that have arrived at its
outputs. The walk takes the call with the largest number out of it, applies the gradient
rule of its operator, and adds what comes out to where the inputs came from:

    take                        rule                        pending afterwards
                                head gradients are ones     #2 z: [1]
    #2 z = mul(y, x), dz = 1    dy = dz x = 3, dx = dz y    #1 y: [3]    leaf x: [9]
    #1 y = mul(x, x), dy = 3    dx = dy x = 9, twice        leaf x: [9, 9, 9]

At the end each leaf's gradients are summed: x.grad is 27. Calls were numbered as they
were recorded, so from the largest number down is a topological order: whatever uses y
has a larger number than y, and has been taken before. Nothing recurses, so depth has no
limit.

A gradient rule is written with operators, and `bind` hands them to the interpreter of
their values: arrays compute. Recording *during* the walk (`create_graph=True`)
therefore gives gradients of gradients for free.

*Heads* is MXNet's word for the outputs that a walk begins at.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from minimx.core import engine
from minimx.core.autograd import tape
from minimx.core.autograd.modes import state
from minimx.core.autograd.tape import Leaf, TapeEntry, TapeNode
from minimx.core.engine.origin import capture
from minimx.core.errors import GradientError
from minimx.core.events import attribute, attribution
from minimx.core.knobs import knobs
from minimx.core.ops.registry import GradContext, Op, Value, bind, lookup
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape


def backward(
    heads: Value | Sequence[Value],
    head_grads: Value | Sequence[Value | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Fill the gradients of every marked variable that `heads` depend on.

    heads: arrays computed under `record()`, one or a list. head_grads: an array for
    each head, of its shape and dtype; None means ones, as if the heads were summed to
    a loss. For the head of an operator without a gradient (`argmax`) it is ignored.
    retain_graph: keep the tape, so that it can be walked again. train_mode: what
    `is_training` says meanwhile. As `mx.autograd.backward` of MXNet 1.9.1.

    Raises GradientError for a head that was not recorded, head_grads of another number
    or shape, and a tape that was walked before.
    """
    walk_back(heads, head_grads, Pending(retain_graph, store=True), train_mode)


def grad(
    heads: Value | Sequence[Value],
    variables: Value | Sequence[Value],
    head_grads: Value | Sequence[Value | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[Value]:
    """Gradients of heads with respect to variables, returned instead of stored.

    heads, head_grads, train_mode: as for `backward`. variables: marked arrays, one or a
    list. create_graph: record the walk itself, so that the result can be differentiated
    again. retain_graph: keep the tape; by default only with create_graph. Returns a
    list of arrays of the variables' shapes, even for one variable, as in MXNet.

    Raises GradientError as `backward` does, and for a variable that is not marked or
    that the heads do not depend on.
    """
    wanted: list[Value] = (
        list(variables) if isinstance(variables, (list, tuple)) else [variables]
    )
    leaves = []
    for variable in wanted:
        entry = variable._entry
        if entry is None or not isinstance(entry[0], Leaf):
            raise GradientError(
                "grad: a variable was not marked. Call attach_grad() on it before "
                "record()."
            )
        leaves.append(entry[0])
    heads_, grads_ = _checked_heads(heads, head_grads)
    keep = create_graph if retain_graph is None else retain_graph
    found = _walk(heads_, grads_, Pending(keep), train_mode, create_graph)
    results = []
    for leaf, variable in zip(leaves, wanted, strict=True):
        if leaf not in found:
            raise GradientError(
                f"grad: the heads do not depend on a variable of shape "
                f"{variable.shape}. Was it used inside record()?"
            )
        gradient = found[leaf]
        if gradient is None:
            gradient = bind(lookup("zeros_like").of(), variable._neutral())
        results.append(variable._as_kind_of_this(gradient))
    return results


def walk_back(
    heads: Value | Sequence[Value],
    head_grads: Value | Sequence[Value | None] | None,
    pending: Pending,
    train_mode: bool = True,
) -> None:
    """`backward`, in the order that `pending` chooses.

    heads, head_grads, train_mode: as for `backward`; pending: a `Pending`, or a
    subclass with an order of its own, as the step-by-step view has.
    """
    heads_, grads_ = _checked_heads(heads, head_grads)
    found = _walk(heads_, grads_, pending, train_mode, create_graph=False)
    for leaf, gradient in found.items():
        _store(leaf, gradient)
        if pending.watch is not None:
            pending.watch.stored(leaf)


def _walk(
    heads: list[Value],
    head_grads: Sequence[Value | None],
    pending: Pending,
    train: bool,
    create_graph: bool,
) -> dict[Leaf, Value | None]:
    """Walk from the heads; the summed gradient of each leaf, None where it is zeros."""
    with walking(train, create_graph):
        attribute("", "backward", "gradient")
        run_backward(heads, head_grads, pending, create_graph)
        return pending.leaves()


@contextmanager
def walking(train: bool, create_graph: bool) -> Iterator[None]:
    """What holds while the tape is walked, and is taken back after it.

    The modes: recording only with create_graph, training if `train`. The attribution:
    whose work and memory records note. Bulk execution: how many calls are handed to the
    engine at once.
    """
    get = knobs.get
    at = attribution
    before = at.layer, at.phase, at.category, at.owners
    modes = state.recording, state.training
    watch = tape.watching
    bulk = get("MXNET_EXEC_BULK_EXEC_TRAIN") and not create_graph
    size = get("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD") if bulk else 0
    try:  # from the first change on, so that Ctrl-C anywhere takes all of them back
        state.recording, state.training = create_graph, train
        at.origin = capture()
        if watch is not None:
            watch.begun()
        with engine.bulk(size):
            yield
    finally:
        state.recording, state.training = modes
        at.layer, at.phase, at.category, at.owners = before
        at.forward_op = 0
        at.origin = None
        if watch is not None:
            watch.ended()


def run_backward(
    heads: Sequence[Value],
    head_grads: Sequence[Value | None],
    pending: Pending,
    create_graph: bool,
) -> None:
    """From the heads down to the leaves, or to where the walk stops."""
    for head, gradient in zip(heads, head_grads, strict=True):
        if not _differentiable(head):
            gradient = None
        elif gradient is None:
            gradient = bind(lookup("ones_like").of(), head._neutral())
        else:
            gradient = gradient._neutral(history=True)
        pending.add(head._entry, gradient)
    while (popped := pending.pop()) is not None:
        node, douts = popped
        if _is_zero(node, douts):
            for entry in node.inputs or ():
                if _needs_grad(entry, node):
                    pending.add(cast(TapeEntry, entry), None)
        else:
            _apply_rule(node, douts, pending, create_graph)
            if not pending.retain:
                node.consume()
        if pending.watch is not None:
            pending.watch.left(node)


def _apply_rule(
    node: TapeNode, douts: list[Value | None], pending: Pending, create_graph: bool
) -> None:
    """Apply one node's rule and pass the gradients on to where its inputs came from.

    douts: the summed gradient of each output, None where none arrived. Raises
    GradientError if an earlier walk has used the node up.
    """
    inputs = node.inputs
    if inputs is None:
        raise GradientError(
            f"backward: the tape was already walked past {node.op.name}, and its saved "
            "values are gone. Give retain_graph=True to the first backward()."
        )
    if attribution.layer is not node.layer:
        attribute(node.layer, "backward", "gradient")
    attribution.forward_op = node.op_id
    entries = [entry if _needs_grad(entry, node) else None for entry in inputs]
    # A gradient that would be lost at the next node need not be computed.
    wants = tuple([entry is not None and entry[0].flows for entry in entries])
    saved = [_restore(node, kept, create_graph) for kept in node.saved]
    if node.op.visible == 1:
        dout: Any = douts[0]
    elif node.op.writes_gradients:
        dout = tuple(douts)
    else:
        dout = tuple(
            _zeros(node.outs[i], douts) if d is None else d for i, d in enumerate(douts)
        )
    at = GradContext(node.ins, node.outs, wants)
    if node.op.writes_gradients:
        at.retain = pending.retain
        at.targets = pending.targets(node, wants) if pending.store else ()
    gradients = node.op.grad(at, dout, *saved)
    for k, entry in enumerate(entries):
        if entry is None:
            continue
        gradient = gradients[k] if wants[k] else None
        if create_graph and gradient is not None and gradient._entry is None:
            gradient = _constant(gradient, node)
        pending.add(entry, gradient)


class Pending:
    """Gradients that have arrived and were not used yet, and which call comes next.

    retain: the tape stays for another walk. store: what arrives at leaves is going to
    be stored there. stops: nodes that the walk does not pass. See the example at the
    top of the file.
    """

    def __init__(
        self, retain: bool, store: bool = False, stops: Sequence[TapeNode] = ()
    ) -> None:
        self.retain = retain
        self.store = store
        self.stops = set(stops)
        self.watch = tape.watching
        # {node: for each of its outputs, the gradients that arrived there}
        self.arrived: dict[TapeNode | Leaf, list[list[Value]]] = {}
        # The nodes in `arrived`, the largest number first; leaves wait for the end.
        self._heap: list[tuple[int, TapeNode]] = []

    def add(self, entry: TapeEntry, gradient: Value | None) -> None:
        """Note a gradient; None is one of zeros, which is not computed.

        entry: the output of a node, or the leaf, that it belongs to; gradient: an array
        of that output's shape.
        """
        node, index = entry
        if self.watch is not None:
            self.watch.arrived(entry, gradient)
        lists = self.arrived.get(node)
        if lists is None:
            count = 1 if isinstance(node, Leaf) else node.op.visible
            lists = self.arrived[node] = (
                [[]] if count == 1 else [[] for _ in range(count)]
            )
            if isinstance(node, TapeNode) and node not in self.stops:
                heapq.heappush(self._heap, (-node.number, node))
        if gradient is not None:
            lists[index].append(gradient)

    def pop(self) -> tuple[TapeNode, list[Value | None]] | None:
        """The next call and the sum of what arrived at each of its outputs.

        It is the one that was recorded last: its users were recorded later, and have
        been walked past. So nothing can arrive at it any more.
        """
        if not self._heap:
            return None
        return self.taken(heapq.heappop(self._heap)[1])

    def taken(self, node: TapeNode) -> tuple[TapeNode, list[Value | None]]:
        """A call that does not wait any longer, and its gradients."""
        if self.watch is not None:
            self.watch.visited(node)
        return node, [sum_of(values) for values in self.arrived.pop(node)]

    def waiting(self) -> list[TapeNode]:
        """The calls that some gradient has reached, in the order of arrival."""
        return [node for node in self.arrived if isinstance(node, TapeNode)]

    def leaves(self) -> dict[Leaf, Value | None]:
        """The sum of what arrived at each variable."""
        return {
            cast(Leaf, leaf): sum_of(lists[0]) for leaf, lists in self.arrived.items()
        }

    def targets(self, node: TapeNode, wants: Sequence[bool]) -> list[Value | None]:
        """For each input, the array that its gradient may be written to directly.

        That is the gradient of a variable with grad_req="write" at which nothing has
        arrived so far; None for other inputs, whose gradients are added up first. Saves
        a copy for operators with `writes_gradients`, such as a cached op.
        """
        found: dict[Leaf, int] = {}
        for k, (entry, want) in enumerate(zip(node.inputs or (), wants, strict=False)):
            leaf = entry[0] if entry is not None and want else None
            if not isinstance(leaf, Leaf) or leaf in self.arrived:
                continue
            if leaf.req == "write":
                found.setdefault(leaf, k)
        targets: list[Value | None] = [None] * len(wants)
        for leaf, k in found.items():
            targets[k] = leaf.grad
        return targets


def sum_of(values: list[Value]) -> Value | None:
    """The sum of gradients, None for none: they are zeros."""
    if not values:
        return None
    return values[0] if len(values) == 1 else bind(lookup("add_n").of(), *values)


def _checked_heads(
    heads: Any, head_grads: Any
) -> tuple[list[Value], list[Value | None]]:
    """Heads and their gradients as lists of equal length; None stands for ones.

    Raises GradientError for a head that was not recorded, and for head_grads of another
    number or shape. A gradient with more rows than its head is cut to its first ones.
    """
    if not isinstance(heads, (list, tuple)):
        heads, head_grads = [heads], [head_grads]
    if head_grads is None:
        head_grads = [None] * len(heads)
    if len(heads) != len(head_grads):
        raise GradientError(
            f"backward: {len(heads)} heads but {len(head_grads)} head gradients. "
            "Give one for each, or none at all."
        )
    fitted: list[Value | None] = []
    for head, gradient in zip(heads, head_grads, strict=True):
        if head._entry is None:
            raise GradientError(
                f"backward: the array of shape {head.shape} was not computed from a "
                "marked variable inside `with autograd.record():`. Call attach_grad() "
                "on the inputs first, and compute inside the block."
            )
        if gradient is not None and _is_longer(gradient.shape, head.shape):
            gradient = gradient[: head.shape[0]]  # as MXNet, which reads its front
        fits = gradient is None or gradient.shape == head.shape
        if not fits and _differentiable(head):
            raise GradientError(
                f"backward: head gradient {gradient.shape} does not have the shape "
                f"{head.shape} of its head."
            )
        fitted.append(gradient)
    return list(heads), fitted


def _is_longer(shape: Shape, than: Shape) -> bool:
    """Whether a shape differs from another only by more rows."""
    if not shape or not than:
        return False
    return shape[1:] == than[1:] and shape[0] > than[0] > 0


def _differentiable(head: Value) -> bool:
    """Whether a gradient of the head matters: not if it is a shape, or an index."""
    return bool(head._entry[0].flows)


def _needs_grad(entry: TapeEntry | None, user: TapeNode) -> bool:
    """Whether gradients flow from a call to one of its inputs.

    An array whose tape was walked is a constant to the calls recorded after that, such
    as the state that a recurrent network carries from batch to batch.
    """
    return entry is not None and not 0 < entry[0].consumed < user.number


def _is_zero(node: TapeNode, douts: list[Value | None]) -> bool:
    """Whether all that flows on from a call is zero: through `argmax` or `x > 0`."""
    if node.flows and douts[0] is not None:  # nearly always
        return False
    return not node.flows or all(dout is None for dout in douts)


def _restore(node: TapeNode, saved: Any, create_graph: bool) -> Value:
    """A saved value; with create_graph, one that still knows where it came from.

    saved: the value, its position (that of the input, or -1 - that of the output) and
    where its numbers are, should it have been overwritten; None for what is no array.
    """
    value, position, kept = saved
    alias = value._neutral()
    if kept is not None and kept.chunk is not alias.chunk:
        alias = alias._at(kept.chunk)
    if create_graph:
        assert node.inputs is not None
        if position >= 0:
            alias._entry = node.inputs[position]
        elif -1 - position < node.op.visible:  # a hidden output has no gradient
            alias._entry = (node, -1 - position)
    return alias


def _zeros(spec: Spec, douts: list[Value | None]) -> Value:
    """Zeros for an output that was not used, of the kind of its neighbours."""
    example = next(d for d in douts if d is not None)
    return example._zeros_like_spec(spec)


def _store(leaf: Leaf, gradient: Value | None) -> None:
    """Store a gradient as the variable's `grad_req` says; None is one of zeros."""
    target = leaf.grad
    if gradient is None:
        target._fresh_grad = True
        if leaf.req == "add":
            return
        gradient = bind(lookup("zeros_like").of(), target._neutral())
    if leaf.req == "add":
        total = bind(lookup("elemwise_add").of(), target._neutral(), gradient)
        target._assign(total)
    elif gradient.chunk is not target.chunk or gradient.offset != target.offset:
        target._assign(gradient)  # unless a rule wrote it there
    target._fresh_grad = True


# -- gradients that are themselves recorded --------------------------------------------


class _Constant(Op):
    """The operator on the tape for a gradient that does not depend on the inputs.

    The derivative of `relu` is 0 or 1, and the derivative of that is 0. A second walk
    shall find these zeros; without a node it would raise that the heads do not depend
    on the variable, as if the variable had never been used.
    """

    name = "_constant_gradient"

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Zeros of each input's shape."""
        pairs = zip(at.ins, at.wants, strict=True)
        return [dout._zeros_like_spec(spec) if want else None for spec, want in pairs]


def _constant(gradient: Value, node: TapeNode) -> Value:
    """A gradient that does not depend on the inputs of its node, tied to them."""
    tied = gradient._alias()
    assert node.inputs is not None
    made = TapeNode(_Constant(), node.inputs, node.ins, (gradient.spec,), [], 0)
    tied._entry = (made, 0)
    return tied
