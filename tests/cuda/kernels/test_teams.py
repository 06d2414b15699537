"""Sums that several threads of a block share: batch norm, the gradient of a weight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import minimx as mx
from minimx.cuda import toolkit
from minimx.cuda.kernels.core import conv, norm
from tests.cuda.kernels.test_implementations import CONV, IMAGE, run


@pytest.fixture(autouse=True)
def teams_of_two() -> Iterator[None]:
    """The simulator's threads work alone otherwise: waiting for each other is slow."""
    before = conv.TEAM[0], norm.TEAM[0]
    if toolkit.simulated():
        conv.TEAM[0] = norm.TEAM[0] = 2
    yield
    conv.TEAM[0], norm.TEAM[0] = before


@pytest.mark.parametrize(
    "call",
    [
        ("BatchNorm", [(3, 2, 3), *[(2,)] * 4], {"training": True, "fix_gamma": False}),
        ("Convolution", [IMAGE, (1, 2, 2, 1), (1,)], {**CONV, "kernel": (2, 1),
                                                      "num_filter": 1}),
        ("softmax", [(3, 131)], {"temperature": 0.5}),
        ("log_softmax", [(3, 131)], {}),
    ],
    ids=["BatchNorm", "Convolution", "softmax", "log_softmax"],
)  # fmt: skip
def test_a_team_finds_what_the_cpu_finds(
    call: tuple[str, list[tuple[int, ...]], dict[str, object]],
) -> None:
    for mine, its in zip(run(call, mx.gpu(0)), run(call, mx.cpu()), strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-5, atol=2e-6)
