"""The element types: names, NumPy dtypes, sizes.

NumPy dtypes are the currency inside minimx. `resolve` is the one place where a name, a
Python type or MXNet's integer code becomes one.

bfloat16, which NumPy does not have, comes from the package ml_dtypes where that is
installed; it enters the tables below at its first use.
"""

from __future__ import annotations

import copyreg
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from minimx.core.errors import DTypeError, did_you_mean

DType = np.dtype[Any]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
FLOAT16 = np.dtype(np.float16)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)

# MXNet's own codes, as they stand in `.params` files.
CODES: dict[int, DType] = {
    0: FLOAT32,
    1: FLOAT64,
    2: FLOAT16,
    3: np.dtype(np.uint8),
    4: INT32,
    5: np.dtype(np.int8),
    6: INT64,
    7: np.dtype(np.bool_),
}
NAMES: dict[str, DType] = {dtype.name: dtype for dtype in CODES.values()}
SUPPORTED = set(CODES.values())
#: Floating-point types of two bytes: kernels compute in float32 and round the result.
NARROW = {FLOAT16}
BFLOAT16_CODE = 12
#: How MXNet's programs write bfloat16, for which NumPy has no type.
BFLOAT16_FIELDS = np.dtype([("bfloat16", np.uint16)])


def resolve(dtype: Any) -> DType:
    """The NumPy dtype meant by a name, a NumPy type or an MXNet code.

    >>> resolve("float32") == resolve(np.float32) == resolve(0)
    True
    """
    if isinstance(dtype, np.dtype) and dtype in SUPPORTED:
        return dtype
    if _means_bfloat16(dtype):
        return bfloat16()
    if isinstance(dtype, int) and not isinstance(dtype, bool) and dtype in CODES:
        return CODES[dtype]
    found: DType | None
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError):
        found = None  # NumPy reads text as the source of a type
    if found is not None and found in SUPPORTED:
        return found
    hint = did_you_mean(str(dtype), NAMES)
    raise DTypeError(
        f"dtype {dtype!r} is not one of minimx's: {', '.join(NAMES)}.{hint}"
    )


def code_of(dtype: DType) -> int:
    """MXNet's code of a dtype, as it is written in files."""
    return next(code for code, known in CODES.items() if known == dtype)


def is_float(dtype: DType) -> bool:
    """Whether the dtype is a floating-point type."""
    return dtype.kind == "f" or dtype in NARROW


def numbers(source: Any, dtype: DType) -> Any:
    """What NumPy understands as numbers, of a type; whole ones too large for it wrap.

    300 as uint8 is 44 and -1 is 255, as for C and MXNet. Raises OverflowError where 64
    bits are too few, and what NumPy raises for what is no array of numbers.

    >>> numbers([300, -1, 1.5], np.dtype("uint8"))
    array([ 44, 255,   1], dtype=uint8)
    """
    try:
        return np.asarray(source, dtype=dtype)
    except OverflowError:
        return np.asarray(source).astype(INT64).astype(dtype)


@dataclass(frozen=True)
class Layout:
    """How the bits of a floating-point type are used, and which numbers that gives.

    fraction, exponent: so many bits each; one more is the sign. Numbers are looked at
    by their power of two: those of power k lie from 2**k up to 2**(k + 1).
    """

    fraction: int
    exponent: int

    @property
    def highest(self) -> int:
        """The largest power; what is larger becomes infinite."""
        return (1 << self.exponent - 1) - 1

    @property
    def normal(self) -> int:
        """The smallest power with all bits of the fraction."""
        return 1 - self.highest

    @property
    def lowest(self) -> int:
        """The smallest power that there is: that of the smallest subnormal number."""
        return self.normal - self.fraction

    def zone(self, power: int) -> str:
        """What becomes of numbers of a power: normal, subnormal, zero or overflow.

        Just below the smallest number, they are rounded up to it.

        >>> half = LAYOUTS["float16"]
        >>> [half.zone(k) for k in (16, 15, -14, -15, -25, -26)]
        ['overflow', 'normal', 'normal', 'subnormal', 'subnormal', 'zero']
        """
        if power > self.highest:
            return "overflow"
        if power >= self.normal:
            return "normal"
        return "subnormal" if power >= self.lowest - 1 else "zero"


LAYOUTS: Final = {
    "float16": Layout(10, 5),
    "bfloat16": Layout(7, 8),
    "float32": Layout(23, 8),
    "float64": Layout(52, 11),
}


#: Powers of two by which numbers are counted; those beyond count with the last ones.
POWERS: Final = range(-150, 129)


def _means_bfloat16(dtype: Any) -> bool:
    if isinstance(dtype, int):
        return dtype == BFLOAT16_CODE
    if isinstance(dtype, np.dtype) and dtype == BFLOAT16_FIELDS:
        return True
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None)
    return (name or getattr(dtype, "name", "")) == "bfloat16"


def bfloat16() -> DType:
    """The dtype of numbers with the range of float32 and 8 bits of precision."""
    try:
        import ml_dtypes
    except ImportError:
        raise DTypeError(
            "bfloat16 is not one of NumPy's types; the package ml_dtypes brings it: "
            "pip install ml_dtypes. float16 and float32 are there without it."
        ) from None
    found: DType = np.dtype(ml_dtypes.bfloat16)
    if found not in SUPPORTED:
        CODES[BFLOAT16_CODE] = NAMES["bfloat16"] = found
        SUPPORTED.add(found)
        NARROW.add(found)
    return found


class _AlsoFields(type):
    """Makes a type equal to the NumPy type that MXNet's programs write for it."""

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, np.dtype) and other == BFLOAT16_FIELDS:
            return True
        return other is cls or bool(bfloat16() == other)

    def __hash__(cls) -> int:
        return hash(bfloat16().type)

    def __reduce__(cls) -> Any:
        return scalar_type, (bfloat16(),)


# pickle would store this type by its name, which no module has.
copyreg.pickle(_AlsoFields, _AlsoFields.__reduce__)


@cache
def scalar_type(dtype: DType) -> Any:
    """What MXNet shows as the type of an array's elements: `numpy.float32`.

    That of bfloat16 is that of ml_dtypes, but equal as well to what MXNet's programs
    compare it with, `np.dtype([("bfloat16", np.uint16)])`.
    """
    if dtype.name != "bfloat16":
        return dtype.type
    return _AlsoFields("bfloat16", (dtype.type,), {"__module__": "minimx"})
