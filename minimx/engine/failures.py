"""What becomes of an operation that raises: nobody is waiting for it yet.

The exception is put into a `Failure`, and the failure onto every var that the operation
writes. An operation that touches such a var is not run; its own vars inherit the same
failure. Whoever waits for one of these vars, or for everything, gets the exception:
once, however many arrays it spoiled.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from minimx.engine.origin import Origin, tell
from minimx.engine.var import Claim, Var
from minimx.errors import EngineError

if TYPE_CHECKING:
    from minimx.engine.operation import Operation


class Failure:
    """An exception on its way to somebody who waits.

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
# be spoiled, which saves every operation a look at its vars.
unraised: list[Failure] = []


def spoil(operation: Operation, error: BaseException) -> Failure:
    """Note that an operation raised; it must still hold the vars that it writes."""
    failure = Failure(error, operation.name, operation.origin)
    unraised.append(failure)
    for var in operation.writes:
        var.exception = failure
    return failure


# Spoils everything when the program is over and nobody can look at results any more.
_the_end = Failure(EngineError("the program is over"), "exit", ())


def give_up() -> None:
    """Let no operation run from now on; those that run come to their end."""
    unraised.append(_the_end)


def recover() -> None:
    """Take `give_up` back."""
    if _the_end in unraised:
        unraised.remove(_the_end)


def inherited(claim: Claim) -> Failure | None:
    """The first failure on the vars of a claim, reads before writes."""
    if unraised:
        if _the_end in unraised:
            return _the_end
        for var in (*claim.reads, *claim.writes):
            failure = var.exception
            if failure is not None and failure.error is not None:
                return failure
    return None


def deliver(var: Var) -> None:
    """Raise the failure on a var, unless somebody was told of it before."""
    if var.exception is not None:
        raise_failure(var.exception)


def deliver_first() -> None:
    """Raise the oldest failure that nobody was told of, and forget all others."""
    found = unraised[:]
    for failure in found[1:]:
        _take(failure)
    if found:
        raise_failure(found[0])


def _take(failure: Failure) -> BaseException | None:
    """The exception, for the first who asks; None for everybody after."""
    try:
        unraised.remove(failure)
    except ValueError:
        return None
    error, failure.error = failure.error, None
    return error


def raise_failure(failure: Failure) -> None:
    """Raise the exception of a failure, unless somebody was told of it before.

    It keeps its type. A note says which line pushed the operation; Python prints it
    last.
    """
    error = _take(failure)
    if error is None:
        return
    note = f"{failure.name}, {tell(failure.pushed)}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    # The traceback starts where the operation failed, however often `error` was raised.
    trace, failure.traceback = failure.traceback, None
    try:
        raise error.with_traceback(trace)
    finally:
        del error, trace  # an exception and a frame must not hold each other
