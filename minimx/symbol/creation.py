"""Symbols that need no input: `zeros`, `ones`, `full`, `arange`, `eye`, `linspace`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.dtypes import resolve
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol

ShapeLike = int | Sequence[int]


def _made(name: str, title: str | None, dtype: Any, **settings: Any) -> Symbol:
    kind = resolve("float32" if dtype is None else dtype).name
    made: Symbol = FUNCTIONS[name](dtype=kind, name=title, **settings)
    return made


def _shape(shape: ShapeLike) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def zeros(
    shape: ShapeLike, dtype: Any = None, name: str | None = None, **kwargs: Any
) -> Symbol:
    """Zeros of a shape; 0 for an axis that is to be inferred."""
    return _made("_zeros", name, dtype, shape=_shape(shape), **kwargs)


def ones(
    shape: ShapeLike, dtype: Any = None, name: str | None = None, **kwargs: Any
) -> Symbol:
    """Ones of a shape."""
    return _made("_ones", name, dtype, shape=_shape(shape), **kwargs)


def full(
    shape: ShapeLike,
    val: float,
    dtype: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """One value everywhere."""
    settings = {"shape": _shape(shape), "value": float(val), **kwargs}
    return _made("_full", name, dtype, **settings)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Evenly spaced numbers from `start` up to, without, `stop`.

    infer_range: without a stop, as many as the graph asks for.
    """
    if stop is None and not infer_range:
        start, stop = 0.0, start
    settings = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    settings["infer_range"] = infer_range
    return _made("_arange", name, dtype, **settings)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """`num` evenly spaced numbers from `start` to `stop`."""
    settings = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return _made("_linspace", name, dtype, **settings)


def eye(
    N: int,  # noqa: N803 (MXNet's names)
    M: int = 0,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    name: str | None = None,
) -> Symbol:
    """A matrix with ones on the k-th diagonal."""
    return _made("_eye", name, dtype, N=N, M=M, k=k)
