"""Questions to every operator where it will live: on devices, and in graphs' files.

The calls are the rows of tests/core/ops/samples/*.py, as in test_every_op.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.calls import INTERNAL
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import from_numpy_copy
from minimx.core.device import Device, cpu, gpu
from minimx.core.dtypes import bfloat16
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import Op, lookup
from minimx.graphs.json import dump, load
from minimx.symbol.composed import Composed
from tests.core.ops.interpreter import input_names, run, specs_of
from tests.core.ops.sample import Sample
from tests.core.ops.test_every_op import ONE_PER_OP, SAMPLES, op_of


def is_settled(sample: Sample) -> bool:
    """Whether chance has no part in it: devices draw from streams of their own."""
    return sample.oracle is not None and not lookup(sample.op).needs_rng


SETTLED = list(filter(is_settled, SAMPLES))


def arrays_on(device: Device, sample: Sample, dtype: str) -> list[NDArray]:
    return [
        from_numpy_copy(np.array(a, order="C"), device, NDArray)
        for a in sample.cast(dtype)
    ]


def computed(device: Device, sample: Sample, dtype: str) -> list[bytes]:
    """Outputs, gradients and what became of the inputs, as bytes."""
    op = op_of(sample)
    arrays = arrays_on(device, sample, dtype)
    asked = op.differentiable and any(sample.wants())
    marked = [a for a, want in zip(arrays, sample.wants(), strict=True) if want]
    for array in marked if asked else ():
        array.attach_grad()
    with autograd.record(train_mode=False):
        outs = invoke(op, arrays, None, device, NDArray)
    outs = outs if isinstance(outs, list) else [outs]
    if asked:
        autograd.backward([o for o in outs if np.dtype(o.dtype).kind == "f"])
        outs += [array.grad for array in marked]
    return [array.asnumpy().tobytes() for array in (*outs, *arrays)]


@pytest.mark.parametrize("sample", SETTLED, ids=str)
def test_a_simulated_gpu_gives_the_bits_of_the_cpu(sample: Sample) -> None:
    dtype = "float32" if "float32" in sample.dtypes else sample.dtypes[0]
    assert computed(gpu(0), sample, dtype) == computed(cpu(0), sample, dtype)


BFLOAT16 = [s for s in ONE_PER_OP if "float16" in s.dtypes and is_settled(s)]


@pytest.mark.parametrize("sample", BFLOAT16, ids=str)
def test_bfloat16_is_float32_rounded(sample: Sample) -> None:
    """What is computed in bfloat16 is what float32 says, to 8 bits or so."""
    narrow = bfloat16()
    op = op_of(sample)
    inputs = [
        a.astype(np.float32).astype(narrow) if a.dtype == np.float64 else a
        for a in map(np.asarray, sample.inputs)
    ]
    wide = [a.astype(np.float32) if a.dtype == narrow else a.copy() for a in inputs]
    for ours, theirs in zip(run(op, *inputs), run(op, *wide), strict=True):
        if ours.dtype != narrow:
            continue
        size = np.abs(np.where(np.isfinite(theirs), theirs, 0)).max(initial=1)
        slack = 2.0**-8 * max(4, sample.tolerance) * size
        np.testing.assert_allclose(ours.astype(np.float32), theirs, 0, slack)


def in_words(op: Op) -> bool:
    """Whether all settings of an operator can be written in a file."""
    plain = (bool, int, float, str, type(None))

    def is_plain(value: Any) -> bool:
        if isinstance(value, tuple):
            return all(map(is_plain, value))
        return isinstance(value, plain)

    return all(is_plain(getattr(op, f.name)) for f in dataclasses.fields(op))  # type: ignore[arg-type]


def said(op: Op) -> dict[str, Any]:
    """The settings that a caller gives; the others say when and where he calls."""
    return {name: v for name, v in op.settings.items() if name not in INTERNAL}


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_file_gives_the_same_operator_again(sample: Sample) -> None:
    op = op_of(sample)
    if not in_words(op) or not op.visible:  # it never stands in a file
        assert sample.op.startswith("_") or not op.visible
        return
    names = input_names(op, len(sample.inputs))
    variables = [Entry(Node(None, (), name), 0) for name in names]
    graph = Graph([Entry(Node(op, variables, "it"), 0)])
    (again,) = load(dump(graph)).outputs
    if isinstance(again.node.op, Composed):  # NumPy's sum, which becomes ours
        specs = specs_of(sample.inputs)
        assert list(again.node.op.infer(*specs)) == list(op.plan(specs).outs)
        return
    assert type(again.node.op) is type(op)
    assert said(again.node.op) == said(op)
    assert [entry.node.name for entry in again.node.inputs] == list(names)
