"""Watching the tape: what was recorded, and how it was walked back, event by event.

    with Watch() as watch:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
    watch.calls     # what was recorded, in order
    watch.events    # the same, and every step of the walk

The tape itself tells it, so the order is that of the real walk. A watch keeps no array
alive but the gradients of variables: it notes blocks of memory by number and size.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minimx.core.autograd import tape
from minimx.core.autograd.tape import Leaf, TapeEntry, TapeNode
from minimx.core.engine.origin import Origin, capture
from minimx.core.ops.registry import Op, Value
from minimx.core.ops.spec import Spec

KINDS = (
    "record", "begin", "arrive", "visit", "release", "stay", "end", "store", "drop",
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """A block of memory that a call keeps for its gradient.

    block: its number; a block that several calls keep has one number. name: which
    input or output of the call lies in it. source: whose result that is, as in `Call`;
    0 as well for what is neither input nor output.
    category: what the memory was asked for (`minimx.core.events.CATEGORIES`).
    """

    block: int
    nbytes: int
    name: str
    source: int
    category: str


@dataclass(frozen=True)
class Call:
    """A recorded call.

    number: from 1, in the order of recording. inputs: where each comes from: the number
    of a call, minus the number of a variable, or 0 for an array without a gradient.
    origin: the line of the program (`minimx.core.engine.origin`).
    """

    number: int
    op: Op
    layer: str
    names: tuple[str, ...]
    inputs: tuple[int, ...]
    ins: tuple[Spec, ...]
    outs: tuple[Spec, ...]
    kept: tuple[Kept, ...]
    origin: Origin


@dataclass(frozen=True)
class Event:
    """Something that happened to the tape.

    kind: one of `KINDS`; "drop" is a call that no variable reaches any more. at: the
    call, or minus the variable, that it is about. sender: the call that a gradient
    comes from, 0 for the head. block, nbytes: the memory of the gradient; no bytes
    where it is zero, or was written where it is to stay.
    """

    kind: str
    at: int = 0
    sender: int = 0
    block: int = 0
    nbytes: int = 0


class Watch:
    """A `with` scope in which this thread's tape is watched; the innermost one records.

    calls, events: what happened. variables: for each variable that was met, from 1, its
    first user and what that calls it, as (call, name), and `reqs` its grad_req.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.events: list[Event] = []
        self.variables: list[tuple[int, str]] = []
        self.reqs: list[str] = []
        self._thread = 0
        self._before: tape.Watcher | None = None
        self._numbers: dict[int, int] = {}
        self._leaves: dict[int, tuple[int, Leaf]] = {}
        self._blocks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = 0
        # The call that each walk has come to; a walk may run inside another one.
        self._current_calls: list[int] = [0]
        # Calls that keep something, to be noted when nothing refers to them any more.
        self._alive: dict[int, weakref.ref[TapeNode]] = {}

    def __enter__(self) -> Watch:
        self._thread = threading.get_ident()
        self._before, tape.watching = tape.watching, self
        return self

    def __exit__(self, *_: object) -> None:
        tape.watching = self._before

    def number_of(self, value: Value) -> int:
        """What `Call.inputs` calls an array; 0 for one that was not met."""
        entry = value._entry
        return 0 if entry is None else self._place(entry)

    def block_of(self, value: Value) -> int:
        """What `Kept.block` calls the memory of an array; 0 if no call keeps it."""
        return self._blocks.get(value.chunk, 0)

    # -- what the tape tells ----------------------------------------------------------

    def recorded(self, node: TapeNode) -> None:
        """See `minimx.core.autograd.tape.Watcher`, as for what follows."""
        if not self._listens:
            return
        number = self._numbers[node.number] = len(self.calls) + 1
        names = _names(node)
        inputs = []
        for name, entry in zip(names, node.inputs or (), strict=True):
            inputs.append(0 if entry is None else self._met(entry, number, name))
        kept = []
        for value, place, _ in node.saved:
            name = names[place] if 0 <= place < len(names) else _output(node, place)
            shown = -1 - place < node.op.visible
            source = inputs[place] if place >= 0 else number if shown else 0
            for block in _memory(value):
                what = (block.nbytes, name, source, block.owner.category)
                kept.append(Kept(self._block(block), *what))
        self.calls.append(
            Call(
                number, node.op, node.layer, names, tuple(inputs), node.ins, node.outs,
                tuple(kept), capture(),
            )
        )  # fmt: skip
        self._alive[number] = weakref.ref(node, lambda _: self._dropped(number))
        self._note("record", number)

    def begun(self) -> None:
        """A walk begins."""
        if self._listens:
            self._current_calls.append(0)
            self._note("begin")

    def arrived(self, entry: TapeEntry, gradient: Value | None) -> None:
        """A gradient came."""
        if not self._listens:
            return
        at, block, nbytes = self._place(entry), 0, 0
        leaf = entry[0] if isinstance(entry[0], Leaf) else None
        if gradient is not None:
            chunk = gradient.chunk
            block = self._block(chunk)
            if leaf is None or leaf.grad is None or leaf.grad.chunk is not chunk:
                nbytes = chunk.nbytes
        self._note("arrive", at, block, nbytes)

    def visited(self, node: TapeNode) -> None:
        """A call's turn."""
        if self._listens:
            self._current_calls[-1] = self._numbers.get(node.number, 0)
            self._note("visit", self._current_calls[-1])

    def left(self, node: TapeNode) -> None:
        """A call was walked past."""
        if self._listens:
            at = self._current_calls[-1]
            self._note("release" if node.consumed else "stay", at)
            if node.consumed:
                self._alive.pop(at, None)
            self._current_calls[-1] = 0

    def ended(self) -> None:
        """The walk is over."""
        if self._listens:
            self._current_calls.pop()
            self._note("end")

    def stored(self, leaf: Leaf) -> None:
        """A variable has its gradient."""
        if self._listens:
            self._note("store", self._place((leaf, 0)))

    def _dropped(self, number: int) -> None:
        """The last array that led to a call is gone; perhaps a worker held it."""
        if self._alive.pop(number, None) and tape.watching is self:
            self._note("drop", number)

    # -- numbers ----------------------------------------------------------------------

    @property
    def _listens(self) -> bool:
        return threading.get_ident() == self._thread

    def _note(self, kind: str, at: int = 0, block: int = 0, nbytes: int = 0) -> None:
        sender = self._current_calls[-1] if kind == "arrive" else 0
        self.events.append(Event(kind, at, sender, block, nbytes))

    def _met(self, entry: TapeEntry, user: int, name: str) -> int:
        """The number of what an input comes from; variables are met here."""
        node = entry[0]
        if isinstance(node, Leaf) and id(node) not in self._leaves:
            self.variables.append((user, name))
            self.reqs.append(node.req)
            self._leaves[id(node)] = (len(self.variables), node)
        return self._place(entry)

    def _place(self, entry: TapeEntry) -> int:
        node = entry[0]
        if isinstance(node, TapeNode):
            return self._numbers.get(node.number, 0)
        return -self._leaves.get(id(node), (0, node))[0]

    def _block(self, holder: Any) -> int:
        found = self._blocks.get(holder)
        if found is None:
            self._count += 1
            found = self._blocks[holder] = self._count
        return found


def _memory(value: Any) -> Sequence[Any]:
    """The blocks of memory behind a saved value; each has `nbytes`."""
    chunk = getattr(value, "chunk", None)
    return value.blocks() if chunk is None else [chunk]


def _names(node: TapeNode) -> tuple[str, ...]:
    """What the operator calls its inputs."""
    count = len(node.inputs or ())
    if not node.op.variadic and len(node.op.inputs) == count:
        return tuple(node.op.inputs)
    return tuple(f"data{k}" for k in range(count))


def _output(node: TapeNode, place: int) -> str:
    index = -1 - place
    if index >= node.op.visible:
        return "values"
    return "out" if len(node.outs) == 1 else f"out{index}"
