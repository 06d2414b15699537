"""Reductions that a block of threads shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import cuda

from minimx.cuda.kernels.core import reduce

pytestmark = pytest.mark.usefixtures("working")


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "nanprod", "norm2"])
def test_a_block_folds_what_its_threads_found(kind: str) -> None:
    x = np.random.default_rng(1).normal(size=(2, reduce.MUCH + 3)).astype("float32")
    out = cuda.device_array(2, np.float32)
    launch: Any = reduce.reduction(kind, x.shape, (1,), x.dtype)
    launch(cuda.to_device(x), out)
    wide = x.astype(float)
    expected = {
        "sum": wide.sum(1), "mean": wide.mean(1), "max": wide.max(1),
        "nanprod": wide.prod(1), "norm2": np.sqrt((wide**2).sum(1)),
    }  # fmt: skip
    np.testing.assert_allclose(out.copy_to_host(), expected[kind], rtol=2e-5, atol=1e-5)


def test_integers_are_divided_as_on_the_cpu() -> None:
    x = np.array([[7, 8], [-7, -8]], "int32")
    out = cuda.device_array(2, np.int32)
    launch: Any = reduce.reduction("mean", x.shape, (1,), x.dtype)
    launch(cuda.to_device(x), out)
    assert out.copy_to_host().tolist() == [7, -7]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "mean", "min", "nansum", "norm2"])
def test_parts_are_reduced_apart_and_then_joined(
    kind: str, axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, small in (("MUCH", 4), ("LEAST_OF_BLOCK", 5), ("LEAST_OF_THREAD", 3)):
        monkeypatch.setattr(reduce, name, small)
    x = np.random.default_rng(2).normal(size=(17, 23)).astype("float32")
    x[3, 4] = np.nan if kind == "nansum" else 1
    n, count = x.shape[1 - axis], x.shape[axis]
    by_block, parts = reduce.divided(n, count, side=axis == 0)
    assert parts > 1
    assert by_block is (axis == 1)
    out = cuda.device_array(n, np.float32)
    launch: Any = reduce.reduction(kind, x.shape, (axis,), x.dtype)
    launch(cuda.to_device(x), out)
    wide = x.astype(float)
    expected = {
        "sum": wide.sum(axis), "mean": wide.mean(axis), "min": wide.min(axis),
        "nansum": np.nansum(wide, axis), "norm2": np.sqrt((wide**2).sum(axis)),
    }  # fmt: skip
    np.testing.assert_allclose(out.copy_to_host(), expected[kind], rtol=2e-5, atol=1e-5)


@given(n=st.integers(1, 1 << 20), count=st.integers(1, 1 << 26), side=st.booleans())
def test_no_part_is_empty_and_every_element_is_in_one(
    n: int, count: int, side: bool
) -> None:
    _, parts = reduce.divided(n, count, side)
    chunk = -(-count // parts)
    assert 1 <= parts <= reduce.MOST_PARTS
    assert (parts - 1) * chunk < count <= parts * chunk
