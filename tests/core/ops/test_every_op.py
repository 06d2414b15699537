"""Questions to every operator in the dictionary, asked through its data sheet alone.

The calls are the rows of tests/core/ops/samples/*.py; an operator without a row fails.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.graph.memory.inplace import pairs
from minimx.core.operators.pointwise import Backward
from minimx.core.ops.registry import REGISTRY, Op, bind, lookup
from tests.core.ops.interpreter import (
    Value,
    gradients,
    input_names,
    run,
    saved_values,
    specs_of,
)
from tests.core.ops.sample import Sample

SAMPLES: list[Sample] = [
    row
    for path in sorted((Path(__file__).parent / "samples").glob("*.py"))
    for row in importlib.import_module(f"tests.core.ops.samples.{path.stem}").ROWS
]
# The gradient of a pointwise operator is asked through the operator itself.
FORWARD = {
    rule.name: sample
    for sample in SAMPLES
    for rule in getattr(lookup(sample.op), "backward", ())
    if isinstance(rule, type) and issubclass(rule, Op)
}
ONE_PER_OP = list({sample.op: sample for sample in SAMPLES}.values())
EPSILON = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


def op_of(sample: Sample) -> Op:
    return lookup(sample.op).of(**sample.settings)


def expected_of(sample: Sample, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    assert sample.oracle is not None
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in inputs]
    with np.errstate(all="ignore"):
        found = sample.oracle(*wide)
    return found if isinstance(found, tuple) else (found,)


# -- the dictionary --------------------------------------------------------------------


def test_every_operator_has_a_row() -> None:
    asked = {sample.op for sample in SAMPLES} | set(FORWARD)
    # What runs without a kernel has tests of its own.
    planned = {name for name, sheet in REGISTRY.items() if sheet.eager is None}
    assert planned - asked == set()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_sheet_explains_itself(name: str) -> None:
    doc = REGISTRY[name].__doc__
    assert doc and doc.split("\n")[0].strip()[-1] in ".:,;)", doc


# -- forward ---------------------------------------------------------------------------


def in_every_dtype() -> list[Any]:
    return [
        pytest.param(sample, dtype, id=f"{sample}-{dtype}")
        for sample in SAMPLES
        for dtype in sample.dtypes
    ]


@pytest.mark.parametrize(("sample", "dtype"), in_every_dtype())
def test_result_is_what_numpy_says(sample: Sample, dtype: str) -> None:
    op = op_of(sample)
    inputs = sample.cast(dtype)
    if "dtype" in sample.settings and not sample.inputs:
        op = lookup(sample.op).of(**{**sample.settings, "dtype": dtype})
    # What is expected is asked first: operators that update states change their inputs.
    expected = None if sample.oracle is None else expected_of(sample, inputs)
    outs = run(op, *inputs)[: op.visible]
    if expected is None:
        return
    assert len(outs) == len(expected)
    for out, wanted in zip(outs, expected, strict=True):
        wanted = np.asarray(wanted)
        assert out.shape in (wanted.shape, wanted.shape or (1,))
        if out.dtype.kind != "f":
            np.testing.assert_array_equal(out, wanted.astype(out.dtype))
            continue
        slack = sample.tolerance * EPSILON[out.dtype.name]
        np.testing.assert_allclose(
            out, wanted.reshape(out.shape), rtol=slack, atol=slack
        )


@pytest.mark.parametrize("sample", ONE_PER_OP, ids=str)
def test_cost_is_a_number_of_operations_and_bytes(sample: Sample) -> None:
    cost = op_of(sample).cost(*specs_of(sample.cast("float32")))
    assert cost.flops >= 0
    assert cost.bytes_moved >= 0


# -- gradients -------------------------------------------------------------------------


def smooth() -> list[Any]:
    return [
        pytest.param(sample, id=str(sample))
        for sample in SAMPLES
        if op_of(sample).differentiable and any(sample.wants())
    ]


def differences(op: Op, inputs: list[Any], k: int, douts: list[Any]) -> Any:
    """The gradient of sum(dout * out) for input k, from small steps to both sides."""
    step = 1e-6
    slope = np.empty(inputs[k].size)
    for i in range(slope.size):
        sums = []
        for side in (step, -step):
            moved = [a.copy() for a in inputs]
            moved[k].reshape(-1)[i] += side
            outs = run(op, *moved)[: op.visible]
            sums.append(sum((d * o).sum() for d, o in zip(douts, outs, strict=True)))
        slope[i] = (sums[0] - sums[1]) / (2 * step)
    return slope.reshape(inputs[k].shape)


def random_douts(op: Op, inputs: Any) -> list[Any]:
    rng = np.random.default_rng(3)
    outs = run(op, *inputs)[: op.visible]
    return [
        rng.uniform(0.5, 1.5, o.shape).astype(o.dtype)
        if o.dtype.kind == "f"
        else np.zeros_like(o)
        for o in outs
    ]


@pytest.mark.parametrize("sample", smooth())
def test_gradient_is_the_slope(sample: Sample) -> None:
    op = op_of(sample)
    inputs = list(sample.cast("float64"))
    douts = random_douts(op, inputs)
    wants = sample.wants()
    found = gradients(op, inputs, douts, wants)
    assert len(found) == len(inputs)
    for k, wanted in enumerate(wants):
        if not wanted:
            assert found[k] is None or not op.saves or found[k].shape
            continue
        assert found[k].shape == inputs[k].shape
        slope = differences(op, inputs, k, douts)
        np.testing.assert_allclose(found[k], slope, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("sample", smooth())
def test_gradient_keeps_the_element_type(sample: Sample) -> None:
    op = op_of(sample)
    inputs = sample.cast("float32")
    douts = random_douts(op, inputs)
    for gradient, wanted in zip(
        gradients(op, inputs, douts, sample.wants()), sample.wants(), strict=True
    ):
        if wanted:
            assert gradient.dtype == np.float32


@pytest.mark.parametrize("sample", smooth())
def test_nothing_is_saved_in_vain(sample: Sample) -> None:
    op = op_of(sample)
    inputs = sample.cast("float64")
    douts = random_douts(op, inputs)
    saved = saved_values(op, inputs, run(op, *inputs))
    honest = gradients(op, inputs, douts, sample.wants(), saved)
    for k, value in enumerate(saved):
        if value.dtype != np.float64:
            continue  # an index
        changed = []
        for other in (-1.7 - 3 * value, np.full_like(value, np.nan)):
            others = [*saved[:k], other, *saved[k + 1 :]]
            wrong = gradients(op, inputs, douts, sample.wants(), others)
            pairs = zip(honest, wrong, strict=True)
            changed += [a is not None and not np.array_equal(a, b) for a, b in pairs]
        assert any(changed), f"{op.saves[k]} is saved and not used"


@pytest.mark.parametrize("name", sorted(FORWARD))
def test_fused_gradient_equals_the_composed_one(name: str) -> None:
    sample = FORWARD[name]
    op = op_of(sample)
    rule = lookup(name)
    assert issubclass(rule, Backward)
    inputs = sample.cast("float64")
    outs = run(op, *inputs)
    names = (*input_names(op, len(inputs)), "out")
    known = dict(zip(names, (*inputs, outs[0]), strict=True))
    values = [Value(random_douts(op, inputs)[0])]
    values += [Value(known[word]) for word in rule.takes]
    backward = rule.of(**op.settings)
    fused, composed = bind(backward, *values), backward.composed(*values)
    np.testing.assert_allclose(fused.array, composed.array, rtol=1e-12, atol=1e-12)


# -- memory ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sample",
    [s for s in ONE_PER_OP if lookup(s.op).inplace or lookup(s.op).unchanged],
    ids=str,
)
def test_writing_over_the_input_gives_the_same(sample: Sample) -> None:
    op = op_of(sample)
    inputs = [np.ascontiguousarray(a) for a in sample.cast("float32")]
    for place_in, place, _ in pairs(op, len(inputs)):
        expected = run(op, *inputs)
        out = op.plan(specs_of(inputs)).outs[place]
        if (inputs[place_in].size, inputs[place_in].dtype) != (out.size, out.dtype):
            continue  # the input was stretched: the planner does not try either
        written = run(op, *(a.copy() for a in inputs), over={place: place_in})
        for out, wanted in zip(written, expected, strict=True):
            np.testing.assert_array_equal(out, wanted)
