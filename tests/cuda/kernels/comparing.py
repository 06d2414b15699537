"""One operator on the device and on the CPU, with what flows back through it."""

from __future__ import annotations

from typing import Any

import numpy as np

import minimx as mx
from minimx.core.arrays.launch import invoke
from minimx.core.ops.registry import lookup

GPU = mx.gpu(0)


def run(at: Any, name: str, arrays: Any, settings: Any) -> list[Any]:
    """The outputs, and the gradients where there are any, of different heads."""
    op = lookup(name).of(**settings)
    inputs = [mx.nd.array(x, ctx=at, dtype=x.dtype) for x in arrays]
    if op.differentiable:
        for x in inputs:
            x.attach_grad()
    with mx.autograd.record():
        found = invoke(op, inputs)
    outs = found if isinstance(found, list) else [found]
    if op.differentiable:
        heads = []
        for out in outs:
            values = np.cos(np.arange(1.0, out.size + 1)).reshape(out.shape)
            heads.append(mx.nd.array(values, ctx=at, dtype=out.dtype))
        mx.autograd.backward(outs, heads)
        outs = [*outs, *(x.grad for x in inputs)]
    return [out.asnumpy() for out in outs]


def same(name: str, *arrays: Any, near: float = 1e-5, **settings: Any) -> list[Any]:
    """What the device finds, which is what the CPU finds, to `near` of it."""
    mine = run(GPU, name, arrays, settings)
    its = run(mx.cpu(), name, arrays, settings)
    for here, there in zip(mine, its, strict=True):
        assert here.dtype == there.dtype
        np.testing.assert_allclose(here, there, rtol=near, atol=near)
    return mine


def drawn(*shape: int, seed: int = 0) -> Any:
    """Numbers of a normal distribution, the same every time."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
