"""Copies past the caches: every byte, wherever arrays begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.kvstore import execution
from minimx.kvstore.copies import LINE, RUN, copy_to_all


def placed(size: int, dtype: str, at: int) -> Any:
    """An array of zeros that begins `at` elements after a multiple of LINE."""
    itemsize = np.dtype(dtype).itemsize
    room = np.zeros(size + at + 2 * LINE // itemsize, dtype)
    begin = -room.ctypes.data % LINE // itemsize + at
    return room[begin : begin + size]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 3 * RUN), st.sampled_from(["float32", "float64", "uint8", "int16"]),
    st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, 2),
)  # fmt: skip
def test_every_byte_and_no_other(
    size: int, dtype: str, places: list[int], threads: int
) -> None:
    source = placed(size, dtype, places[-1])
    source[:] = np.random.default_rng(size).integers(0, 99, size)
    rooms = [placed(size + 1, dtype, at) for at in places]
    copy_to_all(source, [room[:size] for room in rooms], threads)
    for room in rooms:
        np.testing.assert_array_equal(room[:size], source)
        assert room[size] == 0


@pytest.mark.parametrize("kind", ["local", "device"])
def test_pulls_of_large_values(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "CACHE", 1)
    kv = mx.kv.create(kind)
    kv.init("w", nd.zeros((37, 3)))
    given = [nd.arange(111, ctx=mx.cpu(k)).reshape((37, 3)) for k in range(3)]
    whole = nd.zeros((74, 3))
    outs = [nd.zeros((37, 3), ctx=mx.cpu(k)) for k in range(2)]
    parts = [whole[:37], whole[37:]]  # of one chunk, so one by one
    kv.push("w", given)
    kv.pull("w", [*outs, outs[0]])
    kv.pull("w", [*outs, given[1]])
    kv.pull("w", parts)
    expected = 3 * given[0].asnumpy()
    for array in (*outs, given[1], whole[:37], whole[37:]):
        np.testing.assert_array_equal(array.asnumpy(), expected)


def test_large_values_are_pulled_in_the_dtypes_of_what_they_fill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "CACHE", 1)
    kv = mx.kv.create("local")
    kv.init("w", nd.arange(111).reshape((37, 3)) + 0.5)
    dtypes = ["float32", "float16", "int32", "float64", "float32"]
    outs = [nd.zeros((37, 3), mx.cpu(k), dtype=d) for k, d in enumerate(dtypes)]
    kv.pull("w", outs)
    for out, dtype in zip(outs, dtypes, strict=True):
        expected = (np.arange(111) + 0.5).astype(dtype).reshape(37, 3)
        assert out.dtype == expected.dtype
        np.testing.assert_array_equal(out.asnumpy(), expected)
