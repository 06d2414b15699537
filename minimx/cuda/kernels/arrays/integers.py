"""Whole numbers on CUDA: bit by bit, shifted, and what divides them.

    launch = looped("gcd", shapes, out_shape, bits)     a callable (*ins, out)

Formulas have no words for these. The rules are NumPy's: what is shifted further than
its type has bits is gone, and so is what is shifted by less than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.stretching import pair, spots

Launch = Callable[..., None]
_whole = np.int64


@launching.inner
def bitwise_and(a: Any, b: Any, bits: int) -> Any:
    """The bits that both have."""
    return a & b


@launching.inner
def bitwise_or(a: Any, b: Any, bits: int) -> Any:
    """The bits that either has."""
    return a | b


@launching.inner
def bitwise_xor(a: Any, b: Any, bits: int) -> Any:
    """The bits that one of the two has."""
    return a ^ b


@launching.inner
def bitwise_not(a: Any, b: Any, bits: int) -> Any:
    """The bits that are missing; a bool has one."""
    return 1 - a if bits == 1 else ~a


@launching.inner
def left_shift(a: Any, b: Any, bits: int) -> Any:
    """The bits, moved up."""
    return a << b if b >= 0 and b < bits else a ^ a


@launching.inner
def right_shift(a: Any, b: Any, bits: int) -> Any:
    """The bits, moved down; a negative number stays negative."""
    return a >> b if b >= 0 and b < bits else a >> _whole(63)


@launching.inner
def gcd(a: Any, b: Any, bits: int) -> Any:
    """The greatest common divisor, by Euclid's way."""
    while b != 0:
        a, b = b, a % b
    return -a if a < 0 else a


@launching.inner
def lcm(a: Any, b: Any, bits: int) -> Any:
    """The least common multiple."""
    first, second = a, b
    while second != 0:
        first, second = second, first % second
    found = a * 0 if first == 0 else a // first * b
    return -found if found < 0 else found


FUNCTIONS = {
    function.__name__: function
    for function in (
        *(bitwise_and, bitwise_or, bitwise_xor, bitwise_not),
        *(left_shift, right_shift, gcd, lcm),
    )
}


@cache
def _compiled(name: str) -> Any:
    """The kernel of a function of two numbers; an operand may be stretched."""
    function = FUNCTIONS[name]

    @launching.kernel
    def kernel(a: Any, b: Any, out: Any, n: int, strides: Any, bits: int) -> None:
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            left, right = spots(i, strides)
            out[i] = function(_whole(a[left]), _whole(b[right]), bits)

    return kernel


def looped(name: str, shapes: Sequence[Shape], out_shape: Shape, bits: int) -> Launch:
    """A callable (*ins, out), one input or two that stretch to the output's shape."""
    strides = pair((shapes[0], shapes[-1]), out_shape)

    return lambda *arrays: launching.over(
        _compiled(name), prod(out_shape), (arrays[0], *arrays[-2:]), strides, bits
    )
