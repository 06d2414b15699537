"""Running a graph operator by operator, so that somebody can watch."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx import nd
from minimx.core import autograd
from minimx.gluon import nn


def test_hooks_see_what_a_norm_keeps_for_gradients() -> None:
    net = nn.BatchNorm(prefix="norm_")
    net.initialize()
    net.hybridize()
    seen: dict[str, Any] = {}
    x = nd.arange(8).reshape((4, 2))
    x.attach_grad()
    found = []
    for _ in range(2):
        with autograd.record():
            net(x * x).sum().backward()
        found.append(x.grad.asnumpy())
        net.register_op_hook(lambda name, op, array: seen.update({name: array}))
    assert list(seen) == [f"norm_fwd_{word}" for word in ("output", "mean", "var")]
    np.testing.assert_allclose(seen["norm_fwd_mean"].asnumpy(), [14, 21])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)
    seen.clear()
    net(x)
    assert list(seen) == ["norm_fwd_output"]
