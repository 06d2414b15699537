from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.kernels import parts, threads
from minimx.core.kernels.parts import copy, dealt
from minimx.core.knobs import knobs


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 2, 6, 100])
def test_every_number_is_dealt_to_one_part(n: int, parts: int) -> None:
    shares = [ends(n, (k, parts)) for k in range(parts)]
    assert [i for first, last in shares for i in range(first, last)] == list(range(n))


ends = parts.ends.py_func


@threads.jit(parallel=True)
def doubled(part: Any, x: Any, out: Any) -> None:
    for i in dealt(x.size, part):
        if x[i] < 0:
            raise ValueError("a number is negative")
        out[i] = 2 * x[i]


def test_a_kernel_is_compiled_once_for_any_number_of_threads() -> None:
    x = np.arange(100.0)
    for count in (1, 2, 3):
        with knobs(OMP_NUM_THREADS=count):
            for run in (doubled, doubled.threaded, doubled.serial, doubled.small):
                out = np.zeros(100)
                run(x, out)
                np.testing.assert_array_equal(out, 2 * x)
    assert len(doubled.run.signatures) == 1


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("place", [0, 50, 99])
def test_what_one_part_raises_is_raised(count: int, place: int) -> None:
    x = np.ones(100)
    x[place] = -1
    with knobs(OMP_NUM_THREADS=count):
        for run in (doubled.threaded, doubled.serial, doubled.small):
            with pytest.raises(ValueError, match="a number is negative"):
                run(x, np.empty(100))
    doubled.small(abs(x), x)  # and this thread has the GIL
    assert (x == 2).all()


@threads.jit(parallel=True, steps=True)
def turned(part: Any, step: int, x: Any) -> None:
    """Row `step + 1` becomes the reverse of row `step`, and 1 more."""
    for i in dealt(x.shape[1], part):
        x[step + 1, i] = x[step, x.shape[1] - 1 - i] + 1


@pytest.mark.parametrize("count", [1, 2, 4])
def test_parts_wait_for_each_other_after_every_step(count: int) -> None:
    x = np.zeros((101, 1000))
    x[0] = np.arange(1000)
    with knobs(OMP_NUM_THREADS=count):
        turned.threaded(100, x)
    np.testing.assert_array_equal(x[100], np.arange(1000) + 100)


def test_a_limit_of_one_block_does_not_outlive_it() -> None:
    with knobs(OMP_NUM_THREADS=3):
        with threads.using(2):
            assert threads.count() == 2
            with threads.using(1):
                assert threads.count() == 1
            assert threads.count() == 2
        assert threads.count() == 3


@threads.jit()
def copied(x: Any, out: Any) -> None:
    copy(x, out)


def test_a_copy_takes_any_step() -> None:
    x, out = np.arange(10.0), np.zeros(10)
    copied(x[::-2], out[1::2])
    np.testing.assert_array_equal(out[1::2], [9, 7, 5, 3, 1])
    assert not out[::2].any()
