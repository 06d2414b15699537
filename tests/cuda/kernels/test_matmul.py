"""Products on CUDA, the direct and the tiled one."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from minimx.cuda import toolkit
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.core import matmul, tiled
from minimx.fast.convolution import algorithms

pytestmark = pytest.mark.usefixtures("working")


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("enough", [0, 10**9], ids=["large tiles", "small tiles"])
@pytest.mark.parametrize("shortest", [10**9, 2], ids=["one sum", "parts"])
def test_tiles_that_hang_over_the_edge_give_the_product(
    ta: bool, tb: bool, enough: int, shortest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiled, "ENOUGH", enough)
    monkeypatch.setattr(algorithms, "SHORTEST", shortest)
    stack, m, n, k = (2, 3, 5, 7) if toolkit.simulated() else (2, 131, 77, 37)
    drawn = np.random.default_rng(1)
    a = drawn.normal(size=(stack, k, m) if ta else (stack, m, k)).astype("float32")
    b = drawn.normal(size=(stack, n, k) if tb else (stack, k, n)).astype("float32")
    out = cuda.to_device(np.full(stack * m * n, np.nan, np.float32))
    flat = cuda.to_device(a.reshape(-1)), cuda.to_device(b.reshape(-1)), out
    steps = ((1, m) if ta else (k, 1)) + ((1, k) if tb else (n, 1))
    matmul.in_tiles(flat, (stack, m, n, k), steps)
    left, right = a.swapaxes(1, 2) if ta else a, b.swapaxes(1, 2) if tb else b
    found = out.copy_to_host().reshape(stack, m, n)
    np.testing.assert_allclose(found, left @ right, rtol=1e-5, atol=1e-6)


def test_any_number_of_blocks_and_threads_gives_the_same() -> None:
    drawn = np.random.default_rng(1)
    a, b = drawn.normal(size=(3, 4)), drawn.normal(size=(4, 3))
    found = []
    before = list(launching.SIMULATED_GRID)
    try:
        for launching.SIMULATED_GRID[:] in ([1, 1], [3, 2], [1, 5]):
            out = cuda.device_array((3, 3), np.float64)
            matmul.product(cuda.to_device(a), cuda.to_device(b), out)
            found.append(out.copy_to_host().tobytes())
    finally:
        launching.SIMULATED_GRID[:] = before
    assert len(set(found)) == 1
