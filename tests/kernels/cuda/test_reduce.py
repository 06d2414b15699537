"""Reductions that a block of threads shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda

from minimx.kernels.cuda import reduce

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
