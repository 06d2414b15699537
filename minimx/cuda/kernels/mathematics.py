"""The functions that a formula may call, for CUDA: the names of `kernels.mathematics`.

On a device they are those of NVIDIA's library; the simulator calls NumPy's, for gamma
and its relatives Python's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.cuda.kernels.launching import SIMULATED, inner


def _single(on_device: Callable[[Any], Any], name: str) -> Any:
    if SIMULATED:
        return getattr(np, name)

    def call(x):  # type: ignore[no-untyped-def]
        return on_device(x)

    return inner(call)


def _pair(on_device: Callable[[Any, Any], Any], name: str) -> Any:
    if SIMULATED:
        return getattr(np, name)

    def call(a, b):  # type: ignore[no-untyped-def]
        return on_device(a, b)

    return inner(call)


def _rounding(name: str) -> Any:
    """A function from a real to a whole number that stays a real."""
    if SIMULATED:
        return getattr(np, name)
    from numba.cuda import libdevice

    return _single(getattr(libdevice, name), name)


exp, expm1 = _single(math.exp, "exp"), _single(math.expm1, "expm1")
log, log1p = _single(math.log, "log"), _single(math.log1p, "log1p")
log2, log10 = _single(math.log2, "log2"), _single(math.log10, "log10")
sqrt = _single(math.sqrt, "sqrt")
sin, cos, tan = map(_single, (math.sin, math.cos, math.tan), ("sin", "cos", "tan"))
sinh, cosh = _single(math.sinh, "sinh"), _single(math.cosh, "cosh")
tanh = _single(math.tanh, "tanh")
arcsin, arccos = _single(math.asin, "arcsin"), _single(math.acos, "arccos")
arctan, arcsinh = _single(math.atan, "arctan"), _single(math.asinh, "arcsinh")
arccosh, arctanh = _single(math.acosh, "arccosh"), _single(math.atanh, "arctanh")
isnan, isinf = _single(math.isnan, "isnan"), _single(math.isinf, "isinf")
isfinite = _single(math.isfinite, "isfinite")
hypot, arctan2 = _pair(math.hypot, "hypot"), _pair(math.atan2, "arctan2")
copysign, fmod = _pair(math.copysign, "copysign"), _pair(math.fmod, "fmod")
floor, ceil, trunc, rint, cbrt = map(
    _rounding, ("floor", "ceil", "trunc", "rint", "cbrt")
)
_size = abs


def _rounded(name: str, zero: Any) -> Any:
    """The identity, which a device does not fuse with what comes before and after.

    A product and a sum in one expression are rounded once there; across the lines of a
    fused loop they must be rounded twice, as when operators run one by one.
    """
    if SIMULATED:
        return lambda x: x
    from numba.cuda import libdevice

    add = getattr(libdevice, name)

    def call(x):  # type: ignore[no-untyped-def]
        return add(x, zero)

    return inner(call)


def _word(name: str) -> Any:
    """The bits of a float32 as an int32, or back."""
    if SIMULATED:
        kind = np.int32 if name == "float_as_int" else np.float32
        return lambda x: x.view(kind)
    from numba.cuda import libdevice

    return _single(getattr(libdevice, name), name)


_bits, _real = _word("float_as_int"), _word("int_as_float")


@inner
def from_bfloat16(word: Any) -> Any:
    """The float32 that a bfloat16's memory, a uint16, stands for."""
    return _real(np.int32(np.uint32(word) << np.uint32(16)))


@inner
def to_bfloat16(x: Any) -> Any:
    """The memory of the bfloat16 nearest to a float32, of two of the even one."""
    word = np.uint32(_bits(np.float32(x)))
    odd = (word >> np.uint32(16)) & np.uint32(1)
    near = np.uint32(np.uint64(word) + np.uint64(0x7FFF) + np.uint64(odd))
    nan = word & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000)
    return np.uint16(np.uint32(0x7FC0) if nan else near >> np.uint32(16))


rounded_float32 = _rounded("fadd_rn", np.float32(-0.0))
rounded_float64 = _rounded("dadd_rn", np.float64(-0.0))


@inner
def erf(x: Any) -> Any:
    """The error function."""
    return math.erf(x)


def _of_c(on_device: Callable[[Any], Any], at_a_pole: float) -> Any:
    """A function of C's library, whose poles and limits are errors in Python."""

    def call(x):  # type: ignore[no-untyped-def]
        return on_device(x)

    def played(x: Any) -> float:
        try:
            return float(on_device(x))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.copysign(math.inf, x) if x == 0 else at_a_pole

    return played if SIMULATED else inner(call)


gamma, gammaln = _of_c(math.gamma, math.nan), _of_c(math.lgamma, math.inf)


@inner
def digamma(x: Any) -> Any:
    """The derivative of gammaln: what `kernels.mathematics` says, in its words."""
    mirrored, pole = 0.0, x <= 0 and x == floor(x)
    big = float(x)
    if x <= 0 and not pole:
        mirrored = math.pi / math.tan(math.pi * big)
        big = 1 - big
    total = 0.0
    while big < 16 and not pole:
        total -= 1 / big
        big += 1
    z = 1 / (big * big) if big != 0 else 0.0
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    found = total + math.log(_size(big) + pole) - 0.5 * z * big - series - mirrored
    return math.inf if pole else found


@inner
def trigamma(x: Any) -> Any:
    """The derivative of digamma, found in the same way."""
    mirrored, side, pole = 0.0, 1.0, x <= 0 and x == floor(x)
    big = float(x)
    if x <= 0 and not pole:
        sine = math.sin(math.pi * big)
        mirrored, side = (math.pi / sine) * (math.pi / sine), -1.0
        big = 1 - big
    total = 0.0
    while big < 16 and not pole:
        total += 1 / (big * big)
        big += 1
    z = 1 / (big * big) if big != 0 else 0.0
    series = z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * 5 / 66))))
    found = mirrored + side * (total + (1 + 0.5 * z * big + series) * z * big)
    return math.inf if pole else found


@inner
def erfinv(x: Any) -> Any:
    """The y with erf(y) = x: a guess, then three of Halley's steps."""
    size = float(_size(x))
    if not size < 1:
        return x * math.inf if size == 1 else math.nan
    rest = 1 - size
    logarithm = math.log(rest * (1 + size))
    half = 2 / (math.pi * 0.147) + logarithm / 2
    y = math.sqrt(math.sqrt(half * half - logarithm / 0.147) - half)
    for _ in range(3):
        missed = math.erf(y) - size if size < 0.5 else rest - math.erfc(y)
        error = missed / (2 / math.sqrt(math.pi) * math.exp(-y * y))
        y -= error / (1 + y * error)
    return -y if x < 0 else y


@inner
def abs(x: Any) -> Any:
    """The size of a number."""
    return _size(x)


@inner
def select(condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, both computed."""
    return yes if condition else no


@inner
def sign(x: Any) -> Any:
    """-1, 0 or 1; NaN of NaN."""
    return 1 if x > 0 else (-1 if x < 0 else x)


@inner
def round(x: Any) -> Any:
    """The nearest integer, halves away from zero."""
    whole = trunc(x)
    rest = x - whole
    return x if whole == x else whole + trunc(rest + rest)


@inner
def maximum(a: Any, b: Any) -> Any:
    """The larger one; NaN if either is."""
    return a if (a > b) or (a != a) else b


@inner
def minimum(a: Any, b: Any) -> Any:
    """The smaller one; NaN if either is."""
    return a if (a < b) or (a != a) else b


@inner
def power(a: Any, b: Any) -> Any:
    """A ** b."""
    return a**b


@inner
def div(a: Any, b: Any) -> Any:
    """A / b, of reals."""
    return a / b


@inner
def div_whole(a: Any, b: Any) -> Any:
    """Of integers: cut off towards zero; 0 where b is 0."""
    if b == 0:
        return 0
    whole = a // b
    return whole + 1 if (a % b != 0) and ((a < 0) != (b < 0)) else whole


@inner
def mod(a: Any, b: Any) -> Any:
    """The rest with the sign of b; 0 where b is 0."""
    return a * 0 if b == 0 else a % b


@inner
def floor_div(a: Any, b: Any) -> Any:
    """A / b, of reals, rounded down."""
    return floor(a / b)


@inner
def floor_div_whole(a: Any, b: Any) -> Any:
    """Of integers; 0 where b is 0."""
    return 0 if b == 0 else a // b


#: Functions that compute on integers in another way than on reals.
WHOLE = frozenset(("div", "floor_div"))
