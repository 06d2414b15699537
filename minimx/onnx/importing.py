"""`import_model`, `import_to_gluon`, `get_model_metadata`: files of ONNX, read."""

from __future__ import annotations

import os
from typing import Any

from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.errors import DataError, MXNetError
from minimx.gluon import SymbolBlock
from minimx.onnx import files
from minimx.onnx.reading.graph import Reader, inputs_of
from minimx.symbol import Symbol

Path = str | os.PathLike[str]
Arrays = dict[str, NDArray]
#: What a damaged file may come to where it passes the checker of onnx.
_DAMAGE: tuple[Any, ...] = (ArithmeticError, AttributeError, LookupError)
_DAMAGE += (MemoryError, TypeError, ValueError)


def import_model(
    model_file: Path,
) -> tuple[Symbol, Arrays, Arrays]:
    """The model in a file of ONNX: a symbol, its arguments and its auxiliary states.

    The arrays of the file become parameters under their names; constants that are read
    as settings, such as the axes of a Squeeze, do not. Inputs keep their names, shapes
    (0 for an axis that is open) and types. Truth values come out as 1 and 0.

    Raises OperatorError with the name of a node that minimx cannot read, DataError for
    a file that is no sound model, ImportError where the package onnx is missing.
    """
    return _read(model_file)[1:]


def import_to_gluon(model_file: Path, ctx: Any = None) -> SymbolBlock:
    """The model in a file of ONNX as a block that is ready to predict or to train.

    ctx: the device, or a list of them, for the parameters; the current one by default.
    Raises what `import_model` raises.
    """
    model, found, arguments, states = _read(model_file)
    used = set(found.list_inputs())
    wanted = [(name, kind) for name, kind in inputs_of(model.graph) if name in used]
    inputs = [symbol.var(name, dtype=kind) for name, kind in wanted]
    block = SymbolBlock(found, inputs)
    values = {**arguments, **states}
    block.collect_params().load_dict(values, ctx, cast_dtype=True, dtype_source="saved")
    return block


def _read(path: Path) -> tuple[Any, Symbol, Arrays, Arrays]:
    """The model in a file, and what is read of it."""
    damage = files.package("onnx.shape_inference").InferenceError
    try:
        model = files.load(path)
        return model, *Reader(model).run()
    except MXNetError:
        raise
    except (*_DAMAGE, damage) as reason:
        raise DataError(f"{path}: this is no sound ONNX model: {reason!r}") from reason


def get_model_metadata(model_file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a model takes and gives.

    'input_tensor_data' lists (name, shape, type), 'output_tensor_data' (name, shape);
    an axis that is open has length 0. The type is ONNX's number, 1 for float32. Raises
    DataError for a file that is no sound model.
    """
    return _metadata(files.load(model_file).graph)


def _metadata(graph: Any) -> dict[str, list[tuple[Any, ...]]]:
    stored = {tensor.name for tensor in graph.initializer}
    return {
        "input_tensor_data": [
            (info.name, _shape(info), info.type.tensor_type.elem_type)
            for info in graph.input
            if info.name not in stored
        ],
        "output_tensor_data": [(info.name, _shape(info)) for info in graph.output],
    }


def _shape(info: Any) -> tuple[int, ...]:
    return tuple(axis.dim_value for axis in info.type.tensor_type.shape.dim)
