"""Where modules report what they do, without knowing who listens.

`recorder` is the one listener. It is `None` unless a record is on, so every source
pays one global read and one comparison:

    rec = events.recorder
    if rec is not None:
        rec.memory(...)

`attribution` says on whose behalf this thread works now: which layer, in which phase of
training, and which category of memory new arrays belong to. Layers and training loops
set it; storage and engine read it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

# The categories of memory, in the order in which every view stacks them.
CATEGORIES = (
    "parameter",
    "gradient",
    "optimizer state",
    "activation",
    "workspace",
    "data",
    "communication",
    "temporary",
)
PHASES = ("other", "data", "forward", "backward", "update", "evaluate")


class Work(Protocol):
    """How much work an operation is; `ops.spec.Cost` fits.

    It may have `dtype`, the name of the type that it computes in, and `parts`, where it
    was joined of several: tuples of name, layer, flops, bytes, dtype. As long as they
    are the same, so is the tuple of them.
    """

    @property
    def flops(self) -> int:
        """Floating-point operations."""

    @property
    def bytes_moved(self) -> int:
        """Bytes read plus bytes written."""


class Finished(NamedTuple):
    """An operation that finished: what every recorder's `op` is called with.

    Times are nanoseconds of `clock`, below. forward_op: the id of the operation whose
    gradient this one computes, 0 for others. graph: it is a piece of a graph that was
    prepared. cost: how much work it was, as far as that is declared. inside: the id of
    the joined operation that it was a part of, and in whose time it ran; 0 for others.
    line: where the user's program pushed it. operation: as the engine has it, with the
    vars that it touched.
    """

    op_id: int
    name: str
    layer: str
    phase: str
    device: str
    worker: str
    t_push: int
    t_ready: int
    t_start: int
    t_end: int
    priority: int
    forward_op: int
    failed: bool
    graph: bool = False
    cost: Work | None = None
    inside: int = 0
    line: str = ""
    operation: Any = None


class Recorder(Protocol):
    """What a listener must offer; `minimx.core.record.Record` is the one we ship.

    Times are nanoseconds of `clock`, below.
    Every method may be called from any thread and must never block or raise.
    """

    @property
    def records_calls(self) -> bool:
        """Whether a listener wants to hear `call`."""

    @property
    def ids(self) -> object:
        """What `new_op` counts with. While it stays the same object, ids mean that."""

    def new_op(self) -> int:
        """A fresh, never repeated operation id (from 1)."""

    def op(self, *row: Any, **named: Any) -> None:
        """An operation finished.

        row, named: the fields of `Finished`, by position or by name.
        """

    def call(self, name: str, detail: str, t0: int, t1: int) -> None:
        """A call of the interface, by this thread.

        t0, t1: its beginning and end on `clock`, in nanoseconds.
        """

    def dependency(self, src: int, dst: int, kind: str) -> None:
        """Operation `dst` comes after `src`; kind is RAW, WAR or WAW.

        Or BULK: `dst` was a part of `src`, several operations handed over as one.
        """

    def memory(
        self, event: str, device: str, block_id: int, requested: int, rounded: int,
        address: int, owner: Owner,
    ) -> None:  # fmt: skip
        """A pool event.

        event: one of `minimx.core.record.MEMORY_EVENTS`. requested, rounded: bytes that
        were asked for, and of the block. address: its place on the device. owner: what
        it is for.
        """

    def knob(self, name: str, old: Any, new: Any, scope: str) -> None:
        """A knob was turned.

        name: as `MXNET_ENGINE_TYPE`. old, new: its values. scope: when the change acts,
        as `Knob.scope`.
        """

    def communication(
        self, t0: int, t1: int, key: str, src: str, dst: str, nbytes: int, phase: str
    ) -> None:
        """Bytes went from one device or process to another.

        t0, t1: in nanoseconds of `clock`. src, dst: texts such as "gpu(0)". key: of the
        parameter. phase: of the operation.
        """

    def metric(self, step: int, name: str, value: float) -> None:
        """A training metric was observed: step, counted from 0, its name and value."""

    def tensor(
        self, step: int, kind: str, layer: str, name: str, dtype: str, used: str,
        scale: float, row: Any,
    ) -> None:  # fmt: skip
        """An array's numbers were counted by exponent.

        kind: one of `minimx.core.record.TENSOR_KINDS`. used: the type in which the
        layer computes. scale: what the loss was multiplied by. row: what `_exponents`
        found.
        """

    def scaling(
        self, step: int, scale: float, skipped: bool, tensor: str = "",
        layer: str = "", many: int = 0,
    ) -> None:  # fmt: skip
        """A step with a scaled loss was taken, or skipped: what overflowed, if any.

        scale: the factor of the loss. tensor, layer: the first that overflowed; many:
        how many did.
        """


recorder: Recorder | None = None

# The clock of all events, in nanoseconds. The virtual engine puts its own here.
clock: Callable[[], int] = perf_counter_ns


@contextmanager
def called(name: str, detail: str = "") -> Iterator[None]:
    """While a record is on, report the `with` block as a call by this thread.

    name: of the function, such as "MXNDArrayWaitToRead"; detail: what it was given.
    """
    listener = recorder
    if listener is None or not listener.records_calls:
        yield
        return
    begun = clock()
    try:
        yield
    finally:
        listener.call(name, detail, begun, clock())


class Owner:
    """For whom a block of memory was allocated: operator, layer, phase, category."""

    __slots__ = ("category", "layer", "op", "phase")

    def __init__(self, op: str, layer: str, phase: str, category: str) -> None:
        self.op = op
        self.layer = layer
        self.phase = phase
        self.category = category

    def for_category(self, category: str) -> Owner:
        """The same owner, for memory of another category."""
        return Owner(self.op, self.layer, self.phase, category)

    @property
    def source(self) -> str:
        """The operator and the layer, as a part of a sentence."""
        where = f" in {self.layer}" if self.layer else ""
        return f"{self.op or 'unknown'}{where}"

    def __repr__(self) -> str:
        return f"<{self.category} of {self.source}, {self.phase}>"


class _Attribution(threading.local):
    """What this thread works for.

    `running` is the recorded id of the operation that it executes just now, 0 outside
    one; `forward_op` that of the operation whose gradient it takes; `origin` the user's
    line, where one line makes many operations, as `backward()` does; `key` the key of a
    store that is pushed or pulled.
    """

    def __init__(self) -> None:
        self.layer = ""
        self.phase = "other"
        self.category = "temporary"
        self.key = ""
        self.forward_op = 0
        self.running = 0
        self.origin: Any = None
        self.owners = _owners_for("", "other", "temporary")


_owner_tables: dict[tuple[str, str, str], dict[str, Owner]] = {}


def _owners_for(layer: str, phase: str, category: str) -> dict[str, Owner]:
    """The owners already made for a layer, phase and category, by operator."""
    return _owner_tables.setdefault((layer, phase, category), {})


attribution = _Attribution()


def owner(op: str) -> Owner:
    """The owner of what this thread asks for now on behalf of operator `op`."""
    at = attribution
    found = at.owners.get(op)
    if found is None:
        found = at.owners[op] = Owner(op, at.layer, at.phase, at.category)
    return found


def attribute(layer: str, phase: str, category: str) -> tuple[str, str, str]:
    """Work for a layer, phase and category from now on; returns what was before.

    layer: a block's name, such as 'dense0'. phase: 'forward', 'backward', 'update' or
    'data'. category: what memory is counted as, such as 'activation' or 'gradient'.
    """
    at = attribution
    old = (at.layer, at.phase, at.category)
    at.layer, at.phase, at.category = layer, phase, category
    at.owners = _owners_for(layer, phase, category)
    return old


@contextmanager
def attributed(
    *,
    layer: str | None = None,
    phase: str | None = None,
    category: str | None = None,
    key: str | None = None,
) -> Iterator[None]:
    """Attribute this thread's work in the `with` block to a layer, phase or category.

    None keeps what was set before, and what was set before returns at the end. Records
    show operations and bytes of memory by these three, and communication by the key of
    a store.
    """
    at = attribution
    old_key = at.key
    at.key = old_key if key is None else key
    old = attribute(
        at.layer if layer is None else layer,
        at.phase if phase is None else phase,
        at.category if category is None else category,
    )
    try:
        yield
    finally:
        attribute(*old)
        at.key = old_key
