"""Functions that only kernels call: compiled into kernels, and nowhere else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from minimx.core.kernels import threads
from minimx.core.kernels.convolution import Depth
from minimx.core.kernels.parts import dealt
from minimx.fast.compiling_parts import PartCompiler, PartLibrary


class Others(NamedTuple):
    """Lengths of a package that is not minimx."""

    kernel: int
    stride: int


def double(x: Any) -> Any:
    return 2 * x


@threads.jit(inner=True)
def twice(x: Any) -> Any:
    return 2 * x


@threads.jit(inner=True)
def four_times(x: Any) -> Any:
    return twice(twice(x))


@threads.jit(parallel=True)
def scaled(part: Any, x: Any, out: Any) -> None:
    for i in dealt(x.size, part):
        out[i] = four_times(x[i])


@threads.jit()
def sums(lengths: Any, out: Any) -> None:
    out[0], out[1] = 0, 0
    for k in range(len(lengths)):
        out[0] += lengths[k]
        out[1] += k * lengths[k]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_part_of_a_part_computes_in_the_kernel(dtype: str) -> None:
    x = np.arange(10, dtype=dtype)
    out = np.empty_like(x)
    scaled.serial(x, out)
    np.testing.assert_array_equal(out, 4 * x)
    scaled.threaded(x, out)
    np.testing.assert_array_equal(out, 4 * x)


def test_a_part_has_no_machine_code() -> None:
    njit: Any = numba.njit
    part = njit(pipeline_class=PartCompiler, no_cpython_wrapper=True)(double)
    whole = njit(lambda x: part(part(x)))
    assert whole(3.0) == 12.0
    assert whole(3) == 12
    for made in part.overloads.values():
        assert isinstance(made.library, PartLibrary)


@pytest.mark.parametrize("kind", [Depth, Others])
def test_tuples_of_lengths_arrive_whole(kind: Any) -> None:
    fields = len(kind._fields)
    given = [-1, 1 << 40, 0, 7, *range(fields)][:fields]
    out = np.zeros(2, np.int64)
    sums(kind(*given), out)
    assert out[0] == sum(given)
    assert out[1] == sum(k * x for k, x in enumerate(given))
