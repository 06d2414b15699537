"""The exercises of notebook 09: right answers pass, typical wrong ones learn why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt
from typing import Any

import pytest

import minimx as mx
from minimx.core import autograd
from minimx.core.knobs import knobs
from minimx_widgets.course.mirroring import (
    SEGMENTS,
    Choice,
    Run,
    chain,
    check_checkpointed,
    check_choice,
    plainly,
    planned,
    ran,
    segmented,
    trained,
    used,
)

EQUAL = [64] * 64
EIGHTHS = range(7, 64, 8)


def test_64_layers_need_16_slots() -> None:
    assert planned(EQUAL, range(64)).kib / 64 == 64
    best = planned(EQUAL, EIGHTHS)
    assert best.kib / 64 <= 16
    assert planned(EQUAL, ()).kib / 64 == 64, "computing everything again saves nothing"
    everything, some = ran(EQUAL, EIGHTHS)
    assert (some.peak, some.same) == (1024 * best.kib, True)
    assert some.runs - everything.runs == best.again == 56
    assert segmented(64, 8) == Choice(1024, 48), "the last segment is not run again"
    with pytest.raises(ValueError, match="there is no layer 64; they are 0 to 63"):
        planned(EQUAL, [64])


def test_a_plan_travels_on_the_nodes_of_a_symbol() -> None:
    sizes, kept = [64] * 16, (3, 7, 11, 15)
    plain, marked = trained(chain(sizes), sizes), trained(chain(sizes, kept), sizes)
    assert (plain.kib, plain.products) == (1024, 16)
    choice = planned(sizes, kept)
    assert (marked.kib, marked.products) == (choice.kib, 16 + choice.again)
    assert marked.gradients == plain.gradients
    with knobs(MXNET_BACKWARD_DO_MIRROR=True):
        assert trained(chain(sizes), sizes) == plain, "no layer is cheap"


# The faded exercise


def checkpointed(
    run: Run, x: Any, segments: Sequence[Sequence[int]], wrong: str = ""
) -> None:
    entered, data = [], x
    for segment in segments:
        entered.append(x)
        x = run(segment, x)
    gradient = mx.nd.ones_like(x)
    for place, segment in reversed([*enumerate(segments)]):
        start = x if wrong == "end" else entered.pop()
        if wrong == "quadratic":
            start = run([n for s in segments[:place] for n in s], data)
        start.attach_grad()
        with autograd.record():
            end = run(segment, start)
        if wrong == "ones":
            end.backward()
        else:
            end.backward(gradient)
        gradient = start.grad


def with_a_list(run: Run, x: Any, segments: Sequence[Sequence[int]]) -> None:
    """The same by way of `grad`, and nothing is popped."""
    entered = [x]
    for segment in segments[:-1]:
        entered.append(run(segment, entered[-1]).copy())
    back = None
    for number in range(len(segments) - 1, -1, -1):
        entered[number].attach_grad()
        with autograd.record():
            end = run(segments[number], entered[number])
        autograd.backward([end], None if back is None else [back])
        back = entered[number].grad


@pytest.mark.parametrize("attempt", [checkpointed, with_a_list])
def test_checkpoints_on_the_tape_are_accepted(attempt: Any) -> None:
    feedback = check_checkpointed(attempt)
    assert feedback.passed, feedback
    assert "the gradients of all 16 weights to the bit" in feedback.seen


def blank(run: Run, x: Any, segments: Sequence[Sequence[int]]) -> None:
    for _ in reversed(segments):
        start: Any = ...
        start.attach_grad()


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (partial(checkpointed, wrong="end"), "the first blank"),
        (partial(checkpointed, wrong="ones"), "the second blank"),
        (partial(checkpointed, wrong="quadratic"), "its own checkpoint"),
        (plainly, "step 1: on a tape every layer"),
        (blank, "start.attach_grad()"),
        (lambda run, x, segments: None, "the first blank"),
    ],
    ids=["end", "ones", "quadratic", "tape", "blank", "nothing"],
)
def test_wrong_steps_are_told_why(attempt: Any, words: str) -> None:
    feedback = check_checkpointed(attempt)
    assert not feedback.passed
    assert words in feedback.idea, feedback


def test_what_a_step_uses_is_counted() -> None:
    seen = used(plainly)
    assert seen.runs == 16 == len(seen.gradients)
    assert 16 < seen.slots < 21
    again = used(checkpointed, SEGMENTS)
    assert again.runs == 32
    assert again.slots < 0.7 * seen.slots


# The free exercise


def by_threshold(sizes: list[int]) -> list[int]:
    """Keep the smallest of the last layers when the sum gets too large."""

    def cut(limit: int) -> list[int]:
        kept, start, here = [], 0, 0
        while here < len(sizes):
            if sum(sizes[start : here + 1]) > limit and here > start:
                last = range(max(start, here - 2), here)
                kept.append(min(last, key=lambda n: (sizes[n], -n)))
                start = here = kept[-1] + 1
            here += 1
        return kept

    tried = [cut(sum(sizes) // parts) for parts in range(2, 25)]
    return min(tried, key=lambda kept: planned(sizes, kept).kib)


def narrow_ones(sizes: list[int]) -> set[int]:
    """Among the narrowest layers every so many, however many are best."""
    narrow = [n for n, size in enumerate(sizes) if size == min(sizes)]
    tried = [set(narrow[step - 1 :: step]) for step in range(1, 12)]
    return min(tried, key=lambda kept: planned(sizes, kept).kib)


@pytest.mark.parametrize("attempt", [by_threshold, narrow_ones])
def test_good_choices_are_accepted(attempt: Any) -> None:
    feedback = check_choice(attempt)
    assert feedback.passed, feedback
    assert feedback.seen.startswith("equal gradients, and ")


def every(step: Callable[[int], int]) -> Callable[[list[int]], Any]:
    return lambda sizes: range(step(len(sizes)) - 1, len(sizes), step(len(sizes)))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda sizes: range(len(sizes)), "keeping everything"),
        (lambda sizes: [], "keeping nothing"),
        (every(lambda count: 2), "how many are kept"),
        (every(lambda count: 20), "how long segments are"),
        (every(isqrt), "which layers are kept"),
    ],
    ids=["everything", "nothing", "every second", "every twentieth", "root"],
)
def test_poor_choices_are_told_why(attempt: Any, words: str) -> None:
    feedback = check_choice(attempt)
    assert not feedback.passed
    assert words in feedback.idea, feedback


def test_what_is_no_choice() -> None:
    assert check_choice(lambda sizes: 8).expected == "the numbers of layers"
    assert check_choice(lambda sizes: "keep").expected == "the numbers of layers"
    assert "it keeps layer 64" in check_choice(lambda sizes: [8, len(sizes)]).seen
    assert check_choice(...).seen == "nothing to check yet"
