"""What the documents say of engines and of order (notebook 02)."""

from __future__ import annotations

from minimx_widgets.course.claims.claim import (
    GUIDE,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.depending import WEIGHT, lanes, race, runs_unasked

ALONE = 3  # ms of an operation


def two_under(kind: str) -> Numbers:
    """Whole milliseconds of two independent operations of 3 ms on cpu(0)."""
    return {"ms": round(lanes(kind))}


def naive(kind: str = "NaiveEngine") -> Numbers:
    """Two operations under an engine, by default NaiveEngine."""
    return two_under(kind)


@claim(
    "02",
    "NaiveEngine “uses the master thread to do the computation synchronously”",
    V2,
    152,
    "virtual",
    naive,
)
def one_after_the_other(ms: int) -> Decision:
    """Two operations should take the time of both."""
    return (
        if_true(ms == 2 * ALONE),
        f"two operations of {ALONE} ms: {ms} ms",
    )


def debugging(declared: bool = False) -> Numbers:
    """What a reader sees with two workers and under NaiveEngine."""
    return {
        "threaded": race(declared=declared),
        "naive": race(declared=declared, kind="NaiveEngine"),
    }


@claim(
    "02",
    "“You can use this type for debugging in case of any error”",
    V2,
    152,
    "measured",
    debugging,
    tolerance="none: the writer takes 200 ms, the reader none",
)
def any_error(threaded: str, naive: str) -> Decision:
    """What is wrong with threads should be wrong under NaiveEngine as well."""
    if threaded == WEIGHT:
        return "holds", "there was no error to look for: both engines gave the weights"
    same = if_true(naive == threaded, "holds", "depends on the error: not for races")
    return (
        same,
        "an operation that does not say what it reads found "
        f"{'the right numbers' if naive == WEIGHT else naive} under NaiveEngine, and "
        f"{threaded} with two workers",
    )


def pool_of_threads(kind: str = "ThreadedEngine") -> Numbers:
    """Two operations under an engine, by default ThreadedEngine."""
    return two_under(kind)


@claim(
    "02",
    "ThreadedEngine “uses a global thread pool to schedule jobs”",
    V2,
    153,
    "virtual",
    pool_of_threads,
)
def global_pool(ms: int) -> Decision:
    """Two operations on one device should run at the same time."""
    return if_true(ms == ALONE), f"the same two operations: {ms} ms"


def per_device(kind: str = "ThreadedEnginePerDevice") -> Numbers:
    """Two operations under an engine; whether one runs that is not waited for."""
    return {**two_under(kind), "unasked": runs_unasked()}


@claim(
    "02",
    "ThreadedEnginePerDevice “allocates thread per GPU and executes jobs "
    "asynchronously”",
    V2,
    154,
    "virtual",
    per_device,
)
def per_device_asynchronously(ms: int, unasked: bool) -> Decision:
    """One thread of the device should do both, while the main thread goes on."""
    return (
        if_true(ms == 2 * ALONE and unasked, "holds for CPU devices as well"),
        f"{ms} ms: {'one worker' if ms == 2 * ALONE else 'more than one worker'} of "
        f"cpu(0) does both, while the main thread goes on",
    )


def asked_for() -> Numbers:
    """Whether an operation runs although its result is never waited for."""
    return {"unasked": runs_unasked()}


@claim(
    "02",
    "“The lazy evaluation engine executes nodes in the computation graph only when "
    "needed”",
    GUIDE,
    5,
    "measured",
    asked_for,
)
def only_when_needed(unasked: bool) -> Decision:
    """An operation should not run while no thread waits for its result."""
    return (
        weighed([not unasked], "the engine"),
        "an operation whose result was never waited for "
        f"{'has run' if unasked else 'did not run in ten seconds'}: the engine "
        "executes what is ready as soon as a worker is free",
    )
