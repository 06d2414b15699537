"""Symbols that need no input: `zeros`, `ones`, `full`, `arange`, `eye`, `linspace`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core.dtypes import resolve
from minimx.nd.signatures import functions
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol


def _node(operator: str, dtype: Any, name: str | None, **settings: Any) -> Symbol:
    """A node of an operator without inputs; float32 unless dtype says other."""
    if "shape" in settings:
        shape = settings["shape"]
        settings["shape"] = (shape,) if isinstance(shape, int) else tuple(shape)
    if "val" in settings:
        settings["value"] = float(settings.pop("val"))
    kind = resolve("float32" if dtype is None else dtype).name
    made: Symbol = FUNCTIONS[operator](dtype=kind, name=name, **settings)
    return made


_NODES = """
    zeros(shape: ShapeLike, dtype=None, name: str | None = None, **kwargs): _zeros
        Zeros of a shape; 0 for an axis that is to be inferred.

    ones(shape: ShapeLike, dtype=None, name: str | None = None, **kwargs): _ones
        Ones of a shape.

    full(
        shape: ShapeLike, val: float, dtype=None, name: str | None = None,
        **kwargs): _full
        One value everywhere.

    linspace(
        start: float, stop: float, num: int, endpoint=True, name: str | None = None,
        dtype=None): _linspace
        `num` evenly spaced numbers from `start` to `stop`.

    eye(
        N: int, M: int = 0, k: int = 0, dtype=None, name: str | None = None): _eye
        A matrix with ones on the k-th diagonal.
"""
ROWS = functions(_node, __name__, _NODES, returns="Symbol")
globals().update(ROWS)
if TYPE_CHECKING:  # as `python -m minimx.symbol.stubs` says
    from minimx.symbol.creation_rows import *  # noqa: F403


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
    return _node("_arange", dtype, name, **settings)
