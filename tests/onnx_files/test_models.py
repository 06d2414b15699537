"""`export_model` and its relatives: forms of arguments, what is in a file, errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import minimx as mx
from tests.onnx_files.running import run, same

S: Any = mx.sym
X = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)


def network() -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A symbol with a loss at its end, its arguments and its states."""
    hidden = S.BatchNorm(
        S.FullyConnected(S.var("data"), num_hidden=4, name="fc"), name="bn"
    )
    net = S.SoftmaxOutput(hidden, name="softmax")
    bound = net.simple_bind(mx.cpu(), data=(2, 3))
    arrays = {**bound.arg_dict, **bound.aux_dict}
    for k, (name, array) in enumerate(arrays.items()):
        low = 0.5 if name.endswith("var") else -1
        array[:] = mx.nd.array(np.random.default_rng(k).uniform(low, 1, array.shape))
    args = {n: a for n, a in bound.arg_dict.items() if n.startswith(("fc", "bn"))}
    return net, args, dict(bound.aux_dict)


def wanted(net: Any, args: Any, aux: Any) -> list[Any]:
    module = mx.mod.Module(net)
    module.bind([("data", (2, 3))], for_training=False)
    module.set_params(args, aux)
    batch = mx.io.DataBatch([mx.nd.array(X)], None)
    module.forward(batch, is_train=False)
    return [out.asnumpy() for out in module.get_outputs()]


def test_parameters_come_in_every_form(tmp_path: Path) -> None:
    net, args, aux = network()
    marked = {f"arg:{n}": a for n, a in args.items()} | {
        f"aux:{n}": a for n, a in aux.items()
    }
    mx.model.save_checkpoint(str(tmp_path / "net"), 7, net, args, aux)
    files = str(tmp_path / "net-symbol.json"), tmp_path / "net-0007.params"
    forms = [(net, {**args, **aux}), (net, [args, aux]), (net, marked), files]
    for number, (sym, params) in enumerate(forms):
        path = tmp_path / f"{number}.onnx"
        assert mx.onnx.export_model(sym, params, [(2, 3)], np.float32, path) == path
        same(run(path, [X]), wanted(net, args, aux))


def test_the_older_names_of_arguments(tmp_path: Path) -> None:
    net, args, aux = network()
    path = str(tmp_path / "net.onnx")
    more: dict[str, Any] = {"input_type": "float32", "input_shape": [(2, 3)]}
    older: Any = mx.contrib
    older.onnx.export_model(net, [args, aux], onnx_file_path=path, **more)
    same(run(Path(path), [X]), wanted(net, args, aux))


def test_what_is_in_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    net, args, aux = network()
    path = tmp_path / "net.onnx"
    with caplog.at_level("INFO"):
        mx.onnx.export_model(
            net, [args, aux], [(2, 3)], onnx_file_path=path, verbose=True,
            run_shape_inference=True, opset_version=15,
        )  # fmt: skip
    model = onnx.load(path)
    assert [node.op_type for node in model.graph.node] == [
        "Gemm",
        "BatchNormalization",
        "Softmax",
    ]
    assert [info.name for info in model.graph.input] == ["data"]
    assert [info.name for info in model.graph.output] == ["softmax"]
    assert {"fc_weight", "fc_bias", "bn_moving_var"} <= {
        t.name for t in model.graph.initializer
    }
    assert model.opset_import[0].version == 15
    assert {info.name for info in model.graph.value_info} == {"fc", "bn"}
    assert "Gemm fc/Gemm: data, fc_weight, fc_bias -> fc" in caplog.text
    same(run(path, [X]), wanted(net, args, aux))


def test_arrays_in_a_second_file(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    net = S.FullyConnected(S.var("data"), S.var("w"), num_hidden=64, no_bias=True)
    for _ in range(2):  # the second time over files that are there
        mx.onnx.export_model(
            net, {"w": mx.nd.array(weight)}, [(1, 64)],
            onnx_file_path=tmp_path / "net.onnx", large_model=True,
        )  # fmt: skip
    assert (tmp_path / "net.onnx").stat().st_size < 1000
    assert (tmp_path / "net.onnx.data").stat().st_size == weight.nbytes
    _, args, _ = mx.onnx.import_model(tmp_path / "net.onnx")
    assert (args["w"].asnumpy() == weight).all()


def test_metadata(tmp_path: Path) -> None:
    net, args, aux = network()
    path = mx.onnx.export_model(
        net, [args, aux], [(2, 3)], onnx_file_path=tmp_path / "net.onnx"
    )
    assert mx.onnx.get_model_metadata(path) == {
        "input_tensor_data": [("data", (2, 3), TensorProto.FLOAT)],
        "output_tensor_data": [("softmax", (2, 4))],
    }


def test_what_can_be_written() -> None:
    names = mx.onnx.get_operator_support()
    assert names == sorted(names)
    known = {
        "Convolution",
        "RNN",
        "relu",
        "elemwise_add",
        "smooth_l1",
        "Reshape",
        "concat",
    }
    assert known <= set(names)
    assert not {"digamma", "CTCLoss", "_backward_relu", "sgd_update"} & set(names)
    assert mx.onnx.get_operator_support(9) == []


# -- errors of writing -----------------------------------------------------------------


def refused(match: str, sym: Any, shapes: Any, **more: Any) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        mx.onnx.export_model(sym, {}, shapes, onnx_file_path="never.onnx", **more)
    assert not Path("never.onnx").exists()


def test_what_onnx_has_no_word_for() -> None:
    x = S.var("x")
    refused(r"'phi' \(digamma\) has no translation", S.digamma(x, name="phi"), [(2,)])
    refused("node 'd' .Dropout. drops", S.Dropout(x, mode="always", name="d"), [(2,)])
    refused("ret_typ='indices'", S.topk(x, ret_typ="mask"), [(2, 3)])
    refused(
        "Say pad and adj",
        S.Deconvolution(x, kernel=(2, 2), num_filter=1, target_shape=(3, 3)),
        [(1, 1, 2, 2), (1, 1, 2, 2)],
    )


def test_arguments_that_do_not_fit() -> None:
    x, y = S.var("x"), S.var("y")
    refused("1 shapes are given, for 2 inputs: x, y", x + y, [(2,)])
    refused("no shapes are given", x, None)
    refused("2 in_types for 1 inputs", x + 1, [(2,)], in_types=["float32"] * 2)
    refused("13 to 17", x + 1, [(2,)], opset_version=9)
    refused("wants dynamic=True", x + 1, [(2,)], dynamic_input_shapes=[(None,)])
    refused(
        "2 shapes for 1 inputs",
        x + 1,
        [(2,)],
        dynamic=True,
        dynamic_input_shapes=[(None,)] * 2,
    )
    refused(
        "same length", x + 1, [(2, 3)], dynamic=True, dynamic_input_shapes=[(None, 4)]
    )
    with pytest.raises(mx.MXNetError, match="params must be"):
        mx.onnx.export_model(x + 1, 3, [(2,)])
    bad: Any = 3
    with pytest.raises(mx.MXNetError, match="sym must be"):
        mx.onnx.export_model(bad, {}, [(2,)])
    with pytest.raises(mx.MXNetError, match="nothere"):
        mx.onnx.export_model("nothere-symbol.json", {}, [(2,)])


def test_an_axis_that_must_not_stay_open() -> None:
    x = S.var("x")
    take = S.pick(x, S.var("y"))
    refused(
        "needs the length of axis 1, which is open", take, [(2, 3), (2,)],
        dynamic=True, dynamic_input_shapes=[(2, None), (2,)],
    )  # fmt: skip
    refused(
        "as long as an axis that is open", x + S.zeros((0, 3)), [(2, 3)], dynamic=True
    )


def test_without_the_package() -> None:
    program = (
        "import sys; sys.modules['onnx'] = None\n"
        "import minimx as mx\n"
        "calls = [lambda: mx.onnx.export_model(mx.sym.var('x'), {}, [(1,)]),\n"
        "         mx.onnx.get_operator_support, lambda: mx.onnx.import_model('a')]\n"
        "for call in calls:\n"
        "    try:\n"
        "        call()\n"
        "    except ImportError as reason:\n"
        "        assert 'pip install \"minimx[onnx]\"' in str(reason)\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


# -- reading what others wrote ---------------------------------------------------------


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
