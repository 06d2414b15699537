"""The functions that a formula may call, for numba.

`exp`, `log`, their relatives and `erf` of float32 are made of sums and products only,
without a jump or a call, so that the compiler computes many elements at once; a C
library takes them one by one, several times slower. They are right to about two units
in the last place. The other functions are the C library's.

All keep the type of what they are given: float32 stays float32. Importing this module
imports numba.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from minimx.core.kernels import threads
from minimx.core.kernels.native import bits, select, unbits

_OPTIONS: Any = {"error_model": "numpy", "forceinline": True}
_inline = threads.jit(forceinline=True)
_LN2 = Decimal("0.693147180559945309417232121458176568075500134360255254")


class _Format:
    """The layout of a floating-point type, and its constants for exp and log."""

    def __init__(self, real: Any) -> None:
        info = np.finfo(real)
        single = real is np.float32
        self.real = real
        self.word = np.int32 if single else np.int64
        self.nmant = self.word(info.nmant)  # bits below the exponent
        self.bias = self.word(info.maxexp - 1)  # the exponent of 1 as it is stored
        # Adding `magic` to a number rounds it and leaves the integer in the low bits.
        self.magic = real(1.5 * 2**info.nmant)
        self.magic_bits = self.magic.view(self.word)
        # Beyond these, exp is 0 or infinite.
        self.lowest = real(float(_LN2) * (info.minexp - info.nmant - 2))
        self.highest = real(float(_LN2) * (info.maxexp + 1))
        # ln 2 in two pieces; products of the first with small integers are exact.
        scale = 2**12 if single else 2**32
        head = Decimal(math.floor(_LN2 * scale)) / scale
        self.ln2_high, self.ln2_low = real(float(head)), real(float(_LN2 - head))
        self.per_ln2 = real(float(1 / _LN2))
        # Enough terms of the series of exp for |x| < ln 2 / 2, and of that of log.
        self.exp_terms = tuple(
            real(1 / math.factorial(n)) for n in range(7 if single else 13, 1, -1)
        )
        self.log_terms = tuple(real(2 / n) for n in range(11 if single else 23, 1, -2))


_FORMATS = {np.float32: _Format(np.float32), np.float64: _Format(np.float64)}


def _reals(stub: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a function of one real by a maker `format -> implementation`."""

    def declare(make: Callable[[_Format], Callable[..., Any]]) -> Callable[..., Any]:
        made = {
            types.float32: make(_FORMATS[np.float32]),
            types.float64: make(_FORMATS[np.float64]),
        }
        overload(stub, jit_options=_OPTIONS, strict=False)(lambda x: made.get(x))
        return make

    return declare


def _stub(name: str, inputs: str = "x") -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        raise NotImplementedError(f"{name} works inside compiled kernels only")

    # numba compares the names of the arguments
    names: dict[str, Any] = {}
    exec(f"def {name}({inputs}): return body({inputs})", {"body": function}, names)
    found: Callable[..., Any] = names[name]
    return found


def _horner(terms: tuple[Any, ...]) -> Any:
    """The polynomial with these coefficients, highest power first, written out."""
    names = {f"c{n}": term for n, term in enumerate(terms)}
    text = "c0"
    for n in range(1, len(terms)):
        text = f"({text} * x + c{n})"
    exec(f"def polynomial(x): return {text}", names)
    polynomial: Callable[[Any], Any] = names["polynomial"]
    return threads.jit(forceinline=True, cache=False)(polynomial)


# -- exp and its relatives -------------------------------------------------------------
#
# exp(x) = 2**k exp(r), where k = round(x / ln 2) leaves |r| < ln 2 / 2, small enough
# for the series 1 + r + r*r/2 + ...; 2**k is a number made by writing its exponent.

exp, expm1, tanh = map(_stub, ("exp", "expm1", "tanh"))
_power2, _exp_parts = _stub("_power2", "x, k"), _stub("_exp_parts")


@_reals(_exp_parts)
def _make_exp_parts(form: _Format) -> Callable[..., Any]:
    series = _horner(form.exp_terms)
    word, magic, magic_bits = form.word, form.magic, form.magic_bits
    per_ln2, high, low = form.per_ln2, form.ln2_high, form.ln2_low

    def parts(x):  # type: ignore[no-untyped-def]
        """K and exp(r) - 1."""
        shifted = x * per_ln2 + magic
        whole = shifted - magic
        r = (x - whole * high) - whole * low
        return word(bits(shifted) - magic_bits), r + r * r * series(r)

    return parts


def _make_power2(form: _Format) -> Callable[..., Any]:
    word, bias, nmant = form.word, form.bias, form.nmant

    def power2(x, k):  # type: ignore[no-untyped-def]
        """X * 2**k in two steps, as one might leave the range of exponents."""
        half = k >> word(1)
        rest = word(k - half)
        first = unbits(word(word(half + bias) << nmant))
        second = unbits(word(word(rest + bias) << nmant))
        return x * first * second

    return power2


_POWER2 = {f: _make_power2(_FORMATS[f]) for f in _FORMATS}


@overload(_power2, jit_options=_OPTIONS, strict=False)
def _overload_power2(x: Any, k: Any) -> Any:
    return _POWER2.get(np.float32 if x == types.float32 else np.float64)


@_reals(exp)
def _make_exp(form: _Format) -> Callable[..., Any]:
    lowest, highest, one = form.lowest, form.highest, form.real(1)

    def exp(x):  # type: ignore[no-untyped-def]
        x = select(x < lowest, lowest, select(x > highest, highest, x))
        k, more = _exp_parts(x)
        return _power2(one + more, k)

    return exp


@_reals(expm1)
def _make_expm1(form: _Format) -> Callable[..., Any]:
    real, highest = form.real, form.highest
    one, lowest = real(1), real(-50)

    def expm1(x):  # type: ignore[no-untyped-def]
        x = select(x < lowest, lowest, select(x > highest, highest, x))
        k, more = _exp_parts(x)
        scale = _power2(one, k)
        big = _power2(one + more, k) - one
        return select(abs(x) < one, scale * more + (scale - one), big)

    return expm1


@_reals(tanh)
def _make_tanh(form: _Format) -> Callable[..., Any]:
    real = form.real
    two, far = real(2), real(10 if real is np.float32 else 20)

    def tanh(x):  # type: ignore[no-untyped-def]
        size = abs(x)
        more = expm1(two * select(size > far, far, size))
        out = more / (more + two)
        return select(x < real(0), -out, out)

    return tanh


# -- log -------------------------------------------------------------------------------
#
# x = 2**k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); then, with s = f / (2 + f),
# log(1 + f) = 2 (s + s**3 / 3 + s**5 / 5 + ...), arranged so that f itself, which is
# exact, is the largest term.

log, log1p = _stub("log"), _stub("log1p")


@_reals(log)
def _make_log(form: _Format) -> Callable[..., Any]:
    series = _horner(form.log_terms)
    real, word, nmant = form.real, form.word, form.nmant
    high, low = form.ln2_high, form.ln2_low
    zero, one, two, half = real(0), real(1), real(2), real(0.5)
    infinity, tiny = real(np.inf), np.finfo(real).tiny
    lift, lifted = real(2.0**nmant), nmant
    root = np.sqrt(half).view(word)

    def log(x):  # type: ignore[no-untyped-def]
        small = x < tiny
        stored = bits(select(small, x * lift, x))
        k = word(word(stored - root) >> nmant)
        f = unbits(word(stored - word(k << nmant))) - one
        power = real(word(k - select(small, lifted, word(0))))
        s = f / (two + f)
        half_square = half * f * f
        more = s * (half_square + s * s * series(s * s)) + power * low
        out = power * high - ((half_square - more) - f)
        out = select(x == infinity, x, out)
        return select(x > zero, out, select(x == zero, -infinity, real(np.nan)))

    return log


@_reals(log1p)
def _make_log1p(form: _Format) -> Callable[..., Any]:
    one, infinity = form.real(1), form.real(np.inf)

    def log1p(x):  # type: ignore[no-untyped-def]
        whole = one + x
        lost = (x - (whole - one)) / whole  # what the addition rounded away
        return select((x == infinity) | (whole <= 0), log(whole), log(whole) + lost)

    return log1p


# -- erf -------------------------------------------------------------------------------
#
# Near 0 the series 2 / sqrt(pi) (x - x**3 / 3 + x**5 / 10 - ...), as x, which is exact,
# and the rest. Else 1 - exp(p(x)), with a polynomial p that was fitted to
# log(1 - erf(x)) from 0.875 to 4, so that erf is right to 2e-9. From 4 on it is 1.

erf = _stub("erf")
_ERF_NEAR = [(-1) ** n / math.factorial(n) / (n + 0.5) for n in range(8, 0, -1)]
_ERF_FAR = (0.00019990365, -0.0030820179, 0.022381116, -0.10425038, -0.63682044,
            -1.1278895, -0.00014418396)  # fmt: skip


@_reals(erf)
def _make_erf(form: _Format) -> Callable[..., Any]:
    real = form.real
    if real is np.float64:
        return lambda x: math.erf(x)
    root = math.sqrt(math.pi)
    near = _horner((*(real(c / root) for c in _ERF_NEAR), real(2 / root - 1)))
    far = _horner(tuple(map(real, _ERF_FAR)))
    zero, one, four, border = map(real, (0, 1, 4, 0.875))

    def erf(x):  # type: ignore[no-untyped-def]
        size = abs(x)
        out = one - exp(far(select(size > four, four, size)))
        out = select(x < zero, -out, out)
        return select(size < border, x + x * near(x * x), out)

    return erf


# -- the C library's and NumPy's -------------------------------------------------------


def _same(function: Callable[..., Any]) -> Any:
    def call(x):  # type: ignore[no-untyped-def]
        return function(x)

    return threads.jit(forceinline=True, cache=False)(call)


def _same_of_two(function: Callable[..., Any]) -> Any:
    def call(a, b):  # type: ignore[no-untyped-def]
        return function(a, b)

    return threads.jit(forceinline=True, cache=False)(call)


log2, log10, sqrt, cbrt = map(_same, (np.log2, np.log10, np.sqrt, np.cbrt))
sin, cos, tan = map(_same, (np.sin, np.cos, np.tan))
arcsin, arccos, arctan = map(_same, (np.arcsin, np.arccos, np.arctan))
sinh, cosh, sign = map(_same, (np.sinh, np.cosh, np.sign))
arcsinh, arccosh, arctanh = map(_same, (np.arcsinh, np.arccosh, np.arctanh))
gamma, gammaln = map(_same, (math.gamma, math.lgamma))
floor, ceil, trunc, rint = map(_same, (np.floor, np.ceil, np.trunc, np.rint))
isnan, isinf, isfinite = map(_same, (np.isnan, np.isinf, np.isfinite))
abs = _same(abs)
# arctan2(y, x) is the angle of a point; fmod has the sign of a, and `mod` that of b.
hypot, arctan2, copysign = map(_same_of_two, (np.hypot, np.arctan2, np.copysign))
fmod, power = _same_of_two(np.fmod), _same_of_two(operator.pow)


@_inline
def round(x: Any) -> Any:
    """The nearest integer, halves away from zero."""
    whole = np.trunc(x)
    rest = x - whole
    return select(whole == x, x, whole + np.trunc(rest + rest))


@_inline
def maximum(a: Any, b: Any) -> Any:
    """The larger one; NaN if either is."""
    return select((a > b) | (a != a), a, b)


@_inline
def minimum(a: Any, b: Any) -> Any:
    """The smaller one; NaN if either is."""
    return select((a < b) | (a != a), a, b)


div, mod = _stub("div", "a, b"), _stub("mod", "a, b")
floor_div = _stub("floor_div", "a, b")


@overload(floor_div, jit_options=_OPTIONS, strict=False)
def _floor_div(a: Any, b: Any) -> Any:
    def of_integers(a, b):  # type: ignore[no-untyped-def]
        """Rounded down; 0 where b is 0."""
        return select(b == 0, 0, a // select(b == 0, 1, b))

    if isinstance(a, types.Float):
        return lambda a, b: np.floor(a / b)
    return of_integers


@overload(div, jit_options=_OPTIONS, strict=False)
def _div(a: Any, b: Any) -> Any:
    def of_integers(a, b):  # type: ignore[no-untyped-def]
        """Cut off towards zero; 0 where b is 0, which in C would end the program."""
        safe = select(b == 0, 1, b)
        whole = a // safe
        cut = whole + ((a % safe != 0) & ((a < 0) != (safe < 0)))
        return select(b == 0, 0, cut)

    return (lambda a, b: a / b) if isinstance(a, types.Float) else of_integers


@overload(mod, jit_options=_OPTIONS, strict=False)
def _mod(a: Any, b: Any) -> Any:
    def of_reals(a, b):  # type: ignore[no-untyped-def]
        """The sign of b; 0 where b is 0."""
        rest = a % select(b == 0, b * 0 + 1, b)
        return select(b == 0, b * 0, rest)

    def of_integers(a, b):  # type: ignore[no-untyped-def]
        return select(b == 0, 0, a % select(b == 0, 1, b))

    return of_reals if isinstance(a, types.Float) else of_integers


# -- what neither library has ----------------------------------------------------------


@threads.jit()
def digamma(x: Any) -> Any:
    """The derivative of gammaln.

    digamma(x) = digamma(x + 1) - 1 / x leads to large x, where few terms of the
    asymptotic series are enough; below 0 it is mirrored.
    """
    mirrored = 0.0
    if x <= 0:
        if x == np.floor(x):
            return x * 0 + np.inf  # a pole, without a sign, as in MXNet
        mirrored = math.pi / math.tan(math.pi * x)
        x = 1 - x
    total = 0.0
    big = np.float64(x)
    while big < 16:
        total -= 1 / big
        big += 1
    z = 1 / (big * big)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return total + math.log(big) - 0.5 / big - series - mirrored


@threads.jit()
def trigamma(x: Any) -> Any:
    """The derivative of digamma, found in the same way."""
    mirrored, side = 0.0, 1.0
    big = np.float64(x)
    if x <= 0:
        if x == np.floor(x):
            return np.inf
        mirrored, side = (math.pi / math.sin(math.pi * big)) ** 2, -1.0
        big = 1 - big
    total = 0.0
    while big < 16:
        total += 1 / (big * big)
        big += 1
    z = 1 / (big * big)
    series = z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * 5 / 66))))
    return mirrored + side * (total + (1 + 0.5 / big + series) / big)


@threads.jit()
def erfinv(x: Any) -> Any:
    """The y with erf(y) = x.

    A first guess, good to three digits, is improved by steps of Halley's method on the
    complement 1 - |x|, which keeps its digits near the ends.
    """
    size = np.float64(abs(x))
    if not size < 1:
        return np.copysign(np.inf, x) if size == 1 else np.nan
    rest = 1 - size
    logarithm = math.log(rest * (1 + size))
    half = 2 / (math.pi * 0.147) + logarithm / 2
    y = math.sqrt(math.sqrt(half * half - logarithm / 0.147) - half)
    for _ in range(3):
        missed = math.erf(y) - size if size < 0.5 else rest - math.erfc(y)
        error = missed / (2 / math.sqrt(math.pi) * math.exp(-y * y))
        y -= error / (1 + y * error)
    return np.copysign(y, x)
