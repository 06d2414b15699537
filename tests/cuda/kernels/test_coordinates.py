"""Parts of arrays that arrays of coordinates name, on CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx

GPU = mx.gpu(0)
X = np.arange(2 * 3 * 4 * 2, dtype=np.float32).reshape(2, 3, 4, 2)
FEW, COLUMN = np.array([1, -1, 0]), np.array([[2], [0]])
KEYS: list[Any] = [
    (slice(None), FEW),
    (slice(None), FEW[:2], COLUMN),
    (slice(None, None, -1), FEW, slice(3, None, -2)),
    (0, slice(None), COLUMN),
    (FEW[:, None], slice(None), COLUMN[0]),
    (None, FEW, 2, ..., 1),
    (..., COLUMN, 1),
]


def on_gpu(key: Any) -> Any:
    return tuple(
        mx.nd.array(k, ctx=GPU, dtype="int64") if isinstance(k, np.ndarray) else k
        for k in key
    )


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_key_picks_what_it_picks_from_numpy_and_its_gradient_adds_up(
    key: Any,
) -> None:
    x = mx.nd.array(X, ctx=GPU)
    x.attach_grad()
    with mx.autograd.record():
        y = x[on_gpu(key)]
        z = (y * y).sum()
    z.backward()
    np.testing.assert_array_equal(y.asnumpy(), X[key])
    wanted = np.zeros_like(X)
    np.add.at(wanted, key, 2 * X[key])
    np.testing.assert_array_equal(x.grad.asnumpy(), wanted)


def test_what_does_not_exist_reads_as_0_and_nothing_is_written_there() -> None:
    x = mx.nd.array([1, 2, 3], ctx=GPU)
    at = mx.nd.array([[-1, 3, -4, 1]], ctx=GPU)
    assert mx.nd.gather_nd(x, at).asnumpy().tolist() == [3, 0, 0, 2]
    four = mx.nd.array([5, 6, 7, 8], ctx=GPU)
    assert mx.nd.scatter_nd(four, at, shape=(3,)).asnumpy().tolist() == [0, 8, 5]


def test_of_several_at_one_place_the_last_one_stays() -> None:
    x, rows = mx.nd.zeros((2, 2), ctx=GPU), np.arange(10.0).reshape(5, 2)
    at = mx.nd.array([[1, 0, 1, 0, 1]], ctx=GPU)
    found = mx.nd._scatter_set_nd(x, mx.nd.array(rows, ctx=GPU), at, shape=(2, 2))
    assert found.asnumpy().tolist() == [[6, 7], [8, 9]]
