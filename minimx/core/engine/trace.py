"""What is noted about an operation while a record is on.

A `Trace` is made at the push, on the pushing thread, which alone knows on whose behalf
it works. It travels with the operation and is recorded when the operation is done,
before a thread that waits for it wakes up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from minimx.core import events
from minimx.core.drivers import place
from minimx.core.engine.costs import Transfer
from minimx.core.engine.kinds import SEGMENT
from minimx.core.engine.origin import where
from minimx.core.engine.var import var_lock

if TYPE_CHECKING:
    from minimx.core.engine.operation import Operation
    from minimx.core.engine.var import Claim

# A var that is read for ever, and never written, must not remember all its readers.
READERS_KEPT = 1024

PUSHER = "python"  # the lane of what runs on the thread that pushed it

Edge = tuple[int, str]


class Session:
    """One recording. The ids of another one mean nothing in it."""

    __slots__ = ("ids",)

    def __init__(self, ids: object) -> None:
        # Vars keep sessions, and must not keep old records with them.
        self.ids = ref(ids)


class History:
    """The recorded operations that last touched a var, by id."""

    __slots__ = ("readers", "session", "writer")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.writer = 0
        self.readers: list[int] = []


class Trace:
    """One recorded operation: id, times in nanoseconds, and for whom it works.

    `attribution` is a copy of the pushing thread's `events.attribution`. `linked` means
    that its edges are known already, or those of its parts. `t_sent` is when a copy
    found its wires free, 0 if it never had to look. `inside` is the id of the joined
    operation of which it became a part, 0 if of none.
    """

    __slots__ = (
        "attribution", "inside", "linked", "op_id", "recorder", "t_push", "t_ready",
        "t_sent",
    )  # fmt: skip

    def __init__(
        self, recorder: events.Recorder, t_push: int, linked: bool = False
    ) -> None:
        self.recorder = recorder
        self.op_id = recorder.new_op()
        self.attribution: dict[str, Any] = events.attribution.__dict__.copy()
        self.t_push = t_push
        self.t_ready = t_push
        self.t_sent = 0
        self.inside = 0
        self.linked = linked

    def edges(self, claim: Claim) -> list[Edge]:
        """The operations that `claim` comes after, and why; its vars remember it.

        Call this with the engine's lock, in the order in which claims are appended.
        """
        if self.linked:
            return []
        self.linked = True
        session = _session_of(self.recorder)
        op_id = self.op_id
        found: list[Edge] = []
        for var in claim.reads:
            history = var.history
            if history is None or history.session is not session:
                history = var.history = History(session)
            elif history.writer:
                found.append((history.writer, "RAW"))
            history.readers.append(op_id)
            if len(history.readers) > READERS_KEPT:
                del history.readers[: READERS_KEPT // 2]
        for var in claim.writes:
            history = var.history
            if history is None or history.session is not session:
                history = var.history = History(session)
            elif history.readers:
                found += [(reader, "WAR") for reader in history.readers]
                history.readers = []
            else:
                found.append((history.writer, "WAW"))
            history.writer = op_id
        return found

    def link(self, claim: Claim) -> None:
        """Find the edges of `claim` and record them."""
        with var_lock:
            edges = self.edges(claim)
        self.emit_edges(edges)

    def emit_edges(self, edges: list[Edge]) -> None:
        """Report what `edges` found to the recorder, each once; without any lock."""
        for src, kind in edges if len(edges) < 2 else dict.fromkeys(edges):
            self.recorder.dependency(src, self.op_id, kind)

    def emit(
        self, operation: Operation, worker: str, start: int, end: int, failed: bool
    ) -> None:
        """Report that the operation is done; from device to device also as such.

        worker: the lane in timelines. start, end: nanoseconds of `events.clock`.
        failed: whether it raised, or was skipped because a var was poisoned.
        """
        at = self.attribution
        self.recorder.op(
            self.op_id,
            operation.name,
            at["layer"],
            at["phase"],
            str(operation.device),
            worker,
            self.t_push,
            self.t_ready,
            start,
            end,
            operation.priority,
            at["forward_op"],
            failed,
            operation.prop == SEGMENT,
            operation.cost,
            self.inside,
            where(operation.origin),
            operation,
        )
        cost = operation.cost
        if failed or not isinstance(cost, Transfer):
            return
        if cost.source is not cost.target:
            self.recorder.communication(
                max(start, self.t_sent),
                end,
                at["key"],
                place(cost.source),
                place(cost.target),
                cost.nbytes,
                at["phase"],
            )


_session: Session | None = None


def _session_of(recorder: events.Recorder) -> Session:
    global _session
    if _session is None or _session.ids() is not recorder.ids:
        _session = Session(recorder.ids)
    return _session
