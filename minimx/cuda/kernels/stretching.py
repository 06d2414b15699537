"""Two operands that stretch to one output, on CUDA.

strides = pair(shapes, out_shape)     for each axis its length and the steps of both
left, right = spots(i, strides)       where element i of the output finds them

Kernels of two numbers and kernels that fetch parts of arrays go through them so.
"""

from __future__ import annotations

from typing import Any

from minimx.core.kernels import pointwise as common
from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching

Strides = tuple[int, ...]


def pair(shapes: tuple[Shape, Shape], out_shape: Shape) -> Strides:
    """How two arrays of these shapes stretch to the output's, innermost axis first.

    >>> pair(((3, 1), (4,)), (3, 4))
    (4, 0, 1, 3, 1, 0)
    """
    lengths, steps = common.collapse(out_shape, shapes)
    rows = zip(lengths, steps, strict=True)
    return tuple(x for n, line in rows for x in (n, line[0], line[1])) or (1, 0, 0)


@launching.inner
def spots(i: int, strides: Any) -> Any:
    """The elements of both operands that element i of the output is about."""
    left, right, rest = 0, 0, i
    for k in range(0, len(strides), 3):
        step = rest % strides[k]
        rest //= strides[k]
        left += step * strides[k + 1]
        right += step * strides[k + 2]
    return left, right
