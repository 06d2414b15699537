"""Every operator with a CUDA launch gives what it gives on the CPU, within rounding."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.arrays.launch import invoke
from minimx.core.operators.pointwise import Pointwise
from minimx.core.ops.registry import REGISTRY, Plan, lookup
from minimx.core.ops.spec import Spec

GPU = mx.gpu(0)
ROWS, IMAGE, VOLUME = (3, 4), (2, 2, 5, 5), (1, 2, 3, 4, 4)
CONV = {"kernel": (3, 3), "num_filter": 4}
POOL = {"kernel": (2, 2), "stride": (2, 2)}

#: (operator, shapes of the inputs, settings); inputs named in INDICES are numbers of
#: places.
CALLS: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    ("broadcast_add", [ROWS, (3, 1)], {}),
    ("broadcast_mul", [(2, 1, 4), (3, 1)], {}),
    ("broadcast_power", [ROWS, ROWS], {}),
    ("broadcast_mod", [ROWS, (1, 4)], {}),
    ("_div_scalar", [ROWS], {"scalar": 0.3}),
    ("sigmoid", [ROWS], {}),
    ("erf", [ROWS], {}),
    ("round", [ROWS], {}),
    ("cbrt", [ROWS], {}),
    ("Activation", [ROWS], {"act_type": "softrelu"}),
    ("LeakyReLU", [ROWS, (4,)], {"act_type": "prelu"}),
    ("LeakyReLU", [ROWS], {"act_type": "gelu"}),
    ("clip", [ROWS], {"a_min": -0.5, "a_max": 0.5}),
    ("_arange", [], {"start": 2.0, "stop": 7.5, "step": 1.5, "repeat": 2}),
    ("_arange", [], {"start": 3, "dtype": "int32"}),
    ("where", [ROWS, ROWS, ROWS], {}),
    ("add_n", [ROWS] * 9, {}),
    ("cast", [ROWS], {"dtype": "float64"}),
    ("zeros_like", [ROWS], {}),
    ("broadcast_to", [(1, 4)], {"shape": (3, 4)}),
    ("broadcast_axis", [(3, 1)], {"axis": (1,), "size": (5,)}),
    ("broadcast_like", [(3, 1), ROWS], {}),
    ("sum", [(2, 3, 4)], {"axis": (0, 2)}),
    ("mean", [(2, 3, 4)], {"axis": (1,), "keepdims": True}),
    ("mean", [(2, 3)], {}),
    ("prod", [(2, 3, 4)], {"axis": (0,)}),
    ("max", [(2, 3, 4)], {"axis": (0, 1)}),
    ("min", [(2, 3, 4)], {"axis": (2,), "exclude": True}),
    ("nansum", [(2, 3)], {"axis": (1,)}),
    ("nanprod", [(2, 3)], {"axis": (1,)}),
    ("norm", [(2, 3)], {"axis": (1,)}),
    ("argmax", [(2, 3, 4)], {"axis": 1}),
    ("argmin", [(2, 3)], {}),
    ("argmax_channel", [(2, 3)], {}),
    ("transpose", [(2, 3, 4)], {"axes": (1, 2, 0)}),
    ("SwapAxis", [(2, 3, 4)], {"dim1": 0, "dim2": 2}),
    ("slice", [(5, 6)], {"begin": (1, None), "end": (4, None), "step": (2, -1)}),
    ("slice_axis", [(5, 6)], {"axis": 1, "begin": 2, "end": 5}),
    ("slice_like", [(5, 6), (2, 3)], {}),
    ("reverse", [(2, 3)], {"axis": (1,)}),
    ("tile", [(2, 3)], {"reps": (2, 1, 3)}),
    ("repeat", [(2, 3)], {"repeats": 2, "axis": 1}),
    ("Concat", [(2, 3), (2, 1)], {"dim": 1}),
    ("stack", [(2, 3), (2, 3)], {"axis": 1}),
    ("SliceChannel", [(2, 6)], {"num_outputs": 3}),
    ("_split_v2", [(5, 2)], {"indices": (0, 2, 3), "axis": 0}),
    ("take", [(4, 3), (2, 2)], {}),
    ("take", [(3, 4), (3,)], {"axis": 1, "mode": "wrap"}),
    ("Embedding", [(2, 2), (4, 3)], {"input_dim": 4, "output_dim": 3}),
    ("pick", [(3, 4), (3,)], {}),
    ("batch_take", [(3, 4), (3,)], {}),
    ("one_hot", [(3,)], {"depth": 4}),
    ("dot", [(3, 4), (4, 2)], {}),
    ("dot", [(4, 3), (2, 4)], {"transpose_a": True, "transpose_b": True}),
    ("batch_dot", [(2, 3, 4), (2, 2, 4)], {"transpose_b": True}),
    ("FullyConnected", [(3, 2, 2), (5, 4), (5,)], {"num_hidden": 5}),
    ("Convolution", [IMAGE, (4, 2, 3, 3), (4,)], CONV),
    (
        "Convolution",
        [IMAGE, (4, 1, 3, 2)],
        {
            "kernel": (3, 2), "num_filter": 4, "num_group": 2, "stride": (2, 1),
            "dilate": (1, 2), "pad": (2, 1), "no_bias": True,
        },
    ),
    ("Convolution", [(2, 2, 6), (3, 2, 3), (3,)], {"kernel": (3,), "num_filter": 3}),
    ("Pooling", [IMAGE], POOL),
    ("Pooling", [IMAGE], {**POOL, "kernel": (3, 3), "pad": (1, 1)}),
    ("Pooling", [IMAGE], {**POOL, "pool_type": "avg", "pad": (1, 1)}),
    (
        "Pooling",
        [IMAGE],
        {
            "kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg",
            "pooling_convention": "full", "count_include_pad": False,
        },
    ),
    ("Pooling", [IMAGE], {"global_pool": True, "pool_type": "sum"}),
    ("Pooling", [VOLUME], {"kernel": (2, 2, 3), "stride": (1, 2, 1)}),
    ("BatchNorm", [IMAGE, *[(2,)] * 4], {"training": True, "fix_gamma": False}),
    ("BatchNorm", [IMAGE, *[(2,)] * 4], {"training": True}),
    ("BatchNorm", [IMAGE, *[(2,)] * 4], {}),
    ("softmax", [(2, 3, 4)], {"axis": 1, "temperature": 2.0}),
    ("log_softmax", [(2, 3)], {}),
    ("softmin", [(2, 3)], {}),
    ("SoftmaxOutput", [(3, 4), (3,)], {"normalization": "batch"}),
    ("softmax_cross_entropy", [(3, 4), (3,)], {}),
    ("sgd_update", [ROWS, ROWS], {"lr": 0.1, "wd": 0.01, "clip_gradient": 0.4}),
    ("sgd_mom_update", [ROWS] * 3, {"lr": 0.1, "momentum": 0.9}),
    ("nag_mom_update", [ROWS] * 3, {"lr": 0.1, "momentum": 0.9, "wd": 0.01}),
    ("signsgd_update", [ROWS] * 2, {"lr": 0.1}),
    ("signum_update", [ROWS] * 3, {"lr": 0.1, "momentum": 0.5, "wd_lh": 0.1}),
    ("adam_update", [ROWS] * 4, {"lr": 0.1, "wd": 0.1}),
    ("rmsprop_update", [ROWS] * 3, {"lr": 0.1, "clip_weights": 0.5}),
    (
        "multi_sgd_mom_update",
        [ROWS] * 6,
        {"lrs": (0.1, 0.2), "wds": (0, 0.1), "momentum": 0.9, "num_weights": 2},
    ),
]  # fmt: skip

#: Which input of an operator holds numbers of places.
INDICES = {
    "take": 1, "Embedding": 0, "pick": 1, "batch_take": 1, "one_hot": 0,
    "SoftmaxOutput": 1, "softmax_cross_entropy": 1,
}  # fmt: skip
#: Inputs that must not be negative.
POSITIVE = {"broadcast_power": (0,), "adam_update": (3,), "rmsprop_update": (2,)}
POSITIVE |= {"BatchNorm": (4,)}

IDS = [f"{place}-{call[0]}" for place, call in enumerate(CALLS)]


def numbers(op: str, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Inputs of a call, the same every time."""
    drawn = np.random.default_rng(7)
    found = []
    for place, shape in enumerate(shapes):
        values = drawn.normal(size=shape).astype(np.float32)
        if INDICES.get(op) == place:
            values = drawn.integers(0, 3, shape).astype(np.float32)
        elif place in POSITIVE.get(op, ()):
            values = np.abs(values) + np.float32(0.5)
        found.append(values)
    return found


def heads(out: Any) -> Any:
    """A different gradient for every element of an output."""
    values = np.arange(1, out.size + 1).reshape(out.shape) / out.size
    return mx.nd.array(values, ctx=out.context, dtype=out.dtype)


def run(call: tuple[str, list[tuple[int, ...]], dict[str, Any]], at: Any) -> list[Any]:
    """Outputs, inputs afterwards and gradients of a call on a device."""
    name, shapes, settings = call
    op = lookup(name).of(**settings)
    inputs = [mx.nd.array(x, ctx=at) for x in numbers(name, shapes)]
    if not op.differentiable or not inputs:
        outs = invoke(op, inputs, None, at, mx.nd.NDArray)
        outs = outs if isinstance(outs, list) else [outs]
        return [x.asnumpy() for x in (*outs, *inputs)]
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record():
        outs = invoke(op, inputs)
        outs = outs if isinstance(outs, list) else [outs]
        scaled = [out * heads(out) for out in outs]
    mx.autograd.backward(scaled)
    grads = [x.grad for x in inputs]
    return [x.asnumpy() for x in (*outs, *inputs, *grads)]


@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_a_cuda_implementation_and_its_gradient_give_what_the_cpu_gives(
    call: Any,
) -> None:
    for mine, its in zip(run(call, GPU), run(call, mx.cpu()), strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-5, atol=2e-6)


FORMULAS = sorted(
    name
    for name, sheet in REGISTRY.items()
    if issubclass(sheet, Pointwise) and sheet.kernel is Pointwise.kernel
)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_has_a_kernel(name: str) -> None:
    sheet: Any = REGISTRY[name]
    missing = dict.fromkeys(sheet.formula.operands[len(sheet.inputs) :], 0.5)
    specs = (Spec.of((4,), np.dtype("float32")),) * len(sheet.inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = Plan(sheet.of(**missing), specs).on_cuda
    assert plan.native
