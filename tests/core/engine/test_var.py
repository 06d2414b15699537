"""The dependency policy against its specification, without threads."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.engine.var import Claim, Var, append, distinct, release, withdraw
from minimx.fast import compiled

N_VARS = 5
VAR_SETS = st.sets(st.integers(0, N_VARS - 1), max_size=3)
CLAIMS = st.tuples(VAR_SETS, VAR_SETS)


def make(variables: list[Var], reads: set[int], writes: set[int]) -> Claim:
    chosen = distinct([variables[i] for i in reads], [variables[i] for i in writes])
    return Claim(*chosen, adds=1)


def conflict(a: Claim, b: Claim) -> bool:
    """Whether two claims must not overlap, by the definition."""
    return bool(
        set(a.writes) & {*b.reads, *b.writes} or set(b.writes) & {*a.reads, *a.writes}
    )


def state(variables: list[Var]) -> list[object]:
    return [(v.version, v.readers, v.writer, list(v.later or ())) for v in variables]


@given(st.lists(CLAIMS, max_size=25), st.data())
def test_a_claim_is_ready_exactly_when_no_earlier_one_is_in_its_way(
    program: list[tuple[set[int], set[int]]], data: st.DataObject
) -> None:
    variables = [Var() for _ in range(N_VARS)]
    alive: list[Claim] = []  # in order of pushing
    ready: list[Claim] = []
    waiting = list(program)
    while waiting or ready:
        may_push, may_finish = bool(waiting), bool(ready)
        if may_push and (not may_finish or data.draw(st.booleans())):
            claim = make(variables, *waiting.pop(0))
            if append(claim):
                ready.append(claim)
            alive.append(claim)
        else:
            claim = ready.pop(data.draw(st.integers(0, len(ready) - 1)))
            alive.remove(claim)
            ready += release(claim) or []
        expected = [
            c
            for i, c in enumerate(alive)
            if not any(conflict(c, earlier) for earlier in alive[:i])
        ]
        assert set(ready) == set(expected)
        assert len(ready) == len(expected)
    assert not alive
    assert all(v.readers == 0 and v.writer is None and not v.later for v in variables)
    for i, var in enumerate(variables):
        assert var.version == sum(i in writes for _, writes in program)


class _Interrupt(BaseException):
    """Stands for a KeyboardInterrupt."""


class _Interrupting(tuple[Var, ...]):
    """Vars that raise when the loop over them has come so far."""

    stop = 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        for i in range(len(self) + 1):
            if i == self.stop:
                raise _Interrupt
            if i < len(self):
                yield self[i]


@given(st.lists(CLAIMS, max_size=6), CLAIMS, st.booleans(), st.integers(0, 3))
def test_withdraw_undoes_an_append_that_was_interrupted_anywhere(
    before: list[tuple[set[int], set[int]]],
    claim: tuple[set[int], set[int]],
    in_reads: bool,
    stop: int,
) -> None:
    variables = [Var() for _ in range(N_VARS)]
    for reads, writes in before:
        append(make(variables, reads, writes))
    wanted = make(variables, *claim)
    snapshot = state(variables)
    part = _Interrupting(wanted.reads if in_reads else wanted.writes)
    part.stop = min(stop, len(part))
    if in_reads:
        wanted.reads = part
    else:
        wanted.writes = part
    with pytest.raises(_Interrupt):
        append(wanted)
    part.stop = N_VARS  # no more interrupts
    withdraw(wanted)
    assert state(variables) == snapshot


def test_reads_between_two_writes_are_granted_together() -> None:
    var = Var()
    first, second = Claim((), (var,), 1), Claim((), (var,), 1)
    readers = [Claim((var,), (), 1) for _ in range(3)]
    assert append(first)
    assert not any(append(claim) for claim in [*readers, second])
    assert release(first) == readers
    assert var.readers == 3
    assert release(readers[2]) is None
    assert release(readers[0]) is None
    assert release(readers[1]) == [second]


def test_a_claim_that_adds_nothing_leaves_the_version() -> None:
    var = Var()
    claim = Claim((), (var,), 0)
    assert append(claim)
    assert release(claim) is None
    assert var.version == 0


def test_distinct_keeps_order_and_prefers_writing() -> None:
    a, b, c = Var(), Var(), Var()
    assert distinct([a, b, a, c], [c, c]) == ((a, b), (c,))


@pytest.mark.skipif(
    compiled.used is not None, reason="compiled code has no lines to stop at"
)
@pytest.mark.parametrize("readers", [0, 2])
def test_who_looks_without_the_lock_never_misses_a_write_that_waits(
    readers: int,
) -> None:
    """As `wait_to_read` does: at no line is a var without writer while one waits."""
    var = Var()
    first, last = Claim((), (var,), 1), Claim((), (var,), 1)
    append(first)
    for _ in range(readers):
        append(Claim((var,), (), 1))
    append(last)
    seen: list[Claim | None] = []

    def look(frame: FrameType, event: str, arg: object) -> Any:
        seen.append(var.writer)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        release(first)
    finally:
        sys.settrace(before)
    assert len(seen) > 5
    assert None not in seen
    assert var.writer is last
