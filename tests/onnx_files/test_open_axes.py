"""Axes that stay open: a file computes the same for lengths it was not written for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import minimx as mx
from tests.onnx_files.running import exported, given, run, same

S: Any = mx.sym
x, y = S.var("x"), S.var("y")


def real(*shape: int) -> Any:
    return np.random.default_rng(shape).uniform(-1, 1, shape).astype(np.float32)


#: What reads x (n, 6, m), of which n and m are open, and perhaps y of the same shape.
CASES: dict[str, Any] = {
    "slice-from-the-end": S.slice(x, begin=(None, 1, -2), end=(-1, None, None)),
    "slice-from-the-front": S.slice(x, begin=(0, None, 1), end=(1, None, 3)),
    "slice-past-the-end": S.slice(x, begin=(None, 1, 1), end=(4, 9, 7)),
    "slice_axis": S.slice_axis(x, axis=2, begin=-3, end=None),
    "slice_like": S.slice_like(x, y, axes=(0,)),
    "reverse": S.reverse(x, axis=(0, 2)),
    "slice-backwards": S.slice(x, begin=(None, 4), end=(None, 1), step=(-1, -1)),
    "reshape": S.reshape(x, shape=(0, 2, 3, -1)),
    "reshape-like-before": S.reshape(x * 2, shape=(0, -3)),
    "Flatten": S.Flatten(x),
    "expand_dims": S.squeeze(S.expand_dims(x, axis=-1), axis=3),
    "split": S.Group(list(S.split(x, num_outputs=3, axis=1))),
    "zeros_like": S.zeros_like(x) + S.ones_like(y),
    "broadcast_like": S.broadcast_like(S.mean(x, axis=2, keepdims=True), y),
    "broadcast_axis": S.broadcast_axis(S.expand_dims(x, axis=1), axis=1, size=4),
    "repeat": S.repeat(x, repeats=2, axis=1),
    "repeat-an-open-one": S.repeat(S.sum(x, axis=1), repeats=2, axis=1),
    "tile": S.tile(x, reps=(2, 3)),
    "softmax": S.log_softmax(S.softmax(x), axis=1),
    "reduce": S.Group([S.sum(x), S.max(x, axis=0), S.norm(x, axis=(0, 2))]),
    "argmax": S.argmax(x, axis=2),
    "sequence": S.Group([S.SequenceLast(x), S.SequenceReverse(x)]),
    "GroupNorm": S.GroupNorm(x, S.ones(2), S.zeros(2), num_groups=2),
    "shape_array": S.Group([S.shape_array(x), S.size_array(x)]),
}


@pytest.mark.parametrize("name", CASES)
def test_other_lengths(name: str, tmp_path: Path) -> None:
    sym = CASES[name]
    names = sym.list_inputs()
    inputs = {name: real(3, 6, 5) for name in names}
    axes = [(None, 6, None)] * len(names)
    more: dict[str, Any] = {"dynamic": True, "dynamic_input_shapes": axes}
    path = exported(sym, inputs, {}, tmp_path / "open.onnx", **more)
    for shape in ((3, 6, 5), (4, 6, 9), (2, 6, 4)):
        other = {name: real(*shape) for name in names}
        same(run(path, list(other.values())), given(sym, other))


def test_an_axis_that_onnx_cannot_be_told(tmp_path: Path) -> None:
    """Two open axes, of which neither is kept."""
    more: dict[str, Any] = {"dynamic": True, "dynamic_input_shapes": [(None, 6, None)]}
    for sym in (S.reshape(x, shape=(-3, 0)), S.repeat(x, repeats=2, axis=0)):
        with pytest.raises(mx.MXNetError, match="cannot be told all axes. Fix some"):
            exported(sym, {"x": real(3, 6, 5)}, {}, tmp_path / "a.onnx", **more)


def test_what_is_read_again_has_open_axes(tmp_path: Path) -> None:
    """Here in four axes, of which three are open."""
    net = S.GroupNorm(S.Flatten(x * 2).reshape((0, 6, -1, 1)), S.ones(3), S.zeros(3), 3)
    more: dict[str, Any] = {"dynamic": True, "dynamic_input_shapes": [(None, 6, None)]}
    path = exported(net, {"x": real(3, 6, 5)}, {}, tmp_path / "a.onnx", **more)
    other = real(2, 6, 7)
    block = mx.onnx.import_to_gluon(path)
    wanted = given(net, {"x": other})
    same(run(path, [other]), wanted)
    same([block(mx.nd.array(other)).asnumpy()], wanted)


def test_an_axis_that_the_graph_fixes(tmp_path: Path) -> None:
    more: dict[str, Any] = {"dynamic": True, "dynamic_input_shapes": [(None, 6, 5)]}
    for net in (x + S.ones((3, 6, 5)), S.broadcast_add(x, S.ones((3, 1, 1)))):
        with pytest.raises(mx.MXNetError, match="takes no other lengths there than"):
            exported(net, {"x": real(3, 6, 5)}, {}, tmp_path / "a.onnx", **more)


def test_axes_with_names_and_without(tmp_path: Path) -> None:
    more: dict[str, Any] = {"dynamic": True, "dynamic_input_shapes": [("n", 6, -1)]}
    path = exported(S.relu(x), {"x": real(3, 6, 5)}, {}, tmp_path / "a.onnx", **more)
    (info,) = onnx.load(path).graph.input
    assert [axis.dim_value for axis in info.type.tensor_type.shape.dim] == [0, 6, 0]


def test_a_reshape_to_numbers_fixes_its_axes(tmp_path: Path) -> None:
    net = S.reshape(x, shape=(3, 10)) * 2
    path = exported(net, {"x": real(3, 2, 5)}, {}, tmp_path / "a.onnx", dynamic=True)
    (info,) = onnx.load(path).graph.input
    assert [axis.dim_value for axis in info.type.tensor_type.shape.dim] == [3, 2, 5]
