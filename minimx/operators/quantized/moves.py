"""Operators that leave integers of eight bits in the levels that they have.

Each hands on the range of its input, but for the joining of several arrays, which have
to agree on one.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32, DType
from minimx.core.errors import OperatorError
from minimx.core.operators.indexing import Embedding
from minimx.core.operators.join import Concat
from minimx.core.operators.pooling import Pooling
from minimx.core.ops import deduction
from minimx.core.ops.registry import Kernel, Types, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Deduced, Opens, Shape
from minimx.operators.quantized.base import (
    INT8,
    RANGE,
    UINT8,
    OnIntegers,
    level,
    limits,
    room,
    rounded,
    rows,
    shares,
)


class _Handing(OnIntegers):
    """An operator with one input, whose range is that of the output."""

    inputs = ("data", "min_data", "max_data")

    def complete(self, data: Spec) -> dict[str, Shape]:
        """Two arrays of one element."""
        return limits("data")


@register("_contrib_quantized_act")
class QuantizedActivation(_Handing):
    """relu on integers of eight bits: what is negative becomes 0.

    data: any shape, int8 or uint8; min_data, max_data (1,): its range, float32
    outs: integers like data, and the same range

    act_type: only 'relu'. No gradient. Raises OperatorError for another act_type,
    DTypeError for other inputs.
    """

    act_type: str

    deduce = deduction.first_is_out
    choices = {"act_type": ("relu",)}

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape and type."""
        if self.act_type != "relu":
            raise OperatorError(
                f"{self.name}: act_type={self.act_type!r}: integers know only 'relu'. "
                "Dequantize first for another."
            )
        self.check(*specs)
        return specs

    def kernel(self, *specs: Spec) -> Kernel:
        """The larger of each number and 0."""

        def run(data: Any, low: Any, high: Any, out: Any, *ends: Any) -> None:
            np.maximum(data, 0, out=out)
            ends[0][...], ends[1][...] = low, high

        return run


@register("_contrib_quantized_flatten")
class QuantizedFlatten(_Handing):
    """All axes but the first joined, of integers of eight bits.

    data (N, C, H, W), int8 or uint8; min_data, max_data (1,): its range, float32
    outs: (N, C * H * W), and the same range. No gradient. Raises DTypeError for other
    inputs.
    """

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Two axes."""
        self.check(*specs)
        data = specs[0]
        return data.with_shape((data.shape[0], rows(data))), RANGE, RANGE

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy."""

        def run(data: Any, low: Any, high: Any, out: Any, *ends: Any) -> None:
            np.copyto(out, data.reshape(out.shape))
            ends[0][...], ends[1][...] = low, high

        return run


@register("_contrib_quantized_pooling")
class QuantizedPooling(_Handing, Pooling):
    """The largest or the mean of every window, of integers of eight bits.

    data (N, C, H, W), int8 or uint8; min_data, max_data (1,): its range, float32
    outs: (N, C, H', W') of that type, and the same range

    Settings as for Pooling; pool_type: 'max', or 'avg', which is rounded to even. No
    gradient. Raises OperatorError for another pool_type, DTypeError for other inputs.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pool_type not in ("max", "avg"):
            raise OperatorError(
                f"{self.name}: pool_type={self.pool_type!r}: of integers there are "
                "'max' and 'avg'. Dequantize first for another."
            )
        object.__setattr__(self, "saves", ())

    def _plain(self, data: Spec) -> tuple[Any, tuple[Spec, ...], Spec]:
        """The operator on real numbers, the specs of its outputs, that of its input."""
        plain, real = Pooling.of(**self.settings), data.with_dtype(FLOAT32)
        outs = plain.infer(real)
        return plain, outs if isinstance(outs, tuple) else (outs,), real

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The image shrinks to the stops."""
        self.check(*specs)
        out = self._plain(specs[0])[1][0]
        return out.with_dtype(specs[0].dtype), RANGE, RANGE

    def compute(self, *specs: Spec) -> Kernel:
        """That of real numbers."""
        plain, outs, real = self._plain(specs[0])
        pool = plain.compute(real)

        def run(data: Any, low: Any, high: Any, out: Any, *rest: Any) -> None:
            *ends, workspace = rest
            (x, *found), free = shares(workspace, (real, *outs))
            np.copyto(x, data)
            pool(x, *found, *[free] * (free.size > 0))
            rounded(found[0], out)
            ends[0][...], ends[1][...] = low, high

        return run

    def scratch(self, *specs: Spec) -> int:
        """Input and outputs as real numbers, and what the operator on them asks for."""
        plain, outs, real = self._plain(specs[0])
        return room((real, *outs)) + int(plain.scratch(real))


@register("_contrib_quantized_embedding")
class QuantizedEmbedding(OnIntegers, Embedding):
    """Rows of a table of integers of eight bits.

    data: any shape, the numbers of rows; weight (input_dim, output_dim) int8, and its
    range, min_weight and max_weight (1,) float32
    outs: (..., output_dim) int8, and the range of weight. Settings as for Embedding.
    No gradient. Raises DTypeError and ShapeError for other inputs.
    """

    inputs: ClassVar[Any] = ("data", "weight", "min_weight", "max_weight")
    kinds = {"weight": INT8}

    def first_type(self, data: DType | None) -> DType:
        """That of the table."""
        return INT8

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """The numbers of rows may have any type."""
        found, outs = OnIntegers.deduce_types(self, ins, outs)
        return [ins[0], *found[1:]], outs

    def complete(self, data: Spec) -> dict[str, Shape]:
        """The table, and its range."""
        return Embedding.complete(self, data) | limits("weight")

    def infer(self, *specs: Spec) -> Any:
        """One more axis."""
        self.check(specs[0].with_dtype(FLOAT32), *specs[1:])
        return Embedding.infer(self, *specs[:2]), RANGE, RANGE

    def kernel(self, *specs: Spec) -> Kernel:
        """Copies of rows."""
        take = Embedding.kernel(self, *specs[:2])

        def run(data: Any, weight: Any, low: Any, high: Any, *outs: Any) -> None:
            take(data, weight, outs[0])
            outs[1][...], outs[2][...] = low, high

        return run


@register("_contrib_quantized_concat")
class QuantizedConcat(OnIntegers, Concat):
    """Arrays of integers of eight bits, joined along an axis.

    data: n arrays, int8 or uint8, then the range of each, two arrays (1,) of float32,
    3 n in all; lengths may differ along dim only
    outs: the joined array, uint8 if all arrays are, else int8; and the smallest range
    that has 0 and all others in it, to whose levels the numbers are rounded

    No gradient. Raises OperatorError if arrays and ranges do not match, DTypeError and
    ShapeError for other inputs.
    """

    inputs = ("data",)
    #: How many inputs belong to an array; `num_args` counts arrays.
    inputs_each = 3

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """Ranges have one element; the arrays as for Concat."""
        count = len(ins) // 3
        ins, outs = [*ins[:count], *[(1,)] * (2 * count)], [outs[0], (1,), (1,)]
        arrays, joined = deduction.joined(self, ins[:count], outs[:1])
        return [*arrays, *ins[count:]], [*joined, *outs[1:]]

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Signed as soon as one of the arrays is."""
        count = len(ins) // 3
        kinds = ins[:count]
        first = INT8 if INT8 in kinds else None if None in kinds else UINT8
        return [*kinds, *[FLOAT32] * (2 * count)], [outs[0] or first, FLOAT32, FLOAT32]

    def infer(self, *specs: Spec) -> Any:
        """Lengths along dim add up."""
        count, rest = divmod(len(specs), 3)
        if rest or not count:
            raise OperatorError(
                f"{self.name}: {len(specs)} inputs; give arrays, and then two arrays "
                "of one element for the range of each: three inputs for an array."
            )
        for k in range(count):
            _Handing.check(_ACT, specs[k], *specs[count + 2 * k : count + 2 * k + 2])
        signed = any(spec.dtype == INT8 for spec in specs[:count])
        out = Concat.infer(self, *[spec.with_dtype(INT8) for spec in specs[:count]])
        return out.with_dtype(INT8 if signed else UINT8), RANGE, RANGE

    def kernel(self, *specs: Spec) -> Kernel:
        """Copies, rounded to other levels where the ranges differ."""
        count, axis = len(specs) // 3, self.dim % specs[0].ndim

        def run(*arrays: Any) -> None:
            lows, highs = (
                arrays[count : 3 * count : 2],
                arrays[count + 1 : 3 * count : 2],
            )
            out, first, last = arrays[3 * count :]
            first[0] = min(0, *[low[0] for low in lows])
            last[0] = max(0, *[high[0] for high in highs])
            one, begin = level(out.dtype, first, last), 0
            at: list[Any] = [slice(None)] * out.ndim
            for x, low, high in zip(arrays[:count], lows, highs, strict=True):
                at[axis] = slice(begin, begin := begin + x.shape[axis])
                scale = level(x.dtype, low, high) / one if one else np.float32(0)
                if scale == 1 and x.dtype == out.dtype:
                    out[tuple(at)] = x
                else:
                    rounded(x * scale, out[tuple(at)])

        return run


_ACT = QuantizedActivation.of(act_type="relu")
