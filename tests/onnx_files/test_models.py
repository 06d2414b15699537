"""`export_model` and its relatives: forms of arguments, what is in a file, errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

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


def test_a_damaged_file_gives_an_error_of_ours(tmp_path: Path) -> None:
    """Each time one byte is another; the file is read, or refused in a sentence."""
    net, args, aux = network()
    path = tmp_path / "net.onnx"
    mx.onnx.export_model(net, [args, aux], [(2, 3)], onnx_file_path=path)
    sound, refusals = path.read_bytes(), 0
    rng = np.random.default_rng(0)
    for _ in range(300):
        content = bytearray(sound)
        content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(content)
        try:
            mx.onnx.import_model(path)
        except mx.MXNetError:
            refusals += 1
    assert 50 < refusals < 300
