"""Giving a symbol arrays to run with: `bind`, `simple_bind`, `eval`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.device import Device, DeviceLike, as_device, current_device
from minimx.core.errors import ArgumentError, GradientError, ShapeError, did_you_mean
from minimx.core.events import attributed
from minimx.core.graph.passes.partition import partition, print_summary
from minimx.core.graph.values.infer import Inference
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import like
from minimx.core.shapes import is_whole, written
from minimx.executor import Executor
from minimx.graphs.placement import placement
from minimx.graphs.storage import storage_types
from minimx.symbol.binding.shared_arrays import SharedArrays

Arrays = Sequence[Any] | Mapping[str, Any] | None
Share = Callable[[str, Spec, Device], NDArray]


class Binding:
    """The methods of a symbol that make executors."""

    __slots__ = ()

    graph: Graph

    def bind(
        self,
        ctx: DeviceLike | None = None,
        args: Arrays = None,
        args_grad: Arrays = None,
        grad_req: Any = "write",
        aux_states: Arrays = None,
        group2ctx: Mapping[str, Any] | None = None,
        shared_exec: Executor | None = None,
    ) -> Executor:
        """An executor on given arrays.

        args, aux_states: an array for each argument and state, in order or by name.
        args_grad: arrays for gradients; those left away are not computed. grad_req:
        'write', 'add' or 'null', for all, in order or by name. group2ctx: the devices
        of the parts that were written in AttrScope(ctx_group=…); arrays are copied
        where they cross from one to the other.
        """
        graph = self.graph
        arguments = _in_order("args", args, graph.arguments)
        states = _in_order("aux_states", aux_states, graph.states)
        grads = _in_order("args_grad", args_grad, graph.arguments, optional=True)
        wanted = requests(grad_req, [node.name for node in graph.arguments])
        reqs = [
            req if grad is not None else "null"
            for req, grad in zip(wanted, grads, strict=True)
        ]
        device = as_device(ctx or current_device())
        groups = _devices(group2ctx)
        return self._made(graph, device, arguments, grads, reqs, states, groups)

    def _made(self, *parts: Any) -> Executor:
        """An executor that knows its symbol."""
        made = Executor(*parts)
        made._symbol = self
        return made

    def optimize_for(
        self, backend: str, args: Any = None, aux: Any = None, ctx: Any = None,
        shape_dict: Any = None, type_dict: Any = None, stype_dict: Any = None,
        skip_infer: bool = False, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """A symbol in which a backend has replaced the patterns that it knows.

        backend: a name in `minimx.core.graph.passes.partition`; kwargs are for it. The
        arrays, shapes and types that MXNet's backends may look at are taken and not
        needed.
        """
        passed = partition(self.graph, backend, **kwargs)
        print_summary([passed], backend)
        return type(self)(passed.after.outputs)  # type: ignore[call-arg]

    def get_backend_symbol(self, backend: str) -> Any:
        """`optimize_for` as MXNet 1 called it; nothing is printed."""
        return type(self)(partition(self.graph, backend).after.outputs)  # type: ignore[call-arg]

    def simple_bind(
        self,
        ctx: DeviceLike | None = None,
        grad_req: Any = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Any] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        **kwargs: Sequence[int],
    ) -> Executor:
        """An executor on new arrays of zeros, from the shapes of some arguments.

        type_dict, stype_dict: element and storage types by name; else float32, default.
        shared_exec, shared_arg_names, shared_buffer: see `shared_arrays.py`.
        group2ctx: as for bind; arrays lie where they are used.
        """
        found: Inference = self._infer(kwargs, type_dict or {})  # type: ignore[attr-defined]
        _require_whole(found)
        stored = storage_types(found, stype_dict or {})
        if knobs.get("MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING"):
            print(stored.table())
        device = as_device(ctx or current_device())
        lender = SharedArrays(shared_exec, shared_arg_names, shared_buffer)
        graph, groups = self.graph, _devices(group2ctx)
        at = placement(graph, groups, device)

        def have(share: Share, node: Node, category: str, stype: str) -> NDArray:
            spec = found.spec(Entry(node))
            assert spec is not None
            with attributed(layer=node.layer or node.name, category=category):
                return share(node.name, like(spec, stype), at[node])

        def kept(share: Share, node: Node) -> NDArray:
            category = "data" if node.name in kwargs else "parameter"
            return have(share, node, category, stored.values[Entry(node)])

        wanted = requests(grad_req, [node.name for node in graph.arguments])
        arguments = [kept(lender.argument, node) for node in graph.arguments]
        grads = [
            None
            if req == "null"
            else have(lender.gradient, node, "gradient", stored.gradients[node.name])
            for req, node in zip(wanted, graph.arguments, strict=True)
        ]
        states = [kept(lender.state, node) for node in graph.states]
        return self._made(
            graph, device, arguments, grads, wanted, states, groups, shared_exec
        )

    _simple_bind = simple_bind  # MXNet 2's name; for `_bind` see symbol.py

    def eval(self, ctx: DeviceLike | None = None, **kwargs: NDArray) -> list[NDArray]:
        """The outputs for these arguments, by name."""
        names = {node.name for node in self.graph.states}
        states = {name: kwargs.pop(name) for name in names if name in kwargs}
        return self.bind(ctx, kwargs, aux_states=states).forward()

    def gradient(self, wrt: Sequence[str]) -> Any:
        """Refused, as in MXNet: bind the symbol and call the executor's backward()."""
        raise GradientError(
            "gradient: a Symbol has no gradient of its own. Bind it with args_grad, "
            "run forward(is_train=True) and backward(); or use mx.autograd on arrays."
        )


def _devices(group2ctx: Mapping[str, Any] | None) -> dict[str, Device]:
    """The devices of the groups by name; of several given for one, the first."""
    if group2ctx is not None and not isinstance(group2ctx, Mapping):
        raise ArgumentError(
            "group2ctx: give a dict of devices by the name of their group, such as "
            "{'front': mx.gpu(0)}."
        )
    found = {}
    for name, device in (group2ctx or {}).items():
        one = device[0] if isinstance(device, (list, tuple)) else device
        found[name] = as_device(one)
    return found


def requests(grad_req: Any, names: list[str]) -> list[str]:
    """What to do with each argument's gradient: write, add or null."""
    if isinstance(grad_req, str):
        found = [grad_req] * len(names)
    elif isinstance(grad_req, (list, tuple)):
        found = list(grad_req)
    elif isinstance(grad_req, dict):
        found = [grad_req.get(name, "null") for name in names]
    else:
        raise ArgumentError(
            "grad_req: give a word, a list in order, or a dict by name."
        )
    if len(found) != len(names) or not set(found) <= {"write", "add", "null"}:
        raise ArgumentError(
            f"grad_req={grad_req!r}: give write, add or null for each of the "
            f"{len(names)} arguments ({', '.join(names)})."
        )
    return found


def _in_order(
    what: str, given: Arrays, nodes: tuple[Node, ...], optional: bool = False
) -> list[Any]:
    """Arrays for nodes, in their order."""
    names = [node.name for node in nodes]
    if given is None:
        given = {}
    if isinstance(given, Mapping):
        found = [given.get(name) for name in names]
    else:
        found = list(given)
        if len(found) != len(names):
            raise ArgumentError(
                f"bind: {what} has {len(found)} arrays for {len(names)} names: "
                f"{', '.join(names)}."
            )
    for name, array in zip(names, found, strict=True):
        if array is None and optional:
            continue
        if array is None:
            hint = did_you_mean(name, given if isinstance(given, Mapping) else ())
            raise ArgumentError(f"bind: {what} has no array for {name!r}.{hint}")
        if not isinstance(array, NDArray):
            raise TypeError(f"bind: {what}: {name} is a {type(array).__name__}")
    return found


def _require_names(graph: Graph) -> None:
    for name, count in Counter(node.name for node in graph.variables).items():
        if count > 1:
            raise ArgumentError(
                f"simple_bind: {count} variables are called {name!r}, so "
                "its name does not say whose shape is given. Make the variable once "
                "and use it in several places, or give each a name of its own."
            )


def _require_whole(found: Inference) -> None:
    _require_names(found.graph)
    open_names = [
        f"{node.name} {written(found.shapes.get(Entry(node)))}"
        for node in found.graph.variables
        if not is_whole(found.shapes.get(Entry(node)))
    ]
    if open_names:
        raise ShapeError(
            "simple_bind: the given shapes do not settle those of "
            f"{', '.join(open_names)}. Give more shapes by name, such as "
            f"{open_names[0].split()[0]}=(2, 3)."
        )
