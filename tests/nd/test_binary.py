from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.nd.binary import PAIRS


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_arrays_and_numbers_may_be_mixed(name: str) -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    words = {"modulo": "mod", "lesser": "less", "lesser_equal": "less_equal"}
    oracle = getattr(np, words.get(name, name))
    function = getattr(nd, name)
    a = nd.array(x)
    for left, right, values in (
        (a, 2, (x, 2.0)),
        (2, a + 1, (2.0, x + 1)),
        (a, a + 1, (x, x + 1)),
    ):
        np.testing.assert_allclose(function(left, right).asnumpy(), oracle(*values))


def test_numbers_alone_are_pythons_affair() -> None:
    assert nd.maximum(2, 3) == 3
    assert nd.add(2, 3) == 5


def test_other_things_are_refused() -> None:
    with pytest.raises(mx.MXNetError, match="add: NDArray and object"):
        nd.add(nd.ones(2), object())  # type: ignore[arg-type]


def test_gradients_flow() -> None:
    a = nd.array([1.0, 5.0])
    a.attach_grad()
    with mx.autograd.record():
        y = nd.maximum(a, 2)
    y.backward()
    assert a.grad is not None
    assert a.grad.asnumpy().tolist() == [0, 1]


def test_split_at_places() -> None:
    x = nd.arange(12).reshape((6, 2))
    pieces = nd.split_v2(x, (2, 3))
    assert [piece.shape for piece in pieces] == [(2, 2), (1, 2), (3, 2)]
    assert [piece.shape for piece in nd.split_v2(x, 2, axis=1)] == [(6, 1), (6, 1)]
    assert pieces[1].asnumpy().tolist() == [[4, 5]]
