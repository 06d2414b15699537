"""Data sheets of normalization: numbers shifted and scaled to mean 0 and variance 1.

MXNet 1.9.1: src/operator/nn/batch_norm.cc. As there, the output that is called var is
1 / sqrt(var + eps).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, NARROW
from minimx.core.errors import DTypeError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import in_single
from minimx.core.operators.views import reshaped
from minimx.core.ops import deduction
from minimx.core.ops.casting import EITHER
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Op,
    Types,
    Value,
    bind,
    lookup,
    register,
)
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axis, split_at

# Two sums, a root, a shift and a product, for one element.
STEPS = 8


def check_parameters(
    op: str, data: Spec, wanted: Shape, *named: tuple[str, Spec]
) -> None:
    """Refuse parameters of another shape, or of other types among themselves.

    op: the operator's name, for the error. wanted: the shape, usually (channels,).
    named: (name, spec) of each parameter. Raises ShapeError or DTypeError.
    """
    same_reals(op, ("data",), data)
    first, kind = named[0][0], named[0][1].dtype
    for name, spec in named:
        expect(op, name, spec, wanted, f"data {data.shape}")
        if spec.dtype != kind:
            raise DTypeError(
                f"{op}: {first} is {kind.name} and {name} {spec.dtype.name}; give the "
                "parameters one type."
            )
    if kind != data.dtype and (data.dtype.itemsize, kind.itemsize) != (2, 4):
        raise DTypeError(
            f"{op}: data is {data.dtype.name} and {first} {kind.name}. Parameters have "
            "the type of the data, or float32 for float16 data."
        )


@register("BatchNorm", "BatchNorm_v1")
class BatchNorm(Op):
    """Normalize every channel by its mean and variance over the batch.

    data (N, C, ...), channels along `axis`; gamma, beta, moving_mean, moving_var (C,),
    of the type of data, or float32 for data of float16 and bfloat16
    out: as data, (data - mean) / sqrt(var + eps) * gamma + beta
    With output_mean_var also mean (C,) and 1 / sqrt(var + eps) (C,).

    In training the batch's own statistics are used, and the moving ones go a step of
    1 - momentum towards them: moving = momentum * moving + (1 - momentum) * batch, with
    the variance divided by the number of elements, not by one less. Otherwise, and with
    use_global_stats, the moving ones are used. eps is added to the variance. fix_gamma:
    gamma counts as 1, is set to 1, and gets the gradient 0. cudnn_off changes nothing.
    `training` is internal.
    Raises ShapeError for parameters of another shape and, in training, for data without
    elements; DTypeError for other types.
    """

    eps: float = 1e-3
    momentum: float = 0.9
    fix_gamma: bool = True
    use_global_stats: bool = False
    output_mean_var: bool = False
    axis: int = 1
    cudnn_off: bool = False
    training: bool = False

    casting = EITHER
    inputs = ("data", "gamma", "beta", "moving_mean", "moving_var")
    state_inputs = ("moving_mean", "moving_var")
    output_names = ("output", "mean", "var")
    deduce = deduction.first_is_out

    @property
    def saves(self) -> tuple[str, ...]:
        """A fixed gamma does not matter."""
        gamma = () if self.fix_gamma else ("gamma",)
        return ("data", *gamma, "out1", "out2")

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Parameters are float32 for data of float16 or bfloat16, else like data.

        ins, outs: types as far as they are known, None where not; returns both filled.
        """
        data = ins[0] or outs[0]
        kind = FLOAT32 if data in NARROW else data
        return [data, *[p or kind for p in ins[1:]]], [data, *[kind] * (len(outs) - 1)]

    def __post_init__(self) -> None:
        super().__post_init__()
        moves = ("moving_mean", "moving_var") if self.batch else ()
        moves = ("gamma", *moves) if self.fix_gamma else moves
        object.__setattr__(self, "mutates", moves)
        object.__setattr__(self, "visible", 3 if self.output_mean_var else 1)

    @property
    def batch(self) -> bool:
        """Whether the statistics are the batch's own."""
        return self.training and not self.use_global_stats

    def complete(self, data: Spec) -> dict[str, Shape]:
        """One number for each channel."""
        channels = data.shape[normalize_axis(self.name, self.axis, data.ndim)]
        return dict.fromkeys(self.inputs[1:], (channels,))

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape; and mean and 1 / sqrt(var + eps) (C,), which `grad` saves."""
        data, *parameters = specs
        (channels,) = set(self.complete(data).values())
        named = zip(self.inputs[1:], parameters, strict=True)
        check_parameters(self.name, data, channels, *named)
        if self.batch and data.size == 0:
            raise ShapeError(f"BatchNorm: data {data.shape} is empty: it has no mean.")
        return data, parameters[0], parameters[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        shape = grouped(specs[0], self.axis)
        moments, apply = find("norm.batch_moments"), find("norm.batch_apply")
        moved, eps, momentum = find("norm.moved"), self.eps, self.momentum
        batch, fixed = self.batch, self.fix_gamma

        def run(
            data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any,
            out: Any, mean: Any, invstd: Any,
        ) -> None:  # fmt: skip
            x, y = data.reshape(shape), out.reshape(shape)
            if batch:
                variance = np.empty_like(mean)
                moments(x, eps, mean, invstd, variance)
                moved(moving_mean, mean, momentum)
                moved(moving_var, variance, momentum)
            else:
                np.copyto(mean, moving_mean)
                np.divide(1, np.sqrt(moving_var + eps), out=invstd)
            scale = invstd if fixed else gamma * invstd
            apply(x, scale, beta - mean * scale, y)

        # The statistics, which it changes, must be among the arrays written back.
        normalize = in_single(run, 3) if specs[0].dtype.itemsize == 2 else run
        if not fixed:
            return normalize

        def run_fixed(data: Any, gamma: Any, *rest: Any) -> None:
            gamma[...] = 1  # MXNet's way to fix it, which saved parameters show
            normalize(data, gamma, *rest)

        return run_fixed

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: dx = γ/σ (dy - mean(dy) - x̂ mean(dy x̂)), dγ = Σ dy x̂, dβ = Σ dy.

        x̂ is the normalized data, σ = sqrt(var + eps); means and sums are over all axes
        but that of the channels. With the moving statistics dx = γ/σ dy.
        """
        if not any(at.wants):
            return (None,) * 5
        dout = dout[0] if self.output_mean_var else dout
        op = BatchNormGradient.of(
            shape=at.ins[0].shape, eps=self.eps, fix_gamma=self.fix_gamma,
            batch=self.batch, axis=self.axis % at.ins[0].ndim,
        )  # fmt: skip
        return *bind(op, dout, *saved), None, None

    def recompute(self, *specs: Spec) -> Any:
        """With the statistics of the first time, and without moving anything.

        Not where these were rounded to half precision after they were used.
        """
        if not self.batch:
            return super().recompute(*specs)
        if specs[1].dtype.itemsize == 2:
            return None
        mean, invstd = self.saves[-2:]
        op = BatchNormAgain.of(fix_gamma=self.fix_gamma, axis=self.axis)
        return op, ("data", "gamma", "beta", mean, invstd)

    def cost(self, *specs: Spec) -> Cost:
        """A few operations for every element; data is read twice."""
        return Cost(STEPS * specs[0].size, 3 * specs[0].nbytes)


@register("_batch_norm_again")
class BatchNormAgain(Op):
    """What BatchNorm gave in training, from the statistics that it found then.

    data (N, C, ...), channels along `axis`; gamma, beta, mean and 1 / sqrt(var + eps)
    (C,); out: as data. relu: 0 where it is negative.
    """

    fix_gamma: bool = True
    axis: int = 1
    relu: bool = False

    inputs = ("data", "gamma", "beta", "mean", "invstd")
    differentiable = False
    deduce = deduction.first_is_out

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """The second half of BatchNorm's."""
        shape, apply = grouped(specs[0], self.axis), find("norm.batch_apply")
        fixed, relu = self.fix_gamma, self.relu

        def run(
            data: Any, gamma: Any, beta: Any, mean: Any, invstd: Any, out: Any
        ) -> None:
            scale = invstd if fixed else gamma * invstd
            apply(data.reshape(shape), scale, beta - mean * scale, out.reshape(shape))
            if relu:
                np.maximum(out, 0, out=out)

        return in_single(run, 5) if specs[0].dtype.itemsize == 2 else run

    def cost(self, *specs: Spec) -> Cost:
        """A product and a sum for every element."""
        return Cost(2 * specs[0].size, 2 * specs[0].nbytes)


def grouped(data: Spec, axis: int) -> Shape:
    """The shape of data seen as (outer, channels, inner); channels are along `axis`.

    axis: may be negative. (8, 3, 5, 5) with axis 1 is (8, 3, 25).
    """
    return split_at(data.shape, axis % data.ndim)


def _axes(shape: Shape, axis: int) -> tuple[Shape, Shape, Shape]:
    """All other axes; the shape of one number per channel, in two forms.

    (8, 3, 5, 5) and axis 1 give (0, 2, 3), (1, 3, 1, 1) and (3,).
    """
    others = tuple(a for a in range(len(shape)) if a != axis)
    aligned = tuple(n if a == axis else 1 for a, n in enumerate(shape))
    return others, aligned, (shape[axis],)


@register("_backward_BatchNorm")
class BatchNormGradient(Op):
    """The gradients of data, gamma and beta through a batch normalization.

    dout, data: `shape`; gamma, unless it is fixed, mean and invstd (C,)
    batch: mean and invstd are the batch's own, and so depend on data
    """

    shape: Shape
    eps: float
    fix_gamma: bool
    batch: bool
    axis: int

    visible = 3

    @property
    def inputs(self) -> tuple[str, ...]:
        """A fixed gamma does not matter."""
        gamma = () if self.fix_gamma else ("gamma",)
        return ("dout", "data", *gamma, "mean", "invstd")

    all_inputs = ("dout", "data", "gamma", "mean", "invstd")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of data, gamma and beta."""
        return specs[1], specs[2], specs[2]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        shape, fixed, batch = grouped(specs[1], self.axis), self.fix_gamma, self.batch
        gradient = find("norm.batch_gradient")

        def run(dout: Any, data: Any, *rest: Any) -> None:
            *gammas, mean, invstd, ddata, dgamma, dbeta = rest
            arrays = dout.reshape(shape), data.reshape(shape)
            gamma = np.ones_like(mean) if fixed else gammas[0]
            outs = ddata.reshape(shape), dgamma, dbeta
            gradient(*arrays, gamma, mean, invstd, batch, *outs)
            if fixed:
                dgamma[...] = 0

        return in_single(run, len(specs)) if specs[0].dtype.itemsize == 2 else run

    def composed(self, dout: Value, data: Value, *rest: Value) -> tuple[Value, ...]:
        """The gradients of data, gamma and beta, made of operators.

        For second derivatives: the batch's statistics are computed again from data, as
        they depend on it. dout, data, and rest (gamma unless fixed, mean, invstd): as
        for the kernel.
        """
        *gamma, mean, invstd = rest
        others, aligned, line = _axes(self.shape, self.axis)
        average = lookup("mean").of(axis=others, keepdims=True)
        total = lookup("sum").of(axis=others)
        if self.batch:
            off = data - bind(average, data)
            scale = bind(lookup("rsqrt").of(), bind(average, off * off) + self.eps)
        else:
            off = data - reshaped(mean, line, aligned)
            scale = reshaped(invstd, line, aligned)
        x_hat = off * scale
        dgamma, dbeta = bind(total, dout * x_hat), bind(total, dout)
        slope = scale * reshaped(gamma[0], line, aligned) if gamma else scale
        if self.batch:
            dout = dout - bind(average, dout) - x_hat * bind(average, dout * x_hat)
        return dout * slope, dgamma * 0 if self.fix_gamma else dgamma, dbeta

    def cost(self, *specs: Spec) -> Cost:
        """A few operations for every element."""
        return Cost(STEPS * specs[0].size, 5 * specs[0].nbytes)
