"""The exact optimum, against all schedules of small programs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx_widgets.scheduler.lines import Line, begin, bound, run
from minimx_widgets.scheduler.optimum import MOST_OPERATIONS, optimum
from minimx_widgets.scheduler.program import Program, op


def best_by_trying(program: Program, workers: int, push: int) -> int:
    """Every choice at every moment, waiting included: the least time of all lines."""
    best = run(program, workers, push).makespan

    def go(line: Line) -> None:
        nonlocal best
        line = line.until_choice()
        if line.over:
            best = min(best, line.makespan)
            return
        here = len(line.moves)
        stepper = line.at(here)
        if stepper.time >= best:
            return
        for number in stepper.ready:
            go(line.start(here, number, stepper.free[0]))
        if any(running >= 0 for running in stepper.workers) or stepper.pushed < len(
            program.operations
        ):
            go(line.wait(here))

    go(begin(program, workers, push))
    return best


@settings(max_examples=40)
@given(
    st.builds(Program.generated, st.integers(0, 10**6), st.integers(2, 5)),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_no_line_of_moves_is_shorter(program: Program, workers: int, push: int) -> None:
    assert optimum(program, workers, push) == best_by_trying(program, workers, push)


@given(st.builds(Program.generated, st.integers(0, 10**6), st.integers(6, 9)))
def test_it_lies_between_the_bound_and_the_engine(program: Program) -> None:
    found = optimum(program, 2)
    assert found is not None
    assert bound(program, 2) <= found <= run(program, 2).makespan


def test_idling_pays_where_a_long_operation_comes_late() -> None:
    costs = enumerate((4, 4, 8))
    program = Program.of(*(op(f"o{k}", writes=f"v{k}", cost=c) for k, c in costs))
    assert (run(program).makespan, optimum(program, 2)) == (12, 10)


def test_a_large_program_is_not_searched() -> None:
    many = Program.generated(1, MOST_OPERATIONS + 1)
    assert optimum(many, 2) is None
    assert optimum(many, 0) == run(many, 0).makespan


@pytest.mark.parametrize("seed", range(5))
def test_twelve_operations_are_searched_to_the_end(seed: int) -> None:
    assert optimum(Program.generated(seed, 12, 6), 3) is not None
