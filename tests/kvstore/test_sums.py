"""Every store sums what NumPy sums, under every setting of the knobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core.knobs import knobs
from minimx.kvstore.bucketing import Gradient

SETTINGS: list[dict[str, Any]] = [
    {},
    {"MXNET_KVSTORE_BIGARRAY_BOUND": 1, "MXNET_KVSTORE_REDUCTION_NTHREADS": 2},
    {"MXNET_KVSTORE_USETREE": 1},
    {"MXNET_KVSTORE_USETREE": 1, "MXNET_KVSTORE_TREE_ARRAY_BOUND": 1},
    {"MXNET_KVSTORE_USETREE": 1, "MXNET_KVSTORE_TREE_BACKTRACK": 1},
    {"MXNET_KVSTORE_REDUCE_BUCKET_SIZE": 1},
    {"MXNET_ENABLE_GPU_P2P": 0},
]
KINDS = ["local", "device", "teststore"]
DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8"]


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=4):
        yield


#: Devices of the values; one may come twice.
places = st.lists(st.sampled_from([mx.cpu(0), mx.cpu(1)]), min_size=1, max_size=9) | (
    st.lists(st.integers(0, 3).map(mx.gpu), min_size=1, max_size=6)
)
shapes = st.lists(st.integers(0, 9), min_size=0, max_size=3).map(tuple)


def whole_numbers(shape: Any, dtype: str, seed: int, count: int) -> list[Any]:
    """Numbers whose sums are exact in any order."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype == "uint8" else -20
    return [rng.integers(low, 20, shape).astype(dtype) for _ in range(count)]


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(
    st.sampled_from(KINDS), st.sampled_from(SETTINGS), st.sampled_from(DTYPES),
    places, shapes, st.integers(0, 99), st.booleans(),
)  # fmt: skip
def test_dense_sums(
    kind: str, turned: Any, dtype: str, at: Any, shape: Any, seed: int, odd: bool
) -> None:
    numbers = [whole_numbers(shape, dtype, seed + k, len(at)) for k in range(2)]
    if odd and dtype.startswith("float") and numbers[0][0].size:
        numbers[0][-1].reshape(-1)[0] = np.nan
        numbers[1][0].reshape(-1)[-1] = np.inf
    with mx.util.np_shape(True), knobs(**turned):
        kv = mx.kv.create(kind)
        work = []
        for key, values in enumerate(numbers):
            arrays = [
                mx.np.array(value, dtype=dtype, ctx=place).as_nd_ndarray()
                for value, place in zip(values, at, strict=True)
            ]
            work.append(Gradient(key, arrays, -key))
            first = nd.zeros(shape, dtype=dtype)
            kv.broadcast(key, first, out=[first])
        kv.pushpull_many(work)
        for one, values in zip(work, numbers, strict=True):
            expected = np.sum(values, axis=0, dtype=dtype)
            for array in one.values:
                np.testing.assert_array_equal(array.asnumpy(), expected)
                assert array.dtype == np.dtype(dtype)


@settings(max_examples=20, deadline=None, suppress_health_check=[*HealthCheck])
@given(
    st.sampled_from(["local", "device"]), st.sampled_from(SETTINGS), places,
    st.integers(0, 99),
)  # fmt: skip
def test_sums_of_rows(kind: str, turned: Any, at: Any, seed: int) -> None:
    numbers = whole_numbers((6, 2), "float32", seed, len(at))
    rng = np.random.default_rng(seed)
    for value in numbers:
        value[rng.random(6) < 0.5] = 0
    with knobs(**turned):
        kv = mx.kv.create(kind)
        kv.init("rows", nd.zeros((6, 2)).tostype("row_sparse"))
        kv.push(
            "rows",
            [
                nd.array(value, ctx=place).tostype("row_sparse")
                for value, place in zip(numbers, at, strict=True)
            ],
        )
        found = nd.zeros((6, 2), ctx=at[0]).tostype("row_sparse")
        kv.row_sparse_pull("rows", out=found, row_ids=nd.arange(6))
        np.testing.assert_array_equal(found.asnumpy(), np.sum(numbers, axis=0))
