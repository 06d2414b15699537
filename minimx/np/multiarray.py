"""`mx.np.ndarray`: an NDArray that behaves as NumPy's arrays do.

The same chunks, operators, engine and tape as `mx.nd`; other manners. Arrays without
axes and without elements exist, operators promote element types, comparisons give bool,
and printing looks as in NumPy. `as_nd_ndarray` and `as_np_ndarray` lead from one
kind to the other: the memory and the place on the tape stay.

Functions become methods in `methods.py`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import empty_output, invoke
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, ShapeError, Unavailable
from minimx.core.ops.registry import Op, lookup
from minimx.nd.functions import changeable, changeable_classes
from minimx.np.operators import Operators

if TYPE_CHECKING:
    from minimx.np.array_methods import Methods
else:
    Methods = NDArray  # methods.py adds them


class ndarray(Operators, Methods):  # noqa: N801 (NumPy's name)
    """An n-dimensional array on a device, computed asynchronously, in NumPy's manners.

    Made by `mx.np.array`, `zeros`, … and by every function on such arrays.
    """

    __slots__ = ()
    __hash__ = NDArray.__hash__

    # -- what it is -------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The element type, a NumPy dtype."""
        return self.spec.dtype

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes."""
        return self.spec.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """How many bytes all elements take."""
        return self.spec.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError(
                f"The truth value of an array of {self.size} elements is ambiguous. "
                "Use x.any() or x.all()."
            )
        return self.size == 1 and bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if self.spec.dtype.kind not in "iu" or self.size != 1:
            raise TypeError("only integer arrays of one element can be an index")
        return int(self.item())

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("an array without axes cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    # -- printing ---------------------------------------------------------------------

    def __repr__(self) -> str:
        text = repr(self.asnumpy())
        if self.size:  # NumPy 2 adds the shape where it leaves elements out
            text = text.replace(f", shape={self.shape}", "")
        name = self.spec.dtype.name
        if "dtype=" in text:
            text = text[: text.rindex(",")] + ")"
        if name not in ("float32", "bool"):
            text = f"{text[:-1]}, dtype={name})"
        if self.context.device_type.startswith("cpu"):
            return text
        return f"{text[:-1]}, ctx={self.context})"

    def __str__(self) -> str:
        text = str(self.asnumpy())
        if self.context.device_type.startswith("cpu") or self.ndim == 0:
            return text
        return f"{text} @{self.context}"

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        if spec:
            raise TypeError(
                f"format {spec!r} is for numbers, not for an array of shape "
                f"{self.shape}. Format its elements, or set np.set_printoptions."
            )
        return str(self)

    # -- reading ----------------------------------------------------------------------

    def asnumpy(self) -> Any:
        """A copy as a NumPy array, after waiting for the numbers."""
        return super().asnumpy().view(onp.ndarray)

    def item(self, *args: Any) -> Any:
        """One element as a plain Python number: the only one, or by its place."""
        if not args and self.size != 1:
            raise ValueError(
                f"item: the array has {self.size} elements, not one. Say which: "
                "x.item(3) or x.item(0, 2)."
            )
        return self.asnumpy().item(*args)

    def asscalar(self) -> Any:
        """The only element."""
        return self.asnumpy()[()] if self.ndim == 0 else super().asscalar()

    # -- the two kinds of array -------------------------------------------------------

    def as_np_ndarray(self) -> ndarray:
        """The array as one of `mx.np`: itself."""
        return self

    def as_nd_ndarray(self) -> NDArray:
        """The array as one of `mx.nd`: the same memory and place on the tape."""
        result: NDArray = self._neutral(history=True)
        if self._grad is not None:
            result._grad = self._grad._neutral()
        return result

    def _neutral(self, history: bool = False) -> Any:
        result = NDArray(self.chunk, self.spec, self.offset)
        result._view = self._view
        if history:
            result._entry = self._entry
        return result

    def _as_np(self, value: NDArray) -> NDArray:
        return as_np(value)

    def _has_scalars(self) -> bool:
        return True

    # -- other shapes and types -------------------------------------------------------

    @property
    def T(self) -> ndarray:  # noqa: N802 (NumPy's name)
        """The array with its axes reversed."""
        return self.transpose()

    def astype(  # type: ignore[override]
        self,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> ndarray:
        """The array with another element type.

        copy: make a new array also where the type is the same already. The other
        arguments are NumPy's and have one value each here.
        """
        if isinstance(order, bool):  # MXNet 1's second argument was copy
            order, copy = "K", order
        if order not in ("K", "C", "A") or casting != "unsafe" or not subok:
            raise Unavailable(
                f"astype: order={order!r}, casting={casting!r}, subok={subok}: arrays "
                "here are C-ordered, conversion is 'unsafe', and there are no "
                "subclasses. Leave the three away."
            )
        wanted = resolve(dtype)
        if not copy and wanted == self.spec.dtype:
            return self
        op = lookup("cast").of(dtype=wanted.name)
        return self._bind(op, [self])

    def reshape(self, *shape: Any, order: str = "C", **kwargs: Any) -> ndarray:
        """A copy of the elements under another shape; one length may be -1.

        order: 'C' reads and writes rows first, 'F' columns first.
        """
        if not shape and "newshape" in kwargs:
            shape = (kwargs.pop("newshape"),)
        if not shape and "shape" in kwargs:
            shape = (kwargs.pop("shape"),)
        if kwargs or not shape:
            what = f"no setting {next(iter(kwargs))!r}" if kwargs else "no shape given"
            raise ArgumentError(f"reshape: {what}. Write x.reshape(2, -1).")
        wanted = filled_in(self.shape, shape)
        if order in ("C", "A"):
            return unshared(lookup("_reshape_to").of(shape=wanted), self)
        if order != "F":
            raise ArgumentError(f"reshape: order={order!r}: choose 'C' or 'F'.")
        return self.T.reshape_view(wanted[::-1]).T

    def reshape_view(self, *shape: Any, order: str = "C") -> ndarray:
        """The same memory under another shape; one length may be -1."""
        if order != "C":
            raise ArgumentError(f"reshape_view: order={order!r}: there is only 'C'.")
        op = lookup("_reshape_to").of(shape=filled_in(self.shape, shape))
        return invoke(op, [self])

    def copy(self, order: str = "C") -> ndarray:
        """A copy on the same device, recorded like any operator."""
        if order not in ("C", "K", "A"):
            raise Unavailable(f"copy: order={order!r}: arrays here are C-ordered.")
        return super().copy()  # type: ignore[return-value]

    def flatten(self, order: str = "C") -> ndarray:  # type: ignore[override]
        """A copy with one axis."""
        return self.reshape(-1, order=order)

    # -- with NumPy -------------------------------------------------------------------

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from minimx.np.calling import dispatch

        return dispatch.function(func, args, kwargs)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        from minimx.np.calling import dispatch

        return dispatch.ufunc(ufunc, method, inputs, kwargs)


def as_np(value: NDArray) -> ndarray:
    """An array as one of `mx.np`: the same memory and place on the tape."""
    if isinstance(value, ndarray):
        return value
    result = ndarray(value.chunk, value.spec, value.offset)
    result._view = value._view
    result._entry = value._entry
    if value._grad is not None:
        result._grad = as_np(value._grad)
    return result


# `mx.nd` stands on a lower floor and cannot name this class itself.
setattr(NDArray, "as_np_ndarray", as_np)  # noqa: B010
changeable_classes.add(ndarray)


def unshared(op: Op, a: ndarray) -> Any:
    """Apply an operator that only looks at the memory of `a` otherwise, on a copy.

    What is on the tape is never written to, so that it can be shared.
    """
    return invoke(op, [a], empty_output(op, [a]) if changeable(a) else None)


def filled_in(shape: tuple[int, ...], wanted: tuple[Any, ...]) -> tuple[int, ...]:
    """A wanted shape with its -1 replaced by the length that is left.

    >>> filled_in((2, 6), (3, -1)), filled_in((2, 6), ([4, 3],))
    ((3, 4), (4, 3))
    """
    if len(wanted) == 1 and isinstance(wanted[0], (tuple, list)):
        wanted = tuple(wanted[0])
    wanted = tuple(int(n) for n in wanted)
    size = prod(shape)
    found = wanted
    if wanted.count(-1) == 1:
        rest = prod(n for n in wanted if n != -1)
        length = size // rest if rest else 0
        found = tuple(length if n == -1 else n for n in wanted)
    if min(found, default=0) < 0 or prod(found) != size:
        raise ShapeError(
            f"reshape: shape {shape} has {size} elements and does not fit into "
            f"{wanted}. One length may be -1; MXNet's other codes belong to "
            "npx.reshape."
        )
    return found


def as_ndarray(value: Any, who: str, name: str = "a") -> Any:
    """An argument that must be an array: one of `mx.np`, or one of `mx.nd` in disguise.

    Raises TypeError for anything else.
    """
    if isinstance(value, ndarray):
        return value
    if isinstance(value, NDArray):
        return as_np(value)
    raise TypeError(
        f"np.{who}: {name} must be an mx.np array, not {type(value).__name__}. "
        "Make one with mx.np.array(...)."
    )
