"""Convolution and dense layer on integers of eight bits, with sums of 32 bits.

The sums are exact. They are computed in floating point, where libraries are quick: a
partial sum, in whatever order, is at most as large as the sum of all |data| |weight|,
and as long as that is at most 2**24, float32 holds every whole number on the way, and
rounds nothing. So the weights decide: the largest row of |weight|, times 255 or 128,
the largest number of the data's type. 514 terms always fit, 1500 mostly do. Longer sums
are computed in float64, which has 2**53; where they leave 32 bits they go on at the
other end, as integers do. Where oneDNN is there and the processor adds such products
as integers, it computes the sums of convolutions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, FLOAT64, INT32, DType
from minimx.core.extensions import provided
from minimx.core.operators.conv import Convolution
from minimx.core.operators.matmul import FullyConnected
from minimx.core.ops.registry import Kernel, Op, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.quantized.base import (
    INT8,
    RANGE,
    TOP,
    OnIntegers,
    ends_of,
    level,
    room,
    rows,
    shares,
)

#: What float32 holds: all whole numbers up to this one.
_WHOLE = 1 << 24
_LARGEST = {"int8": 128, "uint8": 255}


def exact_type(data: DType, largest_row: float) -> DType:
    """The floating type in which sums of products are exact.

    data: the type of the data. largest_row: of the rows of |weight|, the largest sum.
    """
    return FLOAT32 if largest_row * _LARGEST[data.name] <= _WHOLE else FLOAT64


class Sums:
    """Sums of products of integers by the kernel of the operator on real numbers.

    plain: that operator, without a bias; its kernel only multiplies and adds. data,
    weight: the specs of its inputs, of integers.
    """

    def __init__(self, plain: Any, data: Spec, weight: Spec) -> None:
        self._plain, self._data, self._row = plain, data.dtype, rows(weight)
        self._library = None
        if isinstance(plain, Convolution):
            self._library = provided("oneDNN integers").convolution(plain, data)
        if self._library is not None:
            reals = data.with_dtype(FLOAT32), weight.with_dtype(FLOAT32)
            self._sums = plain.infer(*reals).with_dtype(INT32)
            self.nbytes: int = room((self._sums,)) + self._library[1]
            return
        self._parts: dict[DType, tuple[Spec, ...]] = {}
        self._scratch: dict[DType, int] = {}
        self._kernels: dict[DType, Kernel] = {}
        for kind in {FLOAT32, exact_type(data.dtype, 128 * self._row)}:
            ins = data.with_dtype(kind), weight.with_dtype(kind)
            self._parts[kind] = (*ins, plain.infer(*ins))
            self._scratch[kind] = plain.scratch(*ins)
        self.nbytes = max(room(self._parts[k]) + n for k, n in self._scratch.items())

    def __call__(self, data: Any, weight: Any, workspace: Any) -> Any:
        """The sums, in the workspace: whole numbers of int32 or a floating type."""
        if self._library is not None:
            (sums,), rest = shares(workspace, (self._sums,))
            whole = np.ascontiguousarray(weight, np.int8)
            self._library[0](data, whole, sums, rest)
            return sums
        kind = FLOAT32
        if len(self._parts) > 1:
            table = np.abs(weight.reshape(len(weight), self._row), dtype=np.float32)
            largest = table.sum(1, dtype=np.float64).max(initial=0)
            kind = exact_type(self._data, largest)
        parts, scratch = self._parts[kind], self._scratch[kind]
        if kind not in self._kernels:
            self._kernels[kind] = self._plain.compute(*parts[:2])
        (x, w, sums), rest = shares(workspace, parts)
        np.copyto(x, data)
        np.copyto(w, weight)
        self._kernels[kind](x, w, sums, *[rest[:scratch]] * (scratch > 0))
        return sums


class _Product(OnIntegers):
    """What the two have in common."""

    kinds = {"data": None, "weight": INT8, "bias": INT8}
    all_inputs: Any = ("data", "weight", "bias", *ends_of("data", "weight", "bias"))
    multiplies = False
    no_bias: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """Arrays, and then the range of each."""
        words = ("data", "weight") if self.no_bias else ("data", "weight", "bias")
        return (*words, *ends_of(*words))

    def first_type(self, data: DType | None) -> DType:
        """Sums are of 32 bits."""
        return INT32

    def plain(self, no_bias: bool = True) -> Any:
        """The operator on real numbers."""
        raise NotImplementedError

    def complete(self, data: Spec) -> dict[str, Shape]:
        """The parameters of the operator on real numbers, and the ranges."""
        shapes: dict[str, Shape] = self.plain(self.no_bias).complete(data)
        return shapes | dict.fromkeys(self.inputs[len(self.inputs) // 3 :], (1,))

    def infer(self, *specs: Spec) -> Any:
        """The shape of the operator on real numbers; and the range of 32 bits."""
        self.check(*specs)
        reals = [spec.with_dtype(FLOAT32) for spec in specs[: len(specs) // 3]]
        out = self.plain(self.no_bias).infer(*reals)
        return out.with_dtype(INT32), RANGE, RANGE

    def compute(self, *specs: Spec) -> Kernel:
        """Exact sums, to which the bias comes in levels of the output."""
        sums, count = Sums(self.plain(), *specs[:2]), len(specs) // 3
        axes = (-1,) + (1,) * (specs[0].ndim - 2) * isinstance(self, Convolution)
        kind = specs[0].dtype

        def run(*arrays: Any) -> None:
            ranges = arrays[count : 3 * count]
            out, first, last, workspace = arrays[3 * count :]
            found = sums(arrays[0], arrays[1], workspace)
            out[...] = found.astype(np.int64) if found.dtype == FLOAT64 else found
            one = level(kind, *ranges[:2], tops=TOP)
            one *= level(INT8, *ranges[2:4], tops=TOP)
            last[0] = one * np.float32(TOP["int32"])
            first[0] = -last[0]
            if count == 3 and one:
                scale = level(INT8, *ranges[4:])
                scale /= level(kind, *ranges[:2]) * level(INT8, *ranges[2:4])
                out += np.trunc(arrays[2] * scale).astype(np.int32).reshape(axes)

        return run

    def scratch(self, *specs: Spec) -> int:
        """Inputs and sums as real numbers, and what the operator on those asks for."""
        return Sums(self.plain(), *specs[:2]).nbytes

    def cost(self, *specs: Spec) -> Cost:
        """That of the operator on real numbers, but fewer bytes."""
        out = self.infer(*specs)[0]
        moved = sum(spec.nbytes for spec in specs) + out.nbytes
        return Cost(2 * out.size * rows(specs[1]), moved)


def _without(op: Any, sheet: type[Op], **changed: Any) -> Any:
    """The operator on real numbers with the settings of one on integers."""
    return sheet.of(**{**op.settings, **changed})


@register("_contrib_quantized_conv")
class QuantizedConvolution(_Product, Convolution):
    """Convolution of integers of eight bits, with sums of 32 bits.

    data (N, C, H, W), int8 or uint8; weight (num_filter, C / num_group, *kernel) and
    bias (num_filter,), int8; a range for each, two arrays (1,) of float32
    outs: (N, num_filter, H', W') int32, and the range that its 32 bits stand for

    Settings as for Convolution. The sums are exact; the bias is added in levels of the
    output, without its fraction. No gradient. Raises DTypeError and ShapeError for
    other inputs.
    """

    def plain(self, no_bias: bool = True) -> Any:
        """Without transforms, which would round."""
        return _without(self, Convolution, no_bias=no_bias, cudnn_off=True)


@register("_contrib_quantized_fully_connected")
class QuantizedFullyConnected(_Product, FullyConnected):
    """A dense layer on integers of eight bits, with sums of 32 bits.

    data (N, ...), int8 or uint8; weight (num_hidden, features) and bias (num_hidden,),
    int8; a range for each, two arrays (1,) of float32
    outs: (N, num_hidden) int32, and the range that its 32 bits stand for

    Settings as for FullyConnected. The sums are exact; the bias is added in levels of
    the output, without its fraction. No gradient. Raises DTypeError and ShapeError for
    other inputs.
    """

    def plain(self, no_bias: bool = True) -> Any:
        """Without a bias, as it has levels of its own."""
        return _without(self, FullyConnected, no_bias=no_bias)
