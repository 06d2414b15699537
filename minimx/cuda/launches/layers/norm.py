"""Launches of normalization within samples; that of batches stands in `layers`."""

from __future__ import annotations

from typing import Any

from minimx.core.operators.norm import grouped
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels.core import norm
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.nn import real


@implements("LayerNorm")
def layer_norm(op: Any, *specs: Spec) -> Kernel | None:
    """A block for every vector, wherever its axis is."""
    if not real(*specs):
        return None
    shape: Any = grouped(specs[0], op.axis)
    eps = op.eps

    def run(data: Any, gamma: Any, beta: Any, *outs: Any) -> None:
        norm.layer_norm(data, shape, gamma, beta, eps, *outs)

    return run


@implements("_backward_LayerNorm")
def layer_norm_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """All three gradients."""
    if not real(*specs):
        return None
    shape: Any = grouped(specs[1], op.axis)
    return lambda dout, data, *rest: norm.layer_norm_gradient(dout, data, shape, *rest)


@implements("GroupNorm", "InstanceNorm")
def group_norm(op: Any, *specs: Spec) -> Kernel | None:
    """A block for every group of every sample."""
    if not real(*specs):
        return None
    samples, groups, length = op.seen(specs[0])

    def run(data: Any, gamma: Any, beta: Any, *outs: Any) -> None:
        seen = data.reshape(samples * groups, length)
        norm.group_norm(seen, gamma, beta, op.eps, *outs)

    return run


@implements("_backward_GroupNorm")
def group_norm_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """All three gradients."""
    if not real(*specs):
        return None
    samples, groups, length = op.seen

    def run(dout: Any, data: Any, *rest: Any) -> None:
        seen = data.reshape(samples * groups, length)
        norm.group_norm_gradient(dout, seen, *rest)

    return run


@implements("LRN")
def neighbours(op: Any, *specs: Spec) -> Kernel | None:
    """A thread for every element visits its neighbours."""
    (data,) = specs
    if not real(data):
        return None
    shape, scale = grouped(data, 1), op.alpha / op.nsize

    def run(x: Any, out: Any) -> None:
        seen = x.reshape(*shape)
        norm.neighbours(seen, op.nsize // 2, scale, op.knorm, op.beta, out)

    return run


@implements("L2Normalization")
def length(op: Any, *specs: Spec) -> Kernel | None:
    """A block for every vector."""
    if not real(*specs):
        return None
    shape = op.vectors(specs[0])
    return lambda data, out, sizes: norm.l2_normalize(
        data.reshape(*shape), op.eps, out, sizes
    )


@implements("_backward_L2Normalization")
def length_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """A block for every vector."""
    if not real(*specs):
        return None
    return lambda dout, data, *rest: norm.l2_gradient(
        dout, data.reshape(*op.vectors), *rest
    )
