from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.kernels import find
from minimx.core.kernels.cpu import reduce
from minimx.core.knobs import knobs

FLOAT32 = np.dtype(np.float32)


def reduced(kind: str, x: Any, axes: tuple[int, ...]) -> Any:
    shape = tuple(n for axis, n in enumerate(x.shape) if axis not in axes) or (1,)
    out = np.empty(shape, x.dtype)
    find("reduce.reduction")(kind, x.shape, axes, x.dtype)(x, out)
    return out


@given(data=st.data(), shape=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_any_axes_of_any_shape(data: Any, shape: list[int]) -> None:
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1)))))
    x = np.random.default_rng(1).integers(-5, 6, shape).astype(np.float32)
    for kind, oracle in (("sum", np.sum), ("max", np.max)):
        expected = oracle(x, axis=axes) if axes else x
        np.testing.assert_array_equal(
            reduced(kind, x, axes), np.reshape(expected, np.shape(expected) or (1,))
        )


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((200_003,), (0,)),
        ((3, 70_001), (1,)),
        ((5_003, 3), (0,)),
        ((700, 1_500), (0,)),
        ((2, 600, 2_000), (1,)),
        ((8, 300, 90), (0, 2)),
    ],
)
@pytest.mark.parametrize("parallel_size", [0, 10**9])
def test_long_axes_are_cut_into_blocks(
    shape: tuple[int, ...], axes: tuple[int, ...], parallel_size: int
) -> None:
    x = np.random.default_rng(2).integers(-3, 4, shape).astype(np.float32)
    with knobs(MXNET_CPU_PARALLEL_SIZE=parallel_size, OMP_NUM_THREADS=2):
        found = reduced("sum", x, axes)
    np.testing.assert_array_equal(found, x.sum(axes, np.float64))


@pytest.mark.parametrize("n", [1, 2, 3, 7, reduce.SHORT, reduce.SHORT + 1, 100])
@pytest.mark.parametrize("kind", ["sum", "prod", "norm1", "nansum"])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_short_rows_have_the_bits_of_one(n: int, kind: str, threads: int) -> None:
    x = np.random.default_rng(3).uniform(-2, 2, (2_000, n)).astype(np.float32)
    x[5, 0] = np.nan
    with knobs(MXNET_CPU_PARALLEL_SIZE=0, OMP_NUM_THREADS=threads):
        found = reduced(kind, x, (1,))
    lanes: Any = {"nansum": np.nan_to_num(x), "norm1": np.abs(x)}.get(kind, x)
    join = np.multiply if kind == "prod" else np.add
    while lanes.shape[1] > 1:  # the second half onto the first
        half = (lanes.shape[1] + 1) // 2
        folded = join(lanes[:, : lanes.shape[1] - half], lanes[:, half:])
        lanes = np.hstack([folded, lanes[:, folded.shape[1] : half]])
    np.testing.assert_array_equal(found, lanes[:, 0])


def test_rounding_errors_do_not_grow_with_the_length() -> None:
    x = np.full(1 << 22, 0.1, np.float32)
    exact = float(x[0]) * x.size
    assert abs(float(reduced("sum", x, (0,))[0]) - exact) <= 2e-6 * exact
    columns = np.full((1 << 16, 7), 0.1, np.float32)
    found = reduced("sum", columns, (0,))
    exact = float(x[0]) * (1 << 16)
    np.testing.assert_allclose(found, exact, rtol=5e-6)


def test_half_precision_is_summed_in_single() -> None:
    x = np.full(70_000, 0.1, np.float16)
    assert abs(float(reduced("sum", x, (0,))[0]) - 7000) < 8
    assert abs(float(reduced("norm2", x, (0,))[0]) - 26.45) < 0.02


def test_nothing_to_reduce() -> None:
    x = np.empty((3, 0), np.float32)
    assert reduced("sum", x, (1,)).tolist() == [0, 0, 0]
    assert reduced("prod", x, (1,)).tolist() == [1, 1, 1]


def test_stages_depend_on_shapes_only() -> None:
    with knobs(OMP_NUM_THREADS=1):
        alone = reduce.steps_of((1 << 20,), (0,))
    with knobs(OMP_NUM_THREADS=7):
        assert reduce.steps_of((1 << 20,), (0,)) == alone


@given(
    rows=st.integers(1, 4),
    n=st.integers(1, 40),
    columns=st.integers(1, 3),
    largest=st.booleans(),
)
def test_places_of_extrema(rows: int, n: int, columns: int, largest: bool) -> None:
    x = np.random.default_rng(n).integers(0, 4, (rows, n, columns)).astype(FLOAT32)
    out = np.empty((rows, columns), np.float32)
    kernel = find("reduce.arg_extremum")(x.shape, x.dtype, 1 if largest else -1)
    kernel(x, out)
    np.testing.assert_array_equal(out, x.argmax(1) if largest else x.argmin(1))


def test_not_a_number_is_an_extremum() -> None:
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    assert np.isnan(reduced("max", x, (0,))[0])
    assert np.isnan(reduced("min", x, (0,))[0])
    out = np.empty((1, 1), np.float32)
    find("reduce.arg_extremum")((1, 4, 1), x.dtype, 1)(x, out)
    assert out[0, 0] == 1
