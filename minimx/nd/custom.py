"""Operators written in Python by the user: how a call of `mx.nd.Custom` runs.

The classes that a user derives from are in `minimx/operator.py`; here they are only
called. The user's code runs at once, in the thread of the call; what it computes with
arrays goes to the engine like everything else. On the tape one call is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from minimx import nd
from minimx.core import autograd, events
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.autograd import tape
from minimx.core.autograd.function import once_differentiable
from minimx.core.device import Device, as_device, current_device
from minimx.core.dtypes import resolve
from minimx.core.errors import (
    DeviceError,
    MXNetError,
    OperatorError,
    ShapeError,
    did_you_mean,
)
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.registry import GradContext, Op, Value, lookup, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape

#: What MXNet's profiler calls the category of users' operators.
CUSTOM = "Custom Operator"

#: The registered properties: `op_type` → a class derived from CustomOpProp.
PROPS: dict[str, Callable[..., Any]] = {}


@register("Custom", "_npi_Custom")
class Custom(Op):
    """An operator that a user registered with `mx.operator.register(op_type)`.

    Its inputs are what `list_arguments` and `list_auxiliary_states` name, its outputs
    what `list_outputs` names; `infer_shape` and `infer_type` say their shapes.
    """

    op_type: str
    keywords: Any = ()  # ((name, text), …): what the constructor is given

    casting = SINGLE
    deterministic = False
    any_storage = True

    @cached_property
    def prop(self) -> Any:
        """The user's property object, made with the settings as text, as in MXNet."""
        made = PROPS.get(self.op_type)
        if made is None:
            hint = did_you_mean(self.op_type, PROPS)
            raise OperatorError(
                f"Custom: no operator is registered as op_type={self.op_type!r}.{hint} "
                "Write a CustomOpProp and put @mx.operator.register(name) above it."
            )
        try:
            return made(**dict(self.keywords))
        except TypeError as error:
            raise OperatorError(f"{self}: {error}") from error

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The names of the inputs that gradients flow back to."""
        return tuple(self.prop.list_arguments())

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The names of the auxiliary states, which `forward` may write to."""
        return tuple(self.prop.list_auxiliary_states())

    @cached_property
    def output_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the outputs."""
        return tuple(self.prop.list_outputs())

    @property
    def inputs(self) -> tuple[str, ...]:
        """Arguments first, then auxiliary states."""
        return self.arguments + self.states

    @property
    def state_inputs(self) -> tuple[str, ...]:
        """The auxiliary states."""
        return self.states

    @property
    def mutates(self) -> tuple[str, ...]:  # type: ignore[override]
        """`forward` may write to every auxiliary state."""
        return self.states

    @property
    def visible(self) -> int:  # type: ignore[override]
        """How many outputs there are."""
        return len(self.output_names)

    def as_text(self) -> dict[str, str]:
        """The settings as they stand in a graph's file: all on one level."""
        return {"op_type": self.op_type, **dict(self.keywords)}

    @classmethod
    def from_text(
        cls, attrs: dict[str, str], *, np_shape: bool = False
    ) -> tuple[Custom, dict[str, str]]:
        """The operator of a graph's file, and what is left: attributes."""
        attributes = {k: v for k, v in attrs.items() if k[:2] == k[-2:] == "__"}
        settings = {k: v for k, v in attrs.items() if k not in attributes}
        op_type = settings.pop("op_type", "")
        return cls(op_type=op_type, keywords=tuple(settings.items())), attributes

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """What the property says; the inputs must be what it says as well."""
        count = len(self.arguments)
        if len(specs) != len(self.inputs):
            raise OperatorError(
                f"{self}: {len(specs)} arrays were given; it takes "
                f"{', '.join(self.inputs) or 'none'}."
            )
        wanted, made = self.shapes([spec.shape for spec in specs[:count]])
        for name, spec in zip(self.inputs, specs, strict=True):
            if spec.shape != wanted[name]:
                raise ShapeError(
                    f"{self}: {name} has the shape {spec.shape}, and infer_shape asks "
                    f"for {wanted[name]}. Give it that shape, or correct infer_shape."
                )
        with self._lesson("infer_type"):
            types = self.prop.infer_type([spec.dtype.type for spec in specs[:count]])
            out_types = [resolve(dtype) for dtype in types[1]]
        return tuple(
            Spec.of(shape, dtype) for shape, dtype in zip(made, out_types, strict=True)
        )

    def shapes(self, given: Sequence[Shape]) -> tuple[dict[str, Shape], list[Shape]]:
        """Ask `infer_shape`: shapes of the inputs by name, and of the outputs.

        given: the shapes of the arguments; () for one that is not known yet.
        """
        with self._lesson("infer_shape"):
            answer = self.prop.infer_shape([list(shape) for shape in given])
        lists = [[tuple(map(int, shape)) for shape in part] for part in answer]
        if len(lists) == 2:
            lists.append([])
        expected = [len(self.arguments), len(self.output_names), len(self.states)]
        if [len(part) for part in lists] != expected:
            raise OperatorError(
                f"{self}: infer_shape returned {[len(part) for part in lists]} shapes "
                f"for inputs, outputs and auxiliary states; there are {expected}."
            )
        names = zip(self.inputs, lists[0] + lists[2], strict=True)
        return dict(names), lists[1]

    def deduce(self, ins: list[Any], outs: list[Any]) -> tuple[list[Any], list[Any]]:
        """What `infer_shape` makes of the inputs that are known, once the first is.

        Where it fails for want of the others, nothing is known yet.
        """
        count = len(self.arguments)
        if count and (ins[0] is None or None in ins[0]):
            return ins, outs
        known = [() if s is None or None in s else s for s in ins[:count]]
        try:
            wanted, made = self.shapes(known)
        except MXNetError:
            if () not in known:
                raise
            return ins, outs
        filled = [wanted[name] or None for name in self.inputs]
        if () in known and any(not filled[i] for i in range(count)):
            return ins, outs
        return filled, [*made]

    def deduce_types(
        self, ins: list[Any], outs: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """What `infer_type` makes of the inputs, once the first is known."""
        count = len(self.arguments)
        first: Any = next((dtype for dtype in ins[:count] if dtype is not None), None)
        if count and first is None:
            return ins, outs
        given = [(dtype or first).type for dtype in ins[:count]]
        with self._lesson("infer_type"):
            answer = [
                [resolve(t) for t in part] for part in self.prop.infer_type(given)
            ]
        states = answer[2] if len(answer) > 2 else [first] * len(self.states)
        return answer[0] + states, answer[1]

    @contextmanager
    def _lesson(self, where: str) -> Iterator[None]:
        """Say whose code it was that raised."""
        try:
            yield
        except MXNetError as error:
            error.add_note(f"This happened in {where} of {self}.")
            raise
        except Exception as error:
            raise OperatorError(
                f"{self}: {where} raised {type(error).__name__}: {error}"
            ) from error

    def __str__(self) -> str:
        return f"the custom operator {self.op_type!r}"

    @staticmethod
    def eager(op: Custom, inputs: Sequence[NDArray], out: Any) -> Any:
        """Run `forward` in place of a kernel."""
        return run(op, inputs, out)


def run(
    op: Custom, inputs: Sequence[NDArray], out: Any = None, ctx: Device | None = None
) -> Any:
    """One call: `infer_*`, `create_operator`, `forward`, and a node on the tape.

    Returns an array, or a list of them for several outputs. Raises MXNetError for
    whatever the user's code raises.
    """
    specs = op.infer(*[x.spec for x in inputs])
    ctx = _device(op, inputs, ctx)
    count = len(op.arguments)
    stypes = _stypes(op, [x.stype for x in inputs[:count]])
    outs = [
        _zeros(spec, stype, ctx, inputs[0] if inputs else None)
        for spec, stype in zip(specs, stypes, strict=True)
    ]
    if out is not None:
        outs = _given(op, out, specs)
    arrays = [x._alias() for x in inputs]
    with op._lesson("create_operator"):
        shapes = [list(x.shape) for x in inputs[:count]]
        worker = op.prop.create_operator(ctx, shapes, [x.dtype for x in arrays[:count]])
    training = autograd.is_training()
    with (
        op._lesson("forward"),
        autograd.pause(train_mode=training),
        watched(op.op_type),
    ):
        worker.forward(
            is_train=training,
            req=["write"] * len(outs),
            in_data=arrays[:count],
            out_data=[x._alias() for x in outs],
            aux=arrays[count:],
        )
    if autograd.is_recording():
        _record(op, worker, inputs, outs)
    return outs[0] if len(outs) == 1 else outs


@contextmanager
def watched(op_type: str) -> Iterator[None]:
    """Let who records tell the user's code from the operators that it calls."""
    listener = events.recorder
    if listener is None:
        yield
        return
    outside = events.attribution.layer
    mine = f"{CUSTOM}::{op_type}"
    begun = events.clock()
    with events.attributed(layer=f"{outside}/{mine}" if outside else mine):
        try:
            yield
        finally:
            name = f"{op_type}::pure_python"
            if listener.records_calls:
                listener.call(name, CUSTOM, begun, events.clock())


def _device(op: Custom, inputs: Sequence[NDArray], ctx: Device | None) -> Device:
    devices = {x.context for x in inputs}
    if len(devices) > 1:
        raise DeviceError(
            f"{op}: its inputs live on {', '.join(map(str, devices))}. Move them to "
            "one device with as_in_context()."
        )
    return devices.pop() if devices else ctx or current_device()


def _given(op: Custom, out: Any, specs: Sequence[Spec]) -> list[NDArray]:
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    if [x.spec for x in outs] != list(specs):
        raise ShapeError(f"{op}: out= must be arrays like {list(specs)}.")
    return outs


def _stypes(op: Custom, given: list[str]) -> list[str]:
    """The storage types of the outputs; only sparse inputs make it worth asking."""
    if all(stype == "default" for stype in given):
        return ["default"] * op.visible
    with op._lesson("infer_storage_type"):
        return list(op.prop.infer_storage_type(given)[1])


def _zeros(spec: Spec, stype: str, ctx: Device, like: NDArray | None) -> NDArray:
    """An array of zeros; a dense one is of the same kind as `like`."""
    if stype != "default":
        namespace: Any = nd
        found: NDArray = namespace.sparse.zeros(
            stype, spec.shape, ctx=ctx, dtype=spec.dtype.type
        )
        return found
    zeros = lookup("_zeros").of(shape=spec.shape, dtype=spec.dtype.name)
    kind = NDArray if like is None or like.stype != "default" else type(like)
    return invoke(zeros, (), None, ctx, kind)  # type: ignore[no-any-return]


class Undeclared:
    """Replaces in `backward` an array that was not declared as needed there."""

    stype = "default"

    def __init__(self, op: Custom, what: str) -> None:
        self._lesson = (
            f"{op}: backward uses {what}, which declare_backward_dependency does not "
            "ask for, so it was not kept. Add it to the list returned there."
        )

    def __getattr__(self, name: str) -> Any:
        raise OperatorError(self._lesson)


class _Call(Op):
    """The record of one call on the tape."""

    name = "Custom"
    variadic = True
    op: Custom
    worker: Any
    kept: list[str]

    def __init__(self, op: Custom, worker: Any, kept: list[str]) -> None:
        facts = {"op": op, "worker": worker, "kept": kept, "visible": op.visible}
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Let the user's `backward` fill the gradients that are wanted."""
        op = self.op
        values = dict(zip(self.kept, saved, strict=True))
        ins, outs, aux = (
            [values.get(name, Undeclared(op, name)) for name in names]
            for names in _names(op)
        )
        douts = list(dout) if isinstance(dout, tuple) else [dout]
        specs = at.ins[: len(ins)]
        stypes = self._stypes(douts, ins, outs, aux)
        grads = [
            _zeros(spec, stype, douts[0].context, douts[0])
            for spec, stype in zip(specs, stypes, strict=True)
        ]
        with (
            op._lesson("backward"),
            autograd.pause(autograd.is_training()),
            watched(f"_backward_{op.op_type}"),
        ):
            self.worker.backward(
                req=["write" if wanted else "null" for wanted in at.wants[: len(ins)]],
                out_grad=douts,
                in_data=ins,
                out_data=outs,
                in_grad=[x._alias() for x in grads],
                aux=aux,
            )
        wanted = [g if w else None for g, w in zip(grads, at.wants, strict=False)]
        return [*once_differentiable(str(op), wanted), *[None] * len(aux)]

    def _stypes(self, *groups: list[Any]) -> list[str]:
        """The storage types of the gradients."""
        douts, ins, outs, aux = ([x.stype for x in group] for group in groups)
        if {"default"}.issuperset(douts + ins + outs):
            return ["default"] * len(ins)
        unknown = ["default"] * len(ins)
        with self.op._lesson("infer_storage_type_backward"):
            answer = self.op.prop.infer_storage_type_backward(
                douts, ins, outs, unknown, aux
            )
        return list(answer[3])


def _names(op: Custom) -> list[list[str]]:
    """What `backward` calls the arrays of the call: inputs, outputs, states."""
    counts = {
        "in_data": len(op.arguments),
        "out_data": op.visible,
        "aux": len(op.states),
    }
    return [[f"{word}[{i}]" for i in range(n)] for word, n in counts.items()]


def _record(
    op: Custom, worker: Any, inputs: Sequence[NDArray], outs: list[NDArray]
) -> None:
    count = len(op.arguments)
    entries: list[Any] = [x._entry for x in inputs[:count]]
    if all(entry is None for entry in entries):
        return
    ins, made, states = _names(op)
    # Where each comes from: ≥ 0 an input, < 0 an output.
    sources = [(x, i) for i, x in enumerate(inputs)]
    arrays = dict(zip(ins + states, sources, strict=True))
    results = [(x, -1 - i) for i, x in enumerate(outs)]
    arrays |= zip(made, results, strict=True)
    kept = _needed(op, ins, made)
    saved: list[Any] = []
    for name in kept + states:
        x, place = arrays[name]
        # An alias has no history, so that the node is not kept by its own results.
        # States are given as they are when backward runs, which may write to them.
        keep = None if name in states else tape.saved(x, place)[2]
        saved.append((x._alias(), place, keep))
    entries += [None] * len(op.states)
    call = _Call(op, worker, kept + states)
    in_specs, out_specs = (tuple(x.spec for x in part) for part in (inputs, outs))
    node = autograd.TapeNode(call, entries, in_specs, out_specs, saved, 0)
    for index, x in enumerate(outs):
        x._entry = (node, index)


def _needed(op: Custom, ins: list[str], outs: list[str]) -> list[str]:
    """The inputs and outputs that `backward` says it uses."""
    first, second = len(outs), len(outs) + len(ins)
    with op._lesson("declare_backward_dependency"):
        needed = op.prop.declare_backward_dependency(
            list(range(first)),
            list(range(first, second)),
            list(range(second, second + len(outs))),
        )
    return [n for i, n in enumerate(ins + outs, start=first) if i in set(needed)]


def sort(
    args: Sequence[Any], kwargs: dict[str, Any], is_value: Callable[[Any], bool]
) -> tuple[Custom, dict[str, Any]]:
    """Sort the arguments of a call: the operator, and its inputs by name.

    is_value: whether something is an input (an array, a symbol) and not a setting.
    Settings become text, as in MXNet. Inputs that are missing are not in the result.
    """
    op_type = kwargs.pop("op_type", None)
    if op_type is None:
        raise OperatorError(
            "Custom needs op_type, the name given to @mx.operator.register(name)."
        )
    values = {name: v for name, v in kwargs.items() if is_value(v)}
    keywords = tuple((k, str(v)) for k, v in kwargs.items() if k not in values)
    op = Custom(op_type=op_type, keywords=keywords)
    names = [name for name in op.inputs if name not in values]
    if len(args) > len(names) or not values.keys() <= set(op.inputs):
        raise OperatorError(
            f"{op} takes {', '.join(op.inputs) or 'no arrays'}; it was given "
            f"{len(args)} by place and {', '.join(values) or 'none'} by name."
        )
    values.update(zip(names, args, strict=False))
    return op, values


def custom(*args: Any, **kwargs: Any) -> Any:
    """Run the operator that was registered as `op_type`.

    args: its inputs, then its auxiliary states, by place or by name; all other keywords
    go to the constructor of its CustomOpProp, as text. `out=` names arrays to write to.
    Returns an array, or a list of them for several outputs. What the user's code raises
    comes out as MXNetError.
    """
    out = kwargs.pop("out", None)
    kwargs.pop("name", None)
    ctx = kwargs.pop("ctx", None)
    op, arrays = sort(args, kwargs, lambda v: isinstance(v, NDArray))
    missing = [name for name in op.inputs if name not in arrays]
    if missing:
        raise OperatorError(f"{op}: the input {missing[0]} is missing.")
    inputs = [arrays[name] for name in op.inputs]
    return run(op, inputs, out, None if ctx is None else as_device(ctx))
