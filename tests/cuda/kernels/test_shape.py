"""Transpositions: element by element, and by squares through shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda

from minimx.cuda import toolkit
from minimx.cuda.kernels.core import shape

pytestmark = pytest.mark.usefixtures("working")
LENGTHS = [1, 2, 3, 5] if toolkit.simulated() else [1, 3, 16, 33]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=4),
    order=st.permutations(range(4)),
    word=st.sampled_from(["bool", "float16", "float32", "float64"]),
)
def test_axes_in_any_order(lengths: list[int], order: list[int], word: str) -> None:
    axes = tuple(axis for axis in order if axis < len(lengths))
    x = np.arange(np.prod(lengths)).reshape(lengths).astype(word)
    wanted = np.ascontiguousarray(x.transpose(axes))
    out = cuda.device_array(wanted.shape, x.dtype)
    launch = shape.transpose(x.shape, axes, x.dtype)
    launch(cuda.to_device(x), out)
    assert out.copy_to_host().tobytes() == wanted.tobytes()


def test_long_axes_that_change_places_go_by_squares() -> None:
    side = 2 * shape.SIDE
    plain = shape.transpose((side, side), (0, 1), np.dtype("float32"))
    turned = shape.transpose((3, side, side), (0, 2, 1), np.dtype("float32"))
    assert "_by_squares" not in plain.__qualname__
    assert "_by_squares" in turned.__qualname__
