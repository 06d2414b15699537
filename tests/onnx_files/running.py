"""What the tests of mx.onnx share: symbols run by minimx, and files by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import minimx as mx

Arrays = Mapping[str, Any]


def given(sym: Any, values: Arrays) -> list[Any]:
    """What minimx computes in prediction. values: of all variables, by name."""
    arrays = {
        name: mx.nd.array(value, dtype=value.dtype) for name, value in values.items()
    }
    names = sym.list_arguments(), sym.list_auxiliary_states()
    args, aux = ({n: arrays[n] for n in some if n in arrays} for some in names)
    shapes = {n: a.shape for n, a in arrays.items()}
    types = {n: a.dtype for n, a in arrays.items()}
    bound = sym.simple_bind(mx.cpu(), grad_req="null", type_dict=types, **shapes)
    bound.copy_params_from(args, aux)
    return [out.asnumpy() for out in bound.forward(is_train=False)]


def run(path: Path, inputs: Sequence[Any]) -> list[Any]:
    """What ONNX Runtime computes from a file."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    names = [put.name for put in session.get_inputs()]
    found: list[Any] = session.run(None, dict(zip(names, inputs, strict=True)))
    return found


def exported(sym: Any, inputs: Arrays, params: Arrays, path: Path, **more: Any) -> Path:
    """The file of a symbol; inputs give shapes and types."""
    names = [name for name in sym.list_inputs() if name in inputs]
    arrays = {name: mx.nd.array(v, dtype=v.dtype) for name, v in params.items()}
    shapes = [inputs[name].shape for name in names]
    types = [inputs[name].dtype for name in names]
    mx.onnx.export_model(sym, arrays, shapes, types, path, **more)
    onnx.checker.check_model(str(path), full_check=True)
    return path


def same(found: Sequence[Any], wanted: Sequence[Any], close: float = 1e-5) -> None:
    """Equal shapes and types, and nearly equal numbers."""
    assert [a.shape for a in found] == [a.shape for a in wanted]
    assert [a.dtype for a in found] == [a.dtype for a in wanted]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=close, atol=close)


def everywhere(
    sym: Any, inputs: Arrays, params: Arrays, path: Path, close: float
) -> None:
    """The same from minimx, from ONNX Runtime, and from what is read again."""
    wanted = given(sym, {**inputs, **params})
    exported(sym, inputs, params, path)
    ordered = [inputs[name] for name in sym.list_inputs() if name in inputs]
    same(run(path, ordered), wanted, close)
    again, args, aux = mx.onnx.import_model(path)
    values = {name: array.asnumpy() for name, array in {**args, **aux}.items()}
    found = given(
        again, {**{k: inputs[k] for k in again.list_inputs() if k in inputs}, **values}
    )
    same(found, wanted, close)
