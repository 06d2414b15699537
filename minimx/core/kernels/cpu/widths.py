"""Two-byte numbers to float32 and back, in compiled loops.

    widened(x)         a float32 copy of an array
    convert(x, out)    out[...] = x, rounded to nearest, without a warning

NumPy converts one number after the other; these loops are vectorised, and ten times as
quick or more. What they have no loop for goes to NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT16, FLOAT32, NARROW
from minimx.core.kernels import threads
from minimx.core.kernels.halfwords import (
    from_bfloat16,
    from_float16,
    to_bfloat16,
    to_float16,
)
from minimx.core.kernels.parts import dealt

FEW = 512  # elements for which NumPy is done before a kernel has begun


@threads.jit(parallel=True)
def _from_float16(part: Any, words: Any, out: Any) -> None:
    for i in dealt(words.size, part):
        out[i] = from_float16(words[i])


@threads.jit(parallel=True)
def _to_float16(part: Any, x: Any, words: Any) -> None:
    for i in dealt(x.size, part):
        words[i] = to_float16(x[i])


@threads.jit(parallel=True)
def _from_bfloat16(part: Any, words: Any, out: Any) -> None:
    for i in dealt(words.size, part):
        out[i] = from_bfloat16(words[i])


@threads.jit(parallel=True)
def _to_bfloat16(part: Any, x: Any, words: Any) -> None:
    for i in dealt(x.size, part):
        words[i] = to_bfloat16(x[i])


def widened(x: Any) -> Any:
    """A copy of an array in float32, C-contiguous."""
    out = np.empty(x.shape, np.float32)
    convert(x, out)
    return out


def convert(x: Any, out: Any) -> None:
    """Fill `out` with the numbers of `x`, which has the same shape and any type.

    Rounded to the nearest; what is too large becomes infinite, without a warning.
    """
    plain = x.flags.c_contiguous and out.flags.c_contiguous and x.size > FEW
    if plain and out.dtype == FLOAT32 and x.dtype in NARROW:
        run = _from_float16 if x.dtype == FLOAT16 else _from_bfloat16
        run(x.reshape(-1).view(np.uint16), out.reshape(-1))
    elif plain and x.dtype == FLOAT32 and out.dtype in NARROW:
        run = _to_float16 if out.dtype == FLOAT16 else _to_bfloat16
        run(x.reshape(-1), out.reshape(-1).view(np.uint16))
    else:
        with np.errstate(all="ignore"):
            np.copyto(out, x, casting="unsafe")
