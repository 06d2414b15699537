"""Programs: what is refused, hazards, and programs of a record."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets.scheduler.lines import run
from minimx_widgets.scheduler.program import MOST, Hazard, Operation, Program, op

seeds = st.integers(0, 10**6)


def test_what_is_written_counts_as_written_only() -> None:
    assert op("P", reads="a, b a", writes="b") == Operation("P", ("a",), ("b",))
    assert str(op("P", reads="a c", writes=["b"])) == "b ← P(a, c)"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: op(" "), "needs a name"),
        (lambda: op("P", cost=0), "whole number of µs from 1"),
        (lambda: op("P", cost=True), "whole number of µs"),
        (lambda: op("P", priority=0.5), "priority=0.5"),  # type: ignore[arg-type]
        (lambda: op("P", reads=[1]), "not names"),  # type: ignore[list-item]
        (lambda: Program.of(), "there is no operation"),
        (lambda: Program.of(op("P"), op("P")), "2 operations are called 'P'"),
        (lambda: Program.of(op("P", reads="a"), nbytes={"b": 1}), "names 'b'"),
        (lambda: Program.of(op("P", reads="a"), nbytes={"a": -1}), "-1 bytes"),
        (lambda: Program.of(*(op(f"o{k}") for k in range(MOST + 1))), "at most 120"),
        (lambda: Program.generated(0, operations=1), "give 2 to 26"),
        (lambda: Program.of(op("P")).number("Q"), "no operation 'Q'"),
        (lambda: Program.recorded(Record()), "has 0 operations"),
        (lambda: Program.recorded(Record(), count=0), "count=0"),
    ],
)
def test_what_is_unfit_is_refused_with_a_lesson(make: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        make()  # type: ignore[operator]


def test_hazards_name_kind_variable_and_both_operations() -> None:
    program = Program.of(
        op("P", reads="a", writes="b"),
        op("Q", reads="b", writes="c"),
        op("R", reads="b", writes="b c"),
        op("S", writes="a"),
    )
    assert set(program.hazards()) == {
        Hazard("RAW", "b", 0, 1),
        Hazard("WAR", "b", 1, 2),
        Hazard("WAW", "c", 1, 2),
        Hazard("WAR", "a", 0, 3),
    }
    assert program.ordered() == {(0, 1), (1, 2), (0, 2), (0, 3)}


@given(seeds, st.integers(2, 12), st.integers(2, 8))
def test_ordered_pairs_are_those_that_share_a_variable_one_writes(
    seed: int, operations: int, variables: int
) -> None:
    """The rule in full, against the shortcut by last writes and reads since then."""
    program = Program.generated(seed, operations, variables)
    ordered = set(program.ordered())
    direct = set()
    for a, b in combinations(range(operations), 2):
        one, other = program.operations[a], program.operations[b]
        first, second = {*one.reads, *one.writes}, {*other.reads, *other.writes}
        if set(one.writes) & second or first & set(other.writes):
            direct.add((a, b))
    for middle in range(operations):  # all that follows from them
        into = [a for a, b in direct if b == middle]
        onward = [b for a, b in direct if a == middle]
        direct |= {(a, b) for a in into for b in onward}
    assert ordered == direct


@given(seeds)
def test_a_seed_always_draws_the_same_program(seed: int) -> None:
    assert Program.generated(seed) == Program.generated(seed)


def test_a_recorded_program_waits_for_what_the_engine_waited_for() -> None:
    with Record() as record:
        a = mx.nd.ones((100,))
        b = a + 1
        a *= 2
        c = a + b
        mx.nd.waitall()
    assert c.shape == (100,)
    program = Program.recorded(record)
    names = [one.name for one in program.operations]
    assert len(names) == len(set(names)) == len(record.pushes())
    place = {int(row["op"]): k for k, row in enumerate(_pushed(record))}
    edges = {(place[int(e["src"])], place[int(e["dst"])]) for e in record.deps()}
    assert edges <= program.ordered()
    assert run(program).over
    assert len(Program.recorded(record, first=1, count=2).operations) == 2


def _pushed(record: Record) -> Any:
    rows = record.pushes()
    return rows[rows["t_push"].argsort(kind="stable")]
