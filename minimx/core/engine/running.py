"""Run one operation with all care: skip it if it is poisoned, catch, and record.

Engines call an operation's function themselves when no record is on and nothing has
failed; this is for all other cases.
"""

from __future__ import annotations

from minimx.core import events
from minimx.core.engine.failures import Failure, inherited, poison
from minimx.core.engine.kinds import BULK, NO_SKIP
from minimx.core.engine.operation import Operation
from minimx.core.engine.trace import Trace
from minimx.core.engine.workers import Spend
from minimx.core.events import attribution


def perform(
    operation: Operation, worker: str, spend: Spend | None = None
) -> Failure | None:
    """Run an operation whose vars have all been granted; does not raise.

    If a var brings a failure, the operation's own vars inherit it, and only a NO_SKIP
    operation runs. `spend` lets its time pass. Returns the failure, inherited or new.
    """
    failure = None if operation.prop == BULK else inherited(operation)
    if failure is not None:
        for var in operation.writes:
            var.exception = failure
        if operation.prop != NO_SKIP:
            if operation.trace is not None:
                moment = events.clock()
                operation.trace.emit(operation, worker, moment, moment, failed=True)
            return failure
    if operation.trace is not None:
        return _traced(operation, operation.trace, worker, spend) or failure
    try:
        operation.fn()
    except BaseException as error:
        failure = poison(operation, error)
    if spend is not None:
        spend(operation)
    return failure


def _traced(
    operation: Operation, trace: Trace, worker: str, spend: Spend | None
) -> Failure | None:
    """Run an operation and record it."""
    failure = None
    mine = attribution.__dict__  # this thread's part of it
    before = mine.copy()
    mine.update(trace.attribution, running=trace.op_id)
    start = events.clock()
    try:
        operation.fn()
    except BaseException as error:
        failure = poison(operation, error)
    if spend is not None:
        spend(operation)
    end = events.clock()
    mine.update(before)
    trace.emit(operation, worker, start, end, failure is not None)
    return failure
