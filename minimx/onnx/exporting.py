"""`export_model`: a symbol and its parameters as a file of ONNX."""

from __future__ import annotations

import contextlib
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
from minimx.core.graph.passes.expand import expanded
from minimx.core.graph.values.infer import Inference, infer
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.shapes import Open, Shape
from minimx.onnx import files
from minimx.onnx.writing.graph import Writer, supported
from minimx.symbol import Symbol

Shapes = Sequence[Shape]
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
    network = _Network(_symbol(sym).graph, _parameters(params))
    network.called_with(
        in_shapes if input_shape is None else input_shape,
        in_types if input_type is None else input_type,
    )
    static = network.inferred(network.shapes)
    opened = network.opened(dynamic, dynamic_input_shapes)
    writer = Writer(network.graph, static, opened, network.constants)
    writer.run()
    if verbose:
        _log(writer)
    model = _model(writer.finished(network.inputs, "minimx"), opset_version)
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
        given = nd.load(os.fspath(given)) or {}  # a list where there are none
        if not isinstance(given, dict):
            raise DataError("export_model: the arrays in the file have no names.")
    if isinstance(given, (list, tuple)) and len(given) == 2:
        given = {**given[0], **given[1]}
    if not hasattr(given, "items"):  # a ParameterDict is no Mapping
        raise ArgumentError(
            "export_model: params must be a dict of arrays, a list of two (arguments, "
            f"states) or the name of a file, not a {type(given).__name__}."
        )
    found: Mapping[str, Any] = given
    return found


class _Network:
    """A graph with the arrays of its parameters, and what it is called with.

    arrays: of its variables by name, on the CPU; others are left away. inputs: the
    variables that are no parameters, nor labels that only a loss reads.
    """

    def __init__(self, graph: Graph, params: Mapping[str, Any]) -> None:
        self.graph = graph
        wanted = {node.name for node in graph.variables}
        self.arrays: dict[str, NDArray] = {}
        for name, value in params.items():
            bare = name.removeprefix("arg:").removeprefix("aux:")
            array = value.data() if hasattr(value, "grad_req") else value  # a Parameter
            if bare in wanted:
                copied = nd.array(array.asnumpy(), ctx=cpu(), dtype=array.dtype)
                self.arrays[bare] = copied
        read = _read_as(graph)
        self.inputs = [
            node
            for node in graph.variables
            if node.name not in self.arrays and read.get(node) != {"label"}
        ]
        self.shapes: dict[str, Shape] = {}
        self.types: dict[str, DType] = {}

    @property
    def constants(self) -> dict[Entry, NDArray]:
        """The arrays by the entries of their variables."""
        variables = [n for n in self.graph.variables if n.name in self.arrays]
        return {Entry(node): self.arrays[node.name] for node in variables}

    def called_with(self, shapes: Any, types: Any) -> None:
        """Note the shapes and types of the inputs; replace what stands for operators.

        Many of NumPy's functions are several operators, which depend on both.
        """
        names = [node.name for node in self.inputs]
        if shapes is None or len(shapes) != len(names):
            count = "no shapes" if shapes is None else f"{len(shapes)} shapes"
            raise ArgumentError(
                f"export_model: {count} are given, for {len(names)} inputs: "
                f"{', '.join(names)}. Give in_shapes a tuple for each; what should "
                "be a parameter is missing in params."
            )
        kinds = types if isinstance(types, (list, tuple)) else [types] * len(names)
        if len(kinds) != len(names):
            raise ArgumentError(
                f"export_model: {len(kinds)} in_types for {len(names)} inputs. Give "
                "one for each, or one for all."
            )
        for name, shape, kind in zip(names, shapes, kinds, strict=True):
            self.shapes[name] = tuple(map(int, shape))
            self.types[name] = resolve(kind)
        found = self.inferred(self.shapes)
        specs = {node: found.spec(Entry(node)) for node in self.graph.variables}
        known = {node: spec for node, spec in specs.items() if spec is not None}
        self.graph = expanded(self.graph, known)

    def inferred(self, shapes: Mapping[str, Open]) -> Inference:
        """What is known of all entries, for inputs of these shapes."""
        known = {name: array.shape for name, array in self.arrays.items()}
        types = {name: array.spec.dtype for name, array in self.arrays.items()}
        return infer(self.graph, {**known, **shapes}, {**types, **self.types})

    # -- axes that stay open ----------------------------------------------------------

    def opened(self, dynamic: bool, wanted: OpenShapes | None) -> Inference:
        """What is known where the open axes are not. Refuses axes that cannot be."""
        if not dynamic and wanted is not None:
            raise ArgumentError(
                "export_model: dynamic_input_shapes wants dynamic=True."
            )
        if not dynamic:
            return self.inferred(self.shapes)
        shapes = self._open() if wanted is None else self._as_wanted(wanted)
        found = self.inferred(shapes)
        kept = all(found.shapes.get(Entry(n)) == shapes[n.name] for n in self.inputs)
        if not kept or not self._takes_longer(shapes):
            raise ArgumentError(
                f"export_model: axes are to stay open, {dict(shapes)}, but the graph "
                f"takes no other lengths there than {self.shapes}. Give those lengths "
                "in dynamic_input_shapes; without it all axes stay open that can."
            )
        return found

    def _open(self) -> dict[str, Open]:
        """The shapes with None for the axes that may be longer."""
        found: dict[str, Open] = {}
        for name, shape in self.shapes.items():
            axes = [(*shape[:k], None, *shape[k + 1 :]) for k in range(len(shape))]
            free = [self._takes_longer({**self.shapes, name: open}) for open in axes]
            pairs = zip(shape, free, strict=True)
            found[name] = tuple(None if taken else n for n, taken in pairs)
        return found

    def _takes_longer(self, shapes: Mapping[str, Open]) -> bool:
        """Whether there are outputs where open axes are twice as long, or by one."""
        for times, more in ((2, 0), (1, 1)):
            other = {
                name: tuple(
                    times * (n or 1) + more if free is None else n
                    for n, free in zip(shape, shapes[name] or (), strict=True)
                )
                for name, shape in self.shapes.items()
            }
            with contextlib.suppress(MXNetError):
                found = self.inferred(other)
                if all(found.spec(entry) is not None for entry in self.graph.outputs):
                    return True
        return False

    def _as_wanted(self, wanted: OpenShapes) -> dict[str, Open]:
        if len(wanted) != len(self.shapes):
            raise ArgumentError(
                f"export_model: dynamic_input_shapes has {len(wanted)} shapes for "
                f"{len(self.shapes)} inputs."
            )
        found: dict[str, Open] = {}
        for (name, shape), given in zip(self.shapes.items(), wanted, strict=True):
            axes = tuple(n if isinstance(n, int) and n > 0 else None for n in given)
            same = [n in (None, m) for n, m in zip(axes, shape, strict=False)]
            if len(axes) != len(shape) or not all(same):
                raise ArgumentError(
                    f"export_model: dynamic_input_shapes says {tuple(given)} of "
                    f"{name!r}, in_shapes {shape}. They must have equally many axes, "
                    "and the same length where one is given."
                )
            found[name] = axes
        return found


def _read_as(graph: Graph) -> dict[Node, set[str]]:
    """For each node, what those that read it call it, such as 'label'."""
    read: dict[Node, set[str]] = {}
    for node in graph:
        names = () if node.op is None or node.op.variadic else node.op.inputs
        for k, entry in enumerate(node.inputs):
            read.setdefault(entry.node, set()).add(names[k] if k < len(names) else "")
    return read
