"""What is noted about an operation while somebody records.

A `Trace` is made at the push, on the pushing thread, which alone knows on whose behalf
it works. It travels with the operation and is told to the recorder when the operation
is done, before anybody who waits for it wakes up.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import ref

from minimx import events
from minimx.engine.var import var_lock

if TYPE_CHECKING:
    from minimx.engine.operation import Operation
    from minimx.engine.var import Claim, Var

# A var that is read for ever, and never written, must not remember all its readers.
READERS_KEPT = 1024

PUSHER = "python"  # the lane of what runs on the thread that pushed it

Edge = tuple[int, str]


class History:
    """The recorded operations that last touched a var, by id."""

    __slots__ = ("readers", "recorder", "writer")

    def __init__(self, recorder: ref[events.Recorder]) -> None:
        self.recorder = recorder  # ids of another recording mean nothing in this one
        self.writer = 0
        self.readers: deque[int] = deque(maxlen=READERS_KEPT)


class Trace:
    """One recorded operation: id, attribution and times, in nanoseconds."""

    __slots__ = (
        "category",
        "forward_op",
        "layer",
        "linked",
        "op_id",
        "phase",
        "recorder",
        "t_push",
        "t_ready",
    )

    def __init__(
        self, recorder: events.Recorder, t_push: int, linked: bool = False
    ) -> None:
        at = events.attribution
        self.recorder = recorder
        self.op_id = recorder.new_op()
        self.layer = at.layer
        self.phase = at.phase
        self.category = at.category
        self.forward_op = at.forward_op
        self.t_push = t_push
        self.t_ready = t_push
        self.linked = linked  # its edges are known, or those of its parts are

    def edges(self, claim: Claim) -> list[Edge]:
        """The operations that `claim` comes after, and why; its vars remember it.

        Call this with the engine's lock, in the order in which claims are appended.
        """
        if self.linked:
            return []
        self.linked = True
        found: dict[Edge, None] = {}
        for var in claim.reads:
            history = self._history(var)
            if history.writer:
                found[history.writer, "RAW"] = None
            history.readers.append(self.op_id)
        for var in claim.writes:
            history = self._history(var)
            found.update(((reader, "WAR"), None) for reader in history.readers)
            if history.writer and not history.readers:
                found[history.writer, "WAW"] = None
            history.readers.clear()
            history.writer = self.op_id
        return list(found)

    def _history(self, var: Var) -> History:
        history = var.history
        if history is None or history.recorder() is not self.recorder:
            history = var.history = History(ref(self.recorder))
        return history

    def link(self, claim: Claim) -> None:
        """Find the edges of `claim` and tell the recorder."""
        with var_lock:
            edges = self.edges(claim)
        self.emit_edges(edges)

    def emit_edges(self, edges: list[Edge]) -> None:
        """Tell the recorder what `edges` found; without any lock."""
        for src, kind in edges:
            self.recorder.dependency(src, self.op_id, kind)

    def emit(
        self, operation: Operation, worker: str, start: int, end: int, failed: bool
    ) -> None:
        """Tell the recorder that the operation is done."""
        self.recorder.op(
            self.op_id,
            operation.name,
            self.layer,
            self.phase,
            str(operation.device),
            worker,
            self.t_push,
            self.t_ready,
            start,
            end,
            operation.priority,
            self.forward_op,
            failed,
        )


def now() -> int:
    """Nanoseconds of the clock in use."""
    return events.clock()
