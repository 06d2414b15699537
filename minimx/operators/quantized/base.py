"""What operators on integers of eight bits share: ranges, levels, rounding.

An array of integers comes with a range, two arrays of one element. A level is the real
number that the integer 1 stands for: the larger end of the range, divided by the
integer that it becomes. There are two such integers, as in MXNet with oneDNN: products
take 127, 255 and the largest of 32 bits; what is rounded to eight bits takes 127.5 and
255.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32, INT32, DType
from minimx.core.errors import DTypeError
from minimx.core.ops.casting import USUAL
from minimx.core.ops.checks import expect
from minimx.core.ops.registry import Types, with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.layers.quantize import _TOP, _WIDER, Quantization

INT8, UINT8 = np.dtype(np.int8), np.dtype(np.uint8)
RANGE = Spec.of((1,), FLOAT32)
#: By element type, the integer that the larger end of a range becomes: in products, and
#: where real numbers are rounded to eight bits.
TOP, WIDER = _TOP, {**_WIDER, "int32": _TOP["int32"]}


def reach(low: Any, high: Any) -> Any:
    """The larger of |low| and |high|, two arrays of one element, as float32."""
    return np.maximum(np.abs(low), np.abs(high)).reshape(())[()]


def level(
    dtype: DType, low: Any, high: Any, *, tops: Mapping[str, float] = WIDER
) -> Any:
    """The real number that the integer 1 stands for.

    low, high: the range, two arrays of one element. tops: see above.
    """
    return reach(low, high) / np.float32(tops[dtype.name])


def rounded(x: Any, out: Any) -> None:
    """Write numbers as integers: to the nearest, ties to even, cut off at the ends."""
    ends = np.iinfo(out.dtype)
    out[...] = np.clip(np.rint(x), ends.min, ends.max)


def shares(workspace: Any, specs: Sequence[Spec]) -> tuple[list[Any], Any]:
    """Arrays of these specs, one after the other in a workspace; and the rest of it."""
    found = []
    for spec in specs:
        found.append(workspace[: spec.nbytes].view(spec.dtype).reshape(spec.shape))
        workspace = workspace[_lines(spec.nbytes) :]
    return found, workspace


def room(specs: Sequence[Spec]) -> int:
    """The bytes of workspace that `shares` takes."""
    return sum(_lines(spec.nbytes) for spec in specs)


def _lines(nbytes: int) -> int:
    """So many bytes, up to the next multiple of 64."""
    return -(-nbytes // 64) * 64


def ends_of(*names: str) -> tuple[str, ...]:
    """The inputs with the ranges of some inputs: `min_data`, `max_data`, …."""
    return tuple([f"{end}_{name}" for name in names for end in ("min", "max")])


class OnIntegers(Quantization):
    """An operator on integers of eight bits: inputs first, then a range for each."""

    visible = 3
    output_names = ("output", "min_output", "max_output")
    casting = USUAL
    saves: Any = ()
    #: The types of some inputs, by name; ranges and parameters are of float32.
    kinds: ClassVar[Mapping[str, DType | None]] = {"data": None}

    def first_type(self, data: DType | None) -> DType | None:
        """The type of the first output, for data of a type."""
        return data

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Integers have types of their own; all other inputs are of float32."""
        kinds = [self.kinds.get(name, FLOAT32) for name in self.inputs]
        ins = [kind or known for kind, known in zip(kinds, ins, strict=True)]
        first = ins[0] if self.inputs[0] in self.kinds else None
        return ins, [outs[0] or self.first_type(first), FLOAT32, FLOAT32][: len(outs)]

    def check(self, *specs: Spec) -> None:
        """Raise DTypeError or ShapeError for inputs of other types, or other ranges."""
        for name, spec in zip(self.inputs, specs, strict=True):
            kind = self.kinds.get(name, FLOAT32)
            kinds = (INT8, UINT8) if kind is None else (kind,)
            if spec.dtype not in kinds:
                raise DTypeError(
                    f"{self.name}: {name} is {spec.dtype.name}, and is to be "
                    f"{' or '.join(one.name for one in kinds)}. Quantize it, or "
                    "convert it with astype()."
                )
            if name.startswith(("min_", "max_")) or name.endswith(("_min", "_max")):
                expect(
                    self.name, name, spec, (1,), "a range, two arrays of one element,"
                )

    def cost(self, *specs: Spec) -> Cost:
        """One operation per element of the output."""
        out = self.infer(*specs)
        first = out[0] if isinstance(out, tuple) else out
        return Cost(first.size, sum(spec.nbytes for spec in specs) + first.nbytes)


def limits(*names: str) -> dict[str, Shape]:
    """The shapes of the ranges of some inputs."""
    return dict.fromkeys(ends_of(*names), (1,))


@with_settings
class Narrowed(OnIntegers):
    """An operator whose results are rounded to eight bits where a range was measured.

    min_calib_range, max_calib_range: the range, as calibration measured it.
    """

    min_calib_range: float | None = None
    max_calib_range: float | None = None

    @property
    def measured(self) -> tuple[Any, Any] | None:
        """The measured range, if there is one."""
        low, high = self.min_calib_range, self.max_calib_range
        if low is None or high is None:
            return None
        return np.float32(low), np.float32(high)

    def first_type(self, data: DType | None) -> DType | None:
        """Eight bits in a measured range, else 32."""
        return INT8 if self.measured else INT32


def rows(spec: Spec) -> int:
    """How many numbers belong to an element of the first axis."""
    return prod(spec.shape[1:])
