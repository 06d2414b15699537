"""What the documents say of engines and of time (notebook 01)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import minimx as mx
from minimx_widgets.course.claims.claim import (
    GUIDE,
    TIPS,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
)
from minimx_widgets.course.timing import busy_time, now
from minimx_widgets.views.engine_timeline import EngineTimeline

PRODUCTS = 10
NEAR = 0.01  # of the work; the virtual clock has no noise, but a push takes time


def _square(size: int = 512) -> Any:
    a = mx.nd.ones((size, size))
    mx.nd.waitall()
    return a


def unasked(engine: str = "ThreadedEnginePerDevice") -> Numbers:
    """How many of ten products are done though no thread waits; a minute at most."""
    a = _square(64)
    with mx.knobs(MXNET_ENGINE_TYPE=engine), mx.Record() as record:
        results = [mx.nd.dot(a, a) for _ in range(PRODUCTS)]
        deadline = time.perf_counter() + 60
        while len(record.ops()) < len(results) and time.perf_counter() < deadline:
            time.sleep(0.001)
        return {"done": len(record.ops())}


@claim(
    "01",
    "“The lazy evaluation engine executes nodes in the computation graph only when "
    "needed”",
    GUIDE,
    5,
    "measured",
    unasked,
    tolerance="none: operations are counted",
)
def when_needed(done: int) -> Decision:
    """No product should be computed before one is needed."""
    return (
        if_true(not done),
        f"{done} of {PRODUCTS} products were done although none was needed. The "
        "engine is eager and asynchronous: it starts as soon as inputs are ready",
    )


def _refused(engine: str) -> tuple[str, str]:
    """Where a wrong index is an error, and what the error says."""
    shelf, index = mx.nd.array([10, 20, 30]), mx.nd.array([7])
    where = "at the call"
    with mx.knobs(MXNET_ENGINE_TYPE=engine):
        try:
            book = mx.nd.take(shelf, index, mode="raise")
            where = "at the next operation"
            price = book * 1.19
            where = "at asnumpy, two operations later"
            price.asnumpy()
        except mx.MXNetError as error:
            return where, "".join([str(error), *getattr(error, "__notes__", ())])
    return "nowhere", ""


def wrong_index() -> Numbers:
    """Where a wrong index is an error, by engine; whether it has the line of a cell."""
    where, said = _refused("ThreadedEnginePerDevice")
    naive, _ = _refused("NaiveEngine")
    return {"where": where, "naive": naive, "line": "mx.nd.take(" in said}


@claim(
    "01",
    "“stack traces and memory issues often appear far from their origin”",
    GUIDE,
    12,
    "measured",
    wrong_index,
)
def far_from_origin(where: str, naive: str, line: bool) -> Decision:
    """An error should come out later than at the call that is wrong."""
    with_line = (
        "It brings along the line that pushed the operation"
        if line
        else "It does not say which line pushed the operation"
    )
    return (
        if_true(where != "at the call"),
        f"the error came out {where}, and under NaiveEngine {naive}. {with_line}",
    )


def _race() -> tuple[int, int]:
    """Nanoseconds until ten products are asked for, and until they are done."""
    a = _square()
    start = now()
    results = [mx.nd.dot(a, a) for _ in range(PRODUCTS)]
    issued = now()
    mx.nd.waitall()
    del results
    return issued - start, now() - start


def master_thread(engine: str = "NaiveEngine") -> Numbers:
    """The lanes of ten products, and finish by issue."""
    with mx.knobs(MINIMX_CLOCK="virtual", MXNET_ENGINE_TYPE=engine):
        mx.nd.waitall()
        with mx.Record() as record:
            issue, finish = _race()
    return {"lanes": EngineTimeline(record).lanes, "ratio": finish / issue}


@claim(
    "01",
    "NaiveEngine “uses the master thread to do the computation synchronously”",
    V2,
    152,
    "virtual",
    master_thread,
)
def in_the_master_thread(lanes: Sequence[str], ratio: float) -> Decision:
    """All work should be in Python's lane, and done when the calls are back."""
    return (
        if_true(list(lanes) == ["python"] and ratio == 1),
        f"its record has {len(lanes)} lane{'s' * (len(lanes) != 1)}, "
        f"{' and '.join(lanes)}, and finish ÷ issue is {ratio:.3g}",
    )


def threads_of_gpu(workers: int = 2) -> Numbers:
    """The lanes of gpu(0) in which four copies and eight products ran."""
    a = _square()
    with mx.knobs(MINIMX_CLOCK="virtual", MXNET_GPU_WORKER_NTHREADS=workers):
        mx.nd.waitall()
        with mx.Record() as record:
            there = [a.as_in_context(mx.gpu(0)) for _ in range(4)]
            products = [mx.nd.dot(one, one) for one in there for _ in range(2)]
            mx.nd.waitall()
            del products
    lanes = EngineTimeline(record).lanes
    return {"lanes": [lane for lane in lanes if lane.startswith("gpu(0)")]}


@claim(
    "01",
    "ThreadedEnginePerDevice “allocates thread per GPU”",
    V2,
    154,
    "virtual",
    threads_of_gpu,
)
def thread_per_gpu(lanes: Sequence[str]) -> Decision:
    """One thread should compute on a GPU."""
    computing = [lane for lane in lanes if "copy" not in lane]
    verdict = "fails" if not computing else "depends on two knobs"
    return (
        "holds" if len(computing) == 1 else verdict,
        f"gpu(0) worked on {len(lanes)} threads: {', '.join(lanes)}. "
        "MXNET_GPU_WORKER_NTHREADS and MXNET_GPU_COPY_NTHREADS say how many",
    )


def _reported(before: bool, after: bool) -> float:
    """The share of the busy time that a region with or without waits reports."""
    a = _square()
    with mx.knobs(MINIMX_CLOCK="virtual"):
        mx.nd.waitall()
        earlier = [mx.nd.dot(a, a) for _ in range(5)]
        if before:
            mx.nd.waitall()
        start = now()
        with mx.Record() as region:
            results = [mx.nd.dot(a, a) for _ in range(PRODUCTS)]
            if after:
                mx.nd.waitall()
            said = now() - start
            mx.nd.waitall()
        del earlier, results
        return said / busy_time(region, since=start)


def waits() -> Numbers:
    """What is reported with both waits, without the first, without the second."""
    return {
        "both": _reported(before=True, after=True),
        "no_first": _reported(before=False, after=True),
        "no_second": _reported(before=True, after=False),
    }


@claim(
    "01",
    "Before and after a region, “wait for previous operations to complete”",
    TIPS,
    301,
    "virtual",
    waits,
    last=308,
    tolerance="1 % of the work",
)
def both_waits(both: float, no_first: float, no_second: float) -> Decision:
    """Both waits should be needed: with them a region reports its work, else not."""
    right = [abs(one - 1) <= NEAR for one in (both, no_first, no_second)]
    return (
        if_true(right == [True, False, False]),
        f"with both it reports {both:.3f} of the work, without the first "
        f"{no_first:.3f}, without the second {no_second:.3f}",
    )
