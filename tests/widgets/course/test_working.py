"""Notebook 03: no run beats the bound, and the checks tell right from wrong."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx_widgets.course import working
from minimx_widgets.course.working import (
    PUZZLE,
    PUZZLE_TARGET,
    STEP,
    Task,
    Tasks,
    bound,
    check_bound,
    check_priorities,
    critical_path,
    run,
    work,
)

LENGTHS = {task.name: task.ms for task in PUZZLE}


def to_the_end(name: str) -> int:
    after = [task.name for task in PUZZLE if name in task.needs]
    return LENGTHS[name] + max(map(to_the_end, after), default=0)


RIGHT = {task.name: to_the_end(task.name) for task in PUZZLE}


@pytest.mark.parametrize(("workers", "ms"), [(1, 24), (2, 16), (4, 12)])
def test_the_numbers_of_the_notebook(workers: int, ms: int) -> None:
    assert run(STEP, workers).ms == ms
    assert bound(STEP, workers) <= ms


def test_the_puzzle_is_one() -> None:
    assert bound(PUZZLE, 2) == PUZZLE_TARGET == 24
    assert run(PUZZLE, 2).ms == 34
    assert run(PUZZLE, 2, RIGHT).ms == 24


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_no_run_beats_the_bound_and_none_is_far_behind(seed: int, workers: int) -> None:
    tasks = working.random_tasks(random.Random(seed), most=8)
    least = bound(tasks, workers)
    path = critical_path(tasks)
    graham = work(tasks) / workers + (1 - 1 / workers) * path
    for priorities in (None, {task.name: seed % (task.ms + 1) for task in tasks}):
        assert least <= run(tasks, workers, priorities).ms <= graham + 1e-9


def test_without_chains_the_bound_is_met_by_equal_tasks() -> None:
    tasks = [Task(str(i), 3) for i in range(8)]
    assert [run(tasks, n).ms for n in (1, 2, 4, 8)] == [24, 12, 6, 3]


def by_recursion(tasks: Tasks, workers: int) -> float:
    known = {task.name: task for task in tasks}

    def end(name: str) -> int:
        return known[name].ms + max(map(end, known[name].needs), default=0)

    return max(max(map(end, known)), sum(task.ms for task in tasks) / workers)


@pytest.mark.parametrize("attempt", [bound, by_recursion])
def test_right_bounds_are_accepted(attempt: Callable[[Tasks, int], float]) -> None:
    assert check_bound(attempt).passed


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (lambda tasks, workers: work(tasks) / workers, "second part"),
        (lambda tasks, workers: critical_path(tasks), "first part"),
        (
            lambda tasks, workers: min(work(tasks) / workers, critical_path(tasks)),
            "which of the two",
        ),
        (
            lambda tasks, workers: work(tasks) / workers + critical_path(tasks),
            "overlap",
        ),
        (
            lambda tasks, workers: max(work(tasks) // workers, critical_path(tasks)),
            "division",
        ),
        (lambda tasks, workers: None, ""),
        (lambda tasks, workers: 1 / 0, ""),
    ],
)
def test_wrong_bounds_are_refused(
    attempt: Callable[[Tasks, int], float], idea: str
) -> None:
    found = check_bound(attempt)
    assert not found.passed
    assert idea in found.idea


@pytest.mark.parametrize(
    "attempt",
    [
        RIGHT,
        {name: 100 * priority for name, priority in RIGHT.items()},
        {name: -rank for rank, name in enumerate("adbcfgheij")},
    ],
)
def test_right_priorities_are_accepted(attempt: dict[str, int]) -> None:
    assert check_priorities(attempt).passed, check_priorities(attempt)


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        ({name: -priority for name, priority in RIGHT.items()}, "sign"),
        (dict.fromkeys(LENGTHS, 0), "arrival"),
        (LENGTHS, "long is not urgent"),
        (
            {one.name: sum(one.name in two.needs for two in PUZZLE) for one in PUZZLE},
            "how many need",
        ),
        (dict.fromkeys("abc", 1), ""),
        ([1, 2, 3], ""),
        (dict.fromkeys(LENGTHS, "first"), ""),
        (..., ""),
    ],
)
def test_wrong_priorities_are_refused(attempt: dict[str, int], idea: str) -> None:
    found = check_priorities(attempt)
    assert not found.passed
    assert idea in found.idea


def test_few_orders_reach_the_target() -> None:
    """Otherwise guessing would do."""
    rng = random.Random(1)
    names = list(LENGTHS)
    reached = 0
    for _ in range(60):
        order = rng.sample(names, len(names))
        ranks = {name: rank for rank, name in enumerate(order)}
        reached += run(PUZZLE, 2, ranks).ms <= PUZZLE_TARGET
    assert reached <= 8


def test_the_wall_clock_gives_seconds() -> None:
    assert 0 < working.seconds(2, 1) < 60
