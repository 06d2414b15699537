"""What devices send each other is read off rows of a record."""

from __future__ import annotations

import numpy as np

from minimx.core.record.tables import TABLES
from minimx_widgets.training.exchange import Row, exchange


def op(name: str, phase: str, start: int, end: int, nbytes: int = 0) -> Row:
    """A row of `ops`; a copy's cost counts every byte twice."""
    known = {"name": name, "phase": phase, "t_start": start, "t_end": end}
    known["nbytes"] = 2 * nbytes
    return tuple(known.get(column, 0) for column in TABLES["ops"])


def sent(source: str, target: str, nbytes: int, phase: str = "update") -> Row:
    known = {"src": source, "dst": target, "nbytes": nbytes, "phase": phase}
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
        sent("gpu(1)", "gpu(0)", 100),
        sent("gpu(2)", "gpu(0)", 200),
        sent("gpu(1)", "gpu(0)", 100),
        sent("host", "gpu(0)", 10_000, "data"),
    ]
    found = exchange(ops, comm)
    assert found is not None
    assert (found.nbytes, found.copies, found.busiest, found.ns) == (400, 2, 200, 40)
    np.testing.assert_allclose(found.hidden, (10 + 10) / 40)


def test_without_copies_of_an_update_there_is_none() -> None:
    assert exchange([op("CopyCPU2GPU", "data", 0, 5, 8)], []) is None
    assert exchange([op("sgd_update", "update", 0, 5)], []) is None


def test_devices_of_one_memory_have_no_links() -> None:
    found = exchange([op("CopyCPU2CPU", "update", 0, 5, 8)], [])
    assert found is not None
    assert (found.busiest, found.hidden) == (0, 0.0)
