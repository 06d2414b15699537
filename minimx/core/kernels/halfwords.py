"""float16 and bfloat16 inside compiled loops, where numba has no type for them.

A loop reads the bits of such a number as an integer, computes in float32, and rounds
the result: to the nearest number that there is, of two to the even one.

    from_float16   from_bfloat16     uint16 -> float32, exact
    to_float16     to_bfloat16       float32 -> uint16
    round_float16  round_bfloat16    float32 -> float32

Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.native import bits, select, unbits

_inline = threads.jit(forceinline=True)

_SIGN = np.int32(0x8000)
_INFINITE = np.int32(0x7F800000)
_QUIET = np.int32(0x7FC00000)
# 2 ** 112: the distance between the exponents of a float32 and of a float16.
_LIFT = np.float32(2.0**112)
# As a float32, the smallest number that is too large for a float16, and its smallest
# normal number. Adding MAGIC to less than that leaves it in units of 2 ** -24, which
# are those of a float16 there, in the lowest bits.
_TOO_LARGE = np.int32(0x47800000)
_NORMAL = np.int32(0x38800000)
_MAGIC = np.float32(0.5)
_MAGIC_BITS = np.int32(0x3F000000)


@_inline
def from_float16(word: Any) -> Any:
    """The float32 of a float16's bits.

    Exponent and mantissa are moved to where a float32 has them. There they mean 2**112
    times less: 0x3C00, 1 as a float16, becomes 0x07800000, 2**-112. A multiplication
    puts that right, also for numbers below the normal ones.
    """
    short = np.int32(word)
    rest = np.int32(short & np.int32(0x7FFF))
    finite = bits(unbits(np.int32(rest << np.int32(13))) * _LIFT)
    special = np.int32(_INFINITE | (rest << np.int32(13)))
    size = select(rest >= np.int32(0x7C00), special, finite)
    return unbits(np.int32(size | ((short & _SIGN) << np.int32(16))))


@_inline
def to_float16(x: Any) -> Any:
    """The bits of the float16 nearest to a float32.

    Of a normal number the exponent is rebased, and 13 bits of the mantissa go: adding
    0xFFF, and 1 more if the last bit that stays is odd, carries into it when they are
    more than half, or half and odd.
    """
    word = bits(np.float32(x))
    size = np.int32(word & np.int32(0x7FFFFFFF))
    sign = np.int32((word >> np.int32(16)) & _SIGN)
    odd = np.int32((size >> np.int32(13)) & np.int32(1))
    rebased = np.int32(size - _NORMAL + np.int32(0x400 << 13))
    normal = np.int32((rebased + np.int32(0xFFF) + odd) >> np.int32(13))
    small = np.int32(bits(unbits(size) + _MAGIC) - _MAGIC_BITS)
    large = select(size > _INFINITE, np.int32(0x7E00), np.int32(0x7C00))
    found = select(size < _NORMAL, small, normal)
    return np.uint16(select(size >= _TOO_LARGE, large, found) | sign)


@_inline
def round_float16(x: Any) -> Any:
    """The float16 nearest to a float32, as a float32."""
    return from_float16(to_float16(x))


@_inline
def from_bfloat16(word: Any) -> Any:
    """The float32 of a bfloat16's bits, which are its upper half."""
    return unbits(np.int32(np.int32(word) << np.int32(16)))


@_inline
def round_bfloat16(x: Any) -> Any:
    """The bfloat16 nearest to a float32, as a float32: its lower 16 bits are 0.

    NaN is taken apart, as rounding up could carry it to infinity.
    """
    word = bits(np.float32(x))
    odd = np.int32((word >> np.int32(16)) & np.int32(1))
    nearest = np.int32((word + np.int32(0x7FFF) + odd) & np.int32(-0x10000))
    nan = np.int32((word & np.int32(-0x80000000)) | _QUIET)
    lost = np.int32(word & np.int32(0x7FFFFFFF)) > _INFINITE
    return unbits(select(lost, nan, nearest))


@_inline
def to_bfloat16(x: Any) -> Any:
    """The bits of the bfloat16 nearest to a float32."""
    return np.uint16(bits(round_bfloat16(x)) >> np.int32(16))
