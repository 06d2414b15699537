"""Kernels of users, launched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda as numba_cuda

import minimx as mx
from minimx.core.errors import ArgumentError, DeviceError, DTypeError
from minimx.cuda import toolkit

cuda: Any = numba_cuda
ONE = (1, 1, 1)


def axpy(x: Any, y: Any, alpha: Any) -> None:
    """Y += alpha * x."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += alpha * x[i]


def made() -> Any:
    module = mx.rtc.CudaModule(axpy)
    return module.get_kernel("axpy", "const float *x, float *y, float alpha")


def test_a_kernel_in_python_runs_after_what_it_waits_for() -> None:
    x = mx.nd.arange(6, ctx=mx.gpu(0)).reshape((2, 3)) + 1
    y = mx.nd.ones((2, 3), ctx=mx.gpu(0))
    made().launch([x, y, 3.0], mx.gpu(0), (2, 1, 1), (3, 1, 1))
    np.testing.assert_array_equal(y.asnumpy(), 1 + 3 * x.asnumpy())


def test_wrong_arguments_are_refused_at_the_call() -> None:
    x = mx.nd.ones((2,), ctx=mx.gpu(0))
    launch = made().launch
    with pytest.raises(ArgumentError, match="2 arguments for 3 parameters"):
        launch([x, x], mx.gpu(0), ONE, ONE)
    with pytest.raises(DeviceError, match="x is on cpu"):
        launch([mx.nd.ones((2,)), x, 1.0], mx.gpu(0), ONE, ONE)
    with pytest.raises(DTypeError, match="an array of float32 by its signature"):
        launch([x, x.astype("int32"), 1.0], mx.gpu(0), ONE, ONE)
    with pytest.raises(ArgumentError, match="alpha is a number"):
        launch([x, x, x], mx.gpu(0), ONE, ONE)
    with pytest.raises(ArgumentError, match="three whole numbers"):
        launch([x, x, 1.0], mx.gpu(0), (1, 1), ONE)


def test_an_error_in_a_kernel_comes_where_somebody_waits() -> None:
    def torn(x: Any) -> None:
        x[cuda.grid(1) + x.size] = 1

    if not toolkit.simulated():
        pytest.skip("on a device nobody checks bounds")
    x = mx.nd.ones((2,), ctx=mx.gpu(0))
    kernel = mx.rtc.CudaModule(torn).get_kernel("torn", "float *x")
    kernel.launch([x], mx.gpu(0), ONE, ONE)
    with pytest.raises(IndexError):
        x.asnumpy()
    assert float((mx.nd.ones((2,), ctx=mx.gpu(0)) + 1).sum().asscalar()) == 4


SOURCE = """
extern "C" __global__ void axpy(const float *x, float *y, float alpha) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += alpha * x[i];
}
"""


def test_a_kernel_in_c_needs_a_real_device() -> None:
    x, y = mx.nd.ones((4,), ctx=mx.gpu(0)), mx.nd.ones((4,), ctx=mx.gpu(0))
    module = mx.rtc.CudaModule(SOURCE, options=("-std=c++17",))
    kernel = module.get_kernel("axpy", "const float *x, float *y, float alpha")
    kernel.launch([x, y, 3.0], mx.gpu(0), ONE, (4, 1, 1))
    if toolkit.simulated():
        with pytest.raises(DeviceError, match="runs Python and no"):
            y.asnumpy()
    else:
        assert y.asnumpy().tolist() == [4, 4, 4, 4]
