"""Pure arithmetic on shapes: broadcasting, axes, sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from minimx.core.errors import ShapeError

Shape = tuple[int, ...]
#: A shape of which some axes (None among them) or all (None) are not known yet.
Open = tuple[int | None, ...] | None
Opens = list[Open]
#: Shapes of inputs, and of outputs.
Deduced = tuple[Opens, Opens]


def broadcast(name: str, a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise operation on shapes `a` and `b`.

    Axes are matched from the right; an axis of length 1 stretches.

    >>> broadcast("add", (4, 1, 3), (5, 3))
    (4, 5, 3)
    """
    if a == b:
        return a
    short, long = sorted((a, b), key=len)
    padded = (1,) * (len(long) - len(short)) + short
    out = []
    for m, n in zip(padded, long, strict=True):
        if m != n and m != 1 and n != 1:
            raise ShapeError(
                f"{name}: shapes {a} and {b} cannot be stretched to one shape; "
                f"axis lengths {m} and {n} differ and neither is 1. "
                "Reshape one of the arrays, or add axes of length 1."
            )
        out.append(n if m == 1 else m)
    return tuple(out)


def split_at(shape: Shape, axis: int) -> Shape:
    """A shape as three axes (outer, length, inner), with `axis` (≥ 0) in the middle.

    >>> split_at((8, 3, 5, 5), 1)
    (8, 3, 25)
    """
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def normalize_axis(name: str, axis: int, ndim: int) -> int:
    """Count a negative axis from the end; refuse one that does not exist.

    name: of the operator, for the error. ndim: how many axes there are. Raises
    `ShapeError`.
    """
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"{name}: axis {axis} does not exist in an array of {ndim} dimensions. "
            f"Choose one from {-ndim} to {ndim - 1}."
        )
    return axis % ndim


def normalize_axes(
    name: str, axis: int | Sequence[int] | None, ndim: int, exclude: bool = False
) -> Shape:
    """The axes to reduce over, sorted; `None` and `()` mean all of them.

    >>> normalize_axes("sum", (-1, 0), 3), normalize_axes("sum", 1, 3, exclude=True)
    ((0, 2), (0, 2))
    """
    if axis is None or (not isinstance(axis, int) and len(axis) == 0):
        return tuple(range(ndim))
    named = (axis,) if isinstance(axis, int) else tuple(axis)
    axes = {normalize_axis(name, a, ndim) for a in named}
    if len(axes) != len(named):
        raise ShapeError(f"{name}: axis {named} names one axis twice.")
    if exclude:
        axes = set(range(ndim)) - axes
    return tuple(sorted(axes))


def reduced(shape: Shape, axes: Shape, keepdims: bool, np_shape: bool = False) -> Shape:
    """The shape that is left after reducing over `axes`.

    np_shape: arrays without axes exist, else (1,) is the least.

    >>> reduced((2, 3, 4), (0, 2), keepdims=False), reduced((2, 3), (0, 1), False)
    ((3,), (1,))
    """
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    kept = tuple(n for i, n in enumerate(shape) if i not in axes)
    return kept if np_shape else kept or (1,)


def window(
    length: int, kernel: int, stride: int = 1, pad: int = 0, dilate: int = 1
) -> int:
    """How many positions a window of `kernel` taps has along one axis.

    >>> window(28, 5), window(28, 3, stride=2, pad=1)
    (24, 14)
    """
    span = dilate * (kernel - 1) + 1
    return (length + 2 * pad - span) // stride + 1


def size_of(shape: Shape) -> int:
    """The number of elements."""
    return prod(shape)


def is_whole(shape: Open) -> bool:
    """Whether all of a shape is known."""
    return shape is not None and None not in shape


def merge(name: str, a: Open, b: Open) -> Open:
    """What two accounts of one shape tell together.

    >>> merge("x", (None, 10), (12, None)), merge("x", None, (3,))
    ((12, 10), (3,))
    """
    if a is None or b is None or a == b:
        return b if a is None else a
    if len(a) != len(b) or any(
        m != n for m, n in zip(a, b, strict=True) if m is not None and n is not None
    ):
        raise ShapeError(
            f"{name}: the shape is {written(a)} on one account and {written(b)} on "
            "another. Both come from shapes that were given; change one of them."
        )
    return tuple(n if m is None else m for m, n in zip(a, b, strict=True))


def written(shape: Open) -> str:
    """A shape for people, with a question mark for what is not known."""
    if shape is None:
        return "(...)"
    axes = ", ".join("?" if n is None else str(n) for n in shape)
    return f"({axes},)" if len(shape) == 1 else f"({axes})"
