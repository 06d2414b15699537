"""The likelihood of events: its gradient against small steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx import nd
from minimx.core import autograd
from tests.core.ops.samples import regions


def test_gradient_is_the_slope_of_the_likelihood() -> None:
    history = [
        regions.MU, regions.ALPHA, regions.BETA, regions.STATE, regions.LAGS,
        regions.MARKS, regions.LENGTHS, regions.TIMES,
    ]  # fmt: skip
    arrays = [nd.array(a, dtype=a.dtype) for a in history]
    for parameter in arrays[:3]:
        parameter.attach_grad()
    weights = np.array([1.0, -2.0])
    operators: Any = nd.contrib
    with autograd.record():
        likelihood, _ = operators.hawkesll(*arrays)
        loss = (likelihood * nd.array(weights, dtype="float64")).sum()
    loss.backward()
    for k, parameter in enumerate(arrays[:3]):
        for place in np.ndindex(*history[k].shape):
            sums = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in history]
                moved[k][place] += step
                sums.append((regions.events(*moved)[0] * weights).sum())
            slope = (sums[0] - sums[1]) / 2e-6
            np.testing.assert_allclose(parameter.grad.asnumpy()[place], slope, 1e-5)
