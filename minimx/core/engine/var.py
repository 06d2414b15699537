"""The dependency policy: who may read a var, who may write it, and who has to wait.

A `Var` stands for one piece of state, such as the memory of an array. A `Claim` is what
this module knows of an operation: the vars that it reads and the vars that it writes.
There is no graph; each var keeps its own queue, and from those queues everything
follows:

- claims on one var are served in the order in which they were appended;
- reads between two writes are granted together, a write is granted alone;
- a claim whose vars have all been granted is ready.

Three operations, pushed one after the other, with a var for each of the arrays:

    P  b = a + 1    reads a, writes b    ready at once
    Q  c = a * 2    reads a, writes c    ready at once: a is read by both
    R  a += b       reads b, writes a    not ready, 2 vars are not granted:
                                             a: 2 readers, and R is its `writer`
                                             b: P is its `writer`, R is in `later`
    P is released                        R is granted b, 1 var is not
    Q is released                        a has no reader left: R is ready

So P and Q may run at the same time, and R after both: a write after a write (WAW), a
read after a write (RAW) and a write after a read (WAR) keep the order of the program.

Three functions do all the work: `append` queues a claim, `release` gives its vars back
and returns the claims that became ready, `withdraw` takes back a claim whose `append`
was interrupted. There are no threads and no clock in here: the engines call it, and so
does the replay of recorded runs. Callers hold one lock, the same for all vars: it also
keeps two pushing threads from queueing A before B on one var and B before A on another,
after which both would wait for ever.

The policy is that of `ThreadedVar` in MXNet's `src/engine/threaded_engine.cc`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from minimx.core.engine.failures import Failure
    from minimx.core.engine.trace import History, Trace

WRITING: Final = -1  # stands in `Var.readers` while a write is granted
UNCOUNTED: Final = -(1 << 62)  # `Var.version` is below 0 once others can write as well

# Guards the queues of all vars, whichever engine is the current one. A destructor that
# pushes an operation may find it held by its own thread, hence an RLock.
var_lock = threading.RLock()


class Var:
    """One piece of state that operations read and write.

    `version` counts the completed writes; it is negative where another library shares
    the memory, whose writes are not counted. `exception` is the failure that poisoned
    the state, if any. The rest is the queue:

    writer    the oldest write that has not completed, granted or not
    readers   how many reads are granted and not yet released, or `WRITING`
    later     the claims behind `writer`, oldest first; made when first needed

    `block` is the memory that holds the state, once it was taken; only records look at
    it. `history` is kept only while a record is on. `kept` is None, or a weak reference
    to what wants the state as it is now: a push that writes calls `preserve` first.
    """

    __slots__ = (
        "block", "exception", "history", "kept", "later", "readers", "version",
        "writer",
    )  # fmt: skip

    def __init__(self) -> None:
        self.version = 0
        self.block: Any = None
        self.kept: Any = None
        self.exception: Failure | None = None
        self.readers = 0
        self.writer: Claim | None = None
        self.later: deque[Claim] | None = None
        self.history: History | None = None

    def preserve(self) -> None:
        """Copy what is to be kept of the state, which is about to be overwritten."""


class Claim:
    """What one operation wants: `reads` and `writes`, no var twice (see `distinct`).

    `adds` is what a completed write adds to `Var.version`: 1, or 0 if nothing was
    written. `wait` counts the vars that have not been granted yet. `put` is for the
    engine: where to hand the claim, as only argument, when it is ready.
    """

    __slots__ = ("adds", "put", "reads", "wait", "writes")

    put: Callable[[Any], object]

    # What is noted while a record is on.
    trace: Trace | None = None

    def __init__(
        self, reads: tuple[Var, ...], writes: tuple[Var, ...], adds: int
    ) -> None:
        self.reads = reads
        self.writes = writes
        self.adds = adds
        self.wait = len(reads) + len(writes)


def distinct(
    reads: Iterable[Var], writes: Iterable[Var]
) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """The same vars without repetition; what is written is not counted as read.

    So `a += a`, which reads and writes one var, does not wait for itself.
    """
    written = dict.fromkeys(writes)
    read = dict.fromkeys(var for var in reads if var not in written)
    return tuple(read), tuple(written)


def append(claim: Claim) -> bool:
    """Queue a claim on all its vars; True if all were granted at once.

    An interrupt may come between two vars, never within one: the bytecode of one turn
    has at most one place where a signal is looked at, and that is its end. After such
    an interrupt the caller must `withdraw` the claim.
    """
    reads = claim.reads
    writes = claim.writes
    for var in reads:
        if var.writer is None:
            var.readers += 1
            claim.wait -= 1
        elif var.later is not None:
            var.later.append(claim)
        else:
            var.later = deque((claim,))
    for var in writes:
        if var.writer is None:
            var.writer = claim
            if var.readers == 0:
                var.readers = WRITING
                claim.wait -= 1
        elif var.later is not None:
            var.later.append(claim)
        else:
            var.later = deque((claim,))
    return claim.wait == 0


def release(claim: Claim) -> list[Claim] | None:
    """Give back all vars of a granted claim; the claims that became ready, or None.

    None rather than an empty list, since most operations make none ready.
    """
    ready: list[Claim] | None = None
    for var in claim.reads:
        var.readers -= 1
        if var.readers == 0:
            writer = var.writer
            if writer is not None:
                var.readers = WRITING
                writer.wait -= 1
                if writer.wait == 0:
                    if ready is None:
                        ready = [writer]
                    else:
                        ready.append(writer)
    for var in claim.writes:
        var.version += claim.adds
        var.readers = 0
        if var.later:
            if ready is None:
                ready = []
            _grant(var, var.later, ready)
        else:
            var.writer = None
    return ready


def _grant(var: Var, later: deque[Claim], ready: list[Claim]) -> None:
    """After a write: grant the next reads in the queue, or else the next write.

    Until the next write is in its place, `writer` stays who it was: a thread that waits
    looks at it without the lock, and None would tell it that there is nothing to wait
    for.
    """
    while later:
        claim = later.popleft()
        if var in claim.writes:
            var.writer = claim
            if var.readers == 0:
                var.readers = WRITING
                claim.wait -= 1
                if claim.wait == 0:
                    ready.append(claim)
            return
        var.readers += 1
        claim.wait -= 1
        if claim.wait == 0:
            ready.append(claim)
    var.writer = None


def withdraw(claim: Claim) -> None:
    """Take back a claim whose `append` stopped halfway, as if it had never been made.

    The lock must not have been let go in between.
    """
    granted = len(claim.reads) + len(claim.writes) - claim.wait
    for var in claim.reads:
        if var.later and var.later[-1] is claim:
            var.later.pop()
        elif var.writer is None and granted:
            var.readers -= 1
            granted -= 1
    for var in claim.writes:
        if var.writer is claim:
            var.writer = None
            if var.readers == WRITING:
                var.readers = 0
        elif var.later and var.later[-1] is claim:
            var.later.pop()
