"""What becomes of an operation that raises: no caller waits for it yet.

The exception is put into a `Failure`, and the failure onto every var that the operation
writes: they are poisoned. An operation that touches such a var is not run; its own vars
inherit the same failure. The first wait for one of these vars, or for everything,
raises the exception: once, however many arrays it poisoned.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from minimx.core.engine.origin import Origin, describe
from minimx.core.engine.var import Claim, Var
from minimx.core.errors import EngineError

if TYPE_CHECKING:
    from minimx.core.engine.operation import Operation


class Failure:
    """An exception that the next wait will raise.

    `error` is None once it was raised. `name` and `pushed` are of the operation that
    raised it.
    """

    __slots__ = ("error", "name", "pushed", "traceback")

    def __init__(self, error: BaseException, name: str, pushed: Origin) -> None:
        trace = error.__traceback__
        # Without the engine's own frame, which stays alive and goes on to other work.
        self.traceback: TracebackType | None = trace.tb_next if trace else None
        self.error: BaseException | None = error.with_traceback(self.traceback)
        self.name = name
        self.pushed = pushed


# Every failure that has not been raised yet, oldest first. While it is empty no var can
# be poisoned, which saves every operation a look at its vars.
pending_failures: list[Failure] = []


def poison(operation: Operation, error: BaseException) -> Failure:
    """Note that an operation raised: what it writes is poisoned.

    Who waits for one of these vars gets the error raised, and operations that read one
    do not run but are poisoned in turn. The operation must still hold the vars that it
    writes. As in MXNet, where an exception is kept with the var.
    """
    failure = Failure(error, operation.name, operation.origin)
    pending_failures.append(failure)
    for var in operation.writes:
        var.exception = failure
    return failure


# Poisons everything when the program is over and results cannot be read any more.
_the_end = Failure(EngineError("the program is over"), "exit", ())


def give_up() -> None:
    """Let no operation run from now on; those that run come to their end."""
    pending_failures.append(_the_end)


def recover() -> None:
    """Take `give_up` back."""
    if _the_end in pending_failures:
        pending_failures.remove(_the_end)


def inherited(claim: Claim) -> Failure | None:
    """The first failure on the vars of a claim, reads before writes."""
    if pending_failures:
        if _the_end in pending_failures:
            return _the_end
        for var in (*claim.reads, *claim.writes):
            failure = var.exception
            if failure is not None and failure.error is not None:
                return failure
    return None


def raise_pending(var: Var) -> None:
    """Raise the failure on a var, unless it was raised before."""
    if var.exception is not None:
        raise_failure(var.exception)


def raise_oldest() -> None:
    """Raise the oldest failure that was not raised yet, and forget all others."""
    found = pending_failures[:]
    for failure in found[1:]:
        _take(failure)
    if found:
        raise_failure(found[0])


def _take(failure: Failure) -> BaseException | None:
    """The exception, at the first call; None at every later one."""
    try:
        pending_failures.remove(failure)
    except ValueError:
        return None
    error, failure.error = failure.error, None
    return error


def raise_failure(failure: Failure) -> None:
    """Raise the exception of a failure, unless it was raised before.

    It keeps its type. A note says which line pushed the operation; Python prints it
    last.
    """
    error = _take(failure)
    if error is None:
        return
    note = f"{failure.name}, {describe(failure.pushed)}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    # The traceback starts where the operation failed, however often `error` was raised.
    trace, failure.traceback = failure.traceback, None
    try:
        raise error.with_traceback(trace)
    finally:
        del error, trace  # an exception and a frame must not hold each other
