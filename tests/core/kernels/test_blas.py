"""BLAS from inside compiled kernels, whatever library NumPy brings."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types

from minimx.core.kernels.cpu import blas, matmul
from minimx.core.knobs import knobs

PLAIN, TRANSPOSED = blas.PLAIN, blas.TRANSPOSED
REALS = [
    (types.float32, ctypes.c_float, "float32"),
    (types.float64, ctypes.c_double, "float64"),
]


def prototype(real: Any, size: Any) -> Any:
    """The C type of a cblas product."""
    pointer, flag = ctypes.c_size_t, ctypes.c_int
    matrix = (pointer, size)
    sizes = (*(flag,) * 3, *(size,) * 3)
    return ctypes.CFUNCTYPE(None, *sizes, real, *matrix, *matrix, real, *matrix)


@pytest.mark.parametrize(("real", "c_real", "dtype"), REALS)
@pytest.mark.parametrize("ta", [PLAIN, TRANSPOSED])
@pytest.mark.parametrize("tb", [PLAIN, TRANSPOSED])
def test_the_plain_product_is_a_product(
    real: Any, c_real: Any, dtype: str, ta: int, tb: int
) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(s).astype(dtype) for s in ((3, 5), (5, 4), (3, 4)))
    expected = 2 * (a @ b) + 0.5 * c
    left = np.ascontiguousarray(a.T) if ta == TRANSPOSED else a
    right = np.ascontiguousarray(b.T) if tb == TRANSPOSED else b
    product = blas.plain_product(real)
    call = prototype(c_real, ctypes.c_int64)(product.address)
    matrices = [(m.ctypes.data, m.shape[1]) for m in (left, right, c)]
    call(
        blas.ROW_MAJOR,
        ta,
        tb,
        3,
        4,
        5,
        2,
        *matrices[0],
        *matrices[1],
        0.5,
        *matrices[2],
    )
    np.testing.assert_allclose(c, expected, rtol=1e-5)


@pytest.mark.parametrize(("real", "c_real", "dtype"), REALS)
def test_the_plain_product_reads_nothing_where_beta_is_0(
    real: Any, c_real: Any, dtype: str
) -> None:
    a, c = np.ones((1, 1), dtype), np.full((1, 1), np.nan, dtype)
    product = blas.plain_product(real)
    call = prototype(c_real, ctypes.c_int64)(product.address)
    one = (a.ctypes.data, 1)
    call(blas.ROW_MAJOR, PLAIN, PLAIN, 1, 1, 1, 1, *one, *one, 0, c.ctypes.data, 1)
    assert c[0, 0] == 1


@pytest.mark.parametrize(("real", "c_real", "dtype"), REALS)
def test_a_library_with_short_integers_gets_them(
    real: Any, c_real: Any, dtype: str
) -> None:
    seen: list[Any] = []
    library = prototype(c_real, ctypes.c_int)(lambda *args: seen.append(args))
    product = blas.narrow_product(library, real)
    given_ = (101, 111, 112, 1, 2, 3, 4.0, 5, 6, 7, 8, 0.5, 9, 10)
    prototype(c_real, ctypes.c_int64)(product.address)(*given_)
    assert seen == [given_]


def test_numpy_gets_its_threads_back() -> None:
    guard = blas.one_thread
    if guard._get is None:
        return  # a library whose threads we cannot count has none that we could take
    before = guard._get()
    inside = []

    def use() -> None:
        with guard:
            pass

    with guard:
        inside.append(guard._get())
        other = threading.Thread(target=use)
        other.start()
        other.join()
        inside.append(guard._get())
    assert inside == [1, 1]
    assert guard._get() == before


def test_inside_twice_is_inside() -> None:
    guard = blas._OneThread()  # nothing that ran before is inside
    if guard._get is None:
        return
    before = guard._get()
    guard._set(before + 1)
    try:
        with guard:
            with guard:
                assert guard._get() == 1
            assert guard._get() == 1
            with pytest.raises(KeyError), guard:
                raise KeyError
            assert guard._get() == 1
        assert guard._get() == before + 1
    finally:
        guard._set(before)


@pytest.mark.parametrize("door", [1, 2])
def test_an_interrupt_in_the_doorway_leaves_nobody_inside(
    door: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the library switches: on the way in, or on the way out."""
    guard = blas._OneThread()
    calls = []

    def switch(count: int) -> None:
        calls.append(count)
        if len(calls) == door:
            raise KeyboardInterrupt

    monkeypatch.setattr(guard, "_get", lambda: 5)
    monkeypatch.setattr(guard, "_set", switch)
    with contextlib.suppress(KeyboardInterrupt), guard, guard:
        pass
    with guard:
        assert calls[-1] == 1
    assert calls[-1] == 5


# -- products --------------------------------------------------------------------------

LENGTHS = st.integers(0, 40)


@given(LENGTHS, LENGTHS, LENGTHS, st.booleans(), st.booleans(), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_products_are_numpys(
    m: int, n: int, k: int, ta: bool, tb: bool, stack: int
) -> None:
    rng = np.random.default_rng(m + n + k)
    a = rng.standard_normal((stack, *((k, m) if ta else (m, k))))
    b = rng.standard_normal((stack, *((n, k) if tb else (k, n))))
    out = np.full((stack, m, n), np.nan)
    matmul.product(a, b, out, ta, tb)
    left = a.swapaxes(1, 2) if ta else a
    expected = left @ (b.swapaxes(1, 2) if tb else b)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize(("n", "way"), [(15, "serial"), (16, "threaded")])
def test_a_product_of_little_effort_takes_one_thread(
    n: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    ways = {w: lambda *args, w=w: used.append(w) for w in ("serial", "threaded")}
    monkeypatch.setattr(matmul, "tiles", SimpleNamespace(**ways))
    a = np.ones((n, n), np.float32)
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=1000):
        matmul.product(a, a.copy(), np.empty_like(a))
    assert used == [way]


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_tiles_cover_the_product_in_nearly_equal_parts(m: int, n: int) -> None:
    rows, columns = matmul.tiling(m, n)
    assert 1 <= rows <= matmul.TILE_ROWS
    assert 1 <= columns <= matmul.TILE_COLUMNS
    down, across = -(-m // rows), -(-n // columns)
    assert m - (down - 1) * rows > rows - down
    assert n - (across - 1) * columns > columns - across
    assert down * across >= 2 or max(m, n) <= 32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_product_has_the_same_bits_on_any_number_of_threads(dtype: str) -> None:
    from minimx.core.knobs import knobs

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((300, 300)).astype(dtype) for _ in "ab")
    results = []
    for threads in (1, 2):
        out = np.empty((300, 300), dtype)
        with knobs(OMP_NUM_THREADS=threads):
            matmul.product(a, b, out)
        results.append(out.tobytes())
    assert results[0] == results[1]


def test_half_precision_is_summed_in_single_precision() -> None:
    a = np.full((1, 4096), 0.1, np.float16)
    out = np.empty((1, 1), np.float16)
    matmul.product(a, a.T.copy(), out)
    exact = 4096 * float(np.float16(0.1)) ** 2
    assert abs(float(out[0, 0]) - exact) < 0.05
