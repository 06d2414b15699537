"""Notebook 06: right marks pass, wrong ones are shown to do harm or to be refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

import minimx as mx
from minimx.core.knobs import knobs
from minimx_widgets.course.planning import (
    LEFT_OUT,
    LINES,
    Damage,
    Result,
    above,
    check_marks,
    check_needed,
    damage,
    decisions,
    forced,
    listing,
    plan_lines,
    planned,
    results,
)

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

GRANTED = {"d", "e", "f", "i", "k"}
KIB = 1 << 10


# The chain of the notebook


def perceptron() -> Any:
    """Outputs of 64, 64, 32, 32, 16, 16, 8, 4 and 1 KiB; what is handed out follows."""
    x = mx.sym.var("data")
    for number, width in enumerate((256, 128, 64), 1):
        x = mx.sym.FullyConnected(x, num_hidden=width, name=f"fc{number}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{number}")
    for number, width in enumerate((32, 16, 4), 4):
        x = mx.sym.FullyConnected(x, num_hidden=width, name=f"fc{number}")
    return mx.sym.softmax(x, name="out")


@pytest.mark.parametrize(
    ("match_range", "kibibytes"),
    [(0, 125), (1, 125), (2, 125), (4, 101), (8, 101), (16, 97)],
)
def test_the_chain_takes_what_mxnet_plans(match_range: int, kibibytes: int) -> None:
    """MXNet 1.9.1's `debug_str` has as many megabytes for 1024 times the batch."""
    with knobs(NNVM_EXEC_MATCH_RANGE=match_range):
        plan = planned(perceptron(), data=(64, 256))
    assert plan.total == kibibytes * KIB
    assert plan.bytes_apart == 237 * KIB


def test_without_in_place_two_neighbours_are_needed_at_once() -> None:
    with knobs(MXNET_EXEC_ENABLE_INPLACE=False, NNVM_EXEC_MATCH_RANGE=0):
        plan = planned(perceptron(), data=(64, 256))
    assert (plan.total, plan.peak) == (237 * KIB, 128 * KIB)


def test_a_plan_for_training_has_gradients() -> None:
    predicting = planned(perceptron(), data=(64, 256))
    training = planned(perceptron(), training=True, data=(64, 256))
    assert training.total > predicting.total


def test_what_rose_above_the_beginning() -> None:
    kept = mx.nd.ones((KIB,))
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"), mx.Record() as record:
        y = mx.nd.relu(kept) + 1
        y = y * 2
    assert above(record) == 2 * 4 * KIB, "an input and an output"
    assert y.shape == kept.shape


# The faded exercise


def by_counting(lines: list[Result]) -> int:
    readers = Counter(one for _, _, inputs in lines for one in inputs)
    alive, most = {}, 0
    for name, nbytes, inputs in lines:
        alive[name] = nbytes
        most = max(most, sum(alive.values()))
        for one in inputs:
            readers[one] -= 1
            if readers[one] == 0:
                del alive[one]
    return most


def by_last_reader(lines: list[Result]) -> int:
    last = {one: k for k, line in enumerate(lines) for one in line.inputs}
    sizes = [
        sum(
            line.nbytes
            for first, line in enumerate(lines)
            if first <= step <= last.get(line.name, first)
        )
        for step in range(len(lines))
    ]
    return max(sizes)


@pytest.mark.parametrize("attempt", [by_counting, by_last_reader])
def test_right_counts_pass(attempt: Callable[[list[Result]], int]) -> None:
    feedback = check_needed(attempt)
    assert feedback.passed, feedback


def counted(
    *,
    measure: bool = True,
    release: bool = True,
    early: bool = False,
    set_: bool = False,
) -> Callable[[list[Result]], int]:
    """The counting with mistakes in it."""

    def attempt(lines: list[Result]) -> int:
        readers = Counter(one for _, _, inputs in lines for one in inputs)
        alive: dict[str, int] = {}
        most = 0
        for name, nbytes, inputs in lines:
            if measure:
                alive[name] = nbytes
                most = max(most, sum(alive.values()))
            for one in {*inputs} if set_ else inputs:
                readers[one] -= 1
                if release and (early or not readers[one]):
                    alive.pop(one, None)
        return most

    return attempt


def after_releasing(lines: list[Result]) -> int:
    readers = Counter(one for _, _, inputs in lines for one in inputs)
    alive: dict[str, int] = {}
    most = 0
    for name, nbytes, inputs in lines:
        for one in inputs:
            readers[one] -= 1
            if readers[one] == 0:
                del alive[one]
        alive[name] = nbytes
        most = max(most, sum(alive.values()))
    return most


@pytest.mark.parametrize(
    ("attempt", "seen", "idea"),
    [
        (counted(measure=False), "0 bytes for the chain", "measure"),
        (counted(release=False), "242,688 bytes for the chain", "nothing was ever"),
        (after_releasing, "65,536 bytes for the chain", "before its inputs are"),
        (counted(early=True), "again much later", "not at the first reading"),
        (counted(set_=True), "reads the same result twice", "counts for two"),
        (lambda lines: None, "it returned None", ""),
        (7, "7 is not a function", ""),
    ],
)
def test_a_wrong_count_is_told_why(attempt: Any, seen: str, idea: str) -> None:
    feedback = check_needed(attempt)
    assert not feedback.passed
    assert seen in feedback.seen
    assert idea in feedback.idea


def test_what_the_caller_owns_takes_no_bytes_in_the_arena() -> None:
    lines = results(planned(perceptron(), data=(64, 256)))
    assert [line.nbytes // KIB for line in lines] == [
        64,
        64,
        32,
        32,
        16,
        16,
        8,
        4,
        1,
        0,
    ]
    assert lines[0].inputs == () and lines[-1].inputs == ("fc6",)


# The free exercise


def test_the_planner_grants_five_of_twelve() -> None:
    plan = plan_lines()
    assert {entry.node.name for entry in plan.inplace} == GRANTED == {*LEFT_OUT}
    assert (plan.total // KIB, plan.bytes_apart // KIB) == (80, 160)
    assert len(LINES) == 12
    assert repr(listing()).splitlines()[2].startswith("c = tanh(b) ")


def test_whatever_the_planner_grants_does_no_harm() -> None:
    for count in range(len(GRANTED) + 1):
        for marks in combinations(sorted(GRANTED), count):
            assert damage(marks) == Damage(0, 0, 0)


def test_a_mark_is_really_written_over_its_input() -> None:
    x, w = mx.nd.ones((64, 64)) * -1, mx.nd.ones((64, 64))
    forced({"a"}, x, w)
    assert not x.asnumpy().any(), "relu of -1, where x was"


@pytest.mark.parametrize(
    "attempt",
    [
        GRANTED,
        ["k", "i", "f", "e", "d"],
        "d, e, f, i, k",
        {line.name: line.name in GRANTED for line in LINES},
        (name for name in sorted(GRANTED)),
    ],
)
def test_right_marks_pass(attempt: Any) -> None:
    feedback = check_marks(attempt)
    assert feedback.passed, feedback


def test_a_product_over_its_own_input_is_refused_harmless_or_not() -> None:
    """Whether it harms is up to BLAS: some copy small matrices before they write."""
    feedback = check_marks({"b"} | GRANTED)
    assert not feedback.passed
    assert "elements of l are wrong" in feedback.seen or "this time" in feedback.seen
    assert "dot does not promise" in feedback.idea


@pytest.mark.parametrize(
    ("attempt", "seen", "idea"),
    [
        ({"c"} | GRANTED, "4096 of 4096 elements of l", "b is still read by e"),
        ({"c"}, "4096 of 4096 elements of l", "b is still read by e"),
        ({"g"} | GRANTED, "elements of l are wrong", "f is still read by i"),
        ({"a"} | GRANTED, "the caller's x is overwritten", "belongs to the caller"),
        ({"h"} | GRANTED, "the result is float32[1, 1]", "never offered the place"),
        ({"j"} | GRANTED, "this time the result is right", "a hidden copy"),
        ({"l"} | GRANTED, "this time the result is right", "is handed out"),
        ({line.name for line in LINES}, "the caller's x", "belongs to the caller"),
        (set(), "is right, and takes 160 KiB", "who is left"),
        (GRANTED - {"e"}, "takes 96.0 KiB", "still to come"),
        (GRANTED - {"f"}, "takes 96.0 KiB", "computes nothing"),
        ({"z"}, "no line 'z'", ""),
        (7, "7", ""),
        ([1, 2], "[1, 2]", ""),
        (..., "nothing to check yet", ""),
    ],
)
def test_a_wrong_mark_is_told_why(attempt: Any, seen: str, idea: str) -> None:
    feedback = check_marks(attempt)
    assert not feedback.passed
    assert seen in feedback.seen
    assert idea in feedback.idea


def test_reasons_are_told_in_the_names_of_lines() -> None:
    told = [(name, rule) for name, rule, _ in decisions(plan_lines())]
    assert {name for name, rule in told if rule == "over"} == GRANTED
    assert not any("_output" in reason for _, _, reason in decisions(plan_lines()))
