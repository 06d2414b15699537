"""Scratch memory of launches: whose it is, and when it goes back."""

from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx.core import drivers, storage
from minimx.cuda.kernels import scratch

GPU = mx.gpu(0)


def live() -> int:
    return storage.stats(GPU).n_live


def test_a_block_serves_the_next_launch_and_goes_back_at_the_end() -> None:
    mx.nd.waitall()
    before = live()
    with drivers.working(GPU):
        with scratch.allocated((100, np.float32), ((2, 3), np.int64)) as (a, b):
            assert (a.shape, b.shape) == ((100,), (2, 3))
            first = live()
        with scratch.allocated((90, np.float32)):
            assert live() == first == before + 1  # the same block again
        with scratch.allocated((100, np.float32)), scratch.allocated((100, np.float32)):
            assert live() == before + 2  # two at a time are two
        assert live() == before + 2  # what was launched may still use them
    assert live() == before


def test_an_error_leaves_nothing_behind() -> None:
    mx.nd.waitall()
    before = live()
    with (
        pytest.raises(ZeroDivisionError),
        drivers.working(GPU),
        scratch.allocated((10, np.float64)),
    ):
        raise ZeroDivisionError
    assert live() == before
