"""The exercises of notebook 10: right kernels pass, typical wrong ones are told why."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda as numba_cuda
from numba import njit, prange

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx_widgets.course import fusing
from minimx_widgets.course.fusing import (
    check_gated,
    check_on_gpu,
    check_scaled,
    combined,
    crossing,
    loops,
    traffic,
)

N = 1 << 20
cuda: Any = numba_cuda  # which numba has no types for


# -- the predictions -------------------------------------------------------------------


def test_five_in_a_row_move_a_fifth_in_one_loop() -> None:
    row = mx.sym.abs(mx.sym.square(2 * mx.sym.var("x") + 1) - 3)
    apart = traffic(row, {"x": (N,)}, use_fusion=False)
    fused = traffic(row, {"x": (N,)})
    assert (len(apart.kernels), apart.bytes_moved) == (5, 10 * 4 * N)
    assert (len(fused.kernels), fused.bytes_moved) == (1, 2 * 4 * N)
    assert loops(apart) == [] and len(loops(fused)) == 1


def test_the_factor_depends_on_the_inputs() -> None:
    a, b, c, d = (mx.sym.var(name) for name in "abcd")
    shapes = dict.fromkeys("abcd", (N,))
    mixed = (a * b + c) * d
    assert traffic(mixed, shapes, use_fusion=False).bytes_moved == 9 * 4 * N
    assert traffic(mixed, shapes).bytes_moved == 5 * 4 * N


def test_every_variable_wants_a_shape() -> None:
    with pytest.raises(ArgumentError, match="the shapes of y"):
        traffic(mx.sym.var("x") + mx.sym.var("y"), {"x": (2,)})


def test_half_shared_is_one_loop_with_144_outputs() -> None:
    mask, heads = mx.sym.var("mask"), []
    for _ in range(12):
        keep = 1 - mask
        heads += [mx.sym.softmax(keep * -10000) for _ in range(12)]
    masked = mx.sym.Group(heads)

    def found(merged: Any) -> list[int]:
        made = loops(combined(masked, {"mask": (4, 8)}, merged))
        moved = sum(op.cost(*op.specs).bytes_moved for op in made)
        return [len(made), max(op.visible for op in made), moved // (4 * 4 * 8)]

    assert found(lambda name: False) == [12, 12, 156]
    assert found(lambda name: name == "_rminus_scalar") == [1, 144, 145]
    assert found(lambda name: True) == [1, 1, 2]


@pytest.mark.parametrize(
    ("alone", "together", "wanted"),
    [
        ((1, 2, 4), (9, 9, 9), 80),  # never: twice the last size
        ((1, 2, 40), (9, 9, 9), 40),
        ((10, 2, 40), (9, 9, 9), 40),  # a lucky first is no crossing
        ((10, 20, 40), (9, 9, 9), 10),
    ],
)
def test_the_crossing_holds_for_all_larger_sizes(
    alone: tuple[int, ...], together: tuple[int, ...], wanted: int
) -> None:
    assert crossing(list(zip((10, 20, 40), alone, together, strict=True))) == wanted


def test_a_race_takes_time_and_leaves_the_knobs_alone() -> None:
    assert min(fusing.race(mx.nd.square, 1000)) > 0
    assert mx.knobs.diff() == {}


# -- the faded exercise ----------------------------------------------------------------


def s_index(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in range(x.size):
        v = x[i] * w[i] + b[i]
        out[i] = v if v > 0 else 0


def s_zip(x: Any, w: Any, b: Any, out: Any) -> None:
    for i, (p, q, r) in enumerate(zip(x, w, b)):  # noqa: B905
        out[i] = max(p * q + r, 0.0)


def s_threads(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in prange(len(x)):
        out.flat[i] = np.maximum(x.flat[i] * w.flat[i] + b.flat[i], np.float32(0))


@pytest.mark.parametrize("kernel", [s_index, s_zip, s_threads])
def test_a_right_kernel_passes_however_it_is_written(kernel: Any) -> None:
    feedback = check_scaled(njit(kernel))
    assert feedback.passed, feedback
    assert "4 accesses for each element; as operators they are 8" in feedback.seen


def s_unfinished(x: Any, w: Any, b: Any, out: Any) -> None:
    for _ in range(x.size):
        ...


def s_rebound(x: Any, w: Any, b: Any, out: Any) -> None:
    out = x * w + b  # noqa: F841


def s_last_forgotten(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in range(x.size - 1):
        out[i] = max(x[i] * w[i] + b[i], 0)


def s_no_relu(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = x[i] * w[i] + b[i]


def s_twice(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = x[i] * w[i] + b[i] if x[i] * w[i] + b[i] > 0 else 0


def s_scratch(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = x[i] * w[i] + b[i]
        out[i] = max(out[i], 0)


def s_arrays(x: Any, w: Any, b: Any, out: Any) -> None:
    out[:] = np.maximum(x * w + b, 0)


def s_in_the_input(x: Any, w: Any, b: Any, out: Any) -> None:
    for i in range(x.size):
        x[i] = x[i] * w[i] + b[i]
        out[i] = max(x[i], 0)


@pytest.mark.parametrize(
    ("kernel", "idea"),
    [
        (s_unfinished, "the loop"),
        (s_rebound, "the loop"),
        (s_last_forgotten, "the loop"),
        (s_no_relu, "the formula"),
        (s_twice, "read once, `v = x[i]`"),
        (s_scratch, "out as scratch paper"),
        (s_arrays, "intermediate results"),
        (s_in_the_input, "the owner of an input"),
    ],
)
def test_a_wrong_kernel_is_told_why(kernel: Any, idea: str) -> None:
    feedback = check_scaled(njit(kernel))
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


def test_plain_python_is_not_enough() -> None:
    assert "s_index is not compiled by numba" in check_scaled(s_index).seen
    assert "not compiled" in check_scaled(3).seen
    assert not check_scaled(...).passed


# -- the free exercise -----------------------------------------------------------------


@njit(nogil=True)
def gate(x: Any, r: Any, beta: float, out: Any) -> None:
    for i in range(x.size):
        v = x[i]
        out[i] = r[i] + v / (1 + math.exp(-beta * v))


@njit
def logistic(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


@njit(parallel=True)
def gate_in_flat(data: Any, other: Any, out: Any, beta: float) -> None:
    for i in prange(data.size):
        v = data.flat[i]
        out.flat[i] = other.flat[i] + v * logistic(beta * v)


@njit
def gate_read_twice(x: Any, r: Any, beta: float, out: Any) -> None:
    for i in range(x.size):
        out[i] = r[i] + x[i] * logistic(beta * x[i])


@njit
def gate_on_arrays(x: Any, r: Any, beta: float, out: Any) -> None:
    out[:] = r + x / (1 + np.exp(-beta * x))


class Gated(mx.ops.Op):
    """The right sheet; the others differ from it in one thing."""

    inputs = ("data", "other")
    saves = ("data",)
    beta: float = 1.0

    def infer(self, *specs: Any) -> Any:
        return specs[0]

    def kernel(self, *specs: Any) -> Any:
        return lambda x, r, out: gate(x.ravel(), r.ravel(), self.beta, out.ravel())

    def grad(self, at: Any, dout: Any, *saved: Any) -> Any:
        (x,) = saved
        s = (self.beta * x).sigmoid()
        return dout * (s + self.beta * x * s * (1 - s)), dout


@pytest.fixture
def entered() -> Iterator[Any]:
    """Registers sheets for the length of a test."""
    names: list[str] = []

    def enter(**body: Any) -> Any:
        name = f"gated_{len(names)}"
        names.append(name)
        facts = {k: v for k, v in vars(Gated).items() if not k.startswith("__")}
        typed = {"__annotations__": {"beta": "float"}, "__module__": __name__}
        doc = {"__doc__": Gated.__doc__}
        sheet = type("Gated", (mx.ops.Op,), {**facts, **typed, **doc, **body})
        return mx.ops.register(name)(sheet)

    yield enter
    for name in names:
        mx.ops.unregister(name)


def test_a_right_sheet_passes(entered: Any) -> None:
    feedback = check_gated(entered())
    assert feedback.passed, feedback
    assert "3 accesses for each element; as operators they are 10" in feedback.seen


def test_a_right_sheet_written_in_another_way_passes(entered: Any) -> None:
    def kernel(self: Any, data: Any, other: Any) -> Any:
        def run(x: Any, r: Any, out: Any) -> None:
            gate_in_flat(x, r, out, self.beta)

        return run

    def grad(self: Any, at: Any, dout: Any, x: Any, r: Any) -> Any:
        e = (-self.beta * x).exp()
        return dout * (1 + e + self.beta * x * e) / (1 + e) ** 2, 1 * dout

    feedback = check_gated(entered(kernel=kernel, grad=grad, saves=("data", "other")))
    assert feedback.passed, feedback


def of_kernel(function: Any) -> Any:
    def kernel(self: Any, data: Any, other: Any) -> Any:
        return lambda x, r, out: function(x.ravel(), r.ravel(), self.beta, out.ravel())

    return kernel


def fixed_beta(self: Any, data: Any, other: Any) -> Any:
    return lambda x, r, out: gate(x.ravel(), r.ravel(), 1.0, out.ravel())


def not_flat(self: Any, data: Any, other: Any) -> Any:
    return lambda x, r, out: gate(x, r, self.beta, out)


def swapped(self: Any, at: Any, dout: Any, x: Any) -> Any:
    return tuple(reversed(Gated.grad(self, at, dout, x)))


def no_beta(self: Any, at: Any, dout: Any, x: Any) -> Any:
    s = (self.beta * x).sigmoid()
    return dout * (s + x * s * (1 - s)), dout


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"kernel": of_kernel(gate_read_twice)}, "x was read 2 times"),
        ({"kernel": of_kernel(gate_on_arrays)}, "made on the way"),
        ({"kernel": of_kernel(gate.py_func)}, "not compiled by numba"),
        ({"kernel": fixed_beta}, "element 0 is"),
        ({"kernel": not_flat}, "TypingError"),
        ({"grad": swapped}, "the gradient of r is wrong"),
        ({"grad": no_beta}, "the gradient of x is wrong for beta=1.5"),
        ({"inputs": ("data",)}, "it takes data, beta"),
    ],
)
def test_a_wrong_sheet_is_told_why(
    entered: Any, body: dict[str, Any], words: str
) -> None:
    feedback = check_gated(entered(**body))
    assert not feedback.passed
    assert words in feedback.seen, feedback
    assert feedback.expected


def test_what_is_no_registered_sheet() -> None:
    assert "is no data sheet" in check_gated(gate).seen
    assert check_gated(Gated).seen == "Gated is not registered"
    assert not check_gated(...).passed


# -- threads of a GPU ------------------------------------------------------------------


def g_right(x: Any, r: Any, beta: float, out: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i] = r[i] + v / (1 + math.exp(-beta * v))


def g_by_hand(x: Any, r: Any, beta: float, out: Any) -> None:
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= out.size:
        return
    v = x[i]
    out[i] = v / (1 + math.exp(-beta * v)) + r[i]


def g_no_guard(x: Any, r: Any, beta: float, out: Any) -> None:
    i = cuda.grid(1)
    out[i] = r[i] + x[i] / (1 + math.exp(-beta * x[i]))


def g_loop(x: Any, r: Any, beta: float, out: Any) -> None:
    for i in range(x.size):
        v = x[i]
        out[i] = r[i] + v / (1 + math.exp(-beta * v))


def g_one_block(x: Any, r: Any, beta: float, out: Any) -> None:
    i = cuda.threadIdx.x
    v = x[i]
    out[i] = r[i] + v / (1 + math.exp(-beta * v))


def g_twice(x: Any, r: Any, beta: float, out: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        out[i] = r[i] + x[i] / (1 + math.exp(-beta * x[i]))


@pytest.mark.parametrize("kernel", [g_right, g_by_hand])
def test_a_thread_for_each_element(kernel: Any) -> None:
    feedback = check_on_gpu(kernel)
    assert feedback.passed, feedback
    assert "30 accesses by 12 threads" in feedback.seen


@pytest.mark.parametrize(
    ("kernel", "idea"),
    [
        (g_no_guard, "blocks are full"),
        (g_loop, "the loop"),
        (g_one_block, "`i = cuda.grid(1)`"),
        (g_twice, "read once"),
    ],
)
def test_a_wrong_thread_is_told_why(kernel: Any, idea: str) -> None:
    feedback = check_on_gpu(kernel)
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


def test_where_there_is_a_device_the_kernel_runs_there() -> None:
    """numba's simulator is a device for whoever asks; it has to be chosen at import."""
    program = (
        "from tests.widgets.course import test_fusing as t\n"
        "print(t.check_on_gpu(t.g_right))\n"
    )
    root = Path(__file__).parents[3]
    paths = map(str, (root, root / "widgets", root / "datasets"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "NUMBA_ENABLE_CUDASIM": "1",
            "PYTHONPATH": os.pathsep.join(paths),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "30 accesses by 12 threads; and on a CUDA device" in done.stdout, done.stderr
