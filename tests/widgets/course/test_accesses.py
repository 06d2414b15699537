"""Arrays that count: every access of a kernel is seen, however it is written."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import cuda as numba_cuda
from numba import njit, prange

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.errors import ArgumentError
from minimx.core.ops.registry import lookup
from minimx.fast.fusion.fused_operator import FusedOp
from minimx_widgets.course import fusing
from minimx_widgets.course.accesses import (
    READ,
    WRITE,
    Accesses,
    counted,
    counted_on_threads,
    counted_operator,
)

SIZE = 6
cuda: Any = numba_cuda  # which numba has no types for


def arrays(count: int) -> list[Any]:
    return [np.linspace(k, k + 1, SIZE, dtype=np.float32) for k in range(count)]


def touched(found: Accesses) -> dict[str, tuple[int, int]]:
    return {m.name: (int(m.reads.sum()), int(m.writes.sum())) for m in found.memories}


@njit
def logistic(z: Any) -> Any:
    return 1 / (1 + math.exp(-z))


def by_index(x: Any, y: Any, out: Any) -> None:
    for i in prange(x.size):
        out[i] = y[i] + logistic(x[i])


def by_flat(x: Any, y: Any, out: Any) -> None:
    for i in range(len(x)):
        out.flat[i] = y.flat[i] + logistic(x.ravel()[i])


def by_zip(x: Any, y: Any, out: Any) -> None:
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        out[i] = b + logistic(a)


def in_rows(x: Any, y: Any, out: Any) -> None:
    left, right, under = x.reshape(2, 3), y.reshape((2, 3)), out.reshape(2, 3)
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            under[i, j] = right[i][j] + logistic(left.T[j, i])


@pytest.mark.parametrize("kernel", [by_index, by_flat, by_zip, in_rows])
@pytest.mark.parametrize("compiled", [False, True])
def test_one_loop_is_three_accesses_however_it_is_written(
    kernel: Callable[..., None], compiled: bool
) -> None:
    x, y = arrays(2)
    found = counted(njit(kernel) if compiled else kernel, x, y, np.zeros(SIZE))
    assert touched(found) == {"x": (6, 0), "y": (6, 0), "out": (0, 6)}
    assert found.total == 18 and found.per_element == 3
    assert found.compiled  # by_index itself may not be, but logistic is
    (out,) = found.of("output")
    np.testing.assert_allclose(out.values, y + 1 / (1 + np.exp(-x)), rtol=1e-6)


def test_what_is_made_on_the_way_is_counted() -> None:
    def kernel(x: Any, out: Any) -> None:
        t = np.empty(x.size, x.dtype)
        for i in range(x.size):
            t[i] = 2 * x[i]
        u = np.zeros_like(x)  # written once
        out[:] = t + u

    found = counted(kernel, *arrays(1), np.zeros(SIZE))
    assert touched(found) == {
        "x": (6, 0),
        "out": (0, 6),
        "temporary 1": (6, 6),
        "temporary 2": (6, 6),
        "temporary 3": (6, 6),  # their sum
    }


def test_functions_of_whole_arrays_and_updates_in_place() -> None:
    def kernel(x: Any, out: Any) -> None:
        out[...] = np.exp(x)
        out += x
        out[0] += x[:2].copy()[1]
        np.add(out, 1, out=out)

    x = arrays(1)[0]
    found = counted(kernel, x, np.zeros(SIZE, np.float32))
    wanted = np.exp(x) + x + 1
    wanted[0] += x[1]
    np.testing.assert_allclose(found.of("output")[0].values, wanted, rtol=1e-6)
    assert touched(found)["x"] == (6 + 6 + 2, 0)
    assert touched(found)["out"] == (6 + 1 + 6, 6 + 6 + 1 + 6)


def test_a_kernel_may_be_a_partial_or_hold_its_helpers() -> None:
    factor = 2.0

    def kernel(scale: float, x: Any, out: Any) -> None:
        for i in range(x.size):
            out[i] = logistic(x[i]) * factor * scale

    found = counted(functools.partial(kernel, 3.0), *arrays(1), np.zeros(SIZE))
    assert touched(found) == {"x": (6, 0), "out": (0, 6)}
    assert found.compiled
    assert factor == 2.0


def test_numbers_are_passed_on_and_asking_for_a_shape_is_free() -> None:
    def kernel(x: Any, beta: float, out: Any) -> None:
        assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float32)
        out.flat[0] = beta

    found = counted(kernel, np.zeros((2, 3), np.float32), 1.5, np.zeros((2, 3)))
    assert touched(found) == {"x": (0, 0), "out": (0, 1)}


def test_events_are_in_order() -> None:
    def kernel(x: Any, out: Any) -> None:
        out[1] = x[0] + x[0]

    assert counted(kernel, *arrays(1), np.zeros(SIZE)).events == [
        (0, 0, READ),
        (0, 0, READ),
        (1, 1, WRITE),
    ]


def test_a_line_that_is_not_finished_writes_nothing() -> None:
    def kernel(x: Any, out: Any) -> None:
        for i in range(x.size):
            out[i] = ...

    assert counted(kernel, *arrays(1), np.zeros(SIZE)).total == 0


def test_a_kernel_raises_what_it_raises() -> None:
    def kernel(x: Any, out: Any) -> None:
        out[x.size] = x[0]

    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        counted(kernel, *arrays(1), np.zeros(SIZE))


def test_threads_of_a_gpu_run_one_after_the_other() -> None:
    def short(x: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            out[i] = 2 * x[i]

    def long(x: Any, out: Any) -> None:
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        for k in range(i, x.size, cuda.gridsize(1)):
            out[k] = 2 * x[k]

    for kernel, blocks in ((short, 2), (long, 2), (long, 1)):
        found = counted_on_threads(
            kernel, *arrays(1), np.zeros(SIZE), blocks=blocks, threads=4
        )
        assert touched(found) == {"x": (6, 0), "out": (0, 6)}


# -- loops that minimx wrote -----------------------------------------------------------

UNARY = ("square", "abs", "exp", "tanh", "relu", "sigmoid", "sqrt")


@given(st.lists(st.sampled_from(UNARY), min_size=2, max_size=6))
def test_a_fused_row_is_two_accesses_and_computes_the_same(names: list[str]) -> None:
    """However long the row is, and in however many pieces its loop goes."""
    symbol = mx.sym.var("x")
    for name in names:
        symbol = getattr(mx.sym, name)(symbol)
    shapes = {"x": (SIZE,)}
    apart = fusing.traffic(symbol, shapes, use_fusion=False)
    (loop,) = fusing.loops(fusing.traffic(symbol, shapes, fusion_least=0))
    value = fused = arrays(1)[0]
    total = 0
    for op in apart.kernels:
        found = counted_operator(op, value)
        value = found.of("output")[0].values
        total += found.total
    found = counted_operator(loop, fused)
    assert (total, found.total) == (2 * SIZE * len(names), 2 * SIZE)
    assert apart.bytes_moved == 4 * total
    np.testing.assert_allclose(found.of("output")[0].values, value, rtol=1e-5)


def test_settings_are_numbers_and_are_not_counted() -> None:
    found = counted_operator(lookup("_mul_scalar").of(scalar=3.0), *arrays(1))
    assert touched(found) == {"in 0": (6, 0), "out": (0, 6)}
    np.testing.assert_allclose(found.of("output")[0].values, 3 * arrays(1)[0])


def test_two_inputs_one_of_them_twice() -> None:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    shapes = {"a": (SIZE,), "b": (SIZE,)}
    (loop,) = fusing.loops(fusing.traffic((a * b + a) / 2, shapes, fusion_least=0))
    assert isinstance(loop, FusedOp)
    found = counted_operator(loop, *arrays(2))
    assert found.total == 3 * SIZE
    assert 4 * found.total == loop.cost(*loop.specs).bytes_moved
    assert loop.specs[0].dtype == FLOAT32


def test_other_operators_have_no_generated_loop() -> None:
    with pytest.raises(ArgumentError, match="softmax has no generated loop"):
        counted_operator(lookup("softmax").of(), *arrays(1))
