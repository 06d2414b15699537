"""Notebook 04: what the tape keeps, in which order it is walked, and how to keep less.

Bytes are asked of the pool and of the watched tape; an order of one's own is tried in
the real walk (`minimx.core.autograd.walk`). Checks: `exercises/tape_checks.py`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import minimx as mx
from minimx import gluon, initializer, nd
from minimx.core import autograd, storage
from minimx.core.autograd.walk import Pending, walk_back
from minimx.core.device import cpu
from minimx.core.knobs import knobs
from minimx.gluon import loss, nn
from minimx.tools.tape_watch import Watch
from minimx_widgets.course.parts.text import code
from minimx_widgets.pictures.tape_steps import kept, own

BATCH = 64
#: One result of a layer of the free exercise: 256 × 64 numbers of 4 bytes.
RESULT = 256 * 64 * 4
LAYERS, MOST = 12, 6

SENTENCE = (
    "A call can only be walked past when every call that uses its result has been, "
    "because until then more of its gradient may arrive; the order of recording, "
    "backwards, guarantees that."
)

HINTS = (
    "What must stay if nothing else does? Of a part of the network that is computed "
    "again on the way back, only its <i>input</i>. The tape of its inside exists for "
    "a moment, while the walk passes through that part. So the peak is: the inputs of "
    "all parts, and the inside of one.",
    "With parts of <i>k</i> layers there are 12/k parts. The first one's input is the "
    "caller's. Write the sum down for k = 1, 2, 3, 4, 6, 12. And mind the first part: "
    "a function is only recorded if one of its inputs leads to a variable. "
    "<code>x.attach_grad()</code> makes one of x.",
    "A worked solution of a similar problem: 6 layers in parts of 2. "
    + code(
        """
        def frugal(layers, x):
            x.attach_grad()
            for k in range(0, 6, 2):
                x = Again(layers[k : k + 2])(x)
            return x
        """
    ),
)


# -- the network and its bytes --------------------------------------------------------


@contextmanager
def in_order() -> Iterator[None]:
    """Operations run one after the other: arrays live as long as their names."""
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        gc.collect()  # what earlier cells left in cycles is not to go while we count
        yield


def mlp() -> Any:
    """784–256–10."""
    net = nn.HybridSequential(prefix="")
    with net.name_scope():
        net.add(nn.Dense(256, activation="relu", in_units=784, prefix="hidden_"))
        net.add(nn.Dense(10, in_units=256, prefix="output_"))
    net.initialize(initializer.Constant(0.01))
    return net


def batch(images: int = BATCH) -> tuple[Any, Any]:
    """Images of 784 pixels, and their classes."""
    return nd.ones((images, 784)), nd.zeros((images,))


entropy = loss.SoftmaxCrossEntropyLoss(prefix="loss_")


def held(program: Callable[[], Any]) -> int:
    """How many bytes more are in use after a program, less its own result.

    The program returns the array that the caller goes on holding.
    """
    with in_order():
        before = storage.stats(cpu()).live_requested
        out = program()
        after = storage.stats(cpu()).live_requested
    return int(after - before - out.chunk.nbytes)


def recorded(net: Any, x: Any, y: Any) -> Any:
    """The loss of a batch, recorded."""
    with autograd.record():
        return entropy(net(x), y)


def bytes_kept(frozen: bool = False, images: int = BATCH) -> int:
    """What the tape of a batch keeps, by the pool's counters."""
    net, (x, y) = mlp(), batch(images)
    if frozen:
        net[0].collect_params().setattr("grad_req", "null")
    return held(lambda: recorded(net, x, y))


def watched(
    *, frozen: bool = False, detached: bool = False, retain: bool = False
) -> Watch:
    """The tape of a batch and its way back."""
    net, (x, y) = mlp(), batch()
    if frozen:
        net[0].collect_params().setattr("grad_req", "null")
    with in_order(), Watch() as watch:
        with autograd.record():
            hidden = net[0](x)
            if detached:
                hidden = hidden.detach()
            out = entropy(net[1](hidden), y)
            del hidden
        out.backward(retain_graph=retain)
    return watch


def one_by_one(watch: Watch) -> list[tuple[str, str, str, int, str]]:
    """Rows of a table: what each call keeps, and whose it is."""
    rows, seen = [], set()
    for call in watch.calls:
        mine = own(watch.calls, call)
        for one in call.kept:
            whose = "the tape's" if one in mine else "the caller's"
            again = " (the same memory)" if one.block in seen else ""
            seen.add(one.block)
            rows.append((call.op.name, call.layer, one.name, one.nbytes, whose + again))
    return rows


# -- an order of one's own in the real walk -------------------------------------------

Choice = Callable[[Sequence[int]], int]


class Ordered(Pending):
    """The gradients of a walk in which another policy says which call is next.

    late: what happens to a gradient that arrives at a call that was walked past:
    "again" walks past it again, "lost" drops it, as a walk with a set of visited calls
    does.
    first_operand: of calls that one call has reached, the first is named last, so that
    depth first goes on with the first operand.
    """

    def __init__(self, choose: Choice, late: str, first_operand: bool = False) -> None:
        super().__init__(retain=True, store=True)
        self._choose, self._late = choose, late
        self._first_operand = first_operand
        self._stack: list[Any] = []
        self._done: set[Any] = set()
        self.applied = 0
        self.lost = 0

    def add(self, entry: Any, gradient: Any) -> None:
        """Note a gradient, unless it comes too late."""
        if self._late == "lost" and entry[0] in self._done:
            self.lost += 1
            return
        super().add(entry, gradient)

    def pop(self) -> Any:
        """The call that was chosen."""
        waiting = list(self.waiting())
        if not waiting:
            return None
        if self._first_operand:
            new = [node for node in waiting if node not in self._stack]
            old = [node for node in self._stack if node in waiting]
            waiting = self._stack = [*old, *reversed(new)]
        order = sorted(waiting, key=lambda node: node.number)
        numbers = {node.number: node for node in waiting}
        first = order[0].number
        # Small numbers are easier to read; only which is larger matters.
        chosen = self._choose([node.number - first + 1 for node in waiting])
        node = numbers.get(chosen + first - 1) if isinstance(chosen, int) else None
        if node is None:
            known = sorted(n - first + 1 for n in numbers)
            raise ValueError(f"{chosen!r} is not one of the calls that wait: {known}")
        self.applied += 1
        self._done.add(node)
        return self.taken(node)


@dataclass(frozen=True)
class Walked:
    """How a walk went: the gradient, how often a rule was applied, what was lost."""

    gradient: float
    applied: int
    lost: int


def first_come(waiting: Sequence[int]) -> int:
    """The call that a gradient reached first."""
    return waiting[0]


def depth_first(waiting: Sequence[int]) -> int:
    """The call that a gradient reached last, as recursion does."""
    return waiting[-1]


def latest(waiting: Sequence[int]) -> int:
    """The call that was recorded last."""
    return max(waiting)


def walk(
    program: Callable[[Any], Any],
    choose: Choice = latest,
    late: str = "again",
    at: float = 0.5,
    first_operand: bool = False,
) -> Walked:
    """Record a program of one number, and walk it back in an order of one's own."""
    x = nd.array([at], dtype="float64")
    x.attach_grad()
    with autograd.record():
        out = program(x)
    pending = Ordered(choose, late, first_operand)
    walk_back(out, None, pending)
    return Walked(float(x.grad.asscalar()), pending.applied, pending.lost)


def ladder(rungs: int) -> Callable[[Any], Any]:
    """On each rung x is used twice, on a longer way and on a shorter one."""

    def program(x: Any) -> Any:
        for _ in range(rungs):
            x = 2 * x + x
        return x

    return program


# -- the free exercise: less on the tape ----------------------------------------------


def deep() -> tuple[list[Any], Any]:
    """Twelve layers of 64 with tanh, and a batch of 256."""
    layers = []
    for k in range(LAYERS):
        layer = nn.Dense(64, activation="tanh", in_units=64, prefix=f"layer{k:02}_")
        layer.initialize()
        weight = np.random.RandomState(k).uniform(-0.2, 0.2, (64, 64))
        layer.weight.set_data(nd.array(weight))
        layers.append(layer)
    return layers, nd.array(np.random.RandomState(99).uniform(-1, 1, (256, 64)))


def plain(layers: Sequence[Any], x: Any) -> Any:
    """One layer after the other."""
    for layer in layers:
        x = layer(x)
    return x


@dataclass(frozen=True)
class Trial:
    """What a way through the layers keeps at most, and the gradients it gives."""

    kept: int
    gradients: list[Any]
    out: Any
    watch: Watch


def trial(forward: Callable[[Sequence[Any], Any], Any]) -> Trial:
    """Run the twelve layers forward and back in a way of one's own."""
    layers, x = deep()
    with in_order(), Watch() as watch:
        with autograd.record():
            out = forward(layers, x)
        out.backward()
    gradients = [layer.weight.grad().asnumpy() for layer in layers]
    return Trial(kept(watch), gradients, out.asnumpy(), watch)


# -- what the document claims ---------------------------------------------------------


def unused_calls() -> tuple[int, int]:
    """How many calls were recorded, one of them for nothing, and how many ran."""
    x = nd.ones((4,))
    x.attach_grad()
    x.wait_to_read()
    with Watch() as watch, mx.Record() as record, autograd.record():
        x.exp()
        x.sin().wait_to_read()
        nd.waitall()
    return len(watch.calls), len(record.ops())


def step_bytes(**flags: bool) -> tuple[int, int]:
    """Bytes newly allocated between forward and backward of a step, and at its peak.

    flags: settings of `hybridize`; without any the network is not hybridized. The loss
    is the caller's. A first step has made what is to stay.
    """
    net, (x, y) = mlp(), batch()
    if flags:
        net.hybridize(**flags)
    with in_order():
        recorded(net, x, y).backward()
        storage.reset_peaks(cpu())
        before = storage.stats(cpu()).live_requested
        out = recorded(net, x, y)
        between = storage.stats(cpu()).live_requested - out.chunk.nbytes
        out.backward()
        peak = storage.stats(cpu()).peak_requested
    return between - before, peak - before


def losses_kept(count: int) -> int:
    """What the tapes of losses keep that were collected and never walked back."""
    net, (x, y) = mlp(), batch()
    losses: list[Any] = []
    with in_order():
        before = storage.stats(cpu()).live_requested
        losses += [recorded(net, x, y) for _ in range(count)]
        after = storage.stats(cpu()).live_requested
    return int(after - before - sum(one.chunk.nbytes for one in losses))


def stale_gradient() -> tuple[float, str]:
    """What stays in a gradient that a second loss does not reach; what Trainer says."""
    used, left = (
        gluon.Parameter("used", shape=(1,)),
        gluon.Parameter("left", shape=(1,)),
    )
    for parameter in (used, left):
        parameter.initialize(initializer.One())
    trainer = gluon.Trainer([used, left], "sgd")
    with autograd.record():
        out = used.data() * left.data() * 3
    out.backward()
    trainer.step(1)
    with autograd.record():
        out = used.data() * 2
    out.backward()
    try:
        trainer.step(1)
    except UserWarning as warning:
        known = str(warning).split(". ")[0]
    return float(left.grad().asscalar()), known
