"""Integers of eight bits on CUDA: the same to the last one as on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from tests.core.ops import interpreter
from tests.cuda.kernels.test_every_op import on_device

X = np.random.default_rng(1).normal(size=(4, 33)).astype(np.float32)
SUMS = (X * 2.0**28).astype(np.int32)
LOW, HIGH = np.array([-1.7], np.float32), np.array([2.3], np.float32)
ZERO = np.zeros(1, np.float32)
RANGE = {"min_calib_range": -1.3, "max_calib_range": 0.7}


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("name", "inputs", "settings"),
    [
        ("quantize", (X, LOW, HIGH), {}),
        ("quantize", (X, ZERO, ZERO), {}),
        ("quantize_v2", (X,), {}),
        ("quantize_v2", (X,), RANGE),
        ("requantize", (SUMS, LOW, HIGH), {}),
        ("requantize", (SUMS, LOW, HIGH), RANGE),
    ],
)
def test_integers_and_their_range_are_those_of_the_cpu(
    name: str, inputs: Any, settings: dict[str, Any], kind: str
) -> None:
    op = lookup(f"_contrib_{name}").of(out_type=kind, **settings)
    plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in inputs)).on_cuda
    assert plan.native
    for here, there in zip(
        on_device(op, plan, list(inputs))[0], interpreter.run(op, *inputs), strict=True
    ):
        np.testing.assert_array_equal(here, there)
