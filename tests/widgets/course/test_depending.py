"""Notebook 02: its numbers, its race, and checks that refuse the right attempts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from minimx_widgets import SchedulerStepper
from minimx_widgets.course import depending
from minimx_widgets.course.depending import (
    GARBAGE,
    STEP,
    WEIGHT,
    check_declared,
    check_level,
    check_queue,
    declared_program,
    finish,
    race,
    true_program,
)

RIGHT = {
    "load": (["disk"], ["x"]),
    "scale": (["x"], ["x"]),
    "hidden": (["x", "w"], ["h"]),
    "clip": (["h"], ["y"]),
    "fetch": (["disk"], ["disk"]),
    "loss": (["y", "t"], ["l"]),
    "grad": (["l", "x"], ["g"]),
    "decay": (["w"], ["w"]),
    "update": (["w", "g"], ["w"]),
    "note": (["l"], ["log"]),
}


class Queue:
    """A right answer of the faded exercise."""

    def __init__(self) -> None:
        self.readers = 0
        self.writer: str | None = None
        self.later: list[tuple[str, bool]] = []

    def free(self, writes: bool) -> bool:
        return self.writer is None and not (writes and self.readers)

    def append(self, name: str, writes: bool) -> bool:
        granted = not self.later and self.free(writes)
        if granted:
            self.grant(name, writes)
        else:
            self.later.append((name, writes))
        return granted

    def grant(self, name: str, writes: bool) -> None:
        if writes:
            self.writer = name
        else:
            self.readers += 1

    def release(self, name: str) -> list[str]:
        if name == self.writer:
            self.writer = None
        else:
            self.readers -= 1
        granted = []
        while self.later and self.free(self.later[0][1]):
            name, writes = self.later.pop(0)
            self.grant(name, writes)
            granted.append(name)
        return granted


class Overtaking(Queue):
    """Reads go before a write that waits."""

    def append(self, name: str, writes: bool) -> bool:
        granted = self.free(writes)
        if granted:
            self.grant(name, writes)
        else:
            self.later.append((name, writes))
        return granted


class OneByOne(Queue):
    """Only one of those that wait is granted."""

    def release(self, name: str) -> list[str]:
        return super().release(name)[:1]


def test_the_numbers_that_the_notebook_asks_for() -> None:
    assert [finish(STEP, workers) for workers in (0, 1, 2, 3)] == [10, 10, 5, 5]


@pytest.mark.parametrize(
    ("how", "seen"),
    [
        ({"declared": False}, GARBAGE),
        ({"declared": True}, WEIGHT),
        ({"declared": False, "workers": 1}, WEIGHT),
        ({"declared": False, "sleep": 0.4}, WEIGHT),
        ({"declared": False, "kind": "NaiveEngine"}, WEIGHT),
    ],
)
def test_the_race_is_there_and_what_hides_it(how: dict[str, Any], seen: str) -> None:
    assert race(**how) == seen


def test_the_queue_is_compared_with_the_engines() -> None:
    assert check_queue(Queue).passed
    overtaking = check_queue(Overtaking)
    assert not overtaking.passed and "starve" in overtaking.idea
    assert "up to the next write" in check_queue(OneByOne).idea
    assert "nothing to check yet" in check_queue(...).seen


def test_what_ten_functions_touch_is_seen_by_running_them() -> None:
    declared = declared_program(RIGHT)
    assert declared.operations == true_program().operations
    answer = check_declared(RIGHT)
    assert answer.passed and "none too many" in answer.seen


@pytest.mark.parametrize("name", RIGHT)
def test_a_set_without_one_of_its_variables_is_refused(name: str) -> None:
    reads, writes = RIGHT[name]
    for var in {*reads, *writes}:
        less = [[one for one in side if one != var] for side in (reads, writes)]
        answer = check_declared({**RIGHT, name: less})
        assert not answer.passed
        assert var in repr(answer)


def test_a_missing_pair_comes_with_the_wrong_number() -> None:
    answer = check_declared({**RIGHT, "update": (["g"], ["log"])})
    assert not answer.passed
    answer = check_declared({**RIGHT, "grad": (["x"], ["g"])})
    assert "grad may run before loss" in answer.seen
    assert "w is 1.5 instead of 0.5" in answer.seen
    assert answer.expected == "grad waits for loss (RAW on l)"


def test_waits_for_nothing_are_refused() -> None:
    every = sorted({var for reads, writes in RIGHT.values() for var in reads + writes})
    full = check_declared({name: ([], every) for name in RIGHT})
    assert not full.passed and "µs on 3 workers" in full.seen
    for one, other in combinations(RIGHT, 2):
        names = [operation.name for operation in true_program().operations]
        pair = names.index(one), names.index(other)
        if pair in true_program().ordered():
            continue
        tight = {
            one: (RIGHT[one][0], [*RIGHT[one][1], "lock"]),
            other: (RIGHT[other][0], [*RIGHT[other][1], "lock"]),
        }
        answer = check_declared({**RIGHT, **tight})
        assert not answer.passed and "on lock" in answer.seen


@pytest.mark.parametrize("odd", [{}, {**RIGHT, "eleventh": ([], [])}, 3])
def test_what_is_no_declaration_is_refused(odd: Any) -> None:
    assert not check_declared(odd).passed


def test_what_the_verdicts_say() -> None:
    kinds = ("NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice")
    assert [round(depending.lanes(kind)) for kind in kinds] == [6, 3, 6]
    assert depending.runs_unasked()


def test_a_level_is_checked_by_the_lines_of_its_stepper() -> None:
    view = SchedulerStepper.level(2)
    assert "only the engine's line" in check_level(view).seen
    view.show(step=1)
    view.start("short1")
    assert "not done yet" in check_level(view).seen
    view.start("short2")
    view.finish()
    assert "12 µs, and the engine needs 12" in check_level(view).seen
    view.show("the engine", 1)
    view.start("short1")
    view.wait()
    view.start("long")
    view.finish()
    assert check_level(view).passed
    view.close()
