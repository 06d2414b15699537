"""`import_model`, `import_to_gluon`, `get_model_metadata`: files of ONNX, read."""

from __future__ import annotations

import os
from typing import Any

from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.gluon import SymbolBlock
from minimx.onnx import files
from minimx.onnx.reading.graph import Reader, inputs_of
from minimx.symbol import Symbol

Path = str | os.PathLike[str]


def import_model(
    model_file: Path,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The model in a file of ONNX: a symbol, its arguments and its auxiliary states.

    The arrays of the file become parameters under their names; constants that are read
    as settings, such as the axes of a Squeeze, do not. Inputs keep their names, shapes
    (0 for an axis that is open) and types. Truth values come out as 1 and 0.

    Raises OperatorError with the name of a node that minimx cannot read, DataError for
    a file that is no sound model, ImportError where the package onnx is missing.
    """
    return Reader(files.load(model_file)).run()


def import_to_gluon(model_file: Path, ctx: Any = None) -> SymbolBlock:
    """The model in a file of ONNX as a block that is ready to predict or to train.

    ctx: the device, or a list of them, for the parameters; the current one by default.
    Raises what `import_model` raises.
    """
    model = files.load(model_file)
    found, arguments, states = Reader(model).run()
    used = set(found.list_inputs())
    wanted = [(name, kind) for name, kind in inputs_of(model.graph) if name in used]
    inputs = [symbol.var(name, dtype=kind) for name, kind in wanted]
    block = SymbolBlock(found, inputs)
    values = {**arguments, **states}
    block.collect_params().load_dict(values, ctx, cast_dtype=True, dtype_source="saved")
    return block


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
