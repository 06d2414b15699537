"""The everyday interpreter: run an operator on arrays, now.

`invoke` is the road every call takes: look up the plan for these specs, make the output
arrays (without memory yet), push one closure to the engine, and tell the tape. Nothing
here waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from minimx.core import engine, rng
from minimx.core.arrays.chunk import Chunk
from minimx.core.autograd import record_call, state
from minimx.core.drivers import backend_of, during
from minimx.core.engine import NORMAL
from minimx.core.errors import DeviceError, OperatorError, ShapeError
from minimx.core.events import attribution, owner
from minimx.core.ops.registry import Op, Plan
from minimx.core.storage import pool_for

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray
    from minimx.core.device import Device


class Mixing(Protocol):
    """Converts the inputs of calls, as mixed precision asks for it."""

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of a call, converted where they have to be."""

    def in_force(self) -> object | None:
        """The conversions of this thread: graphs hold those they were made under."""


def conversions() -> object | None:
    """The conversions that calls of this thread get now; None without any."""
    return None if mixing is None else mixing.in_force()


#: By thread, the tracer that writes calls down instead of running them, while a block
#: is made into a graph (symbol/tracing/arrays.py). Calls with arrays find it by their
#: inputs' kind (`Spec.eager`); calls that make arrays from nothing look here.
tracers: dict[int, Any] = {}

#: What converts the inputs of calls, while mixed precision is on (amp/casting.py).
mixing: Mixing | None = None

#: Who adds a look at the results to the work of each call (finite.py): operator,
#: inputs, outputs and the work are given, the work with the look comes back.
watching: (
    Callable[[Op, Sequence[Any], Sequence[Any], Callable[[], None]], Callable[[], None]]
    | None
) = None


def invoke(
    op: Op,
    inputs: Sequence[NDArray],
    out: Any = None,
    device: Device | None = None,
    array_class: type[NDArray] | None = None,
) -> Any:
    """Apply an operator to arrays.

    inputs: arrays on one device. out: an array (or a list of them) to write to.
    device, array_class: where and what the outputs are, for operators without inputs.
    Returns an array, or a list of them for operators with several outputs.
    """
    if mixing is not None and inputs:
        inputs = mixing(op, inputs)
    if out is None and 1 <= len(inputs) <= 2:
        return _invoke_short(op, inputs)
    specs = tuple([x.spec for x in inputs])
    plan = op.plans.get(specs) or op.plan(specs)
    return invoke_planned(op, plan, inputs, out, device, array_class)


def invoke_whole(
    op: Op, inputs: Sequence[NDArray], device: Device, array_class: type[NDArray]
) -> list[NDArray]:
    """Apply an operator, and return the outputs that only gradients see as well.

    Nothing is recorded. The operator must have a plan (no `eager`).
    """
    plan = op.plan(tuple([x.spec for x in inputs]))
    who = owner(plan.name)
    outs = [array_class(Chunk(device, spec.nbytes, who), spec) for spec in plan.outs]
    _push(op, plan, inputs, outs, device)
    return outs


def place_for(op: Op, inputs: Sequence[NDArray]) -> NDArray:
    """A new array on the inputs' device for the first output; nothing is in it yet."""
    plan = op.plan(tuple([x.spec for x in inputs]))
    spec, first = plan.outs[0], inputs[0]
    made = Chunk(first.chunk.device, spec.nbytes, owner(plan.name))
    return type(first)(made, spec)


def _invoke_short(op: Op, inputs: Sequence[NDArray]) -> Any:
    """The commonest calls, one or two arrays in and one out, spelt out.

    Every tenth of a microsecond here is paid by every small operator.
    """
    a = inputs[0]
    b = inputs[1] if len(inputs) == 2 else None
    specs = (a.spec,) if b is None else (a.spec, b.spec)
    plan = op.plans.get(specs) or op.plan(specs)
    chunk = a.chunk
    device = chunk.device.home
    if (
        not plan.plain
        or device.backend != "cpu"
        or (b is not None and b.chunk.device.home is not device)
    ):
        return invoke_planned(op, plan, inputs, None, None, None)
    spec = plan.outs[0]
    made = Chunk(device, spec.nbytes, owner(plan.name))
    out = a.__class__(made, spec)
    kernel = plan.kernel
    reads: tuple[Chunk, ...]
    run: Callable[[], None]
    if b is None:
        reads = (chunk,)

        def run() -> None:
            kernel(a.view(), out.view())

    else:
        reads = (chunk, b.chunk)

        def run() -> None:
            kernel(a.view(), b.view(), out.view())

    if watching is not None:
        run = watching(op, inputs, (out,), run)
    op_id = engine.current.push(
        run,
        device,
        reads,
        (made,),
        plan.name,
        0,
        NORMAL,
        plan.cost,
        attribution.origin,
    )
    if state.recording:
        record_call(op, inputs, (out,), plan, op_id)
    return out


def invoke_planned(
    op: Op,
    plan: Plan,
    inputs: Sequence[NDArray],
    out: Any,
    device: Device | None,
    array_class: type[NDArray] | None,
) -> Any:
    """Any call, with the plan for its inputs; `invoke` says the rest.

    plan: that of `op.plan(specs of the inputs)`. device and array_class are needed
    where there are no inputs. Raises `DeviceError` for inputs on several devices,
    `ShapeError` for an `out` of another shape or dtype.
    """
    if plan.eager is not None:
        with device or nullcontext():
            return plan.eager(op, inputs, out)
    if inputs:
        first = inputs[0]
        device = first.chunk.device.home
        for x in inputs:
            if x.chunk.device.home is not device:
                raise _mixed_devices(op, inputs)
        array_class = type(first)
        if op.is_view and out is None:
            return _view(op, inputs, plan)
    elif tracers and (tracer := tracers.get(get_ident())) is not None:
        return tracer.write(op, (), out, device, array_class)
    assert device is not None
    assert array_class is not None
    if out is not None:
        for array in out if isinstance(out, (list, tuple)) else (out,):
            if array.spec.eager is not None:
                return array.spec.eager(op, inputs, out)
    if out is None:
        who = owner(plan.name)
        outs: Sequence[NDArray] = [
            array_class(Chunk(device, spec.nbytes, who), spec) for spec in plan.outs
        ]
    else:
        outs = _given_outputs(op, plan, out, device, array_class)
    op_id = _push(op, plan, inputs, outs, device)
    if state.recording:
        record_call(op, inputs, outs, plan, op_id)
    if out is not None:
        return out
    if op.visible == 1:
        return outs[0]
    return list(outs[: op.visible])


def _push(
    op: Op,
    plan: Plan,
    inputs: Sequence[NDArray],
    outs: Sequence[NDArray],
    device: Device,
) -> int:
    """Hand the call to the engine."""
    on_cuda = (device.backend or backend_of(device)) != "cpu"
    if op.for_device and not on_cuda:
        plan = op.for_device(device.device_type).plan(tuple([x.spec for x in inputs]))
    way = plan.on_cuda if on_cuda else plan
    kernel = way.kernel
    reads: Sequence[Chunk] = [x.chunk for x in inputs]
    writes: list[Any] = [out.chunk for out in outs]
    run: Callable[[], None]
    if way.workspace or plan.needs_rng or op.mutates:
        if op.mutates:
            writes += _mutated(op, reads)
        run = _with_extras(plan, way, inputs, outs, device, writes)
    else:

        def run() -> None:
            kernel(*[x.view() for x in inputs], *[out.view() for out in outs])

    if watching is not None:
        run = watching(op, inputs, outs, run)
    if on_cuda:
        run = during(device, run)
    return engine.current.push(
        run,
        device,
        reads,
        writes,
        plan.name,
        cost=plan.cost,
        origin=attribution.origin,
    )


def _with_extras(
    plan: Plan,
    way: Any,
    inputs: Sequence[NDArray],
    outs: Sequence[NDArray],
    device: Device,
    writes: list[Any],
) -> Callable[[], None]:
    """A closure for kernels that want scratch memory or random numbers.

    way: whose kernel runs, the plan itself or its CUDA implementation for CUDA.
    """
    kernel, nbytes = way.kernel, way.workspace
    stream = rng.next_stream(device, plan.name) if plan.needs_rng else None
    if stream is not None:
        if stream.var is None:
            stream.var = engine.Var()
        writes.append(stream.var)
    who = owner(plan.name).for_category("workspace")

    def run() -> None:
        arrays = [x.view() for x in inputs]
        arrays += [out.view() for out in outs]
        scratch = pool_for(device).alloc(nbytes, who) if nbytes else None
        try:
            if scratch is not None:
                arrays.append(scratch.data[:nbytes])
            if stream is not None:
                kernel(*arrays, stream.generator)
            else:
                kernel(*arrays)
        finally:
            if scratch is not None:
                scratch.free()

    return run


def _mutated(op: Op, reads: Sequence[Chunk]) -> list[Chunk]:
    return [reads[op.inputs.index(name)] for name in op.mutates]


def _view(op: Op, inputs: Sequence[NDArray], plan: Plan) -> NDArray:
    """The input's memory under another shape: no work, no engine."""
    data = inputs[0]
    out = type(data)(data.chunk, plan.outs[0], data.offset)
    if state.recording:
        record_call(op, inputs, [out], plan, 0)
    return out


def _given_outputs(
    op: Op, plan: Plan, out: Any, device: Device, array_class: type[NDArray]
) -> list[NDArray]:
    """Check the arrays that the caller wants written; hidden outputs get new ones."""
    given = list(out) if isinstance(out, (list, tuple)) else [out]
    if len(given) != min(op.visible, len(plan.outs)):
        raise OperatorError(
            f"{op.name}: out= has {len(given)} arrays, the operator gives {op.visible}."
        )
    for array, spec in zip(given, plan.outs, strict=False):
        if array.spec is not spec:
            raise ShapeError(
                f"{op.name}: out= is {array.spec}, the result is {spec}. "
                "Give an array of that shape and dtype, or none."
            )
        if array.chunk.device.home is not device.home:
            raise DeviceError(
                f"{op.name}: out= is on {array.chunk.device}, the inputs on {device}."
            )
        if state.recording and array._entry is not None:
            raise OperatorError(
                f"{op.name}: out= is part of a recorded computation; writing into it "
                "would falsify its gradient. Leave out= away inside record()."
            )
    who = owner(plan.name)
    hidden = plan.outs[len(given) :]
    return given + [
        array_class(Chunk(device, spec.nbytes, who), spec) for spec in hidden
    ]


def _mixed_devices(op: Op, inputs: Sequence[NDArray]) -> DeviceError:
    where = ", ".join(
        f"{name} on {x.chunk.device}"
        for name, x in zip(
            op.inputs if not op.variadic else ["data"] * len(inputs),
            inputs,
            strict=False,
        )
    )
    return DeviceError(
        f"{op.name}: the inputs live on different devices ({where}). "
        "Move them with as_in_context()."
    )
