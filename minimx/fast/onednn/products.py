"""Products of bfloat16 matrices by oneDNN (`minimx.fast.onednn.library`).

    multiply(a, b, out, ta, tb, bias)     whether oneDNN did it

The arrays are taken as they lie in memory, transposed or not; nothing is widened. Sums
are in float32, and so is the bias added to them; the result is rounded once.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, NamedTuple

from minimx.core.errors import MXNetError
from minimx.fast.onednn.library import (
    BIAS,
    DST,
    SCRATCHPAD,
    SRC,
    WEIGHTS,
    Library,
    Owner,
    aligned,
    loaded,
    primitives,
    takes_bfloat16,
    team,
)

_BFLOAT16 = "bfloat16"
#: Products of fewer multiplications are over before oneDNN has been called.
WORTH = 1 << 18


class Lengths(NamedTuple):
    """What a product is prepared for: a stack of (m, k) · (k, n).

    ta, tb: whether the matrices are stored transposed. biased: whether a row is added.
    """

    stack: int
    m: int
    k: int
    n: int
    ta: bool
    tb: bool
    biased: bool


def multiply(a: Any, b: Any, out: Any, ta: bool, tb: bool, bias: Any = None) -> bool:
    """Fill out (m, n) or (stack, m, n) with op(a) · op(b), plus bias (n,) on each row.

    The arrays are bfloat16. False, and nothing is done, if oneDNN is not installed, not
    enabled, or the processor has no instruction for bfloat16; or if the product is so
    small that calling a library takes longer than widening.
    """
    m, n = out.shape[-2:]
    k = a.shape[-2 if ta else -1]
    stack = prod(out.shape[:-2])
    if stack * m * k * n < WORTH or not takes_bfloat16():
        return False
    if not all(x.flags.c_contiguous for x in (a, b, out)):
        return False
    at = Lengths(stack, m, k, n, bool(ta), bool(tb), bias is not None)
    dnnl = loaded()
    assert dnnl is not None
    number = team(stack * m * k * n)
    key = "product", at, number
    try:
        product = primitives.take(key, partial(Product, dnnl, at, number))
    except MXNetError:  # it does not know these lengths
        return False
    product.run({SRC: a, WEIGHTS: b, DST: out, BIAS: bias})
    return True


class Product(Owner):
    """A product of matrices, prepared."""

    def __init__(self, dnnl: Library, at: Lengths, threads: int) -> None:
        super().__init__(dnnl, threads)
        one = (at.stack,) if at.stack > 1 else ()
        self._layouts = {
            SRC: self._stored(one, at.m, at.k, at.ta),
            WEIGHTS: self._stored(one, at.k, at.n, at.tb),
            DST: self._stored(one, at.m, at.n, False),
        }
        bias = None
        if at.biased:
            bias = self.ours((*(1 for _ in one), 1, at.n), _BFLOAT16)
            self._layouts[BIAS] = bias
        ends = (*[self._layouts[arg] for arg in (SRC, WEIGHTS)], bias)
        attr = self.attributes()
        pd = self.description("matmul", dnnl.engine, *ends, self._layouts[DST], attr)
        self._layouts[SCRATCHPAD] = self.scratch(pd)
        self._nbytes = dnnl.size(self._layouts[SCRATCHPAD])
        self._main = self.primitive(pd)

    def _stored(self, one: tuple[int, ...], rows: int, columns: int, turn: bool) -> Any:
        """The layout of (stacked) matrices; turn: they are stored transposed."""
        strides = (1, rows) if turn else (columns, 1)
        steps = (*(rows * columns for _ in one), *strides)
        return self.ours((*one, rows, columns), _BFLOAT16, steps)

    def run(self, arrays: dict[int, Any]) -> None:
        """Compute; arrays: contiguous, of bfloat16, by their argument."""
        scratch = aligned(self._nbytes)
        places = {**arrays, SCRATCHPAD: scratch}
        memories = {
            arg: self.memory(arg, layout, places[arg].ctypes.data)
            for arg, layout in self._layouts.items()
        }
        self.execute(self._main, memories)
        self.wait()
