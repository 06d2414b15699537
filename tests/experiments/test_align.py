"""The same operation in two records, however it ran."""

from __future__ import annotations

import pytest

from minimx.core.device import cpu
from minimx.core.events import Finished
from minimx.core.record import Record
from minimx.experiments.align import align
from tests import pace
from tests.experiments.programs import (
    NAIVE,
    VIRTUAL,
    Program,
    convolution,
    perceptron,
    recorded,
)

Row = tuple[str, str, int]


def record_of(rows: list[Row]) -> Record:
    record = Record(capacity=max(len(rows), 1))
    for op, (name, layer, flops) in enumerate(rows, 1):
        times = (op, op, op, op + 1)
        fixed = ("forward", "cpu(0)", "cpu(0)/0", *times, 0, 0, False)

        class Cost:
            bytes_moved = 0

        Cost.flops = flops  # type: ignore[attr-defined]
        record.op(*Finished(op, name, layer, *fixed, cost=Cost()))  # type: ignore[arg-type]
    return record


def many(count: int) -> list[Row]:
    return [(f"op{i % 50}", f"net.dense{i % 20}", i) for i in range(count)]


def test_inserted_removed_and_changed() -> None:
    before = many(200)
    after = [*before]
    after[17] = (*after[17][:2], 99)
    after.insert(50, ("new", "net.dense1", 1))
    del after[150]
    found = align(record_of(before), record_of(after))
    gone = before[149][:2]
    assert found.inserted.tolist() == [50]
    # Of equal ones the last one counts as removed.
    rows = [i for i, row in enumerate(before) if row[:2] == gone]
    assert found.removed.tolist() == [rows[-1]]
    assert found.changed[0].columns == {"flops": (17, 99)}
    assert found.changed[0].before == found.changed[0].after == 17
    assert len(found.pairs) == 199
    assert "1 inserted, 1 removed" in repr(found)


def test_engines_and_joining_do_not_matter() -> None:
    program = Program(perceptron(24, 10), cpu())
    records = [recorded(program, **VIRTUAL), recorded(program, **VIRTUAL, **NAIVE)]
    found = align(*records)
    assert (found.shared, found.changed) == (1.0, [])
    assert len(found.pairs) == records[1].rows("ops")


def test_two_networks_of_one_making_are_the_same() -> None:
    first, second = (
        recorded(Program(perceptron(24, 10), cpu()), **NAIVE) for _ in range(2)
    )
    assert align(first, second).shared == 1.0


def test_runs_of_different_networks_are_told_apart() -> None:
    first = recorded(Program(perceptron(24, 10), cpu(), hybrid=True), **NAIVE)
    other = recorded(Program(convolution(), cpu()), **NAIVE)
    found = align(first, other)
    assert not found.related
    assert "different networks" in repr(found)


def test_empty_records() -> None:
    nothing = align(Record(), Record())
    assert (nothing.related, nothing.changed, len(nothing.pairs)) == (True, [], 0)
    half = align(Record(), record_of(many(3)))
    assert half.inserted.tolist() == [0, 1, 2]
    assert not half.related


@pytest.mark.alone
def test_ten_thousand_operations_are_aligned_in_time() -> None:
    before, after = record_of(many(10_000)), record_of(many(9_990))
    before.ops(), after.ops()
    assert pace.shortest(lambda: align(before, after), 5) <= 0.1
    assert align(before, after).shared == 0.999
