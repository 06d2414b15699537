from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

from minimx import np, npx
from minimx.core import autograd
from minimx.core.errors import ArgumentError

LOOKS: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T,
    "atleast": lambda x: np.atleast_1d(x),
    "batch_flatten": lambda x: npx.batch_flatten(x),
    "broadcast_to": lambda x: np.broadcast_to(x, x.shape),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "expand_dims at two places": lambda x: np.expand_dims(x, (0, 2)),
    "flatten": lambda x: x.flatten(),
    "npx.reshape": lambda x: npx.reshape(x, (-1,)),
    "ravel": lambda x: np.ravel(x),
    "reshape": lambda x: x.reshape(-1),
    "reshape to the same": lambda x: x.reshape(x.shape),
    "reshape_like": lambda x: npx.reshape_like(x, np.zeros(6)),
    "squeeze": lambda x: np.squeeze(x),
    "squeeze nothing": lambda x: np.squeeze(x, ()),
    "transpose to the same": lambda x: x.transpose(0, 1),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_what_is_written_to_another_shape_stays_there(
    look: Callable[[Any], Any],
) -> None:
    x = np.zeros((2, 3))
    other = look(x)
    other[...] = 5
    assert not x.any()
    assert (other == 5).all()


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_gradients_go_through_another_shape(look: Callable[[Any], Any]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    x.attach_grad()
    with autograd.record():
        y = look(x) ** 2
    y.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), 2 * x.asnumpy())


def test_a_view_in_another_shape_shares_its_memory() -> None:
    x = np.zeros((2, 3))
    x.reshape_view(-1)[0] = 5
    x.reshape_view(3, 2)[2, 1] = 7
    onp.testing.assert_array_equal(x.asnumpy(), [[5, 0, 0], [0, 0, 7]])
    with pytest.raises(ArgumentError, match="order"):
        x.reshape_view(-1, order="F")
