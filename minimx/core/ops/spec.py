"""What is known of an array before it exists, and what a call costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, ClassVar

from minimx.core.dtypes import DType
from minimx.core.shapes import Shape


class Spec:
    """A shape and an element type.

    Specs are interned: `Spec.of` gives the same object for the same shape and dtype, so
    that plans can be looked up by identity.

    >>> import numpy as np
    >>> Spec.of((2, 3), np.dtype("float32")).nbytes
    24
    """

    __slots__ = ("dtype", "nbytes", "shape", "size")

    #: Who runs operators on arrays of this kind, `eager(op, inputs, out)`, where
    #: they are not blocks of numbers that a kernel can read (sparse arrays).
    eager: ClassVar[Any] = None

    _known: dict[tuple[Shape, DType], Spec] = {}

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = prod(shape)
        self.nbytes = self.size * dtype.itemsize

    @classmethod
    def of(cls, shape: Shape, dtype: DType) -> Spec:
        """The one Spec with this shape and dtype.

        shape: a tuple of integers; dtype: a NumPy dtype. Equal specs are one object, so
        that plans are found by identity.
        """
        key = (shape, dtype)
        found = cls._known.get(key)
        if found is None:
            if len(cls._known) >= 1 << 16:  # programs with ever new shapes
                cls._known.clear()
            found = cls._known.setdefault(key, cls(shape, dtype))
        return found

    def with_shape(self, shape: Shape) -> Spec:
        """The same dtype with another shape."""
        return Spec.of(shape, self.dtype)

    def with_dtype(self, dtype: DType) -> Spec:
        """The same shape with another dtype."""
        return Spec.of(self.shape, dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"


#: The name of an element type; NumPy puts it together anew each time.
_name = cache(lambda dtype: dtype.name)


@dataclass(frozen=True)
class Cost:
    """Work of one call: floating-point operations, and bytes read plus written.

    tensor_cores: a GPU does them on the units that multiply matrices of float16. dtype:
    the name of the type that is computed in; two costs are equal whatever it is.
    """

    flops: int
    bytes_moved: int
    tensor_cores: bool = False
    dtype: str = field(default="", compare=False)

    def computed_in(self, *specs: Spec) -> Cost:
        """The same, in the type that a call of arrays like these computes in.

        That is the first floating one, or the first.
        """
        names = [_name(spec.dtype) for spec in specs]
        first = (*[name for name in names if "float" in name], *names, "")[0]
        return Cost(self.flops, self.bytes_moved, self.tensor_cores, first)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes_moved + other.bytes_moved)
