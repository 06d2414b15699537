"""One call, from Python to the engine: run an operator on arrays.

An array is a `Spec` (shape and element type) over a `Chunk` (memory on a device, which
is a variable of the engine as well). For c = a + b, `invoke` does:

    plan = op.plan((a.spec, b.spec))            once per specs: c's spec, kernel, cost
    c = NDArray(Chunk(device, nbytes), spec)    memory is taken when it is first needed
    engine.push(run, device, reads=[a.chunk, b.chunk], writes=[c.chunk])
    record_call(op, [a, b], [c], plan, op_id)   onto the tape, while recording

and returns c. Nothing waits: `run` calls `kernel(a.view(), b.view(), c.view())` once
the chunks that it reads are written, on a thread that the engine has for the device
(under NaiveEngine at once, on this one). What MXNet does in `Imperative::Invoke` and
PyTorch in its dispatcher is here.

    invoke            every call; those of one or two arrays on a CPU go to
    _invoke_short     the same steps, written out for speed
    invoke_planned    the general case: out=, several outputs, views, other devices
    _run1, _run2      what the engine runs of a short call
    _push             the closure `run` of others; _with_extras adds scratch memory and
                      random numbers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from minimx.core import engine, rng
from minimx.core.arrays.chunk import Chunk
from minimx.core.autograd import record_call, state
from minimx.core.drivers import backend_of, during
from minimx.core.engine import NORMAL
from minimx.core.errors import DeviceError, DTypeError, OperatorError, ShapeError
from minimx.core.events import attribution, owner
from minimx.core.ops.failing import explained
from minimx.core.ops.registry import Kernel, Op, Plan
from minimx.core.ops.spec import Spec
from minimx.core.storage import pool_for

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray
    from minimx.core.device import Device


def invoke(
    op: Op,
    inputs: Sequence[NDArray],
    out: Any = None,
    device: Device | None = None,
    array_class: type[NDArray] | None = None,
) -> Any:
    """Apply an operator to arrays; returns before anything is computed.

    inputs: arrays on one device, in the order of `op.inputs`. out: an array (or a list
    of them) to write to. device, array_class: where and what the outputs are, for
    operators without inputs. Returns an array, or a list of them for operators with
    several outputs.

    Raises what `op.infer` raises (ShapeError, DTypeError), DeviceError for inputs on
    several devices. An error of the kernel is raised where its results are waited for.
    """
    if mixing is not None and inputs:
        inputs = mixing(op, inputs)
    if 1 <= len(inputs) <= 2:
        return _invoke_short(op, inputs, out)
    specs = tuple([x.spec for x in inputs])
    plan = op.plans.get(specs) or _plan(op, inputs, specs)
    return invoke_planned(op, plan, inputs, out, device, array_class)


def _plan(op: Op, inputs: Sequence[NDArray], specs: tuple[Spec, ...]) -> Plan:
    """The plan of a first call; errors about element types say who made the arrays."""
    try:
        return op.plan(specs)
    except DTypeError as reason:
        made = [f"{x.spec.dtype} comes from {x.chunk.owner.source}" for x in inputs]
        raise type(reason)(f"{reason} What is {', what is '.join(made)}.") from None


def _invoke_short(op: Op, inputs: Sequence[NDArray], out: Any) -> Any:
    """`invoke` for one or two arrays in and one out, on a CPU.

    Calls and loops are written out, as every small operator pays for each of them.
    Other calls go on to `invoke_planned`.
    """
    a = inputs[0]
    b = inputs[1] if len(inputs) == 2 else None
    specs = (a.spec,) if b is None else (a.spec, b.spec)
    plan = op.plans.get(specs) or _plan(op, inputs, specs)
    chunk = a.chunk
    device = chunk.device.home
    if (
        not plan.plain
        or device.backend != "cpu"
        or (b is not None and b.chunk.device.home is not device)
        or (out is not None and not _fits(out, plan, device))
        or (op.for_device is not None and device.device_type == "gpu")
    ):
        return invoke_planned(op, plan, inputs, out, None, None)
    if out is None:
        spec = plan.outs[0]
        who = attribution.owners.get(plan.name) or owner(plan.name)
        out = a.__class__(Chunk(device, spec.nbytes, who), spec)
    run: Callable[[], None]
    if b is None:
        reads: tuple[Chunk, ...] = (chunk,)
        run = partial(_run1, op, plan.kernel, a, out)
    else:
        reads = (chunk, b.chunk)
        run = partial(_run2, op, plan.kernel, a, b, out)
    if watching is not None:
        run = watching(op, inputs, (out,), run)
    op_id = engine.current.push(
        run, device, reads, (out.chunk,), plan.name, 0, NORMAL, plan.cost
    )
    if state.recording:
        record_call(op, inputs, (out,), plan, op_id, specs)
    return out


def _fits(out: Any, plan: Plan, device: Device) -> bool:
    """Whether the array that a caller wants written is as usual; lists are not."""
    return (
        getattr(out, "spec", None) is plan.outs[0]
        and out.chunk.device.home is device
        and not state.recording
    )


def _run1(op: Op, kernel: Kernel, a: NDArray, out: NDArray) -> None:
    try:
        kernel(a.view(), out.view())
    except Exception as reason:
        raise explained(op, reason)  # noqa: B904 (it has its cause)


def _run2(op: Op, kernel: Kernel, a: NDArray, b: NDArray, out: NDArray) -> None:
    try:
        kernel(a.view(), b.view(), out.view())
    except Exception as reason:
        raise explained(op, reason)  # noqa: B904


def invoke_planned(
    op: Op,
    plan: Plan,
    inputs: Sequence[NDArray],
    out: Any,
    device: Device | None,
    array_class: type[NDArray] | None,
) -> Any:
    """`invoke` for any call, with the plan for its inputs.

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
    assert device is not None and array_class is not None
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
    return outs[0] if op.visible == 1 else list(outs[: op.visible])


def _push(
    op: Op,
    plan: Plan,
    inputs: Sequence[NDArray],
    outs: Sequence[NDArray],
    device: Device,
) -> int:
    """Hand the call to the engine; the number of its operation, for records."""
    on_cuda = (device.backend or backend_of(device)) != "cpu"
    if op.for_device and not on_cuda:
        plan = op.for_device(device.device_type).plan(tuple([x.spec for x in inputs]))
    implementation = plan.on_cuda if on_cuda else plan
    kernel = implementation.kernel
    reads: Sequence[Chunk] = [x.chunk for x in inputs]
    writes: list[Any] = [out.chunk for out in outs]
    run: Callable[[], None]
    if implementation.workspace or plan.needs_rng or op.mutates:
        if op.mutates:
            writes += _mutated(op, reads)
        run = _with_extras(op, plan, implementation, inputs, outs, device, writes)
    else:

        def run() -> None:
            try:
                kernel(*[x.view() for x in inputs], *[out.view() for out in outs])
            except Exception as reason:
                raise explained(op, reason)  # noqa: B904

    if watching is not None:
        run = watching(op, inputs, outs, run)
    if on_cuda:
        run = during(device, run)
    return engine.current.push(run, device, reads, writes, plan.name, cost=plan.cost)


def _with_extras(
    op: Op,
    plan: Plan,
    implementation: Any,
    inputs: Sequence[NDArray],
    outs: Sequence[NDArray],
    device: Device,
    writes: list[Any],
) -> Callable[[], None]:
    """A closure for kernels that want scratch memory or random numbers.

    implementation: whose kernel runs: the plan itself, on CUDA its `on_cuda`. writes:
    the variables that the call writes; a random stream is added to them, so that calls
    draw from it in the order of the program.
    """
    kernel, nbytes = implementation.kernel, implementation.workspace
    stream = take_stream(device, plan.name, writes) if plan.needs_rng else None
    who = owner(plan.name).for_category("workspace")

    def run() -> None:
        arrays: list[Any] = [x.view() for x in inputs]
        arrays += [out.view() for out in outs]
        scratch = pool_for(device).alloc(nbytes, who) if nbytes else None
        try:
            if scratch is not None:
                arrays.append(scratch.data[:nbytes])
            if stream is not None:
                arrays.append(stream.generator)
            kernel(*arrays)
        except Exception as reason:
            raise explained(op, reason)  # noqa: B904
        finally:
            if scratch is not None:
                scratch.free()

    return run


def take_stream(device: Device, name: str, writes: list[Any]) -> rng.Stream:
    """The random stream from which an operator draws.

    name: the operator's. writes: the variables that it writes; that of the stream is
    added to them, so that calls draw from it in the order of the program.
    """
    stream = rng.next_stream(device, name)
    stream.var = stream.var or engine.Var()
    writes.append(stream.var)
    return stream


def _mutated(op: Op, reads: Sequence[Chunk]) -> list[Chunk]:
    """The memory of the inputs that the kernel also writes, such as moving_mean."""
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
    names = ["data"] * len(inputs) if op.variadic else op.inputs
    pairs = zip(names, inputs, strict=False)
    where = ", ".join(f"{name} on {x.chunk.device}" for name, x in pairs)
    return DeviceError(
        f"{op.name}: the inputs live on different devices ({where}). "
        "Move them with as_in_context()."
    )


# -- for callers that want another part of it ------------------------------------------


def invoke_whole(
    op: Op, inputs: Sequence[NDArray], device: Device, array_class: type[NDArray]
) -> list[NDArray]:
    """Apply an operator; returns all outputs, also those that only gradients need.

    device, array_class: where and what the outputs are. Nothing is recorded. The
    operator must have a plan (no `eager`).
    """
    plan = op.plan(tuple([x.spec for x in inputs]))
    who = owner(plan.name)
    outs = [array_class(Chunk(device, spec.nbytes, who), spec) for spec in plan.outs]
    _push(op, plan, inputs, outs, device)
    return outs


def empty_output(op: Op, inputs: Sequence[NDArray]) -> NDArray:
    """A new array for the first output of a call, to give to `invoke` as `out`.

    It has the class and device of the first input, and is not filled. Raises what
    `op.infer` raises.
    """
    plan = op.plan(tuple([x.spec for x in inputs]))
    spec, first = plan.outs[0], inputs[0]
    made = Chunk(first.chunk.device, spec.nbytes, owner(plan.name))
    return type(first)(made, spec)


# -- hooks, which features outside the core set ----------------------------------------


class Mixing(Protocol):
    """Converts the inputs of calls to other element types, for mixed precision."""

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of a call of `op`, converted where its `casting` wants it."""

    def in_force(self) -> object | None:
        """The conversions of this thread; graphs keep those they were made under."""


#: Converts the inputs of calls, while mixed precision is on (amp/casting.py).
mixing: Mixing | None = None


def conversions() -> object | None:
    """The conversions that calls of this thread get now; None without any."""
    return None if mixing is None else mixing.in_force()


#: {thread: tracer}: what writes calls down instead of running them, while a block is
#: made into a graph (symbol/tracing/arrays.py). Calls with arrays find it by their
#: inputs' kind (`Spec.eager`); calls that make arrays from nothing look here.
tracers: dict[int, Any] = {}

#: Adds a check of the results to each call (tools/finite.py): takes operator, inputs,
#: outputs and the closure `run`, and returns a closure that also checks.
watching: (
    Callable[[Op, Sequence[Any], Sequence[Any], Callable[[], None]], Callable[[], None]]
    | None
) = None
