"""Sums, extremes and orders along axes."""

from __future__ import annotations

from functools import partial
from typing import Any

from minimx.core.dtypes import INT64
from minimx.onnx.writing.values import TRANSLATIONS, Call, Value, translates


def _reduced(kind: str, at: Call, x: Value) -> Any:
    """A reduction; without any axis left, mx.nd has the shape (1,)."""
    op: Any = at.op
    axes = op.axes(at.writer.static.spec(at.node.inputs[0]))
    keep = int(op.keepdims)
    if kind == "ReduceSum":  # the first one that has its axes as an input
        found = at(kind, x, at.whole(*axes), keepdims=keep)
    else:
        found = at(kind, x, axes=list(axes), keepdims=keep)
    lost = len(axes) == at.ndim() and not keep and not op.np_shape
    return at("Reshape", found, at.whole(1)) if lost else found


for _name in ("Sum", "Mean", "Max", "Min", "Prod"):
    TRANSLATIONS[_name.lower()] = partial(_reduced, f"Reduce{_name}")


@translates("norm")
def _norm(at: Call, x: Value) -> Any:
    return _reduced(f"ReduceL{at.op.settings['ord']}", at, at.cast(x, at.dtype))


@translates("argmax", "argmin", "argmax_channel", "_npi_argmax", "_npi_argmin")
def _place_of_extreme(at: Call, x: Value) -> Any:
    settings = at.op.settings
    axis, keep = settings["axis"], settings.get("keepdims", False)
    kind = "ArgMin" if "argmin" in at.op.name else "ArgMax"
    if axis is None:
        found = at("Reshape", x, at.whole(-1))
        found = at(kind, found, axis=0, keepdims=1, dtype=INT64)
        return at.reshaped(found, (1,), at.out)
    lost = at.ndim() == 1 and at.out == (1,)  # mx.nd has nothing without axes
    return at(kind, x, axis=at.axis(axis), keepdims=int(keep or lost), dtype=INT64)


def _best(at: Call, x: Value, count: int, ascending: bool) -> list[Any]:
    """The first elements along an axis in order, and their places."""
    axis = at.op.settings["axis"]
    if axis is None:
        raise at.refused("orders the flat array (axis=None). Reshape it to (-1,) first")
    axis = at.axis(axis)
    how: dict[str, Any] = {"axis": axis, "largest": int(not ascending), "sorted": 1}
    count = count or at.length(0, axis)
    values, places = at("TopK", x, at.whole(count), outputs=2, **how)
    places.dtype = INT64
    return [values, places]


@translates("topk")
def _topk(at: Call, x: Value) -> Any:
    settings = at.op.settings
    if settings["ret_typ"] == "mask":
        raise at.refused("gives a mask. Take ret_typ='indices' and one_hot")
    found = _best(at, x, settings["k"], settings["is_ascend"])
    return {"both": found, "value": found[0], "indices": found[1]}[settings["ret_typ"]]


@translates("sort")
def _sort(at: Call, x: Value) -> Any:
    return _best(at, x, 0, at.op.settings["is_ascend"])[0]


@translates("argsort")
def _argsort(at: Call, x: Value) -> Any:
    return _best(at, x, 0, at.op.settings["is_ascend"])[1]
