"""Nodes that reduce or order axes."""

from __future__ import annotations

from functools import partial
from typing import Any

from minimx.onnx.reading.values import READERS, Read, reads


def _reduced(name: str, at: Read, x: Any, axes: Any = None, **settings: Any) -> Any:
    """Without axes all of them, unless the node says that it then does nothing."""
    chosen = at.axes(1)
    if not chosen and at.get("noop_with_empty_axes", 0):
        return at.use("_copy", x)
    keep = bool(at.get("keepdims", 1))
    return at.use(
        name, x, axis=tuple(chosen) if chosen else None, keepdims=keep, **settings
    )


for _word in ("Sum", "Mean", "Max", "Min", "Prod"):
    READERS[f"Reduce{_word}"] = partial(_reduced, _word.lower())
for _order in (1, 2):
    READERS[f"ReduceL{_order}"] = partial(_reduced, "norm", ord=_order)


@reads("ReduceSumSquare")
def _sum_of_squares(at: Read, x: Any, axes: Any = None) -> Any:
    return _reduced("sum", at, at.use("square", x))


@reads("ReduceLogSum")
def _log_of_sum(at: Read, x: Any, axes: Any = None) -> Any:
    return at.use("log", _reduced("sum", at, x))


@reads("ArgMax", "ArgMin")
def _place_of_extreme(at: Read, x: Any) -> Any:
    at.only(select_last_index=0)
    axis, keep = at.get("axis", 0), bool(at.get("keepdims", 1))
    found = at.use(at.kind.lower(), x, axis=axis, keepdims=keep)
    return at.use("cast", found, dtype="int64")


@reads("TopK")
def _topk(at: Read, x: Any, k: Any) -> Any:
    return at.use(
        "topk", x, k=at.numbers(1)[0], axis=at.get("axis", -1), ret_typ="both",
        is_ascend=not at.get("largest", 1), dtype="int64",
    )  # fmt: skip
