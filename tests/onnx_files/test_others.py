"""Files of ONNX that others wrote: nodes, older forms, and what cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import minimx as mx
from tests.onnx_files.running import run

X = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)


def model(
    nodes: list[Any], shape: Any, out: Any = None, arrays: Any = (), opset: int = 13
) -> Any:
    """A model of one input x and one output y, of float32."""
    graph = helper.make_graph(
        nodes,
        "made",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", out or TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(a, name) for name, a in dict(arrays).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    made = onnx.shape_inference.infer_shapes(made, data_prop=True)
    if not made.graph.output[0].type.tensor_type.HasField("shape"):  # it must have one
        made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, ["m", "n"]))
    return made


def read(tmp_path: Path, made: Any, x: Any, close: float = 1e-5) -> None:
    """What is read computes what ONNX Runtime computes."""
    path = tmp_path / "other.onnx"
    onnx.save(made, path)
    found = mx.onnx.import_to_gluon(path)(mx.nd.array(x))
    (wanted,) = run(path, [x])
    np.testing.assert_allclose(
        found.asnumpy().astype(wanted.dtype), wanted, close, close
    )


def node(kind: str, *inputs: str, out: str = "y", **attributes: Any) -> Any:
    return helper.make_node(kind, list(inputs), [out], **attributes)


IMAGE = np.random.default_rng(0).normal(size=(2, 4, 6, 5)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
K = np.random.default_rng(2).normal(size=(3, 4, 3, 3)).astype(np.float32)
DROPPED = helper.make_node("Dropout", ["x"], ["d", "mask"])
OTHERS: dict[str, tuple[list[Any], Any, dict[str, Any], int]] = {
    "Gemm": (
        [node("Gemm", "x", "w", "c", alpha=0.5, beta=2.0)],
        X,
        {"w": W, "c": W[:1]},
        13,
    ),
    "Gemm-dense": ([node("Gemm", "x", "w", "c")], X, {"w": W, "c": W[0]}, 13),
    "MatMul": ([node("MatMul", "x", "w")], X, {"w": W}, 13),
    "Conv": ([node("Conv", "x", "w", pads=[0, 1, 2, 1])], IMAGE, {"w": K}, 13),
    "MaxPool": (
        [node("MaxPool", "x", kernel_shape=[3, 3], pads=[0, 0, 2, 1])],
        IMAGE,
        {},
        13,
    ),
    "ceil": (
        [node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)],
        IMAGE,
        {},
        13,
    ),
    "Squeeze-11": (
        [node("Unsqueeze", "x", out="u", axes=[0, 2]), node("Squeeze", "u", axes=[0])],
        X,
        {},
        11,
    ),
    "Softmax-11": ([node("Softmax", "x")], X, {}, 11),
    "ReduceMean-18": (
        [node("ReduceMean", "x", "a", keepdims=0)],
        X,
        {"a": np.array([1])},
        18,
    ),
    "Sum-11": ([node("ReduceSum", "x", axes=[0])], X, {}, 11),
    "LogSum": (
        [node("Exp", "x", out="e"), node("ReduceLogSum", "e", axes=[1])],
        X,
        {},
        13,
    ),
    "LayerNorm-17": (
        [node("LayerNormalization", "x", "w", "c")],
        X,
        {"w": W[:, 0], "c": W[:, 1]},
        17,
    ),
    "HardSwish-14": ([node("HardSwish", "x")], X, {}, 14),
    "Gelu-20": ([node("Gelu", "x")], X, {}, 20),
    "Mean": ([node("Mean", "x", "w")], X, {"w": W[0, :3]}, 13),
    "Max": ([node("Max", "x", "c", "w")], X, {"c": np.float32(0), "w": W[0, :3]}, 13),
    "left": (
        [node("Sub", "c", "x", out="s"), node("Div", "c", "s")],
        X,
        {"c": np.float32(3)},
        13,
    ),
    "Where": (
        [node("Greater", "x", "c", out="g"), node("Where", "g", "x", "w")],
        X,
        {"c": np.float32(0), "w": W[0, :3]},
        13,
    ),
    "Where-number": (
        [node("Less", "c", "x", out="g"), node("Where", "g", "c", "x")],
        X,
        {"c": np.float32(0)},
        13,
    ),
    "Gather": ([node("Gather", "x", "i", axis=1)], X, {"i": np.array(-1)}, 13),
    "shapes": (
        [
            node("Shape", "x", out="s"),
            node("Gather", "s", "i", out="n"),
            node("Unsqueeze", "n", "z", out="u"),
            node("Concat", "u", "m", out="t", axis=0),
            node("Reshape", "x", "t"),
        ],
        X,
        {"i": np.array(1), "z": np.array([0]), "m": np.array([-1])},
        13,
    ),
    "Constant": (
        [
            node("Constant", out="c", value_floats=[1.0, 2.0, 3.0]),
            node("Mul", "x", "c"),
        ],
        X,
        {},
        13,
    ),
    "ConstantOfShape": (
        [
            node("Shape", "x", out="s"),
            node("ConstantOfShape", "s", out="o"),
            node("Add", "x", "o"),
        ],
        X,
        {},
        13,
    ),
    "Expand": ([node("Expand", "x", "s")], X, {"s": np.array([4, 1, 3])}, 13),
    "Resize": (
        [
            node(
                "Resize",
                "x",
                "",
                "s",
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )
        ],
        IMAGE,
        {"s": np.array([1, 1, 2, 2], np.float32)},
        13,
    ),
    "Resize-linear": (
        [
            node(
                "Resize",
                "x",
                "",
                "",
                "s",
                mode="linear",
                coordinate_transformation_mode="align_corners",
            )
        ],
        IMAGE,
        {"s": np.array([2, 4, 12, 9])},
        13,
    ),
    "Einsum": ([node("Einsum", "x", "w", equation="ij,jk->ki")], X, {"w": W}, 13),
    "Slice-back": (
        [node("Slice", "x", "a", "b", "c", "d")],
        X,
        {
            "a": np.array([-1]),
            "b": np.array([-(1 << 62)]),
            "c": np.array([1]),
            "d": np.array([-2]),
        },
        13,
    ),
    "Flatten": ([node("Flatten", "x", axis=2)], IMAGE, {}, 13),
    "Dropout": ([DROPPED, node("Neg", "d")], X, {}, 13),
    "Cast": (
        [
            node("Cast", "x", out="b", to=TensorProto.BOOL),
            node("Cast", "b", to=TensorProto.FLOAT),
        ],
        X,
        {},
        13,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_nodes_that_others_write(name: str, tmp_path: Path) -> None:
    nodes, x, arrays, opset = OTHERS[name]
    read(tmp_path, model(nodes, x.shape, arrays=arrays, opset=opset), x)


LSTM = {"w": np.ones((1, 4, 5), np.float32), "r": np.ones((1, 4, 1), np.float32)}
REFUSED = {
    "reads 'p', which minimx does not compute": (
        [
            node("Unsqueeze", "x", "zero", out="u"),
            helper.make_node("MaxPool", ["u"], ["m", "p"], kernel_shape=[1]),
            node("Cast", "p", to=TensorProto.FLOAT),
        ],
        {"zero": np.array([0])},
        13,
    ),
    "weights for 5 features; data have 3": (
        [node("LSTM", "x", "w", "r", hidden_size=1)],
        LSTM,
        13,
    ),
    r"'y' is a NonZero.* It reads Abs": ([node("NonZero", "x")], {}, 13),
    "linear_before_reset=0": (
        [node("GRU", "x", "w", "r", hidden_size=1)],
        {"w": np.ones((1, 3, 3), np.float32), "r": np.ones((1, 3, 1), np.float32)},
        13,
    ),
    "computed from data": (
        [node("Cast", "x", out="i", to=TensorProto.INT64), node("Reshape", "x", "i")],
        {},
        13,
    ),
    "Convert the file to opset 13": (
        [node("Unsqueeze", "x", out="u", axes=[0]), node("Softmax", "u", axis=1)],
        {},
        11,
    ),
    "fmod=1": ([node("Mod", "x", "x", fmod=1)], {}, 13),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_minimx_has_no_word_for(match: str, tmp_path: Path) -> None:
    nodes, arrays, opset = REFUSED[match]
    shape = (1, 1, 3) if "w" in arrays else (3,) if "data" in match else X.shape
    onnx.save(model(nodes, shape, arrays=arrays, opset=opset), tmp_path / "a.onnx")
    with pytest.raises(mx.MXNetError, match=match):
        mx.onnx.import_model(tmp_path / "a.onnx")


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    for content in (b"", b"\x00" * 50, b"no model at all", b"\xff" * 9):
        path.write_bytes(content)
        for call in (mx.onnx.import_model, mx.onnx.get_model_metadata):
            with pytest.raises(mx.errors.DataError, match="no sound ONNX model"):
                call(path)
    with pytest.raises(mx.errors.DataError, match="no such file"):
        mx.onnx.import_model(tmp_path / "none.onnx")
    sound = model([node("Abs", "x")], (2,))
    sound.graph.node[0].input[0] = "z"
    onnx.save(sound, path)
    with pytest.raises(mx.errors.DataError, match="no sound ONNX model"):
        mx.onnx.import_model(path)


def test_constants_that_are_too_large(tmp_path: Path) -> None:
    many = np.array([1 << 20, 1 << 20])
    for nodes in (
        [node("ConstantOfShape", "s", out="c"), node("Add", "x", "c")],
        [node("Expand", "one", "s", out="c"), node("Add", "x", "c")],
    ):
        arrays = {"s": many, "one": np.ones((1, 1), np.float32)}
        onnx.save(model(nodes, (2, 3), arrays=arrays), tmp_path / "a.onnx")
        with pytest.raises(mx.MXNetError, match="a constant of 1,099,511,627,776"):
            mx.onnx.import_model(tmp_path / "a.onnx")
