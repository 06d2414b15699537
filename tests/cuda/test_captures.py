"""Which launches of a segment are recorded, and when they are recorded again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine
from minimx.core.ops.spec import Cost
from minimx.cuda import captures
from minimx.cuda.captures import Capture, divided, why_not

CPU = mx.cpu()


def step(name: str, *outside: int, native: bool = True, draws: bool = False) -> Any:
    """A node that touches these arrays from outside, and an inner value."""
    args = [SimpleNamespace(outside=i, block=0) for i in (-1, *outside)]

    class Node:
        """Compared by identity, as steps are."""

        def __repr__(self) -> str:
            return name

    found: Any = Node()
    found.__dict__.update(args=args, native=native, draws=draws, cost=Cost(1, 1))
    found.node = SimpleNamespace(name=name, op=None, inputs=[])
    return found


def names(parts: Any) -> str:
    """(a b) c: a and b are recorded together, c is not."""
    words = [" ".join(map(str, steps)) for steps, _ in parts]
    return " ".join(
        f"({word})" if joined else word
        for word, (_, joined) in zip(words, parts, strict=True)
    )


def segment(*steps: Any) -> Any:
    outside = sorted(captures.touched(steps))
    cost = engine.Launches([([s.cost for s in steps], False)])
    return SimpleNamespace(
        name="[...]", steps=steps, streams=1, outside=outside, cost=cost, parts=()
    )


def test_what_cannot_be_recorded_divides_the_rest() -> None:
    a, b, c = step("a"), step("b", 0), step("c", 1)
    host, noise = step("host", native=False), step("noise", draws=True)
    steps = [a, b, host, c, noise, a, c]
    assert names(divided(steps, {0, 1}, {})) == "(a b) host (c) noise (a c)"
    assert names(divided(steps, {0}, {})) == "(a b) host c noise (a) c"
    assert names(divided(steps, {0, 1}, {a: "why"})) == "a (b) host (c) noise a (c)"
    assert divided([], set(), {}) == []


@pytest.mark.parametrize(
    ("one", "refused", "why"),
    [
        (step("a", 0), {}, None),
        (step("a", 0, 3), {}, "changes from call to call"),
        (step("a", draws=True, native=False), {}, "random numbers"),
        (step("a", native=False), {}, "visits the host"),
    ],
)
def test_the_reason_is_told(one: Any, refused: Any, why: str | None) -> None:
    found = why_not(one, {0}, refused)
    assert (found is None) == (why is None)
    assert (why or "") in (found or "")


def turns(known: Capture, one: Any, *calls: list[Any]) -> list[str]:
    """How each of some calls is divided; `!` where it is recorded anew."""
    found = []
    for env in calls:
        cost, parts = known.next(one, env, CPU)
        found.append("!" * cost.recording + names(parts))
    return found


def test_the_second_run_records_and_an_array_that_moved_is_recorded_again() -> None:
    x, y, w = (mx.nd.ones((2,)) for _ in range(3))
    one = segment(step("data", 0), step("a"), step("weight", 1))
    known = Capture()
    assert turns(known, one, [x, w], [y, w], [x, w], [y, w]) == [
        "data a weight",  # compiles, and finds its memory
        "!data (a weight)",
        "data (a weight)",
        "data (a weight)",
    ]
    v = mx.nd.ones((2,))
    assert turns(known, one, [y, v], [y, v], [x, v]) == [
        "!(data a) weight",  # another one each time, as the data have been?
        "(data a) weight",
        "!data (a weight)",
    ]


def test_two_parts_of_one_array_are_two_places() -> None:
    rows, w = mx.nd.ones((4, 2)), mx.nd.ones((2,))
    one = segment(step("data", 0), step("weight", 1))
    found = turns(Capture(), one, [rows[:2], w], [rows[2:], w], [rows[:2], w])
    assert found == ["data weight", "!data (weight)", "data (weight)"]
    same = turns(Capture(), one, [rows[:2], w], [rows[:2], w], [rows[:2], w])
    assert same == ["data weight", "!(data weight)", "(data weight)"]


def test_what_was_refused_goes_alone_from_the_next_run_on() -> None:
    x = mx.nd.ones((2,))
    a, b, c = step("a", 0), step("b"), step("c")
    known, one = Capture(), segment(a, b, c)
    assert turns(known, one, [x], [x]) == ["a b c", "!(a b c)"]
    known.refuse([b], "it waits")
    assert turns(known, one, [x], [x]) == ["!(a) b (c)", "(a) b (c)"]
    assert why_not(b, {0}, known.refused) == "it waits"
