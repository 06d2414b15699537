"""A graph of ONNX as a graph of symbols, with its arrays as parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import DataError, OperatorError, did_you_mean
from minimx.core.graph.values.infer import infer
from minimx.core.shapes import Open
from minimx.onnx import files
from minimx.onnx.names import unused
from minimx.onnx.reading import (
    elementwise,
    layers,
    recurrent,
    reductions,
    shapes,
    table,
)
from minimx.onnx.reading.values import READERS, Known, Read, ShapeOf, as_array
from minimx.symbol import Group, Symbol, var

__all__ = ["Reader", "elementwise", "layers", "recurrent", "reductions", "shapes"]
__all__ += ["table"]

Arrays = dict[str, NDArray]


class Reader:
    """The values of an ONNX graph, while its nodes are read one after the other."""

    def __init__(self, model: Any) -> None:
        self.graph = model.graph
        self.opset = max(
            (o.version for o in model.opset_import if o.domain in ("", "ai.onnx")),
            default=1,
        )
        self.shapes = _shapes(model)
        self.values: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._variables: dict[str, tuple[Symbol, Known]] = {}

    def run(self) -> tuple[Symbol, Arrays, Arrays]:
        """The symbol, its arguments and its auxiliary states."""
        for tensor in self.graph.initializer:
            self.values[tensor.name] = self._known(tensor.name, _array(tensor))
        for name, kind in inputs_of(self.graph):
            self._taken.add(name)
            self.values[name] = var(
                name, shape=_whole(self.shapes.get(name)), dtype=kind
            )
        with autograd.pause(train_mode=False):
            for proto in self.graph.node:
                self._read(proto)
        outputs = [self._output(info) for info in self.graph.output]
        symbol = outputs[0] if len(outputs) == 1 else Group(outputs)
        arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        arrays = {name: known.array for name, (_, known) in self._variables.items()}
        return (
            symbol,
            {name: arrays[name] for name in arguments if name in arrays},
            {name: arrays[name] for name in states if name in arrays},
        )

    def _read(self, proto: Any) -> None:
        if proto.domain not in ("", "ai.onnx") or proto.op_type not in READERS:
            hint = did_you_mean(proto.op_type, READERS)
            raise OperatorError(
                f"import_model: the node {proto.name or proto.output[0]!r} is a "
                f"{proto.domain + '.' if proto.domain else ''}{proto.op_type}, which "
                f"minimx cannot read. It reads {', '.join(sorted(READERS))}.{hint}"
            )
        at = Read(self, proto, _attributes(proto))
        values = [self._value(at, name) for name in at.names]
        made = READERS[proto.op_type](at, *values)
        found = made if isinstance(made, list) else [made]
        for name, value in zip(at.outputs, found, strict=False):
            if name:
                self.values[name] = value
                if isinstance(value, Known):
                    self.shapes[name] = value.shape

    def _value(self, at: Read, name: str) -> Any:
        if name and name not in self.values:
            raise at.refused(f"reads {name!r}, which minimx does not compute")
        return self.values[name] if name else None

    def _output(self, info: Any) -> Symbol:
        value = self.values.get(info.name)
        if value is None or isinstance(value, ShapeOf):
            raise DataError(f"import_model: no node gives the output {info.name!r}.")
        return self.variable(value) if isinstance(value, Known) else value

    # -- for those that read nodes ----------------------------------------------------

    def variable(self, known: Known) -> Symbol:
        """The variable that has an array as its value."""
        if known.name not in self._variables:
            made = var(known.name, shape=known.array.shape, dtype=known.array.dtype)
            self._variables[known.name] = made, known
        return self._variables[known.name][0]

    def shape_of(self, name: str) -> Open:
        """The shape of a value; where ONNX does not say, what minimx infers."""
        value = self.values.get(name)
        if self.shapes.get(name) is None and isinstance(value, Symbol):
            self.shapes[name] = infer(value.graph, {}, {}).shapes.get(value.outputs[0])
        return self.shapes.get(name)

    def unique(self, name: str) -> str:
        """A name that nothing has yet."""
        return unused(name, self._taken)

    def _known(self, name: str, array: Any) -> Known:
        self._taken.add(name)
        self.shapes[name] = array.shape
        return Known(name, as_array(name, array), array.shape)


def _array(tensor: Any) -> Any:
    try:
        return files.package("onnx.numpy_helper").to_array(tensor)
    except (TypeError, ValueError) as reason:
        raise DataError(f"import_model: the array {tensor.name!r}: {reason}") from None


def _attributes(proto: Any) -> dict[str, Any]:
    """The attributes of a node, as Python has them."""
    read = files.package("onnx.helper").get_attribute_value
    found = {}
    for attribute in proto.attribute:
        value = read(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        elif attribute.type == attribute.TENSOR:
            value = _array(value)
        elif attribute.type == attribute.STRINGS:
            value = [text.decode() for text in value]
        elif attribute.type == attribute.INTS:
            value = tuple(value)
        found[attribute.name] = value
    return found


def inputs_of(graph: Any) -> list[tuple[str, Any]]:
    """The names and element types of what a graph is called with."""
    stored = {tensor.name for tensor in graph.initializer}
    infos = [info for info in graph.input if info.name not in stored]
    return [
        (info.name, files.dtype_of(info.type.tensor_type.elem_type)) for info in infos
    ]


def _shapes(model: Any) -> dict[str, Open]:
    """The shapes of all values, as far as they follow from those of the inputs."""
    shape_inference = files.package("onnx.shape_inference")
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    found: dict[str, Open] = {}
    for info in (*graph.input, *graph.value_info, *graph.output):
        if info.type.tensor_type.HasField("shape"):
            axes = info.type.tensor_type.shape.dim
            found[info.name] = tuple(
                axis.dim_value if axis.HasField("dim_value") else None for axis in axes
            )
    return found


def _whole(shape: Open) -> tuple[int, ...] | None:
    """A shape for a variable: 0 for an axis that is open."""
    return None if not shape else tuple(np.array([n or 0 for n in shape]).tolist())
