"""Executor: a graph with arrays to run it on.

    executor = net.simple_bind(mx.cpu(), data=(32, 784))
    executor.forward(is_train=True, data=batch)
    executor.backward()
    executor.grad_dict["fc_weight"]

It runs programs (`core/graph/running/bound.py`) where the whole graph can be planned
ahead; with sparse arrays, a list of calls (`graphs/sparse_runs.py`). Where a graph
cannot be made ready, where a monitor watches the nodes, or where they are on several
devices, it calls the operators one after the other and lets the tape write down what
backward needs (`_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from minimx.core import autograd
from minimx.core.arrays import launch
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import copy
from minimx.core.autograd.walk import Pending, walk_back
from minimx.core.device import Device
from minimx.core.errors import ArgumentError, ShapeError, did_you_mean
from minimx.core.events import attributed
from minimx.core.graph.memory.memory import MemoryPlan, plan_memory
from minimx.core.graph.running.bound import Bound, Unplanned
from minimx.core.graph.running.run import decided
from minimx.core.graph.running.settings import in_force
from minimx.core.graph.values.infer import infer, resolved
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs, every_spec
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import like
from minimx.graphs.backward_steps import backward_steps
from minimx.graphs.log import announce
from minimx.graphs.monitored_walk import Calls, MonitoredWalk
from minimx.graphs.placement import placement
from minimx.graphs.sparse_runs import SparseRuns
from minimx.graphs.watching import as_shown
from minimx.nd.sparse import route
from minimx.operators.mxnet_names import input_name
from minimx.tools import graph_text

__all__ = ["Executor"]


class Executor:
    """Runs a graph forward and backward on bound arrays; made by `bind`."""

    def __init__(
        self,
        graph: Graph,
        ctx: Device,
        args: Sequence[NDArray],
        grads: Sequence[NDArray | None],
        reqs: Sequence[str],
        states: Sequence[NDArray],
        groups: Mapping[str, Device] | None = None,
        shared: Executor | None = None,
    ) -> None:
        """Bind arrays to a graph's arguments and states, in their order.

        shared: an executor whose inner memory is used in turns with this one: what one
        of them keeps for backward is lost when the other runs.
        """
        self._graph = graph
        self._names = [node.name for node in graph.arguments]
        self._ctx = ctx
        named = [*zip(graph.arguments, args, strict=True)]
        named += zip(graph.states, states, strict=True)
        self._runs = resolved(graph, {node.name: array.spec for node, array in named})
        self.arg_arrays = list(args)
        self.grad_arrays = list(grads)
        self.aux_arrays = list(states)
        self._reqs = list(reqs)
        self._symbol: Any = None
        self._groups = dict(groups or {})
        self._places = placement(self._runs, self._groups, ctx) if self._groups else {}
        self._monitor: Callable[[str, NDArray], None] | None = None
        self._monitor_all = False
        self._calls: Calls | None = None  # what a monitor saw is on the tape
        self._heads: list[NDArray] | None = None
        self._outputs: list[NDArray] = []
        self._bound = self._planned(shared)
        self._sparse: SparseRuns | None = None
        #: What the last forward pass ran, or is going to run; None: the operators.
        self._ran: Bound | SparseRuns | None = self._bound
        if self._bound is None:
            announce(self._runs, self._specs())
            if not self._places:
                given = [*args, *states], grads, reqs
                self._sparse = SparseRuns.of(self._runs, ctx, *given, in_force())

    def _planned(self, shared: Executor | None) -> Bound | None:
        """The graph as programs; None if it must be run operator by operator."""
        arrays = [*self.arg_arrays, *self.aux_arrays]
        odd = any(array.spec.eager is not None for array in arrays)
        away = any(array.context is not self._ctx for array in arrays)
        if self._places or odd or away:
            return None
        pairs = zip(self._graph.arguments, self.grad_arrays, self._reqs, strict=True)
        wanted = [
            node for node, grad, req in pairs if grad is not None and req != "null"
        ]
        memory = None
        if shared is not None and shared._bound is not None:
            memory = shared._bound.memory
        try:
            return Bound(
                self._graph,
                self._ctx,
                [*self._graph.arguments, *self._graph.states],
                [array.spec for array in arrays],
                wanted,
                in_force(),
                memory,
            )
        except Unplanned:
            return None

    def _chosen(self, training: bool, arrays: Sequence[NDArray]) -> Any:
        """What is to run on these arrays; None: the operators one by one."""
        # A watch, like a monitor, sees operators and not pieces of graphs.
        if self._monitor is not None or launch.watching is not None:
            return None
        runs = self._sparse
        if runs is not None and runs.takes(training, arrays, self.grad_arrays):
            return runs
        return self._bound

    # -- arrays -----------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return dict(zip(self._names, self.arg_arrays, strict=True))

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The gradients by name of argument; None where none is computed."""
        return dict(zip(self._names, self.grad_arrays, strict=True))

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """The states by name."""
        names = [node.name for node in self._graph.states]
        return dict(zip(names, self.aux_arrays, strict=True))

    @property
    def outputs(self) -> list[NDArray]:
        """What the last forward() gave; the next one changes these arrays."""
        if self._heads is None:
            self.forward()
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        names = [entry.name for entry in self._graph.outputs]
        return dict(zip(names, self.outputs, strict=True))

    # -- running ----------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs; arrays given by name are copied into arguments first."""
        arguments = self.arg_dict
        for name, value in kwargs.items():
            if name not in arguments:
                hint = did_you_mean(name, arguments)
                raise TypeError(f"forward: there is no argument {name!r}.{hint}")
            target = arguments[name]
            if np.shape(value) != target.shape:
                raise ShapeError(
                    f"forward: {name} is bound to shape {target.shape}, not "
                    f"{np.shape(value)}. Use reshape() for an executor of other shapes."
                )
            target[:] = value
        arrays = [*self.arg_arrays, *self.aux_arrays]
        self._ran = self._chosen(bool(is_train), arrays)
        if self._ran is not None:
            with attributed(phase="forward", category="activation"):
                self._outputs = self._ran.forward(bool(is_train), arrays)
            self._heads = self._outputs
            return self._outputs
        self._heads = self._run(bool(is_train))
        self._show(self._heads)
        return self._outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Fill the gradients, from those of the outputs (ones where none are given).

        out_grads: an array, or one for each output, in order or by name; of a longer
        list the rest is left alone.
        """
        if self._heads is None:
            self.forward(is_train=True)
        assert self._heads is not None
        if isinstance(out_grads, Mapping):
            names = [entry.name for entry in self._graph.outputs]
            out_grads = [out_grads[name] for name in names]
        elif isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        given: list[Any] = list(out_grads or [None] * len(self._heads))
        if len(given) < len(self._heads):
            raise ArgumentError(
                f"backward: {len(given)} gradients for {len(self._heads)} outputs. "
                "Give one for each, or none."
            )
        if self._ran is not None:
            self._backward_of(self._ran, given)
            return
        for grad in self.grad_arrays:
            if grad is not None:
                grad._fresh_grad = False
        found = [
            (head, _fitted(grad, head), number)
            for number, (head, grad) in enumerate(zip(self._heads, given, strict=False))
            if head._entry is not None
        ]
        if found:
            heads, grads, numbers = zip(*found, strict=True)
            walk_back(heads, grads, self._pending(numbers), is_train)
        for grad, req in zip(self.grad_arrays, self._reqs, strict=True):
            if grad is not None and req == "write" and not grad._fresh_grad:
                grad[:] = 0  # nothing that it leads to has a gradient

    def _pending(self, heads: Sequence[int]) -> Pending:
        """How the tape is walked from some of the outputs, for a monitor to see."""
        if self._monitor is None or self._calls is None:
            return Pending(retain=True, store=True)
        slots = zip(self._runs.arguments, self.grad_arrays, self._reqs, strict=True)
        wanted = {
            node: (grad, req)
            for node, grad, req in slots
            if grad is not None and req != "null"
        }
        kept = {node: grad for node, (grad, req) in wanted.items() if req == "add"}
        steps = backward_steps(self._runs, [*wanted])
        like = self.arg_arrays[0]
        return MonitoredWalk(self._calls, steps, heads, self._monitor, kept, like)

    def _backward_of(self, bound: Bound | SparseRuns, given: Sequence[Any]) -> None:
        """Let the program fill the gradients."""
        heads = zip(given, bound.outputs, strict=False)
        slots = zip(self.grad_arrays, self._reqs, strict=True)
        pairs = [(g, req) for g, req in slots if g is not None and req != "null"]
        bound.backward(
            [_fitted(grad, head) for grad, head in heads],
            [grad for grad, _ in pairs],
            [req for _, req in pairs],
            [*self.arg_arrays, *self.aux_arrays],
        )

    def _show(self, heads: list[NDArray]) -> None:
        """Let the arrays that users hold as outputs be what was computed last."""
        if [type(x) for x in heads] != [type(x) for x in self._outputs]:
            self._outputs = [head._alias() for head in heads]
            return
        for k, (shown, head) in enumerate(zip(self._outputs, heads, strict=True)):
            if shown.spec is head.spec:  # in its turn: earlier readers may still wait
                copy(head, shown)
            else:
                self._outputs[k] = head._alias()

    def _run(self, training: bool) -> list[NDArray]:
        """Call the operators in order, on the tape; returns the outputs."""
        values = self._values()
        recording = any(req != "null" for req in self._reqs)
        calls = Calls() if recording and self._monitor is not None else None
        scope = autograd.record(training) if recording else autograd.pause(training)
        with scope:
            for node, unused in self._steps:
                inputs = [values[entry] for entry in node.inputs]
                shown = node if self._monitor is None else as_shown(node)
                assert shown.op is not None
                op = decided(shown.op, training)
                if self._monitor is not None and self._monitor_all:
                    self._report_inputs(node, inputs)
                where = self._places.get(node, self._ctx)
                there = _moved(node, inputs, where) if self._places else inputs
                outs = invoke(op, there, None, where, NDArray)
                outs = outs if isinstance(outs, list) else [outs]
                if calls is not None:
                    calls.note(node, inputs, outs)
                for index, out in enumerate(outs):
                    if index < node.visible:
                        values[Entry(node, index)] = out
                    if self._monitor is not None:
                        self._monitor(Entry(shown, index).name, out._alias())
                for entry in unused:
                    del values[entry]
        self._calls = calls
        return [values[entry] for entry in self._runs.outputs]

    def _report_inputs(self, node: Node, inputs: Sequence[NDArray]) -> None:
        """Tell the monitor of variables by their names, and of what a node takes."""
        assert self._monitor is not None
        assert node.op is not None
        for place, (entry, value) in enumerate(zip(node.inputs, inputs, strict=True)):
            if entry.node.op is None:
                self._monitor(entry.name, value._alias())
            name = f"{node.name}_{input_name(node.op, place)}"
            self._monitor(name, value._alias())

    def _values(self) -> dict[Entry, NDArray]:
        """The variables' values: arguments with a place on the tape, and states."""
        values: dict[Entry, NDArray] = {}
        bound = zip(
            self._runs.arguments, self.arg_arrays, self.grad_arrays, self._reqs,
            strict=True,
        )  # fmt: skip
        for node, array, grad, req in bound:
            # An alias: marks on the user's own array would mix two computations.
            value = array._alias()
            if grad is not None and req != "null":
                autograd.mark_variables([value], [grad], req)
            values[Entry(node)] = value
        for node, array in zip(self._runs.states, self.aux_arrays, strict=True):
            values[Entry(node)] = array
        return values

    @cached_property
    def _steps(self) -> list[tuple[Node, list[Entry]]]:
        """The nodes that `_run` calls, and what is not read any more after each."""
        steps, read = [], {*self._runs.outputs}
        for node in reversed(self._runs.nodes):
            if node.op is not None:
                every = dict.fromkeys(reversed(node.inputs))
                last = [entry for entry in every if entry not in read]
                read.update(last)
                steps.append((node, last[::-1]))
        return steps[::-1]

    # -- around it --------------------------------------------------------------------

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], None], monitor_all: bool = False
    ) -> None:
        """Call `callback(name, array)` for every output of every node, as it is made.

        In `backward` it is called for gradients (`graphs/backward_steps.py`). One that
        was not asked for is not computed, and shown as zeros; for grad_req='add' the
        sum is shown. monitor_all: in `forward` also for variables, as `name`, and
        for what goes into each node, as `node_input`.
        """
        self._monitor, self._monitor_all = callback, monitor_all

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into arguments and states, by name; types are converted."""
        for given, bound, what in (
            (arg_params, self.arg_dict, "argument"),
            (aux_params or {}, self.aux_dict, "auxiliary state"),
        ):
            for name, value in given.items():
                if name in bound:
                    target = bound[name]
                    target[:] = value.astype(target.dtype)
                elif not allow_extra_params:
                    hint = did_you_mean(name, bound)
                    raise ArgumentError(
                        f"copy_params_from: there is no {what} {name!r}.{hint} "
                        "allow_extra_params=True passes over such names."
                    )

    def reshape(
        self,
        partial_shaping: bool = False,
        allow_up_sizing: bool = False,
        **kwargs: Sequence[int],
    ) -> Executor:
        """An executor of the same graph for other shapes of some arguments.

        Arrays whose shape stays are shared; smaller ones use the front of the old
        memory. partial_shaping: shapes may change that were not named.
        allow_up_sizing: arrays may become larger; they are new then. A monitor goes on
        watching.
        """
        known = {name: array.spec.dtype for name, array in self.arg_dict.items()}
        shapes = {name: tuple(shape) for name, shape in kwargs.items()}
        found = infer(self._graph, shapes, known)

        def fitted(entry: Entry, old: Any, named: bool) -> Any:
            spec = found.spec(entry)
            if old is None or (spec and like(spec, old.stype)) is old.spec:
                return old
            if spec is None:
                raise ShapeError(
                    f"reshape: the given shapes do not settle that of {entry.name}."
                )
            if not (named or partial_shaping):
                raise ShapeError(
                    f"reshape: {entry.name} would change from {old.shape} to "
                    f"{spec.shape}. Name it, or give partial_shaping=True."
                )
            return _in_memory_of(old, spec, entry.name, allow_up_sizing)

        args: list[NDArray] = []
        grads: list[NDArray | None] = []
        for node, array, grad in zip(
            self._graph.arguments, self.arg_arrays, self.grad_arrays, strict=True
        ):
            named = node.name in kwargs
            args.append(fitted(Entry(node), array, named))
            grads.append(fitted(Entry(node), grad, named))
        states = [
            fitted(Entry(node), array, False)
            for node, array in zip(self._graph.states, self.aux_arrays, strict=True)
        ]
        made = Executor(
            self._graph, self._ctx, args, grads, self._reqs, states, self._groups
        )
        made._symbol = self._symbol
        made._monitor, made._monitor_all = self._monitor, self._monitor_all
        return made

    def get_optimized_symbol(self) -> Any:
        """The graph as it is run, after all passes."""
        if self._bound is None:
            return self._symbol
        return type(self._symbol)(list(self._bound.prepared.outputs))

    def debug_str(self) -> str:
        """The graph in words, how much memory its inner arrays take, and workspaces.

        Outputs are not counted, nor is what operators ask for while they run.
        """
        plan = self._memory()
        return (
            f"{graph_text.listing(self._graph)}Total {plan.total >> 20} MB allocated\n"
            f"Total {len(plan.scratch)} TempSpace resource requested\n"
        )

    def _memory(self) -> MemoryPlan:
        """The memory plan: of the program; without one, of the nodes as they stand."""
        if self._bound is not None:
            training = bool(self._bound.wanted)
            return self._bound.run_for(training, training).prepared.plan
        graph = self._runs
        return plan_memory(
            graph, self._specs(), graph.outputs, in_force(), places=self._places or None
        )

    def _specs(self) -> Specs:
        """The specs of all entries, as far as they are known."""
        arrays = [*self.arg_arrays, *self.aux_arrays]
        variables = [*self._runs.arguments, *self._runs.states]
        known = zip(variables, arrays, strict=True)
        dense = {n: x.spec for n, x in known if x.spec.eager is None}
        return every_spec(self._runs, dense)


def _fitted(grad: NDArray | None, head: NDArray) -> NDArray | None:
    """A given gradient on the device and in the element type of its output."""
    if grad is None:
        return None
    grad = grad.as_in_context(head.context)
    return grad if grad.dtype == head.dtype else grad.astype(head.dtype)


def _in_memory_of(old: NDArray, spec: Spec, name: str, up_sizing: bool) -> NDArray:
    """An array of another shape: where the old one lies, if it is not larger.

    A sparse one is new, since its memory is what it stores. up_sizing: so is a larger
    one, which is refused otherwise.
    """
    spec = like(spec, old.stype)
    if spec.eager is not None:
        return route.empty(spec, old.context, "reshape")  # type: ignore[no-any-return]
    if spec.nbytes > old.spec.nbytes:
        if not up_sizing:
            raise ShapeError(
                f"reshape: {name} {spec.shape} is larger than {old.shape}. Give "
                "allow_up_sizing=True for new memory."
            )
        return old._zeros_like_spec(spec)
    return type(old)(old.chunk, spec, old.offset)


def _moved(node: Node, inputs: Sequence[NDArray], where: Device) -> list[NDArray]:
    """The inputs of a node on its device; states stay, since it writes to them."""
    states = node.states()
    return [
        value if entry in states else value.as_in_context(where)
        for entry, value in zip(node.inputs, inputs, strict=True)
    ]
