"""Notebook 01: when work is asked for, when it is done, and what a stopwatch sees.

`now` reads the clock in use and `busy_time` the record: the two sources of truth that
the exercises compare. Both checks run the learner's stopwatch on real work; the first
on the virtual clock, where it must be right to the nanosecond, the second on the wall
clock, where it may be off by `TOLERANCE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx import nd
from minimx.core import engine, events
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

SENTENCE = (
    "The call only queues the work and comes back; a worker does it later, so a "
    "stopwatch around the call has measured the queueing."
)

HINTS = (
    "Two moments decide. When the stopwatch starts, nothing else may be under way; "
    "when it stops, everything that it is about must be done. Which calls wait?",
    "<code>mx.nd.waitall()</code> waits for all that was asked for so far. Making the "
    "inputs is work that was asked for, too.",
    "A worked solution of a similar problem: the time of one sum. "
    + code(
        """
        def seconds_of_a_sum(size):
            x = mx.nd.ones((size,))
            x.wait_to_read()  # the input is there
            start = time.perf_counter()
            total = x.sum()
            total.wait_to_read()  # one result, and one wait for it
            return time.perf_counter() - start
        """
    ),
)

TOLERANCE = 0.05
SLOW_WAITS = 0.25  # a forgotten first wait adds a third or more
ATTEMPTS = 5
PRODUCTS, SIZE = 8, 768  # several milliseconds each: a thousand times a gap's length
PENDING = 4  # products of other work, still under way when a benchmark starts


def now() -> int:
    """Nanoseconds of the clock in use, which the knob MINIMX_CLOCK chooses."""
    return events.clock()


def busy_time(record: Record, name: str = "", since: int = 0) -> int:
    """Nanoseconds in which at least one worker ran an operation.

    name: count operations of this name only; all by default.
    since: count only what was pushed at this time or later.
    """
    ops = record.ops()
    wanted = ops["t_push"] >= since
    if name:
        wanted &= np.array([text == name for text in record.texts(ops["name"])], bool)
    spans = sorted(zip(ops["t_start"][wanted], ops["t_end"][wanted], strict=True))
    total, reached = 0, 0
    for start, end in spans:
        total += max(0, int(end) - max(int(start), reached))
        reached = max(reached, int(end))
    return total


@check
def check_stopwatch(attempt: Callable[[Callable[[], Any]], float]) -> Feedback:
    """The faded exercise: `attempt(work)` gives the seconds until `work` is finished.

    It is tried on the virtual clock, with one worker and with three, with other work
    under way, and with work of which the last part is done first.
    """
    for workers in (1, 3):
        settings = {"MXNET_ENGINE_TYPE": None, "MXNET_CPU_WORKER_NTHREADS": workers}
        with knobs(MINIMX_CLOCK="virtual", **settings):
            feedback = _stopwatch_tried(attempt)
        if not feedback.passed:
            break
    return feedback


def _stopwatch_tried(attempt: Callable[[Callable[[], Any]], float]) -> Feedback:
    right = _on_virtual_clock(_right_stopwatch)
    seen = _on_virtual_clock(attempt)
    issue = _on_virtual_clock(_issue_only)
    everything = _on_virtual_clock(_from_the_past)
    if not isinstance(seen, float | int):
        return Feedback(False, f"it returned {seen!r}", "a number of seconds")
    text = f"{seen:.6f} s where the virtual clock says {right:.6f} s"
    if seen == right:
        return Feedback(True, f"{right:.6f} s, exactly what the virtual clock says")
    if seen <= issue:
        idea = "the second blank: the stopwatch stopped while workers still worked"
    elif seen >= everything:
        idea = "the first blank: work from before the start was counted as well"
    else:
        idea = (
            "what has to be finished when the stopwatch starts, and when it stops. "
            "What was asked for last need not be done last"
        )
    return Feedback(False, text, f"{right:.6f} s", idea)


def _on_virtual_clock(stopwatch: Callable[[Callable[[], Any]], Any]) -> Any:
    """What a stopwatch says about three products, while two others are under way.

    The first product is the largest, so with several workers the last is done first.
    """
    squares = [nd.ones((size, size)) for size in (SIZE, SIZE // 2, SIZE // 8)]
    x = squares[0]
    engine.wait_all()
    others = [nd.dot(x, x) for _ in range(2)]
    answer = stopwatch(lambda: [nd.dot(square, square) for square in squares])
    engine.wait_all()
    del others
    return answer


def _right_stopwatch(work: Callable[[], Any]) -> float:
    engine.wait_all()
    start = now()
    work()
    engine.wait_all()
    return (now() - start) / 1e9


def _issue_only(work: Callable[[], Any]) -> float:
    start = now()
    work()
    return (now() - start) / 1e9


def _from_the_past(work: Callable[[], Any]) -> float:
    start = now()
    work()
    engine.wait_all()
    return (now() - start) / 1e9


@dataclass(frozen=True)
class Trial:
    """One run of a benchmark: what it returned and what the record says, in seconds.

    `queued` is whether the queue ever held a product while another one was computed.
    """

    answer: float
    busy: float
    queued: bool

    @property
    def error(self) -> float:
        """How far off it was, as a share of the busy time."""
        return abs(self.answer / self.busy - 1) if self.busy else math.inf


@check
def check_benchmark(attempt: Callable[[int, int], float]) -> Feedback:
    """The free exercise: `attempt(products, size)` gives the seconds that they take.

    The best of five trials counts. An operation here takes milliseconds, a gap between
    two of them microseconds; if another program takes the processor, it nearly always
    does so inside an operation, where stopwatch and record lose the same time. So an
    honest benchmark is off by far less than 5 % at least once in five times, and one
    that forgets a wait is off by a third or more every time.
    """
    settings = ("MXNET_ENGINE_TYPE", "MXNET_CPU_WORKER_NTHREADS", "MINIMX_CLOCK")
    with knobs(**dict.fromkeys(settings)):
        answer = attempt(1, 64)  # compiles the kernels before anything is measured
        if not isinstance(answer, float | int):
            return Feedback(False, f"it returned {answer!r}", "seconds, a number")
        trials = []
        for _ in range(ATTEMPTS):
            trials.append(_trial(attempt))
            if trials[-1].error <= TOLERANCE:
                break
    return _judge(min(trials, key=lambda trial: trial.error))


def _trial(attempt: Callable[[int, int], float]) -> Trial:
    """Run a benchmark once, while products of other work are under way."""
    x = nd.ones((SIZE, SIZE))
    engine.wait_all()
    with Record() as record:
        others = [nd.dot(x, x) for _ in range(PENDING)]
        start = now()
        answer = attempt(PRODUCTS, SIZE)
        engine.wait_all()
        del others
    ops = record.ops()
    mine = ops["t_push"] >= start
    mine &= np.array([name == "dot" for name in record.texts(ops["name"])], bool)
    pushes, ends = np.sort(ops["t_push"][mine]), np.sort(ops["t_end"][mine])
    queued = bool(np.any(pushes[1:] < ends[:-1]))
    return Trial(answer, busy_time(record, "dot", since=start) / 1e9, queued)


def _judge(trial: Trial) -> Feedback:
    if not trial.busy:
        return Feedback(False, "no product was ever computed", "a benchmark of nd.dot")
    share = trial.answer / trial.busy
    text = f"it said {share:.3g} × the busy time of the record"
    wanted = "1 × the busy time, within 5 %"
    # On a busy machine every wait inside the loop adds a little; what the record saw,
    # a queue that ran empty after every product, is the cause and not the sum.
    if not trial.queued and 1 - TOLERANCE <= share <= 1 + SLOW_WAITS:
        return Feedback(
            False,
            f"{text}, but waited after every product",
            "one wait before the start and one before the stop",
            "a wait inside the loop: the queue runs empty, and two workers would "
            "never meet",
        )
    if trial.error > TOLERANCE:
        return Feedback(False, text, wanted, _misconception(share))
    return Feedback(True, f"{text}, with one wait before and one after")


def _misconception(share: float) -> str:
    if not math.isfinite(share) or share <= 0:
        return "the order: stop minus start"
    if share > 100:
        return "the unit: seconds are wanted"
    if share < 0.1:
        return "the stop: the calls have come back, the products have not"
    if share < 1:
        return "the stop: some products were finished by then, but not all of them"
    return "the start: inputs, or other people's work, were not finished by then"
