"""Sums, products and normalizations of integers of eight bits, number by number.

Where calibration has measured the range of the results, they are rounded to eight bits;
else they have 32 bits, and `_contrib_requantize` rounds them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32, INT32, DType
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.norm import BatchNorm, grouped
from minimx.core.ops import deduction
from minimx.core.ops.registry import Kernel, Types, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Deduced, Opens, Shape
from minimx.operators.quantized.base import (
    INT8,
    RANGE,
    TOP,
    UINT8,
    WIDER,
    Narrowed,
    level,
    limits,
    reach,
    rounded,
)

_PAIR = ("lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max")


class _Pair(Narrowed):
    """Two arrays of one shape, with a range each."""

    inputs: ClassVar[Any] = _PAIR
    kinds = {"lhs": None, "rhs": None}

    def complete(self, data: Spec) -> dict[str, Shape]:
        """Ranges of one element."""
        return dict.fromkeys(_PAIR[2:], (1,))

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """The arrays have one shape."""
        pair, found = deduction.all_alike(self, ins[:2], outs[:1])
        return [*pair, *ins[2:]], [*found, *outs[1:]]

    def check(self, *specs: Spec) -> None:
        """Two arrays of one shape, and ranges."""
        super().check(*specs)
        if specs[0].shape != specs[1].shape:
            raise ShapeError(
                f"{self.name}: lhs is {specs[0].shape} and rhs {specs[1].shape}; they "
                "are not stretched. Reshape one, or dequantize both first."
            )

    def ranged(self, first: Any, last: Any, widest: Any) -> None:
        """Write the range of the results: the measured one, or the widest."""
        first[0], last[0] = self.measured or (-widest, widest)


@register("_contrib_quantized_elemwise_add")
class QuantizedAdd(_Pair):
    """The sum of two arrays of integers of eight bits.

    lhs, rhs: any shape, int8 or uint8, and the range of each, two arrays (1,) of
    float32; outs: the sums, and the range that they stand for

    With a measured range, min_calib_range and max_calib_range, the sums are rounded to
    eight bits, unsigned if both inputs are; else they are of int32, in levels of a
    range as large as both together. No gradient. Raises DTypeError and ShapeError for
    other inputs.
    """

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Signed unless both are unsigned."""
        ins, found = super().deduce_types(ins, [None, *outs[1:]])
        if self.measured:
            found[0] = None if None in ins[:2] else _both(*ins[:2])
        return ins, [outs[0] or found[0], *found[1:]]

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape."""
        self.check(*specs)
        kind = _both(*[s.dtype for s in specs[:2]]) if self.measured else INT32
        return specs[0].with_dtype(kind), RANGE, RANGE

    def kernel(self, *specs: Spec) -> Kernel:
        """Both in levels of the output, in float64: 32 bits do not fit in float32."""

        def run(lhs: Any, rhs: Any, *rest: Any) -> None:
            ranges, (out, first, last) = rest[:4], rest[4:]
            self.ranged(first, last, reach(*ranges[:2]) + reach(*ranges[2:]))
            one = np.float64(level(out.dtype, first, last))
            if not one:
                out[...] = 0
                return
            scales = level(lhs.dtype, *ranges[:2]), level(rhs.dtype, *ranges[2:])
            rounded(lhs * (scales[0] / one) + rhs * (scales[1] / one), out)

        return run


def _both(lhs: DType | None, rhs: DType | None) -> DType:
    return UINT8 if lhs == rhs == UINT8 else INT8


@register("_contrib_quantized_elemwise_mul")
class QuantizedMultiply(_Pair):
    """The product of two arrays of integers of eight bits.

    lhs, rhs: any shape, int8 or uint8, and the range of each, two arrays (1,) of
    float32; outs: the products, and the range that they stand for; with
    enable_float_output only the products, as real numbers

    With a measured range, min_calib_range and max_calib_range, the products are brought
    to its eight bits, without fractions; else they are the exact ones, of int32. No
    gradient. Raises DTypeError and ShapeError for other inputs.
    """

    enable_float_output: bool = False

    @property
    def visible(self) -> int:  # type: ignore[override]
        """Real numbers need no range."""
        return 1 if self.enable_float_output else 3

    def first_type(self, data: DType | None) -> DType | None:
        """Real numbers, or integers of 8 or 32 bits."""
        return FLOAT32 if self.enable_float_output else super().first_type(data)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape."""
        self.check(*specs)
        kind = self.first_type(None)
        return (specs[0].with_dtype(kind or INT32), RANGE, RANGE)[: self.visible]

    def kernel(self, *specs: Spec) -> Kernel:
        """Products of 16 bits, then of the levels."""

        def run(lhs: Any, rhs: Any, *rest: Any) -> None:
            ranges, (out, *ends) = rest[:4], rest[4:]
            found = np.multiply(lhs, rhs, dtype=np.int32)
            tops = TOP if out.dtype == INT32 else WIDER
            one = level(lhs.dtype, *ranges[:2], tops=tops)
            one *= level(rhs.dtype, *ranges[2:], tops=tops)
            if out.dtype == INT32:
                self.ranged(ends[0], ends[1], one * np.float32(TOP["int32"]))
                out[...] = found
                return
            if out.dtype == FLOAT32:
                np.multiply(found, one, out=out)
                return
            self.ranged(ends[0], ends[1], 0)
            step = level(out.dtype, *ends)
            limit = np.iinfo(np.int8)
            scaled = found * (one / step if step else np.float32(0))
            out[...] = np.clip(np.trunc(scaled), limit.min, limit.max)

        return run


@register("_contrib_quantized_batch_norm")
class QuantizedBatchNorm(Narrowed, BatchNorm):
    """Batch normalization of integers of eight bits, for prediction.

    data (N, C, ...), int8 or uint8; gamma, beta, moving_mean, moving_var (C,) float32;
    min_data, max_data (1,): the range of data, float32
    outs: int8 of the shape of data, and the range that was measured

    Settings as for BatchNorm; min_calib_range and max_calib_range, the range as
    calibration measured it, are needed. No gradient. Raises OperatorError without that
    range, DTypeError and ShapeError for other inputs.
    """

    inputs: ClassVar[Any] = (*BatchNorm.inputs, "min_data", "max_data")
    kinds = {"data": None}
    output_names = Narrowed.output_names

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mutates", ())
        object.__setattr__(self, "visible", 3)

    def complete(self, data: Spec) -> dict[str, Shape]:
        """One number for each channel, and ranges of one element."""
        return super().complete(data) | limits("data")

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Integers in and out, everything else is of float32."""
        return Narrowed.deduce_types(self, ins, outs)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape."""
        self.check(*specs)
        if self.measured is None:
            raise OperatorError(
                f"{self.name}: there is no measured range. Calibrate with "
                "calib_mode='naive' or 'entropy', or exclude batch normalizations."
            )
        plain = BatchNorm.of(axis=self.axis, fix_gamma=self.fix_gamma)
        plain.infer(specs[0].with_dtype(FLOAT32), *specs[1:5])
        return specs[0].with_dtype(INT8), RANGE, RANGE

    def kernel(self, *specs: Spec) -> Kernel:
        """One product and one sum for a number, in levels of the output."""
        shape = grouped(specs[0], self.axis)
        eps, fixed, measured = np.float32(self.eps), self.fix_gamma, self.measured
        assert measured is not None

        def run(
            data: Any, gamma: Any, beta: Any, mean: Any, var: Any, *rest: Any
        ) -> None:
            low, high, out, first, last = rest
            first[0], last[0] = measured
            one = level(INT8, first, last)
            slope = (1 if fixed else gamma) / np.sqrt(var + eps)
            # MXNet leaves oneDNN a variance of 1, to which that adds eps again.
            scale = slope * (level(data.dtype, low, high) / one) / np.sqrt(1 + eps)
            shift = (beta - mean * slope) / one
            found = data.reshape(shape) * scale.reshape(-1, 1) + shift.reshape(-1, 1)
            rounded(found, out.reshape(shape))

        return run
