"""`export_model`: a symbol and its parameters as a file of ONNX."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minimx import nd, symbol
from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.dtypes import DType, resolve
from minimx.core.errors import ArgumentError, DataError, MXNetError
from minimx.core.graph.values.infer import Inference, infer
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.shapes import Open, Shape
from minimx.onnx import files
from minimx.onnx.writing.graph import Writer, supported
from minimx.symbol import Symbol

Shapes = Sequence[Shape]
Arrays = Mapping[str, NDArray]
OpenShapes = Sequence[Sequence[int | str | None]]


def export_model(
    sym: Symbol | str | os.PathLike[str],
    params: Any,
    in_shapes: Shapes | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: OpenShapes | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Shapes | None = None,
    large_model: bool = False,
    opset_version: int = 13,
) -> Any:
    """Write a symbol with its parameters as a model of ONNX; returns the file's name.

    sym, params: objects, or the names of files that `net.export` or `save_checkpoint`
    wrote. params: a dict of arrays, whose names may begin with arg: or aux:, or a list
    of two, arguments and states. in_shapes, in_types: a shape and an element type for
    each input, in the order of `sym.list_inputs()` without parameters and labels; one
    type serves for all. Their older names are input_shape and input_type.

    dynamic: axes may have other lengths when the model is run. dynamic_input_shapes
    says which: None or a name for an axis that is open, its length for one that is
    not. Without it all axes are open of which the graph accepts another length.

    verbose: log what becomes of the nodes. run_shape_inference: note the shapes of all
    values in the file. large_model: arrays in a second file, `<name>.data`, as one file
    holds 2 GB. opset_version: 13 to 17; the nodes are the same.

    What is computed from parameters alone is computed here and written as an array. The
    model predicts: dropout is left out, and batch normalization uses its moving
    statistics.

    Raises OperatorError with the name of a node that has no translation,
    ArgumentError for arguments that do not fit each other, DataError for a damaged
    file, ImportError where the package onnx is missing.

    >>> mx.onnx.export_model(sym, params, [(1, 3, 224, 224)])    # doctest: +SKIP
    'model.onnx'
    """
    _check_opset(opset_version)
    graph = _symbol(sym).graph
    arrays = _by_name(graph, _parameters(params))
    inputs = _inputs(graph, arrays)
    shapes = _given(inputs, in_shapes if input_shape is None else input_shape)
    kinds = _types(inputs, in_types if input_type is None else input_type)
    free = _open_shapes(graph, arrays, shapes, kinds, dynamic, dynamic_input_shapes)
    static, opened = (_inferred(graph, arrays, s, kinds) for s in (shapes, free))
    known = {Entry(n): arrays[n.name] for n in graph.variables if n.name in arrays}
    writer = Writer(graph, static, opened, known)
    writer.run()
    if verbose:
        _log(writer)
    model = _model(writer.finished(inputs, "minimx"), opset_version)
    if run_shape_inference:
        model = files.package("onnx.shape_inference").infer_shapes(model)
    files.save(model, onnx_file_path, large_model)
    return onnx_file_path


def _check_opset(version: int) -> None:
    """Refuse an opset, or that the package onnx is missing, before anything is done."""
    files.package()
    if version not in files.OPSETS:
        raise ArgumentError(
            f"export_model: opset_version={version}; it writes those from "
            f"{files.OPSETS[0]} to {files.OPSETS[-1]}."
        )


def _log(writer: Writer) -> None:
    for kind, name, ins, outs, _ in writer.nodes:
        logging.info("%s %s: %s -> %s", kind, name, ", ".join(ins), ", ".join(outs))


def _model(graph: Any, opset: int) -> Any:
    from minimx.version import __version__

    helper = files.package("onnx.helper")
    return helper.make_model(
        graph,
        producer_name="minimx",
        producer_version=__version__,
        ir_version=files.IR_VERSION,
        opset_imports=[helper.make_opsetid("", opset)],
    )


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """The names of the operators that `export_model` can write, sorted.

    opset_version: 13 to 17; older ones have none. Raises ImportError where the package
    onnx is missing.
    """
    files.package()
    if opset_version is not None and opset_version < files.OPSETS[0]:
        return []
    return supported()


# -- what was given --------------------------------------------------------------------


def _symbol(given: Any) -> Symbol:
    if isinstance(given, Symbol):
        return given
    if isinstance(given, (str, os.PathLike)):
        return symbol.load(os.fspath(given))
    raise ArgumentError(
        f"export_model: sym must be a Symbol or the name of a file, not a "
        f"{type(given).__name__}. Of a block, net.export('net') writes one."
    )


def _parameters(given: Any) -> Mapping[str, Any]:
    """Parameters by name, whatever form they came in."""
    if isinstance(given, (str, os.PathLike)):
        given = nd.load(os.fspath(given))
        if not isinstance(given, dict):
            raise DataError("export_model: the arrays in the file have no names.")
    if isinstance(given, (list, tuple)) and len(given) == 2:
        given = {**given[0], **given[1]}
    if not isinstance(given, Mapping):
        raise ArgumentError(
            "export_model: params must be a dict of arrays, a list of two (arguments, "
            f"states) or the name of a file, not a {type(given).__name__}."
        )
    return given


def _by_name(graph: Graph, given: Mapping[str, Any]) -> dict[str, NDArray]:
    """The arrays of the graph's variables, on the CPU; others are left away."""
    wanted = {node.name for node in graph.variables}
    found = {}
    for name, value in given.items():
        bare = name.removeprefix("arg:").removeprefix("aux:")
        array = value.data() if hasattr(value, "grad_req") else value  # a Parameter
        if bare in wanted:
            found[bare] = nd.array(array.asnumpy(), ctx=cpu(), dtype=array.dtype)
    return found


def _inputs(graph: Graph, arrays: Arrays) -> list[Node]:
    """The variables that are no parameters, nor labels that only a loss reads."""
    read: dict[Node, set[str]] = {}
    for node in graph:
        names = () if node.op is None or node.op.variadic else node.op.inputs
        for k, entry in enumerate(node.inputs):
            read.setdefault(entry.node, set()).add(names[k] if k < len(names) else "")
    return [
        node
        for node in graph.variables
        if node.name not in arrays and read.get(node) != {"label"}
    ]


def _given(inputs: list[Node], shapes: Any) -> dict[str, Shape]:
    names = [node.name for node in inputs]
    if shapes is None or len(shapes) != len(names):
        count = "no shapes" if shapes is None else f"{len(shapes)} shapes"
        raise ArgumentError(
            f"export_model: {count} are given, for {len(names)} inputs: "
            f"{', '.join(names)}. Give in_shapes a tuple for each; what should "
            "be a parameter is missing in params."
        )
    return {name: tuple(map(int, s)) for name, s in zip(names, shapes, strict=True)}


def _types(inputs: list[Node], given: Any) -> dict[str, DType]:
    kinds = list(given) if isinstance(given, (list, tuple)) else [given] * len(inputs)
    if len(kinds) != len(inputs):
        raise ArgumentError(
            f"export_model: {len(kinds)} in_types for {len(inputs)} inputs. Give one "
            "for each, or one for all."
        )
    return {node.name: resolve(kind) for node, kind in zip(inputs, kinds, strict=True)}


# -- shapes, and axes that stay open ---------------------------------------------------


def _inferred(
    graph: Graph, arrays: Arrays, shapes: Mapping[str, Open], kinds: Mapping[str, DType]
) -> Inference:
    """What is known of all entries, for inputs of these shapes and types."""
    known = {name: array.shape for name, array in arrays.items()}
    types = {name: array.spec.dtype for name, array in arrays.items()}
    return infer(graph, {**known, **shapes}, {**types, **kinds})


def _open_shapes(
    graph: Graph,
    arrays: Arrays,
    shapes: dict[str, Shape],
    kinds: Mapping[str, DType],
    dynamic: bool,
    wanted: OpenShapes | None,
) -> Mapping[str, Open]:
    """The shapes of the inputs, with None for axes that are open."""
    if not dynamic:
        if wanted is not None:
            raise ArgumentError(
                "export_model: dynamic_input_shapes wants dynamic=True."
            )
        return shapes
    if wanted is not None:
        return _as_wanted(shapes, wanted)

    def accepts(name: str, axis: int) -> bool:
        """Whether the graph has outputs where an axis is twice as long."""
        n = shapes[name]
        other = (*n[:axis], 2 * (n[axis] or 1), *n[axis + 1 :])
        try:
            found = _inferred(graph, arrays, {**shapes, name: other}, kinds)
        except MXNetError:
            return False
        return all(found.spec(entry) is not None for entry in graph.outputs)

    return {
        name: tuple(None if accepts(name, k) else n for k, n in enumerate(shape))
        for name, shape in shapes.items()
    }


def _as_wanted(shapes: dict[str, Shape], wanted: OpenShapes) -> dict[str, Open]:
    if len(wanted) != len(shapes):
        raise ArgumentError(
            f"export_model: dynamic_input_shapes has {len(wanted)} shapes for "
            f"{len(shapes)} inputs."
        )
    found: dict[str, Open] = {}
    for (name, shape), given in zip(shapes.items(), wanted, strict=True):
        axes = tuple(n if isinstance(n, int) and n > 0 else None for n in given)
        same = [n in (None, m) for n, m in zip(axes, shape, strict=False)]
        if len(axes) != len(shape) or not all(same):
            raise ArgumentError(
                f"export_model: dynamic_input_shapes says {tuple(given)} of {name!r}, "
                f"in_shapes {shape}. They must have equally many axes, and the same "
                "length where one is given."
            )
        found[name] = axes
    return found
