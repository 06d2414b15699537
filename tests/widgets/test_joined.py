"""Operations that hold others, in the tables of a record."""

from __future__ import annotations

import numpy as np

from minimx.core.record import Record
from minimx_widgets.joined import busy, holders, holding, joined


def test_holders_are_told_from_what_waited() -> None:
    record = Record()
    record.dependency(1, 2, "RAW")
    record.dependency(7, 2, "BULK")
    record.dependency(7, 3, "BULK")
    deps = record.deps()
    assert joined(deps, record.strings).tolist() == [False, True, True]
    assert holders(deps, record.strings).tolist() == [7]


def test_nothing_holds_anything_in_an_empty_record() -> None:
    record = Record()
    assert holders(record.deps(), record.strings).tolist() == []
    assert holding(record.ops(), set()).tolist() == []


def test_what_overlaps_is_busy_once() -> None:
    assert busy(np.array([30, 0, 0]), np.array([40, 20, 10])) == 30
    assert busy(np.zeros(0, int), np.zeros(0, int)) == 0
