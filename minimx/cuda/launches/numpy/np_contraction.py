"""Launches of products of matrices and of einsum: stacks of products, and axes moved.

Every sum of products of two operands is a product of stacks of matrices. The axes of
the stack are in both operands and stay, those that are summed over are in both and go;
what only one operand has makes the rows and the columns.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from minimx.core import shapes
from minimx.cuda.launches.composed import call, shaped
from minimx.cuda.launches.composing import composed, scaled


@composed("_linalg_gemm2")
def gemm2(op: Any, a: Any, b: Any) -> Any:
    """A product of matrices or of stacks of them, times a number."""
    return scaled(_product(op, a, b), op.alpha)


@composed("_linalg_gemm")
def gemm(op: Any, a: Any, b: Any, c: Any) -> Any:
    """The same, and a third matrix on top."""
    return scaled(_product(op.product(), a, b), op.alpha) + scaled(c, op.beta)


@composed("_linalg_syrk")
def syrk(op: Any, a: Any) -> Any:
    """A product of matrices with their own transposes."""
    stack = _stack(a)
    ways = {"transpose_a": op.transpose, "transpose_b": not op.transpose}
    found = call("batch_dot", stack, stack, **ways)
    return scaled(shaped(found, op.infer(a.spec).shape), op.alpha)


def _stack(a: Any) -> Any:
    """Matrices as one stack."""
    rows, columns = a.spec.shape[-2:]
    return shaped(a, (a.spec.size // (rows * columns), rows, columns))


def _product(op: Any, a: Any, b: Any) -> Any:
    """A · B for two stacks of matrices whose rows lie along an axis of the setting."""
    axis, last = op.rows(a.spec), a.spec.ndim - 2
    lead = [k for k in range(last + 1) if k != axis]
    if axis != last:
        a, b = (call("transpose", x, axes=(*lead, axis, last + 1)) for x in (a, b))
    ways = {"transpose_a": op.transpose_a, "transpose_b": op.transpose_b}
    found = call("batch_dot", _stack(a), _stack(b), **ways)
    found = shaped(found, (*a.spec.shape[:-2], *found.spec.shape[-2:]))
    if axis == last:
        return found
    back = [*range(axis), last, *range(axis, last), last + 1]
    return call("transpose", found, axes=back)


def _triangle(op: Any, a: Any) -> Any:
    """Zeros on the other side of the diagonal."""
    return _stack(call("_npi_tril" if op.lower else "_npi_triu", a))


@composed("_linalg_trmm")
def trmm(op: Any, a: Any, b: Any) -> Any:
    """A product with a triangle, from either side."""
    one, two = _triangle(op, a), _stack(b)
    if op.rightside:
        found = call("batch_dot", two, one, transpose_b=op.transpose)
    else:
        found = call("batch_dot", one, two, transpose_a=op.transpose)
    return scaled(shaped(found, b.spec.shape), op.alpha)


@composed("_linalg_potri")
def potri(op: Any, a: Any) -> Any:
    """The inverse of a triangle, and its product with itself."""
    inverse = call("_linalg_inverse", _triangle(op, a))
    ways = {"transpose_a": op.lower, "transpose_b": not op.lower}
    return shaped(call("batch_dot", inverse, inverse, **ways), a.spec.shape)


@composed("_linalg_sumlogdiag")
def sumlogdiag(op: Any, a: Any) -> Any:
    """The diagonals, their logarithms, and a sum."""
    logs = call("log", call("_linalg_extractdiag", a))
    return shaped(call("sum", logs, axis=-1), op.infer(a.spec).shape)


@composed("_np_dot", "_npi_tensordot", "_npi_tensordot_int_axes")
def tensordot(op: Any, a: Any, b: Any) -> Any:
    """The axes that are summed over go last in a, first in b; then a product."""
    ones, others = op.pairs(a.spec, b.spec)
    left = [k for k in range(a.spec.ndim) if k not in ones]
    right = [k for k in range(b.spec.ndim) if k not in others]
    inner = prod(a.spec.shape[k] for k in ones)
    x = call("transpose", a, axes=(*left, *ones)) if a.spec.ndim > 1 else a
    y = call("transpose", b, axes=(*others, *right)) if b.spec.ndim > 1 else b
    rows, columns = a.spec.size // inner, b.spec.size // inner
    found = call("dot", shaped(x, (rows, inner)), shaped(y, (inner, columns)))
    return shaped(found, op.infer(a.spec, b.spec).shape)


@composed("_npi_matmul")
def matmul(op: Any, a: Any, b: Any) -> Any:
    """A vector is a row or a column; stacks are stretched to one, a single B is not."""
    out = op.infer(a.spec, b.spec).shape
    x = a if a.spec.ndim > 1 else shaped(a, (1, *a.spec.shape))
    y = b if b.spec.ndim > 1 else shaped(b, (*b.spec.shape, 1))
    (k, n), one, two = y.spec.shape[-2:], x.spec.shape[:-2], y.spec.shape[:-2]
    if not two:
        found = call("dot", shaped(x, (x.spec.size // k, k)), shaped(y, (k, n)))
        return shaped(found, out)
    stack = shapes.broadcast("matmul", one, two)
    if one != stack:
        x = call("_npi_broadcast_to", x, shape=(*stack, *x.spec.shape[-2:]))
    if two != stack:
        y = call("_npi_broadcast_to", y, shape=(*stack, k, n))
    return shaped(call("batch_dot", _stack(x), _stack(y)), out)


# -- einsum ----------------------------------------------------------------------------


@composed("_npi_einsum")
def einsum(op: Any, *operands: Any) -> Any:
    """Two operands at a time, in the order that NumPy finds greedily.

    Axes of length 1 play no part: they are left out, and put back at the end.
    """
    specs = [x.spec for x in operands]
    read = op.read(specs)
    lengths = read.lengths([spec.shape for spec in specs])
    out = "".join(x for x in read.out if lengths[x] > 1)
    left = [_long(x, term) for x, term in zip(operands, read.ins, strict=True)]
    ghosts = [np.broadcast_to(np.float32(0), x.spec.shape) for x, _ in left]
    text = ",".join(term for _, term in left) + "->" + out
    for group in np.einsum_path(text, *ghosts, optimize="greedy")[0][1:]:
        chosen = [left.pop(k) for k in sorted(group, reverse=True)]
        while len(chosen) > 1:
            one, two = chosen.pop(), chosen.pop()
            others = "".join(term for _, term in (*left, *chosen)) + out
            chosen.append(_joined(one, two, others))
        left += chosen
    value, term = _summed(*left[0], out)
    return shaped(_ordered(value, term, out), op.infer(*specs).shape)


def _long(x: Any, term: str) -> tuple[Any, str]:
    """An operand without its axes of length 1, and of axes of one label one."""
    pairs = [p for p in zip(x.spec.shape, term, strict=True) if p[0] > 1]
    x, term = shaped(x, tuple(n for n, _ in pairs)), "".join(w for _, w in pairs)
    while twice := [
        p for p in combinations(range(len(term)), 2) if term[p[0]] == term[p[1]]
    ]:
        one, two = twice[0]
        x = call("_np_diagonal", x, axis1=one, axis2=two)  # the diagonal comes last
        term = term[:one] + term[one + 1 : two] + term[two + 1 :] + term[one]
    return x, term


def _summed(x: Any, term: str, others: str) -> tuple[Any, str]:
    """The sum over the axes that no other operand has."""
    gone = tuple(k for k, letter in enumerate(term) if letter not in others)
    if gone:
        kept = tuple(n for k, n in enumerate(x.spec.shape) if k not in gone)
        x = shaped(call("sum", x, axis=gone), kept)
    return x, "".join(letter for letter in term if letter in others)


def _ordered(x: Any, term: str, wanted: str) -> Any:
    """The axes in another order."""
    if term == wanted:
        return x
    return call("transpose", x, axes=tuple(term.index(letter) for letter in wanted))


def _joined(
    left: tuple[Any, str], right: tuple[Any, str], others: str
) -> tuple[Any, str]:
    """The product of two operands, summed over what only these two have."""
    a, one = _summed(*left, right[1] + others)
    b, two = _summed(*right, one + others)
    stack = "".join(x for x in one if x in two and x in others)
    inner = "".join(x for x in one if x in two and x not in others)
    rows = "".join(x for x in one if x not in two)
    columns = "".join(x for x in two if x not in one)
    size = dict(zip(one + two, (*a.spec.shape, *b.spec.shape), strict=True))
    deep, high, long, wide = (
        prod(size[x] for x in w) for w in (stack, rows, inner, columns)
    )
    x = shaped(_ordered(a, one, stack + rows + inner), (deep, high, long))
    y = shaped(_ordered(b, two, stack + inner + columns), (deep, long, wide))
    term = stack + rows + columns
    return shaped(call("batch_dot", x, y), tuple(size[w] for w in term)), term
