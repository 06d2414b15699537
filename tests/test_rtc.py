"""Users' own kernels: `mx.rtc`; those that run need CUDA, see tests/cuda/kernels."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, DeviceError


def nothing(x: object) -> None:
    """A kernel that is never launched."""


def test_a_signature_is_read_in_the_words_of_c() -> None:
    signature = "const float *x, double * y , __half*z,int64_t n, const int"
    kernel = mx.rtc.CudaModule(nothing).get_kernel("nothing", signature)
    kinds = [(p.name, p.dtype.name, p.is_array, p.is_const) for p in kernel.parameters]
    assert kinds == [
        ("x", "float32", True, True),
        ("y", "float64", True, False),
        ("z", "float16", True, False),
        ("n", "int64", False, False),
        ("#4", "int32", False, True),
    ]


@pytest.mark.parametrize("text", ["flaot *x", "float x[3]", "const const int n"])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="is no parameter"):
        mx.rtc.CudaModule(nothing).get_kernel("nothing", text)


def test_an_unknown_kernel_names_the_nearest() -> None:
    with pytest.raises(ArgumentError, match="Did you mean nothing"):
        mx.rtc.CudaModule(nothing).get_kernel("nothin", "float *x")


def test_a_gpu_that_the_cpu_plays_runs_no_cuda_kernels() -> None:
    kernel = mx.rtc.CudaModule(nothing).get_kernel("nothing", "float *x")
    with mx.knobs(MINIMX_CUDA="off"):
        x = mx.nd.ones((2,), ctx=mx.gpu(0))
        with pytest.raises(DeviceError, match="NUMBA_ENABLE_CUDASIM=1"):
            kernel.launch([x], mx.gpu(0), (1, 1, 1), (1, 1, 1))
        del x
    with pytest.raises(DeviceError, match="runs the CPU's kernels"):
        kernel.launch([mx.nd.ones((2,))], mx.cpu(), (1, 1, 1), (1, 1, 1))
