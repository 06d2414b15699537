"""SymbolBlock: a block made from a graph, such as one that was exported.

net.export("net")
again = gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from minimx import initializer, symbol
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx.core.graph.values.infer import declared_dtype, infer
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.np_semantics import is_np_array
from minimx.gluon.hybrid import HybridBlock
from minimx.gluon.parameter.deferred import Contexts
from minimx.gluon.parameter.dictionary import ParameterDict, PathLike
from minimx.gluon.parameter.parameter import Parameter
from minimx.gluon.structure import put_together, refuse_mixture, take_apart
from minimx.gluon.tracing import trace as tracing
from minimx.symbol import Symbol
from minimx.symbol.tracing.arrays import tracing as tracer_of_thread

_ROW_SPARSE = "1"  # MXNet's number for that way to store


class UnusableGraph(ArgumentError, AssertionError):
    """A graph that no block can be made of; MXNet raises AssertionError."""


class SymbolBlock(HybridBlock):
    """A block that computes a graph.

    outputs: a symbol, or a list of them. inputs: the variables of the graph that the
    block is called with. params: where the values of the others come from, such as
    `net.collect_params()`; what is not there is made new.

        data = mx.sym.var("data")
        inner = net(data).get_internals()["net_dense0_output"]
        features = gluon.SymbolBlock(inner, data, params=net.collect_params())
    """

    def __init__(self, outputs: Any, inputs: Any, params: Any = None) -> None:
        super().__init__(prefix="", params=None)
        self._params = ParameterDict("", _as_parameters(params))
        given, _ = take_apart(inputs)
        found, form = take_apart(_single(outputs))
        variables = [_variable(value) for value in given]
        graph = Graph([leaf.outputs[0] for leaf in found])
        _refuse_sparse(graph)
        self._variables = _of_graph(graph, variables)
        types = _types(graph, variables)
        states = set(graph.states)
        parameters: dict[Node, Parameter] = {}
        for node in (*graph.arguments, *graph.states):
            if node not in self._variables:
                more: dict[str, Any] = {
                    "dtype": types[node.name],
                    "init": _initializer(node),
                }
                if node in states:
                    more["grad_req"] = "null"
                parameters[node] = self._parameter(node.name, more)
        numpy = [is_np_array()] * len(graph.outputs)
        self._written = tracing.Written(graph, self._variables, parameters, form, numpy)
        self._reg_params = _short_names(dict(self._params.items()))

    def _parameter(self, name: str, more: dict[str, Any]) -> Parameter:
        if name in self._params or self._params._find(name) is not None:
            return self._params.get(name)
        return self._params.get(name, allow_deferred_init=True, **more)

    @staticmethod
    def imports(
        symbol_file: PathLike,
        input_names: str | Sequence[str],
        param_file: PathLike | None = None,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        device: Contexts = None,
    ) -> SymbolBlock:
        """The block in the files that `export` wrote, here or in MXNet.

        input_names: which variables are inputs. param_file: without it, `initialize`
        the block. allow_missing, ignore_extra: whether the file may lack values, or
        have more than are wanted. Raises DataError for files that are not what they
        claim to be.
        """
        found = symbol.load(os.fspath(symbol_file))
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        dtype = "float32" if param_file is None else None
        made = SymbolBlock(found, [symbol.var(name, dtype=dtype) for name in names])
        if param_file is not None:
            made.collect_params().load(
                param_file,
                ctx if device is None else device,
                allow_missing,
                ignore_extra,
                cast_dtype=True,
                dtype_source="saved",
            )
        return made

    def __repr__(self) -> str:
        inputs, outputs = len(self._variables), len(self._written.graph.outputs)
        shown = f"{self._written.symbol!r} : {inputs} -> {outputs}"
        return f"{type(self).__name__}(\n{shown}\n)"

    # -- running ----------------------------------------------------------------------

    def forward(self, x: Any, *args: Any) -> Any:
        """Compute the graph; of symbols: the graph with them as its inputs."""
        return self._through_graph((x, *args))

    def _write(
        self, key: Any, args: tuple[Any, ...], leaves: list[Any]
    ) -> tracing.Written:
        self._check_count(leaves)
        return self._written

    def _complete_by_running(self, args: tuple[Any, ...]) -> None:
        """There is no code that could know more than the graph."""

    def _as_part(self, args: tuple[Any, ...], leaves: list[Any]) -> Any:
        refuse_mixture(type(self).__name__, leaves)
        self._check_count(leaves)
        tracer = tracer_of_thread()
        if tracer is not None:
            tracer.parameters |= self._written.parameters
        entries = [leaf.outputs[0] for leaf in tracing.lowered(leaves)]
        given = dict(zip(self._variables, entries, strict=True))
        graph = rewritten(
            self._written.graph,
            lambda node, _: [given[node]] if node in given else None,
        )
        outputs = iter([Symbol([entry]) for entry in graph.outputs])
        found = put_together(self._written.form, outputs)
        if tracer is None or isinstance(leaves[0], Symbol):
            return found
        return tracing.lifted(tracer, found, is_np_array())

    def _set_form(self, form: Any) -> None:
        """Give the outputs nested so, from the next call on."""
        self._written.form = form
        self._forget_graphs()

    def _check_count(self, leaves: list[Any]) -> None:
        if len(leaves) != len(self._variables):
            raise ArgumentError(
                f"{type(self).__name__} takes {len(self._variables)} inputs "
                f"({', '.join(node.name for node in self._variables)}), not "
                f"{len(leaves)}."
            )

    def cast(self, dtype: Any) -> None:
        """Convert the parameters; to float16 all but those of BatchNorm."""
        super().cast(dtype)
        self._forget_graphs()
        if resolve(dtype) != resolve("float16"):
            return
        for node in self._written.graph:
            if node.op is not None and node.op.name.startswith("BatchNorm"):
                for entry in node.inputs[1:]:
                    parameter = self._written.parameters.get(entry.node)
                    if parameter is not None:
                        parameter.cast("float32")


def _as_parameters(params: Any) -> ParameterDict | None:
    """Where parameters are taken from, as MXNet 1 and 2 hand them over."""
    if params is None or isinstance(params, ParameterDict):
        return params
    if not isinstance(params, Mapping):
        raise ArgumentError(
            "SymbolBlock: params must be what collect_params() gives, not a "
            f"{type(params).__name__}."
        )
    made = ParameterDict()
    made._params = {p.name: p for p in params.values()}
    return made


def _single(values: Any) -> Any:
    """The one value of a list of one."""
    if isinstance(values, (list, tuple)) and len(values) == 1:
        return values[0]
    return values


def _variable(value: Any) -> Node:
    node: Node = value.outputs[0].node
    if not isinstance(value, Symbol) or node.op is not None:
        raise UnusableGraph(
            f"SymbolBlock: an input must be a variable of the graph, but {value!r} is "
            "computed. To begin in the middle, compose the graph with a new variable."
        )
    return node


def _of_graph(graph: Graph, variables: list[Node]) -> list[Node]:
    """The variables of the graph that have the names of the given ones."""
    known = {node.name: node for node in graph.variables}
    for node in variables:
        if node.name not in known:
            hint = did_you_mean(node.name, known)
            raise ArgumentError(
                f"SymbolBlock: the graph has no variable {node.name!r}; its variables "
                f"are {', '.join([*known][:8])}.{hint}"
            )
    return [known[node.name] for node in variables]


def _initializer(node: Node) -> Any:
    """What a variable says it is filled with at first, if that is known here."""
    declared = node.attrs.get("__init__")
    try:
        return None if declared is None else initializer.create(declared)
    except (MXNetError, ValueError, TypeError):  # of a class in another program
        return None


def _refuse_sparse(graph: Graph) -> None:
    for node in graph.variables:
        if node.attrs.get("__storage_type__") == _ROW_SPARSE:
            raise UnusableGraph(
                f"SymbolBlock: {node.name} is stored as row_sparse, which a block of a "
                "graph cannot use. Bind the symbol instead."
            )


def _types(graph: Graph, inputs: list[Node]) -> dict[str, Any]:
    """The element types of the variables, as far as those of the inputs tell."""
    declared = {node.name: declared_dtype(node) for node in inputs}
    try:
        found = infer(graph, {}, declared).dtypes
    except MXNetError:  # what the graph says of itself contradicts itself
        found = {}
    return {
        node.name: found.get(Entry(node)) or resolve("float32")
        for node in graph.variables
    }


def _short_names(params: dict[str, Parameter]) -> dict[str, Parameter]:
    """Parameters without what all their names begin with."""
    start = len(os.path.commonprefix(list(params)))
    return {name[start:]: parameter for name, parameter in params.items()}
