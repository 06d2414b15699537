"""Data sheets of NumPy's functions that take more than the operator of that name.

`_npi_argmax` needs an axis to be there; `np.argmax` of an array without axes takes 0 as
well. `_npi_eig` computes with fractions; `np.linalg.eig` converts whole numbers first.
In files both are one operator, under MXNet's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx import np
from minimx.core.ops.casting import SINGLE
from minimx.core.shapes import Shape
from minimx.symbol.composed import composed

# -- many elements become one ----------------------------------------------------------


def _total(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def reduce(
        a: Any,
        *,
        axis: Any = None,
        dtype: str | None = None,
        keepdims: bool = False,
        initial: Any = None,
    ) -> Any:
        if initial is not None:
            return function(a, axis, dtype, None, keepdims, initial)
        return function(a, axis, dtype, None, keepdims)

    reduce.__doc__ = f"`np.{name}` over some axes, or over all."
    return reduce


def _chosen(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def reduce(a: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return function(a, axis, None, keepdims)

    reduce.__doc__ = f"`np.{name}` over some axes, or over all."
    return reduce


def _extremum(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def reduce(
        a: Any, *, axis: Any = None, keepdims: bool = False, initial: Any = None
    ) -> Any:
        return function(a, axis, None, keepdims, initial)

    reduce.__doc__ = f"`np.{name}` over some axes, or over all."
    return reduce


for _name in ("sum", "prod"):
    composed(f"_np_{_name}", casting=SINGLE)(_total(_name))
composed("_npi_mean", casting=SINGLE)(_total("mean"))
for _name in ("max", "min"):
    composed(f"_np_{_name}")(_extremum(_name))
for _name in ("any", "all"):
    composed(f"_numpy_{_name}", written=f"_np_{_name}")(_chosen(_name))
for _name in ("argmax", "argmin"):
    composed(f"_numpy_{_name}", written=f"_npi_{_name}")(_chosen(_name))


@composed("_numpy_cumsum", written="_np_cumsum")
def cumsum(a: Any, *, axis: Any = None, dtype: str | None = None) -> Any:
    """The sum so far, along an axis or of all elements in a row."""
    return np.cumsum(a, axis, dtype)


# -- other shapes ----------------------------------------------------------------------


@composed("_numpy_squeeze", written="_np_squeeze")
def squeeze(a: Any, *, axis: Any = None) -> Any:
    """An array without axes of length 1: those named, or all."""
    return np.squeeze(a, axis)


@composed("_numpy_flip", written="_npi_flip")
def flip(data: Any, *, axis: Any = None) -> Any:
    """The elements in reverse order along some axes, or along all."""
    return np.flip(data, axis)


@composed("_npi_eye")
def eye(*, N: int, M: Any = None, k: int = 0, dtype: str = "float32") -> Any:  # noqa: N803
    """A matrix with ones on the k-th diagonal."""
    return np.eye(N, M, k, dtype)


@composed("_numpy_linspace", written="_linspace")
def linspace(
    *,
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    dtype: str = "float32",
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`."""
    return np.linspace(start, stop, num, endpoint, dtype=dtype)


@composed("_numpy_pad", written="_npi_pad")
def pad(
    data: Any,
    *,
    pad_width: Any,
    mode: str = "constant",
    constant_values: float = 0.0,
    reflect_type: str = "even",
) -> Any:
    """An array inside a frame."""
    words: dict[str, Any] = {}
    if mode == "constant":
        words = {"constant_values": constant_values}
    return np.pad(data, pad_width, mode, **words)


def _pieces(op: Any) -> int:
    return op.sections or len(op.indices)


def _cut(function: Callable[..., Any]) -> Callable[..., Any]:
    def pieces(
        ary: Any,
        *,
        indices: Shape = (),
        axis: int = 0,
        squeeze_axis: bool = False,
        sections: int = 0,
    ) -> Any:
        return function(ary, sections or indices[1:], axis)

    pieces.__doc__ = f"`np.{function.__name__}`; the first piece begins at 0."
    return pieces


for _function in (np.split, np.array_split):
    composed(f"_numpy_{_function.__name__}", gives=_pieces, written="_split_v2")(
        _cut(_function)
    )

# -- one at a time ---------------------------------------------------------------------


@composed("_npi_clip")
def clip(data: Any, *, a_min: Any = None, a_max: Any = None) -> Any:
    """Move what lies outside [a_min, a_max] to its border; None leaves a side open."""
    return np.clip(data, a_min, a_max)


# -- linear algebra --------------------------------------------------------------------


def _of_matrix(name: str) -> Callable[..., Any]:
    function = getattr(np.linalg, name)

    def of_matrix(A: Any) -> Any:  # noqa: N803 (MXNet's name)
        return function(A)

    of_matrix.__doc__ = f"`np.linalg.{name}`; whole numbers are converted."
    return of_matrix


_OUTPUTS = {"slogdet": 2, "eig": 2, "svd": 3}
for _name in ("cholesky", "det", "eig", "eigvals", "inv", "slogdet", "svd"):
    _count = _OUTPUTS.get(_name, 1)
    composed(
        f"_numpy_{_name}",
        gives=(lambda op, count=_count: count) if _count > 1 else None,  # type: ignore[misc]
        written=f"_npi_{_name}",
    )(_of_matrix(_name))


@composed("_numpy_solve", written="_npi_solve")
def solve(A: Any, B: Any) -> Any:  # noqa: N803 (MXNet's names)
    """The x with A · x = B."""
    return np.linalg.solve(A, B)
