"""The exercises of notebook 01: right stopwatches pass, typical wrong ones do not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from minimx import nd
from minimx.core.engine import wait_all
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets.course import timing
from minimx_widgets.course.timing import (
    Trial,
    busy_time,
    check_benchmark,
    check_stopwatch,
    now,
)

pytestmark = pytest.mark.alone

MICRO = 1000


def test_busy_time_counts_overlapping_work_once() -> None:
    record = Record()
    record.start().stop()
    for name, worker, push, start, end in (
        ("dot", "cpu(0)/0", 0, 10, 30),
        ("dot", "cpu(0)/1", 5, 20, 50),
        ("sum", "cpu(0)/0", 6, 60, 70),
        ("dot", "cpu(0)/1", 55, 65, 80),
    ):
        times = (MICRO * push, MICRO * push, MICRO * start, MICRO * end)
        op = record.new_op()
        record.op(op, name, "", "other", "cpu(0)", worker, *times, 0, 0, False)
    assert busy_time(record) == 60 * MICRO
    assert busy_time(record, "dot") == 55 * MICRO
    assert busy_time(record, "dot", since=5 * MICRO) == 45 * MICRO
    assert busy_time(record, "conv") == busy_time(Record()) == 0


def test_now_is_the_clock_in_use() -> None:
    x = nd.ones((64, 64))
    with knobs(MINIMX_CLOCK="virtual"):
        start = now()
        nd.dot(x, x)
        assert now() - start == 5 * MICRO
        wait_all()
        assert now() - start > 5 * MICRO


# The faded exercise


def stopwatch(*, before: bool, after: bool) -> Callable[[Callable[[], Any]], float]:
    def seconds(work: Callable[[], Any]) -> float:
        if before:
            nd.waitall()
        start = now()
        work()
        if after:
            nd.waitall()
        return (now() - start) / 1e9

    return seconds


def test_the_right_stopwatch_is_right_to_the_nanosecond() -> None:
    assert check_stopwatch(stopwatch(before=True, after=True)).passed


@pytest.mark.parametrize(
    ("before", "after", "idea"),
    [
        (True, False, "the second blank"),
        (False, True, "the first blank"),
        (False, False, "the second blank"),
    ],
)
def test_a_stopwatch_without_a_wait_is_wrong(
    before: bool, after: bool, idea: str
) -> None:
    feedback = check_stopwatch(stopwatch(before=before, after=after))
    assert not feedback.passed
    assert feedback.idea.startswith(idea)


def test_a_stopwatch_that_waits_for_one_result_only() -> None:
    def until_the_first(work: Callable[[], Any]) -> float:
        nd.waitall()
        start = now()
        work()[0].wait_to_read()
        return (now() - start) / 1e9

    feedback = check_stopwatch(until_the_first)
    assert not feedback.passed
    assert feedback.idea.startswith("what has to be finished")


def test_a_stopwatch_that_waits_for_the_last_result_only() -> None:
    def until_the_last(work: Callable[[], Any]) -> float:
        nd.waitall()
        start = now()
        work()[-1].wait_to_read()
        return (now() - start) / 1e9

    feedback = check_stopwatch(until_the_last)
    assert not feedback.passed
    assert feedback.idea.endswith("need not be done last")


def test_a_stopwatch_that_says_nothing() -> None:
    assert check_stopwatch(lambda work: work()).seen.startswith("it returned [")


# The free exercise


def inputs(size: int) -> list[Any]:
    return [nd.random.uniform(shape=(size, size)) for _ in range(2)]


def repaired(count: int, size: int) -> float:
    left, right = inputs(size)
    nd.waitall()
    start = time.perf_counter()
    for _ in range(count):
        nd.dot(left, right)
    nd.waitall()
    return time.perf_counter() - start


def as_found(count: int, size: int) -> float:
    start = time.perf_counter()
    left, right = inputs(size)
    for _ in range(count):
        nd.dot(left, right)
    return time.perf_counter() - start


def without_the_first_wait(count: int, size: int) -> float:
    left, right = inputs(size)
    start = time.perf_counter()
    for _ in range(count):
        nd.dot(left, right)
    nd.waitall()
    return time.perf_counter() - start


def only_one_product(count: int, size: int) -> float:
    left, right = inputs(size)
    nd.waitall()
    start = time.perf_counter()
    results = [nd.dot(left, right) for _ in range(count)]
    results[0].wait_to_read()
    return time.perf_counter() - start


def one_after_the_other(count: int, size: int) -> float:
    left, right = inputs(size)
    nd.waitall()
    start = time.perf_counter()
    for _ in range(count):
        nd.dot(left, right).wait_to_read()
    return time.perf_counter() - start


def test_the_repaired_benchmark_agrees_with_the_record() -> None:
    feedback = check_benchmark(repaired)
    assert feedback.passed, feedback


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (as_found, "the stop: "),
        (without_the_first_wait, "the start: "),
        (only_one_product, "the stop: "),
        (one_after_the_other, "a wait inside the loop"),
        (lambda count, size: 1e3 * repaired(count, size), "the unit"),
        (lambda count, size: -repaired(count, size), "the order"),
    ],
    ids=["found", "no wait before", "one only", "waits in the loop", "ms", "negative"],
)
def test_a_wrong_benchmark_is_told_why(attempt: Any, idea: str) -> None:
    feedback = check_benchmark(attempt)
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


def test_a_benchmark_that_returns_nothing_or_does_nothing() -> None:
    assert check_benchmark(lambda count, size: None).expected == "seconds, a number"
    assert check_benchmark(lambda count, size: 0.1).seen.startswith("no product")


def test_the_tolerance_is_a_twentieth() -> None:
    assert Trial(1.04, 1.0, True).error < timing.TOLERANCE
    assert Trial(0.94, 1.0, True).error > timing.TOLERANCE
