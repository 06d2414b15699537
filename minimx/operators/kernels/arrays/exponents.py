"""How large numbers are: a count of them by exponent, for any type of real numbers.

A floating-point number is significand * 2**exponent, and the exponent stands in its
bits; so numbers are counted by powers of two without a logarithm, and float16 needs no
detour. Exponent fields of only zeros or only ones mean something else: zeros and what
is too small for full precision, infinite numbers and NaN. A second look is for them.
"""

from __future__ import annotations

from math import frexp
from typing import Any, Final

import numpy as np

from minimx.core.dtypes import POWERS
from minimx.core.kernels import threads

LOWEST: Final = POWERS[0]
HIGHEST: Final = POWERS[-1]
#: A row begins with how many are zero, infinite and NaN, and the sum of all squares.
HEAD: Final = 4
FIRST: Final = HEAD - LOWEST  # where the count of the power 0 stands


@threads.jit()
def count(bits: Any, fraction: int, mask: int, out: Any) -> None:
    """Out = the row of counts of numbers given as the bits of their type.

    bits: (n,), unsigned. fraction: how many bits the fraction has. mask: the exponent
    field, shifted down, when all its bits are one. out: (HEAD + len(POWERS),), float64.
    """
    fields = np.zeros((4, mask + 1), np.int64)
    squares = np.zeros((4, mask + 1), np.float64)
    _by_field(bits, fraction, mask, fields, squares)
    out[:] = 0
    bias = mask >> 1
    for field in range(1, mask):
        many = fields[0, field] + fields[1, field] + fields[2, field] + fields[3, field]
        if many:
            power = field - bias
            out[FIRST + min(max(power, LOWEST), HIGHEST)] += many
            total = squares[0, field] + squares[1, field]
            total += squares[2, field] + squares[3, field]
            out[3] += total * 4.0 ** (power - fraction)
    beyond = fields[:, mask].sum()
    if beyond:
        out[1] = _with_fraction_zero(bits, fraction, mask, mask)
        out[2] = beyond - out[1]
    tiny = fields[:, 0].sum()
    if tiny:
        out[0] = _with_fraction_zero(bits, fraction, mask, 0)
        if tiny > out[0]:
            _subnormal(bits, fraction, mask, out)


@threads.jit(inner=True)
def _by_field(bits: Any, fraction: int, mask: int, fields: Any, squares: Any) -> None:
    """Counts and sums of squared significands, as whole numbers, by exponent field.

    Four rows of them take turns: neighbours are often alike, and would wait for one
    another.
    """
    unit = np.int64(1) << fraction
    low = unit - 1
    even = bits.shape[0] // 4 * 4
    for k in range(0, even, 4):
        for lane in range(4):
            word = np.int64(bits[k + lane])
            field = (word >> fraction) & mask
            fields[lane, field] += 1
            whole = np.float64((word & low) | unit)
            squares[lane, field] += whole * whole
    for k in range(even, bits.shape[0]):
        word = np.int64(bits[k])
        field = (word >> fraction) & mask
        fields[0, field] += 1
        whole = np.float64((word & low) | unit)
        squares[0, field] += whole * whole


@threads.jit(inner=True)
def _with_fraction_zero(bits: Any, fraction: int, mask: int, field: int) -> int:
    """How many numbers have this exponent field and nothing else: no branch inside."""
    wanted = np.int64(field) << fraction
    kept = ((np.int64(mask) + 1) << fraction) - 1  # all but the sign
    found = np.int64(0)
    for k in range(bits.shape[0]):
        found += np.int64((np.int64(bits[k]) & kept) == wanted)
    return int(found)


@threads.jit(inner=True)
def _subnormal(bits: Any, fraction: int, mask: int, out: Any) -> None:
    """Add the numbers that are whole multiples of the smallest one."""
    low = (np.int64(1) << fraction) - 1
    base = 1 - (mask >> 1) - fraction  # the power of two of the smallest one
    unit = 4.0**base
    for k in range(bits.shape[0]):
        word = np.int64(bits[k])
        part = word & low
        if part and not (word >> fraction) & mask:
            value = np.float64(part)
            out[3] += value * value * unit
            out[FIRST + max(base + frexp(value)[1] - 1, LOWEST)] += 1
