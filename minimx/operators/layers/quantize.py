"""Data sheets of quantization: real numbers as integers of eight bits, and back.

A range [low, high] reaches as far as the larger of |low| and |high|, and 0 stays 0: an
integer is the real number times `top / reach`, rounded to even and cut off at the ends
of its type. So a negative number is 0 as uint8. The range travels with the integers, as
two arrays of one element each.

These are the numbers that MXNet gives on a CPU, where oneDNN computes them; its levels
for `_contrib_quantize_v2` and `_contrib_dequantize` lie half a step further out.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import DType, resolve
from minimx.core.errors import DTypeError, OperatorError
from minimx.core.ops import Kernel, Op, register
from minimx.core.ops.registry import Types, with_settings
from minimx.core.ops.spec import Spec

_SINGLE = np.dtype(np.float32)
_TOP = {"int8": 127.0, "uint8": 255.0, "int32": 2147483647.0}
_WIDER = {"int8": 127.5, "uint8": 255.5}
_ONE = Spec.of((1,), _SINGLE)


class Quantization(Op):
    """What these operators share: no gradient flows through a rounding."""

    differentiable = False
    #: The element type of data; "" where there are several.
    source: ClassVar[str] = ""
    #: The setting that names the element type of the output.
    out_type: Any = "float32"

    def chosen(self, out_type: str) -> DType:
        """The element type of that name, among those that the setting may have."""
        known = self.choices["out_type"]
        if out_type not in known:
            raise OperatorError(
                f"{self.name}: out_type={out_type!r}: choose one of {', '.join(known)}."
            )
        return resolve(out_type)

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Ranges are of float32; integers are of the type that the setting says."""
        first = np.dtype(self.source) if self.source else ins[0]
        found: Types = [self.made(), _SINGLE, _SINGLE]
        return [first, *[_SINGLE] * (len(ins) - 1)], found[: len(outs)]

    def made(self) -> DType:
        """The element type of the first output."""
        return self.chosen(self.out_type)

    def taken(self, spec: Spec, *kinds: str) -> None:
        """Raise DTypeError unless the data is of one of these types."""
        if spec.dtype.name not in kinds:
            raise DTypeError(
                f"{self.name}: data is {spec.dtype.name}, and is to be one of "
                f"{', '.join(kinds)}. Convert it with astype()."
            )


def _write(x: Any, low: float, high: float, tops: Any, *outs: Any) -> None:
    """Write the integers of real numbers, and the range that they stand for.

    tops: by element type, the integer of the largest number. outs: integers, low, high;
    the range of int8 reaches as far to both sides of 0.
    """
    out, first, last = outs
    reach = max(abs(low), abs(high))
    top = tops[out.dtype.name]
    scale = np.float32(top) / np.float32(reach) if reach else np.float32(0)
    ends = np.iinfo(out.dtype)
    out[...] = np.clip(np.rint(x * scale), ends.min, ends.max)
    first[0], last[0] = (low, high) if out.dtype == np.uint8 else (-reach, reach)


def _real(x: Any, low: float, high: float, top: float) -> Any:
    """The real numbers that integers stand for."""
    return x * (np.float32(max(abs(low), abs(high))) / np.float32(top))


@register("_contrib_quantize")
class Quantize(Quantization):
    """Real numbers of a given range as integers of eight bits.

    data: any shape, float32; min_range, max_range (1,): the range; what lies outside is
    cut off. outs: the integers, in the shape of data; and the ends of the range that
    they stand for, (1,) each, which for int8 reaches as far to both sides of 0

    out_type: 'uint8' or 'int8'. The integer is data times 255 or 127 / the larger end
    of the range, rounded to even. No gradient. Raises DTypeError unless data are
    float32.
    """

    out_type: str = "uint8"

    source = "float32"
    choices = {"out_type": ("int8", "uint8")}
    inputs = ("data", "min_range", "max_range")
    visible = 3
    output_names = ("output", "min_output", "max_output")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Integers, and their range."""
        self.taken(specs[0], "float32")
        return specs[0].with_dtype(self.made()), _ONE, _ONE

    def kernel(self, *specs: Spec) -> Kernel:
        """A product and a rounding."""

        def run(x: Any, low: Any, high: Any, *outs: Any) -> None:
            _write(x, low.item(), high.item(), _TOP, *outs)

        return run


@with_settings
class _Calibrated(Quantization):
    """Real numbers as integers, in a range that was measured, or that they have."""

    out_type: str = "int8"
    min_calib_range: float | None = None
    max_calib_range: float | None = None

    choices = {"out_type": ("auto", "int8", "uint8")}
    visible = 3
    output_names = ("output", "min_output", "max_output")
    #: By element type, the integer of the largest number.
    tops: ClassVar[dict[str, float]]

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Integers, and their range."""
        self.taken(specs[0], self.source)
        return specs[0].with_dtype(self.made()), _ONE, _ONE

    def made(self) -> DType:
        """The type asked for; 'auto' has no sign if the measured numbers have none."""
        if self.out_type != "auto":
            return self.chosen(self.out_type)
        lowest = self.min_calib_range
        return self.chosen("int8" if lowest is None or lowest < 0 else "uint8")

    def write(self, x: Any, *outs: Any) -> None:
        """Integers of real numbers, after a look for the range if none was measured."""
        low, high = self.min_calib_range, self.max_calib_range
        if low is None or high is None:
            low, high = x.min(), x.max()
        _write(x, low, high, self.tops, *outs)


@register("_contrib_quantize_v2")
class QuantizeV2(_Calibrated):
    """Real numbers as integers of eight bits, in a measured range or in their own.

    data: any shape, float32; outs: the integers, in the shape of data; and the ends of
    the range that they stand for, (1,) each

    min_calib_range, max_calib_range: the range, as calibration measured it; without
    both, the smallest and largest of data. out_type: 'int8', 'uint8', or 'auto': uint8
    for a measured range without negative numbers, else int8.
    Half a step more fits in than for `_contrib_quantize`: the larger end of the range
    becomes 127.5 or 255.5, as in MXNet with oneDNN. No gradient. Raises DTypeError
    unless data are float32.
    """

    source = "float32"
    tops = _WIDER

    def kernel(self, *specs: Spec) -> Kernel:
        """As `_contrib_quantize`, once the range is known."""
        return self.write


@register("_contrib_dequantize")
class Dequantize(Quantization):
    """The real numbers that integers of eight bits stand for.

    data: any shape, int8 or uint8; min_range, max_range (1,): the ends of their range
    out: the shape of data, float32: data times the larger end / 127.5 or 255.5

    It undoes `_contrib_quantize_v2`. No gradient. Raises DTypeError for other types.
    """

    out_type: str = "float32"

    choices = {"out_type": ("float32",)}
    inputs = ("data", "min_range", "max_range")

    def infer(self, *specs: Spec) -> Spec:
        """Real numbers."""
        self.taken(specs[0], "int8", "uint8")
        return specs[0].with_dtype(self.chosen(self.out_type))

    def kernel(self, *specs: Spec) -> Kernel:
        """A product."""

        def run(x: Any, low: Any, high: Any, out: Any) -> None:
            out[...] = _real(x, low.item(), high.item(), _WIDER[x.dtype.name])

        return run


@register("_contrib_requantize")
class Requantize(_Calibrated):
    """Sums of products, integers of 32 bits, as integers of eight in a smaller range.

    data: any shape, int32; min_range, max_range (1,): what the ends of 32 bits mean
    outs: the integers, in the shape of data; and the ends of their range, (1,) each

    min_calib_range, max_calib_range: the smaller range, as calibration measured it;
    without both, that of the numbers. out_type: 'int8', 'uint8', or 'auto': uint8 for a
    measured range without negative numbers, else int8. No gradient. Raises DTypeError
    unless data are int32.
    """

    inputs = ("data", "min_range", "max_range")
    source = "int32"
    tops = _TOP

    def kernel(self, *specs: Spec) -> Kernel:
        """Back to real numbers, and from them to integers."""

        def run(x: Any, bottom: Any, top: Any, *outs: Any) -> None:
            self.write(_real(x, bottom.item(), top.item(), _TOP["int32"]), *outs)

        return run


@register("_contrib_quantize_asym")
class QuantizeAsym(Quantization):
    """Numbers as integers without a sign, which begin at the smallest number.

    data: any shape, float32, int8 or uint8; outs: data * scale + shift, uint8, in the
    shape of data; and scale and shift (1,) each, float32

    min_calib_range, max_calib_range: the range of real numbers, as calibration measured
    it; without both, the smallest and largest of data. The ends become 0 and 255;
    halves are rounded up, and what lies outside is cut off. int8 is shifted by 128,
    uint8 is copied. No gradient. Raises DTypeError for other types.
    """

    min_calib_range: float | None = None
    max_calib_range: float | None = None

    visible = 3
    output_names = ("output", "scale", "shift")

    def made(self) -> DType:
        """Integers without a sign."""
        return np.dtype(np.uint8)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Integers, and two numbers."""
        self.taken(specs[0], "float32", "int8", "uint8")
        return specs[0].with_dtype(self.made()), _ONE, _ONE

    def kernel(self, *specs: Spec) -> Kernel:
        """A product and a sum."""
        known = {"int8": (1, 128), "uint8": (1, 0)}.get(specs[0].dtype.name)

        def run(x: Any, out: Any, scale: Any, shift: Any) -> None:
            scale[0], shift[0] = known or self.line(x)
            out[...] = np.clip(np.floor(x * scale + shift + np.float32(0.5)), 0, 255)

        return run

    def line(self, x: Any) -> tuple[Any, Any]:
        """Scale and shift for real numbers."""
        low, high = self.min_calib_range, self.max_calib_range
        if low is None or high is None:
            low, high = x.min(), x.max()
        width = np.float32(high) - np.float32(low)
        scale = np.float32(255) / width if width else np.float32(0)
        return scale, np.float32(255) - np.float32(high) * scale
