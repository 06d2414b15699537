"""What devices send each other is read off rows of a record."""

from __future__ import annotations

import numpy as np

from minimx.core.record.tables import TABLES
from minimx_widgets.training.exchange import Row, Steps, exchange


def op(name: str, phase: str, start: int, end: int, nbytes: int = 0) -> Row:
    """A row of `ops`; a copy's cost counts every byte twice."""
    known = {"name": name, "phase": phase, "t_start": start, "t_end": end}
    known |= {"nbytes": 2 * nbytes, "t_push": start - 1}
    return tuple(known.get(column, 0) for column in TABLES["ops"])


def sent(source: str, target: str, nbytes: int, end: int) -> Row:
    known = {"src": source, "dst": target, "nbytes": nbytes, "t1": end}
    return tuple(known.get(column, 0) for column in TABLES["comm"])


def test_copies_are_summed_and_those_beside_computation_are_hidden() -> None:
    ops = [
        op("Convolution", "backward", 0, 50),
        op("CopyGPU2GPU", "update", 40, 60, 100),
        op("CopyGPU2GPU", "update", 55, 80, 300),
        op("adam_update", "update", 70, 90),
        op("CopyCPU2GPU", "other", 0, 40, 10_000),
    ]
    comm = [
        sent("gpu(1)", "gpu(0)", 100, 60),
        sent("gpu(2)", "gpu(0)", 300, 80),
        sent("host", "gpu(0)", 10_000, 40),
    ]
    found = exchange(ops, comm, 0, 100)
    assert found is not None
    assert (found.nbytes, found.copies, found.busiest, found.ns) == (400, 2, 300, 40)
    np.testing.assert_allclose(found.hidden, (10 + 10) / 40)


def test_without_copies_of_an_update_there_is_none() -> None:
    assert exchange([op("CopyCPU2GPU", "data", 0, 5, 8)], [], 0, 9) is None
    assert exchange([op("sgd_update", "update", 0, 5)], [], 0, 9) is None


def test_devices_of_one_memory_have_no_links() -> None:
    found = exchange([op("CopyCPU2CPU", "update", 1, 5, 8)], [], 0, 9)
    assert found is not None
    assert (found.busiest, found.hidden) == (0, 0.0)


def test_copies_belong_to_the_step_that_pushed_them() -> None:
    """Those of step 1 end while step 2 and 3 are pushed, and count in none of them."""
    steps = Steps()
    assert steps.ended(0, [op("CopyCPU2CPU", "update", 4, 6, 10)], []) is None
    late = op("CopyCPU2CPU", "update", 8, 13, 20)
    assert steps.ended(10, [late, op("dot", "forward", 12, 25)], []) is None
    first = steps.ended(20, [op("CopyCPU2CPU", "update", 15, 22, 5)], [])
    assert first is not None
    assert (first.copies, first.nbytes, first.ns) == (2, 30, 7)
    np.testing.assert_allclose(first.hidden, 1 / 7)
    second = steps.ended(30, [], [])
    assert second is not None
    assert (second.copies, second.nbytes) == (1, 5)
    assert steps.ended(40, [], []) is None
