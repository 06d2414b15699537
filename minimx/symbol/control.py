"""Loops and branches in graphs: `mx.sym.contrib.foreach`, `while_loop` and `cond`.

The functions of the user are called once, with new variables, and what they return is
the graph of a body. What they use from outside is cut off there and becomes an input of
the node: a body is a graph of its own. An attribute on every node that is made inside
(`__subgraph_name__`) tells inside from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx import name as naming
from minimx.attribute import AttrScope, current
from minimx.core import np_semantics
from minimx.core.arrays.nested import flatten, regroup
from minimx.core.errors import ArgumentError
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.graphs.control import Cond, Control, Foreach, WhileLoop
from minimx.nd.control import _most, _pair
from minimx.symbol.symbol import Symbol, placed

_REMARK = "__subgraph_name__"


class UnusableBody(ArgumentError, AssertionError):
    """A body that cannot be a graph of its own; MXNet raises AssertionError."""


class _Body:
    """A body while it is made: its loop variables, and what it needs from outside."""

    def __init__(self, hint: str) -> None:
        self.name = _unique(hint)
        self.variables: list[Node] = []
        self.graph = Graph(())
        self.outer: dict[Node, Entry] = {}

    def variable(self, symbol: Symbol) -> Symbol:
        """A new variable inside, for the value that `symbol` has outside at first."""
        entry = symbol.outputs[0]
        name = base = f"{entry.node.name}-{entry.slot}"
        taken = {node.name for node in self.variables}
        while name in taken:  # the same symbol twice
            name += "_"
        node = Node(None, (), name, {_REMARK: self.name, **_shape_known(base, entry)})
        self.variables.append(node)
        return Symbol([Entry(node)])

    def scope(self) -> AttrScope:
        """What is made in this scope is inside."""
        return AttrScope(**{_REMARK: self.name})

    def close(self, outputs: Sequence[Symbol]) -> None:
        """Cut the graph of the outputs off from what is outside."""
        entries = [entry for symbol in outputs for entry in symbol.outputs]
        own = set(self.variables)
        made: dict[Entry, Entry] = {Entry(node): Entry(node) for node in own}
        names = {node.name for node in own}
        inside = self._inside(entries, own)
        for node in Graph(entries):
            if node not in inside:
                continue
            for entry in node.inputs:
                self._cut(entry, inside, made, names)
            inputs = tuple(made[entry] for entry in node.inputs)
            copied = Node(node.op, inputs, node.name, node.attrs, layer=node.layer)
            made |= {Entry(node, k): Entry(copied, k) for k in range(node.visible)}
        for entry in entries:
            self._cut(entry, inside, made, names)
        self.graph = Graph([made[entry] for entry in entries])

    def unused(self) -> list[Node]:
        """The loop variables that nothing comes of."""
        used = set(self.graph.variables)
        return [node for node in self.variables if node not in used]

    def _inside(self, entries: Sequence[Entry], own: set[Node]) -> set[Node]:
        """The nodes that were made inside and lead to the outputs."""
        found: set[Node] = set()
        waiting = [entry.node for entry in entries]
        while waiting:
            node = waiting.pop()
            if node.op is None or node in own or node in found:
                continue
            if node.attrs.get(_REMARK) == self.name:
                found.add(node)
                waiting += [entry.node for entry in node.inputs]
        return found

    def _cut(
        self,
        entry: Entry,
        inside: set[Node],
        made: dict[Entry, Entry],
        names: set[str],
    ) -> None:
        """Put a variable in the place of an entry from outside."""
        if entry in made or entry.node in inside:
            return
        name = entry.name
        while name in names:
            name += "_"
        names.add(name)
        attrs = entry.node.attrs if entry.node.op is None else {}
        node = Node(None, (), name, attrs)
        made[entry] = Entry(node)
        self.outer[node] = entry


def _shape_known(name: str, entry: Entry) -> dict[str, str]:
    """What the variable outside says of its type holds inside as well."""
    declared = entry.node.attrs.get("__dtype__")
    return (
        {} if declared is None or entry.node.op is not None else {"__dtype__": declared}
    )


def _unique(hint: str) -> str:
    """A name for a body, with those of the bodies around it in front."""
    around = current().get(None).get(_REMARK, "")
    name = f"{around}${hint}" if around else hint
    AttrScope._subgraph_names[name] += 1
    return f"{name}{AttrScope._subgraph_names[name] - 1}"


class _Inputs:
    """The inputs of a node: those of the loop variables, then other entries, once each.

    A body may read the first value of a loop variable as well: that is another input,
    which stays while the variable goes from step to step.
    """

    def __init__(self, firsts: Sequence[Entry] = ()) -> None:
        self.entries = list(firsts)
        self._own = len(firsts)

    def place(self, entry: Entry) -> int:
        """The number of an entry that is no loop variable."""
        if entry not in self.entries[self._own :]:
            self.entries.append(entry)
        return self.entries.index(entry, self._own)


def _placed(op: Control, entries: list[Entry], hint: str) -> list[Symbol]:
    """The node, as symbols of one output each."""
    symbol = placed(op, entries, naming.current().get(None, hint))
    return list(symbol)


def _positions(graph: Graph, nodes: Sequence[Node]) -> tuple[int, ...]:
    """The positions of nodes among a graph's variables."""
    places = {node: k for k, node in enumerate(graph.variables)}
    return tuple(places[node] for node in nodes)


def foreach(
    body: Callable[[Any, Any], Any], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Run `out, states = body(slice, states)` for each slice along the first axis.

    data, init_states: symbols, or nested lists of them. Returns the outs of all steps,
    stacked along a new first axis, and the last states.

    >>> import minimx as mx
    >>> step = lambda row, total: (row * 2, total + row)
    >>> data, start = mx.sym.var("data"), mx.sym.var("start")
    >>> outs, total = mx.sym.contrib.foreach(step, data, start)
    >>> outs.infer_shape(data=(3, 2))
    ([(3, 2), (2,)], [(3, 2)], [])
    """
    return looped(body, data, init_states, name, np_semantics.is_np_shape())


def looped(
    body: Callable[[Any, Any], Any],
    data: Any,
    init_states: Any,
    name: str,
    np_shape: bool,
) -> tuple[Any, Any]:
    """`foreach`; np_shape: slices of an array with one axis have none."""
    slices, form = flatten(data, Symbol, "foreach: data")
    states, state_form = flatten(init_states, Symbol, "foreach: init_states")
    made = _Body(name)
    with made.scope():
        inner = [made.variable(symbol) for symbol in slices]
        kept = [made.variable(symbol) for symbol in states]
        out, after = _pair(
            "foreach", body(regroup(inner, form), regroup(kept, state_form))
        )
        outs, out_form = flatten(out, Symbol, "foreach: the output of body")
        last, last_form = flatten(after, Symbol, "foreach: the states from body")
        if last_form != state_form:
            raise UnusableBody(
                "foreach: body returned its states in another form than it was given "
                "them. Return as many, in the same lists."
            )
    made.close([*outs, *last])
    if unused := made.unused():
        raise UnusableBody(
            f"foreach: body does not use {unused[0].name} at all, neither to compute "
            "nor to return it. Leave it out of data or init_states."
        )
    count = len(slices)
    op = Foreach(
        body=made.graph,
        num_outputs=len(outs) + len(last),
        num_out_data=len(outs),
        in_data_locs=_positions(made.graph, made.variables[:count]),
        in_state_locs=_positions(made.graph, made.variables[count:]),
        remain_locs=_positions(made.graph, list(made.outer)),
        np_shape=np_shape,
    )
    entries = [symbol.outputs[0] for symbol in (*slices, *states)]
    results = _placed(op, [*entries, *made.outer.values()], "_foreach")
    return (
        regroup(results[: len(outs)], out_form),
        regroup(results[len(outs) :], last_form),
    )


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Run `out, loop_vars = func(*loop_vars)` while `cond(*loop_vars)` is true.

    loop_vars: a symbol or a nested list of them. max_iterations: it ends then anyway.
    Returns the outs of all steps, stacked along a new first axis that is
    `max_iterations` long (zeros follow the last step), and the last loop_vars.
    """
    most = _most(max_iterations)
    listed = [loop_vars] if isinstance(loop_vars, Symbol) else list(loop_vars)
    if not listed:
        raise ArgumentError("while_loop: loop_vars is empty; give one symbol at least.")
    variables, form = flatten(listed, Symbol, "while_loop: loop_vars")
    test, step = _Body(f"{name}_cond"), _Body(f"{name}_func")
    with test.scope():
        answer = cond(*regroup([test.variable(v) for v in variables], form))
        if not isinstance(answer, Symbol):
            raise ArgumentError(
                f"while_loop: cond returned a {type(answer).__name__}; in a graph it "
                "must return a Symbol."
            )
    test.close([answer])
    with step.scope():
        inner = regroup([step.variable(v) for v in variables], form)
        out, after = _pair("while_loop", func(*inner))
        out = [] if out is None else out
        outs, out_form = flatten(out, Symbol, "while_loop: output")
        after = [after] if isinstance(after, Symbol) else list(after or ())
        last = flatten(after, Symbol, "while_loop: loop_vars")[0]
    if len(last) != len(variables):
        raise ArgumentError(
            f"while_loop: func was given {len(variables)} loop_vars and returned "
            f"{len(last)}; their number must stay."
        )
    step.close([*outs, *last])
    results = _loop(test, step, variables, len(outs), most)
    final = regroup(results[len(outs) :], form)
    single = isinstance(loop_vars, Symbol)
    return regroup(results[: len(outs)], out_form), final[0] if single else final


def _loop(
    test: _Body, step: _Body, variables: list[Symbol], outs: int, most: int
) -> list[Symbol]:
    """The node of a loop, and its outputs."""
    if unused := step.unused():
        raise ArgumentError(
            f"while_loop: func does not use {unused[0].name} at all. Leave it out of "
            "loop_vars."
        )
    # Each loop variable has an input of its own, even if two begin alike.
    inputs = _Inputs([symbol.outputs[0] for symbol in variables])

    def wires(body: _Body) -> tuple[int, ...]:
        known = {node: k for k, node in enumerate(body.variables)}
        return tuple(
            known[node] if node in known else inputs.place(body.outer[node])
            for node in body.graph.variables
        )

    op = WhileLoop(
        cond=test.graph,
        func=step.graph,
        max_iterations=most,
        num_outputs=outs + len(variables),
        num_out_data=outs,
        cond_input_locs=wires(test),
        func_input_locs=wires(step),
        func_var_locs=_positions(step.graph, step.variables),
    )
    return _placed(op, inputs.entries, "_while_loop")


def cond(
    pred: Symbol,
    then_func: Callable[[], Any],
    else_func: Callable[[], Any],
    name: str = "cond",
) -> Any:
    """What `then_func()` returns if `pred` is true, else what `else_func()` returns.

    Both are called to make the two bodies; they must return as many symbols, of the
    same shapes. One of them is run.
    """
    bodies = [_Body(f"{name}_{part}") for part in ("pred", "then", "else")]
    functions: list[Callable[[], Any]] = [lambda: pred, then_func, else_func]
    forms = []
    for body, func in zip(bodies, functions, strict=True):
        with body.scope():
            outs, form = flatten(func(), Symbol, f"cond: {body.name}")
        body.close(outs)
        forms.append(form)
    counts = [len(body.graph.outputs) for body in bodies]
    if counts[0] != 1:
        raise ArgumentError(f"cond: pred has {counts[0]} outputs; it must have one.")
    if counts[1] != counts[2]:
        raise ArgumentError(
            f"cond: then_func returned {counts[1]} symbols and else_func {counts[2]}; "
            "they must return as many."
        )
    inputs = _Inputs()
    wires = [
        tuple(inputs.place(body.outer[node]) for node in body.graph.variables)
        for body in bodies
    ]
    op = Cond(
        cond=bodies[0].graph,
        then=bodies[1].graph,
        otherwise=bodies[2].graph,
        num_outputs=counts[1],
        cond_input_locs=wires[0],
        then_input_locs=wires[1],
        else_input_locs=wires[2],
    )
    return regroup(_placed(op, inputs.entries, "_cond"), forms[1])
