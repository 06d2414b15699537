from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from minimx.core.dtypes import FLOAT16, FLOAT32, FLOAT64, INT32
from minimx.core.kernels import codegen, pointwise, threads
from minimx.core.kernels.formula import Formula
from minimx.core.knobs import knobs

ADD = Formula("a + 2 * b", ("a", "b"))
MIX = Formula("a * b - c", ("a", "b", "c"))


def apply(formula: Formula, *arrays: Any, constants: tuple[float, ...] = ()) -> Any:
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    dtype = arrays[0].dtype
    out = np.empty(shape, dtype)
    kernel = pointwise.kernel(
        formula,
        [a.shape for a in arrays],
        [a.dtype for a in arrays],
        shape,
        dtype,
        constants,
    )
    kernel(*arrays, out)
    return out


def test_the_source_says_what_is_computed() -> None:
    text = codegen.source("where(x > 0, x, 0.1 * x)")
    assert "select((a > float32(0)), a, (float32(0.1) * a))" in text
    compile(text, "kernel", "exec")


def test_single_precision_stays_single() -> None:
    """In double precision 1 + 1e-8 would not be 1."""
    x = np.full(5, 1e-8, np.float32)
    assert apply(Formula("(1 + x) - 1", ("x",)), x).tolist() == [0] * 5


@given(
    shapes=mutually_broadcastable_shapes(num_shapes=3, max_dims=6, min_side=0),
    seed=st.integers(0, 99),
)
def test_operands_of_any_shapes_are_walked_right(shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-9, 9, s).astype(np.float32) for s in shapes.input_shapes]
    a, b, c = (array.reshape(array.shape or (1,)) for array in arrays)
    np.testing.assert_array_equal(apply(ADD, a, b), a + 2 * b)
    np.testing.assert_array_equal(apply(MIX, a, b, c), a * b - c)


@pytest.mark.parametrize("size", [1, 7, pointwise.SMALL, 3 * pointwise.SMALL + 5])
@pytest.mark.parametrize("parallel_size", [0, 10**9])
@pytest.mark.parametrize("other", ["whole", "single", "row", "column"])
def test_every_road_gives_the_same(size: int, parallel_size: int, other: str) -> None:
    a = np.arange(2 * size, dtype=np.float32).reshape(2, size)
    shape = {"whole": a.shape, "single": (1,), "row": (size,), "column": (2, 1)}[other]
    b = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with knobs(MXNET_CPU_PARALLEL_SIZE=parallel_size, OMP_NUM_THREADS=2):
        np.testing.assert_array_equal(apply(ADD, a, b), a + 2 * b)


@given(
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=5),
)
def test_collapsed_walks_visit_the_same_elements(shapes: Any) -> None:
    out = shapes.result_shape
    lengths, steps = pointwise.collapse(out, shapes.input_shapes)
    assert np.prod(lengths, dtype=int) == np.prod(out, dtype=int)
    assert set(steps[0]) <= {0, 1}
    for k, shape in enumerate(shapes.input_shapes):
        numbered = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        expected = np.broadcast_to(numbered, out).reshape(-1)
        found = np.zeros(1, int)
        for length, step in zip(lengths, steps, strict=True):  # innermost first
            found = (np.arange(length)[:, None] * step[k] + found).reshape(-1)
        np.testing.assert_array_equal(found, expected)


def test_half_precision_rounds_once() -> None:
    a = np.array([2048, 1], np.float16)
    out = apply(Formula("(a + 1) - a", ("a",)), a)
    assert out.tolist() == [1, 1]  # in half precision 2048 + 1 is 2048
    assert out.dtype == FLOAT16


def test_constants_take_the_type_of_the_array() -> None:
    formula = Formula("x * s", ("x", "s"))
    x = np.array([3, 5], np.int32)
    assert apply(formula, x, constants=(2.9,)).tolist() == [6, 10]
    assert apply(formula, x.astype(FLOAT64), constants=(0.1,))[0] == 3 * 0.1


def test_an_output_may_be_an_input() -> None:
    a = np.arange(9, dtype=np.float32)
    kernel = pointwise.kernel(ADD, [(9,), (9,)], [FLOAT32] * 2, (9,), FLOAT32)
    kernel(a, a.copy(), a)
    assert a.tolist() == [3 * k for k in range(9)]


def test_types_may_differ() -> None:
    condition = np.array([1, 0, 2], np.int32)
    x, out = np.array([1.5, 2.5, 3.5]), np.empty(3)
    formula = Formula("where(c != 0, x, -x)", ("c", "x"))
    kernel = pointwise.kernel(formula, [(3,)] * 2, [INT32, FLOAT64], (3,), FLOAT64)
    kernel(condition, x, out)
    assert out.tolist() == [1.5, -2.5, 3.5]


def test_two_programs_may_write_one_kernel_at_once(tmp_path: Path) -> None:
    program = (
        "import numpy as np\n"
        "from minimx.core.knobs import knobs\n"
        f"knobs.set(MINIMX_CACHE={str(tmp_path)!r})\n"
        "from minimx.core.kernels import pointwise\n"
        "from minimx.core.kernels.formula import Formula\n"
        "x = np.ones(3, np.float32)\n"
        "f, t = Formula('x * 3', ('x',)), x.dtype\n"
        "k = pointwise.kernel(f, [(3,)], [t], (3,), t)\n"
        "k(x, x)\n"
        "print(x.sum())\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in running:
        out, _ = process.communicate(timeout=120)
        assert out == b"9.0\n"
    assert len(list((tmp_path / "pointwise").glob("k*.py"))) == 1
    assert threads.cache_dir() != tmp_path
