"""Data sheets of layer normalization: each sample by its own mean and variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.norm import (
    STEPS,
    BatchNorm,
    BatchNormAgain,
    BatchNormGradient,
    _axes,
    check_parameters,
    grouped,
)
from minimx.core.operators.reduce import adding
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.deduction import first_is_out
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.rules import Gradients, per_element, with_half

__all__ = [
    "BatchNorm", "BatchNormAgain", "BatchNormGradient", "LayerNorm",
    "LayerNormGradient", "Rows", "check_parameters", "grouped",
]  # fmt: skip


@register("LayerNorm")
class LayerNorm(Op):
    """Normalize every vector along an axis by its own mean and variance.

    data: any shape; gamma, beta (data.shape[axis],): scale and shift of each element
    out: the shape of data, (data - mean) / sqrt(var + eps) * gamma + beta

    axis: along which the vectors lie, the last one by default. eps: added to the
    variance. output_mean_var: two more outputs, the means and sqrt(var + eps), in the
    shape of data with length 1 along the axis.

    The variance is the mean of squared distances. Raises ShapeError if gamma or beta do
    not fit, DTypeError for integers. `gluon.nn.LayerNorm` holds the parameters.
    """

    axis: int = -1
    eps: float = 1e-5
    output_mean_var: bool = False

    casting = SINGLE
    inputs = ("data", "gamma", "beta")
    output_names = ("output", "mean", "std")
    deduce = first_is_out
    saves = ("data", "gamma", "out1", "out2")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "visible", 3 if self.output_mean_var else 1)

    def complete(self, data: Spec) -> dict[str, Shape]:
        """One number for each element of a vector."""
        length = data.shape[normalize_axis(self.name, self.axis, data.ndim)]
        return {"gamma": (length,), "beta": (length,)}

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape; and what the gradient will ask for."""
        data, gamma, beta = specs
        wanted = self.complete(data)["gamma"]
        check_parameters(self.name, data, wanted, ("gamma", gamma), ("beta", beta))
        axis = self.axis % data.ndim
        rest = gamma.with_shape((*data.shape[:axis], 1, *data.shape[axis + 1 :]))
        return data, rest, rest

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        axis, eps = self.axis % specs[0].ndim, self.eps
        normalize = find(f"{adding('norm', specs[0].dtype)}.layer_norm")

        def run(
            data: Any, gamma: Any, beta: Any, out: Any, mean: Any, std: Any,
            *scratch: Any,
        ) -> None:  # fmt: skip
            if not data.size:
                return
            buffer = Rows(axis, data, *scratch)
            rows, result = buffer.read(data), buffer.place(out)
            stats = mean.reshape(-1), std.reshape(-1)
            normalize(rows, gamma, beta, eps, result, *stats)
            buffer.write(result, out)

        return with_half(run, specs)

    def workspace(self, *specs: Spec) -> int:
        """Room for data and out as rows."""
        return Rows.bytes(specs[0], self.axis, 2)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator for all three."""
        dout = dout[0] if self.output_mean_var else dout
        shape = at.ins[0].shape
        op = LayerNormGradient.of(
            shape=shape, eps=self.eps, axis=self.axis % len(shape)
        )
        return tuple(bind(op, dout, *saved))

    cost = per_element(STEPS, 2)


class Rows:
    """Arrays of one shape as contiguous (rows, length), the length along an axis.

    Off the last axis, each is copied to its own part of the workspace.
    """

    def __init__(self, axis: int, like: Any, workspace: Any = None) -> None:
        self.axis, self.length = axis, like.shape[axis]
        self.last = axis == like.ndim - 1
        self.free = None if self.last else workspace.view(like.dtype)

    @staticmethod
    def bytes(data: Spec, axis: int, arrays: int) -> int:
        """The workspace for so many arrays."""
        if axis % data.ndim == data.ndim - 1:
            return 0
        return arrays * data.size * computing(data.dtype).itemsize

    def place(self, array: Any) -> Any:
        """Where the rows of an array are: itself, or a part of the workspace."""
        if self.free is None:
            return array.reshape(-1, self.length)
        taken, self.free = self.free[: array.size], self.free[array.size :]
        return taken.reshape(-1, self.length)

    def read(self, array: Any) -> Any:
        """The rows of an array, filled."""
        rows = self.place(array)
        if not self.last:
            moved = np.moveaxis(array, self.axis, -1)
            np.copyto(rows.reshape(moved.shape), moved)
        return rows

    def write(self, rows: Any, array: Any) -> None:
        """Put rows into an array, unless they already are its memory."""
        if not self.last:
            moved = np.moveaxis(array, self.axis, -1)
            np.copyto(moved, rows.reshape(moved.shape))


class _NormGradient(Op):
    """The gradients of data, gamma and beta, in one operator."""

    inputs = ("dout", "data", "gamma", "mean", "std")
    visible = 3

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of data, gamma and beta."""
        return specs[1], specs[2], specs[2]

    cost = per_element(STEPS, 4)


@register("_backward_LayerNorm")
class LayerNormGradient(_NormGradient):
    """The gradients of data, gamma and beta through a layer normalization.

    dout, data: `shape`; gamma (length,); mean, std: that shape, 1 along the axis
    """

    shape: Shape
    eps: float
    axis: int

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        axis = self.axis
        of_data = find("norm.layer_norm_gradient")
        of_parameters = find("norm.layer_norm_parameters")

        def run(
            dout: Any, data: Any, gamma: Any, mean: Any, std: Any,
            ddata: Any, dgamma: Any, dbeta: Any, *scratch: Any,
        ) -> None:  # fmt: skip
            if not data.size:
                dgamma[...] = dbeta[...] = 0
                return
            buffer = Rows(axis, data, *scratch)
            heads, rows = buffer.read(dout), buffer.read(data)
            result, stats = buffer.place(ddata), (mean.reshape(-1), std.reshape(-1))
            of_data(heads, rows, gamma, *stats, result)
            buffer.write(result, ddata)
            of_parameters(heads, rows, *stats, dgamma, dbeta)

        return with_half(run, specs)

    def workspace(self, *specs: Spec) -> int:
        """Room for three arrays as rows."""
        return Rows.bytes(specs[1], self.axis, 3)

    def composed(
        self, dout: Value, data: Value, gamma: Value, mean: Value, std: Value
    ) -> tuple[Value, ...]:
        """The same, made of operators; the statistics are taken again."""
        others, aligned, line = _axes(self.shape, self.axis)
        average = lookup("mean").of(axis=self.axis, keepdims=True)
        off = data - bind(average, data)
        scale = bind(lookup("rsqrt").of(), bind(average, off * off) + self.eps)
        x_hat, head = off * scale, dout
        dout = dout * reshaped(gamma, line, aligned)
        dout = dout - bind(average, dout) - x_hat * bind(average, dout * x_hat)
        if not others:  # a single vector: nothing to add up
            return dout * scale, head * x_hat, head
        total = lookup("sum").of(axis=others)
        return dout * scale, bind(total, head * x_hat), bind(total, head)
