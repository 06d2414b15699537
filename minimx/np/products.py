"""Products of arrays: `dot`, `matmul`, `inner`, `outer`, `vdot`, `kron`, `cross`.

All are matrix products of reshaped arrays, or sums of elementwise ones.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.errors import ShapeError
from minimx.core.ops.registry import lookup
from minimx.np.arithmetic import store
from minimx.np.calling.promotion import cast, common, is_number
from minimx.np.multiarray import as_ndarray, ndarray


def _two(who: str, a: Any, b: Any) -> tuple[ndarray, ndarray]:
    a, b = as_ndarray(a, who), as_ndarray(b, who, "b")
    dtype = common(a.spec.dtype, b.spec.dtype)
    return cast(a, dtype), cast(b, dtype)


def _settle(a: Any, b: Any) -> None:
    """A weight that waits for a length learns it from the array it is multiplied by."""
    if isinstance(a, ndarray) and isinstance(b, ndarray):
        b._settle(-2, a.shape[-1] if a.shape else 1, a.context)


def _product(a: Any, b: Any) -> ndarray:
    """The product of two matrices."""
    return a._bind(lookup("dot").of(), (a, b))


def _check_lengths(who: str, a: Any, b: Any, k: int, other: int) -> None:
    if k != other:
        raise ShapeError(
            f"np.{who}: shapes {a.shape} and {b.shape} do not fit: the sum runs over "
            f"{k} elements of the first and {other} of the second. Transpose one."
        )


def dot(a: Any, b: Any, out: Any = None) -> ndarray:
    """Sum over the last axis of a and the second-to-last (or only) axis of b.

    a (..., k), b (..., k, n): out (..., ..., n); numbers and arrays without axes scale
    """
    if is_number(a) or is_number(b):
        return store(a * b, out)
    _settle(a, b)
    a, b = _two("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return store(a * b, out)
    if b.ndim > 2:
        order = (b.ndim - 2, *range(b.ndim - 2), b.ndim - 1)
        b = b.transpose(order)
    _check_lengths("dot", a, b, a.shape[-1], b.shape[0])
    return store(_contracted(a, b), out)


def _contracted(a: Any, b: Any) -> ndarray:
    """Sum over the last axis of a and the first axis of b."""
    k, shape = a.shape[-1], (*a.shape[:-1], *b.shape[1:])
    flat = _product(
        a.reshape_view(prod(a.shape[:-1]), k), b.reshape_view(k, prod(b.shape[1:]))
    )
    return flat.reshape_view(shape)


def matmul(a: Any, b: Any, out: Any = None) -> ndarray:
    """The matrix product; further axes in front are a stack, and stretch.

    a (..., m, k), b (..., k, n): out (..., m, n); vectors are rows on the left and
    columns on the right, whose axis is dropped again
    """
    if is_number(a) or is_number(b):
        raise ValueError("matmul does not scale; use * with a number.")
    _settle(a, b)
    a, b = _two("matmul", a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError("matmul does not scale; use * with an array without axes.")
    _check_lengths("matmul", a, b, a.shape[-1], b.shape[-2 if b.ndim > 1 else 0])
    if b.ndim <= 2:
        return store(_contracted(a, b), out)
    row = a.ndim == 1
    if row:
        a = a.reshape_view(1, -1)
    lead = _stack(a.shape[:-2], b.shape[:-2])
    a, b = _spread(a, lead), _spread(b, lead)
    count = prod(lead)
    stacks = a.reshape_view(count, *a.shape[-2:]), b.reshape_view(count, *b.shape[-2:])
    found = a._bind(lookup("batch_dot").of(), stacks)
    shape = (*lead, *(() if row else a.shape[-2:-1]), b.shape[-1])
    return store(found.reshape_view(shape), out)


def _stack(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    from minimx.core.shapes import broadcast

    return broadcast("matmul", a, b)


def _spread(a: Any, lead: tuple[int, ...]) -> ndarray:
    shape = (*lead, *a.shape[-2:])
    return a if a.shape == shape else a.broadcast_to(shape)


def inner(a: Any, b: Any) -> ndarray:
    """Sum over the last axes of both."""
    if is_number(a) or is_number(b):
        return a * b
    a, b = _two("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    _check_lengths("inner", a, b, a.shape[-1], b.shape[-1])
    k = a.shape[-1]
    flat = a._bind(
        lookup("dot").of(transpose_b=True),
        (a.reshape_view(prod(a.shape[:-1]), k), b.reshape_view(prod(b.shape[:-1]), k)),
    )
    return flat.reshape_view((*a.shape[:-1], *b.shape[:-1]))


def outer(a: Any, b: Any, out: Any = None) -> ndarray:
    """Every element of a with every element of b: (a.size, b.size)."""
    a, b = _two("outer", a, b)
    return store(a.reshape_view(-1, 1) * b.reshape_view(1, -1), out)


def vdot(a: Any, b: Any) -> ndarray:
    """The sum of the products of all elements."""
    a, b = _two("vdot", a, b)
    _check_lengths("vdot", a, b, a.size, b.size)
    return _contracted(a.reshape_view(-1), b.reshape_view(-1))


def kron(a: Any, b: Any) -> ndarray:
    """Each element of a replaced by its product with b."""
    a, b = _two("kron", a, b)
    ndim = max(a.ndim, b.ndim)
    left = (1,) * (ndim - a.ndim) + a.shape
    right = (1,) * (ndim - b.ndim) + b.shape
    wide = a.reshape_view([n for length in left for n in (length, 1)])
    narrow = b.reshape_view([n for length in right for n in (1, length)])
    shape = tuple(n * m for n, m in zip(left, right, strict=True))
    return (wide * narrow).reshape_view(shape)


def cross(
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> ndarray:
    """The vectors at right angles to pairs of vectors of 2 or 3 components.

    The components stand on the given axes; of two vectors of 2 components the result
    has no axis for them.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _two("cross", a, b)
    a, b = _last(a, axisa), _last(b, axisb)
    for vector in (a, b):
        if vector.shape[-1] not in (2, 3):
            raise ShapeError(
                f"cross: vectors have 2 or 3 components, shape {vector.shape} has "
                f"{vector.shape[-1]}."
            )
    ax, ay, *az = [a[..., i] for i in range(a.shape[-1])]
    bx, by, *bz = [b[..., i] for i in range(b.shape[-1])]
    z = ax * by - ay * bx
    if not az and not bz:
        return z
    third, other = (az or [ax * 0])[0], (bz or [bx * 0])[0]
    parts = [ay * other - third * by, third * bx - ax * other, z]
    found = a._bind(lookup("stack").of(axis=-1), [_like(p, z) for p in parts])
    return found if axisc in (-1, found.ndim - 1) else _from_last(found, axisc)


def _like(part: Any, example: Any) -> ndarray:
    return part if part.shape == example.shape else part.broadcast_to(example.shape)


def _last(a: Any, axis: int) -> ndarray:
    """The array with an axis moved to the end."""
    axis %= a.ndim
    order = [k for k in range(a.ndim) if k != axis] + [axis]
    return a if axis == a.ndim - 1 else a.transpose(order)


def _from_last(a: Any, axis: int) -> Any:
    order = list(range(a.ndim - 1))
    order.insert(axis % a.ndim, a.ndim - 1)
    return a.transpose(order)


__all__ = ["cross", "dot", "inner", "kron", "matmul", "outer", "vdot"]
