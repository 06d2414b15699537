"""Every row of the operators' tables, run by its CUDA implementation where it has one.

What has none runs on the host; `without.txt` beside this file lists those operators, so
that a new one is an entry that somebody wrote.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import drivers
from minimx.core.ops.registry import REGISTRY, Op, lookup
from minimx.core.ops.spec import Spec
from minimx.cuda.launches import CudaPlan, makers
from tests.core.ops import interpreter
from tests.core.ops.sample import Sample
from tests.core.ops.test_every_op import SAMPLES

WITHOUT = Path(__file__).with_name("without.txt")
GPU = mx.gpu(0)
#: Units in the last place of a number of size 1, beside what the row forgives.
FORGIVEN = 16
EPSILON = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


@cache
def calls() -> list[Any]:
    return [
        pytest.param(sample, dtype, id=f"{sample}-{dtype}")
        for sample in SAMPLES
        for dtype in ("float32", "float16")
        if dtype == "float32" or dtype in sample.dtypes
    ]


def question(sample: Sample, dtype: str) -> tuple[Op, list[Any], Any]:
    """The operator, its inputs, and its plan for CUDA; None where it has no plan."""
    op = lookup(sample.op).of(**sample.settings)
    arrays = [np.asarray(a, order="C") for a in sample.cast(dtype)]
    plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in arrays))
    asked = plan.eager is None and not op.is_view
    with mx.knobs(MINIMX_CUDA_VERBOSE=0):
        return op, arrays, plan.on_cuda if asked else None


def on_device(
    op: Op, on_cuda: CudaPlan, arrays: list[Any]
) -> tuple[list[Any], list[Any]]:
    """The outputs, and the inputs afterwards."""
    plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in arrays))
    inputs = [mx.nd.array(a, ctx=GPU, dtype=a.dtype) for a in arrays]
    outs = [mx.nd.empty(s.shape or (1,), ctx=GPU, dtype=s.dtype) for s in plan.outs]
    mx.nd.waitall()
    extras = [np.random.default_rng(0)] if plan.needs_rng else []
    with drivers.working(GPU):
        on_cuda.kernel(*[x.view() for x in (*inputs, *outs)], *extras)
    found = [x.asnumpy().reshape(s.shape) for x, s in zip(outs, plan.outs, strict=True)]
    return found, [x.asnumpy() for x in inputs]


@pytest.mark.parametrize(("sample", "dtype"), calls())
def test_a_cuda_implementation_gives_what_the_cpus_kernel_gives(
    sample: Sample, dtype: str
) -> None:
    op, arrays, plan = question(sample, dtype)
    if plan is None or not plan.native or sample.oracle is None:
        return
    mine, changed = on_device(op, plan, arrays)
    copied = [a.copy() for a in arrays]
    its = interpreter.run(op, *copied)
    forgiven = (sample.tolerance + FORGIVEN) * EPSILON[dtype]
    for here, there in zip((*mine, *changed), (*its, *copied), strict=True):
        assert here.dtype == there.dtype
        here, there = (x.astype(np.float64) for x in (here, there))
        np.testing.assert_allclose(here, there, rtol=forgiven, atol=forgiven)


def without() -> list[str]:
    """The operators that visit the host: for every row, or for some of them."""
    native: dict[str, list[bool]] = {}
    for sample in SAMPLES:
        _, _, plan = question(sample, "float32")
        if plan is not None:
            native.setdefault(lookup(sample.op).name, []).append(plan.native)
    partly = {name for name, found in native.items() if not all(found)}
    return sorted(f"{n} (some)" if any(native[n]) else n for n in partly)


def test_what_visits_the_host_is_written_down() -> None:
    written = WITHOUT.read_text(encoding="utf-8").splitlines()
    assert without() == [line for line in written if not line.startswith("#")]


def test_every_operator_with_a_cuda_implementation_has_a_row() -> None:
    from minimx.core.operators.pointwise import Backward

    asked = {lookup(sample.op).name for sample in SAMPLES}
    gradients = {n for n, sheet in REGISTRY.items() if issubclass(sheet, Backward)}
    # Made by the passes over graphs; `test_device` compares it.
    assert set(makers()) - asked - gradients == {"_FusedOp", "pointwise"}
