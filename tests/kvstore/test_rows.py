"""Sums of row_sparse arrays on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.knobs import knobs
from minimx.kvstore import rows

SHAPE = (3000, 4)


def given(dtype: str) -> list[Any]:
    """Arrays that store many rows, other ones, one in falling order, and none."""
    draw = np.random.default_rng(1)
    found = []
    for numbers in (range(3000), range(0, 3000, 7), [9, 4, 0], []):
        data = draw.normal(size=(len(numbers), 4)).astype(dtype)
        where = np.array(numbers, np.int64)
        found.append(
            nd.sparse.row_sparse_array((data, where), shape=SHAPE, dtype=dtype)
        )
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("which", [(0, 1), (1, 2, 3), (3, 3), (2, 0, 1, 2, 1)])
def test_rows_of_one_number_are_added_in_order(
    dtype: str, which: tuple[int, ...]
) -> None:
    every = given(dtype)
    arrays = [every[k] for k in which]
    expected = np.zeros(SHAPE, dtype)
    for one in arrays:
        expected += one.asnumpy()
    stored = np.unique(np.concatenate([one.indices.asnumpy() for one in arrays]))
    kv = mx.kv.create("local")
    kv.init("t", every[0])
    for serial in (0, 1):
        with knobs(MXNET_KVSTORE_SERIAL_PUSH=serial):
            kv.push("t", arrays)
            out = nd.sparse.zeros("row_sparse", SHAPE, dtype=dtype)
            kv.pull("t", out, ignore_sparse=False)
        np.testing.assert_array_equal(out.asnumpy(), expected)
        np.testing.assert_array_equal(out.indices.asnumpy(), stored)


def test_threads_share_many_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Spy:
        @staticmethod
        def sharing(most: int, data: Any, places: Any, total: Any) -> None:
            seen.append((len(data), most))
            total[places] += data

    monkeypatch.setattr(rows, "_add", Spy)
    kv = mx.kv.create("local")
    every = given("float32")
    kv.init("t", every[0])
    kv.push("t", every)
    nd.waitall()
    with knobs(MXNET_KVSTORE_SERIAL_PUSH=1):
        kv.push("t", every[:1] * 2)
        nd.waitall()
    assert seen == [(3000, 4), (429, 1), (3, 1), (3000, 1), (3000, 1)]
