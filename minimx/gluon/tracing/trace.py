"""From a block's Python code to a graph: what `hybridize` does at the first call.

Code in the manner of MXNet 1, `hybrid_forward(F, x)`, is run once with symbols; code in
that of MXNet 2, `forward(x)`, with traced arrays (`minimx.symbol.tracing.arrays`),
which have shapes. Both may be mixed in one network. Nothing is computed meanwhile, and
the names of nodes are those that MXNet gives them.
"""

from __future__ import annotations

import linecache
import os
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from minimx.core import autograd, errors
from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import resolve
from minimx.core.engine.origin import file_name
from minimx.core.errors import NotImplementedForSymbol, TracingError
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.np_semantics import is_np_array
from minimx.core.shapes import Open
from minimx.gluon.block import Block
from minimx.gluon.np_arrays import refusal
from minimx.gluon.parameter import Constant, Parameter
from minimx.gluon.parameter.deferred import shape_is_known
from minimx.gluon.structure import Form, put_together, take_apart
from minimx.name import Prefix
from minimx.np.multiarray import ndarray
from minimx.symbol import Symbol
from minimx.symbol.tracing.arrays import Traced, Tracer, as_symbol

if TYPE_CHECKING:
    from minimx.gluon.hybrid import HybridBlock

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(errors.__file__))) + os.sep


class Written:
    """A block as a graph, with where the values of its variables come from.

    inputs: the variables of the block's inputs, in order. sources: for each variable of
    the graph the number of an input, or a parameter. form: how the outputs are nested.
    numpy: for each output whether it is an array of `mx.np`. by_shape: it is good only
    for inputs of these shapes, since Python code could ask for them. lines: for nodes
    of operators that only minimx has, by name, the user's line that made them.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Node],
        parameters: dict[Node, Parameter],
        form: Form,
        numpy: Sequence[bool],
        by_shape: bool = False,
        lines: Mapping[str, str] | None = None,
    ) -> None:
        self.graph = graph
        self.inputs = list(inputs)
        self.form = form
        self.numpy = list(numpy)
        self.by_shape = by_shape
        self.lines = dict(lines or {})
        positions = {node: place for place, node in enumerate(self.inputs)}
        self.sources: list[int | Parameter] = [
            positions[node] if node in positions else parameters[node]
            for node in (*graph.arguments, *graph.states)
        ]

    def with_graph(self, graph: Graph) -> Written:
        """The same with another graph of the same variables."""
        rest = self.form, self.numpy, self.by_shape, self.lines
        return Written(graph, self.inputs, self.parameters, *rest)

    @property
    def parameters(self) -> dict[Node, Parameter]:
        """The parameters in use, by their variables."""
        nodes = (*self.graph.arguments, *self.graph.states)
        pairs = zip(nodes, self.sources, strict=True)
        return {node: p for node, p in pairs if isinstance(p, Parameter)}

    @property
    def symbol(self) -> Symbol:
        """The graph as a symbol."""
        return Symbol(self.graph.outputs)

    def complete(self, leaves: Sequence[NDArray]) -> bool:
        """Make parameters that waited for the first batch; False if some still wait."""
        waiting = {
            n: p for n, p in self.parameters.items() if p._deferred_init is not None
        }
        if any(not shape_is_known(p.shape) for p in waiting.values()):
            pairs = list(zip(self.inputs, leaves, strict=True))
            shapes: dict[str, Open] = {node.name: x.shape for node, x in pairs}
            dtypes = {node.name: x.spec.dtype for node, x in pairs}
            dtypes |= {n.name: resolve(p.dtype) for n, p in self.parameters.items()}
            found = infer(self.graph, shapes, dtypes)
            for node, parameter in waiting.items():
                spec = found.spec(Entry(node))
                if spec is not None:
                    parameter.shape = spec.shape
        ready = [p for p in waiting.values() if shape_is_known(p.shape)]
        for parameter in ready:
            parameter._finish_deferred()
        return len(ready) == len(waiting)

    def arrays(self, leaves: Sequence[NDArray]) -> list[NDArray]:
        """An array for each variable of the graph."""
        ctx = leaves[0].context
        return [
            leaves[source] if type(source) is int else source.data(ctx)  # type: ignore[union-attr]
            for source in self.sources
        ]

    def formed(self, outputs: Sequence[NDArray]) -> Any:
        """The outputs as the kind of array and in the form that the block gives."""
        converted = [
            out
            if isinstance(out, ndarray) is numpy
            else (out.as_np_ndarray() if numpy else out.as_nd_ndarray())
            for out, numpy in zip(outputs, self.numpy, strict=True)
        ]
        return put_together(self.form, iter(converted))


def takes_arrays(block: HybridBlock) -> bool:
    """Whether `forward` is the user's own, in the manner of MXNet 2."""
    owner = next(c for c in type(block).__mro__ if "forward" in vars(c))
    # `use_np` gives a class its own copies of inherited methods; they name our module.
    where = getattr(vars(owner)["forward"], "__module__", owner.__module__)
    return not str(where).startswith("minimx.")


def write(
    block: HybridBlock, args: tuple[Any, ...], leaves: Sequence[NDArray]
) -> Written:
    """Write a block down, for inputs such as these.

    leaves: the arrays in `args`. Raises TracingError where the block's Python code asks
    for what only a run could tell.
    """
    with_arrays = takes_arrays(block)
    count = len(leaves)
    names = ["data"] if count == 1 else [f"data{k}" for k in range(count)]
    with Tracer(leaves[0].context) as tracer, naming(block):
        pairs = list(zip(names, leaves, strict=True))
        inputs = [tracer.variable(name, x.spec) for name, x in pairs]
        placeholders = [
            tracer.array(Entry(node), isinstance(x, ndarray))
            if with_arrays
            else Symbol([Entry(node)])
            for node, x in zip(inputs, leaves, strict=True)
        ]
        form = take_apart(args)[1]
        values = put_together(form, iter(placeholders))
        tracer.saw_arrays = with_arrays
        try:
            out = block.forward(*values)
        except (NotImplementedForSymbol, AttributeError) as reason:
            if isinstance(reason, AttributeError) and not _asks_symbol(reason):
                raise
            raise _explained(block, reason) from reason
        return _closed(block, tracer, inputs, out)


def naming(block: HybridBlock) -> Prefix:
    """The scope in which the nodes of a block get their names."""
    return Prefix("" if block._empty_prefix else block.prefix)


def _closed(
    block: HybridBlock, tracer: Tracer, inputs: list[Node], out: Any
) -> Written:
    """The graph of what came out."""
    outputs, form = take_apart(out)
    if not outputs:
        raise TracingError(
            f"{type(block).__name__} returned {out!r}; a block that is made into a "
            "graph must return an array, or nested lists of them."
        )
    numpy = [
        not leaf.is_classic if isinstance(leaf, Symbol) else isinstance(leaf, ndarray)
        for leaf in outputs
    ]
    if is_np_array() and not all(numpy):
        raise refusal(type(block).__name__)
    entries = [
        leaf.outputs[0] if isinstance(leaf, Symbol) else tracer.entry_of(leaf)
        for leaf in outputs
    ]
    graph = Graph(entries)
    parameters = _sources(block, tracer, graph, set(inputs))
    _refuse_namesakes(graph)
    _warn_of_unused(block, graph, inputs, parameters)
    made = form, numpy, tracer.saw_arrays, tracer.lines
    return Written(graph, inputs, parameters, *made)


def _sources(
    block: HybridBlock, tracer: Tracer, graph: Graph, inputs: set[Node]
) -> dict[Node, Parameter]:
    """The parameter that each variable is for."""
    by_name = block.collect_params()
    found: dict[Node, Parameter] = dict(tracer.parameters)
    for entry, array in tracer.captured.values():
        found[entry.node] = _constant(entry.node.name, array)
    for node in graph.variables:
        if node in inputs or node in found:
            continue
        if node.name not in by_name:
            raise TracingError(
                f"{type(block).__name__}: the graph needs a value for {node.name!r}, "
                "which is neither an input nor a parameter of the block."
            )
        found[node] = by_name[node.name]
    return found


def _constant(name: str, array: NDArray) -> Parameter:
    """An array that code uses although it is no parameter, on all devices."""
    made = Constant(name, array)
    made._data = {array.context: array}  # the array itself: it may have a gradient
    return made


def _refuse_namesakes(graph: Graph) -> None:
    names: set[str] = set()
    for node in graph.variables:
        if node.name in names:
            raise TracingError(
                f"two different variables are called {node.name!r}; a graph tells them "
                "apart by name. Make the blocks inside `with self.name_scope():`, or "
                "give them prefixes."
            )
        names.add(node.name)


def _warn_of_unused(
    block: HybridBlock,
    graph: Graph,
    inputs: list[Node],
    parameters: dict[Node, Parameter],
) -> None:
    used = set(graph.variables)
    idle = [f"input {place}" for place, n in enumerate(inputs) if n not in used]
    in_use = {id(p) for node, p in parameters.items() if node in used}
    idle += [p.name for p in block.collect_params().values() if id(p) not in in_use]
    if idle:
        warnings.warn(
            f"{type(block).__name__}: nothing is computed from {', '.join(idle)}. Is "
            "that intended?",
            stacklevel=6,
        )


# -- what can go wrong -----------------------------------------------------------------


def _asks_symbol(reason: AttributeError) -> bool:
    return isinstance(getattr(reason, "obj", None), (Symbol, Traced))


def _explained(block: HybridBlock, reason: Exception) -> TracingError:
    """The error with the user's line that depends on data."""
    place = _users_line(reason.__traceback__)
    where = code = inside = ""
    if place is not None:
        filename, lineno, owner = place
        inside = f" in {owner}" if owner not in ("", type(block).__name__) else ""
        where = f"{file_name(filename)}, line {lineno}: "
        code = linecache.getline(filename, lineno).strip()
    shown = f"\n    {code}\n" if code else " "
    made = TracingError(
        f"{where}{type(block).__name__} is hybridized, so its code is run once to make "
        f"a graph, without numbers; but this{inside} depends on them:{shown}"
        f"({_short(reason)}) "
        "Use F.where (or mx.np.where) to choose by element, F.contrib.cond for a "
        "branch, F.contrib.foreach or while_loop for a loop; keep numbers in arrays "
        "instead of float(), int() and asnumpy(). Or let this block run as it is: "
        "block.hybridize(False)."
    )
    if place is not None:
        made.filename, made.lineno = place[:2]
    return made


def _short(reason: Exception) -> str:
    text = str(reason)
    if isinstance(reason, AttributeError):
        return f"a symbol has no {reason.name}."
    return text


def _users_line(trace: TracebackType | None) -> tuple[str, int, str] | None:
    """File and line of the innermost frame that is not ours, and whose block it is."""
    found = None
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if not os.path.abspath(filename).startswith(_OURS):
            owner = trace.tb_frame.f_locals.get("self")
            name = type(owner).__name__ if isinstance(owner, Block) else ""
            found = filename, trace.tb_lineno, name
        trace = trace.tb_next
    return found


# -- blocks inside ---------------------------------------------------------------------


def lowered(values: Any) -> Any:
    """Symbols in the place of the traced arrays in nested lists."""
    if isinstance(values, Traced):
        return as_symbol(values)
    if isinstance(values, (list, tuple)):
        return type(values)(map(lowered, values))
    return values


def lifted(tracer: Tracer, values: Any, numpy: bool) -> Any:
    """Traced arrays in the place of the symbols in nested lists."""
    if isinstance(values, Symbol):
        numpy = numpy and not values.is_classic
        found = [tracer.array(entry, numpy) for entry in values.outputs]
        return found[0] if len(found) == 1 else found
    if isinstance(values, (list, tuple)):
        return type(values)([lifted(tracer, value, numpy) for value in values])
    return values


def recording_mode() -> tuple[bool, bool]:
    """What Python code may ask autograd, and make the graph depend on."""
    return autograd.is_recording(), autograd.is_training()
