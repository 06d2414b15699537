"""Calls with sparse arrays: by a sparse rule where there is one, else densely.

    run(op, inputs, out)

`minimx.operators.sparse` knows the rules. An operator without one for these storage
types runs on dense copies, and says so once.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minimx.core import autograd, engine, rng
from minimx.core.arrays import launch, transfer
from minimx.core.arrays.arithmetic import refuse_on_tape
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.chunk import Chunk
from minimx.core.device import Device
from minimx.core.drivers import backend_of, during, working
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.events import attribution, owner
from minimx.core.knobs import knobs
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Cost, Spec
from minimx.core.ops.stypes import DEFAULT, SparseSpec, spec_of, stype_of, stypes_of
from minimx.cuda.launches.sparse.storing import on_host, placed
from minimx.nd.sparse.chunk import Destination, SparseChunk
from minimx.operators.sparse import Answer, answer
from minimx.operators.sparse.storage import conversion

#: The class of the arrays of a storage type; filled by `minimx.nd.sparse.array`.
CLASSES: dict[str, type[NDArray]] = {}


def run(op: Op, inputs: Sequence[NDArray], out: Any = None) -> Any:
    """Apply an operator to arrays of which some are sparse, or to a sparse output."""
    if inputs:
        _one_device(op, inputs)
        found = answer(op, tuple([x.spec for x in inputs]))
        if found is not None:
            return _by_rule(op, found, inputs, out)
    return _densely(op, inputs, out)


def _one_device(op: Op, inputs: Sequence[NDArray]) -> Device:
    device = inputs[0].chunk.device
    for x in inputs:
        if x.chunk.device is not device:
            raise launch._mixed_devices(op, inputs)
    return device


# -- by a rule -------------------------------------------------------------------------


def empty(spec: Spec, device: Device, who: str) -> Any:
    """An array of a spec that stores nothing yet, of the class that fits."""
    if isinstance(spec, SparseSpec):
        return CLASSES[spec.stype](SparseChunk(device, spec, owner(who)), spec)
    return NDArray(Chunk(device, spec.nbytes, owner(who)), spec)


def _by_rule(op: Op, found: Answer, inputs: Sequence[NDArray], out: Any) -> Any:
    device = inputs[0].chunk.device
    given = _as_list(op, out)
    outs = []
    for k, spec in enumerate(found.outs):
        fits = k < len(given) and given[k].spec is spec
        if fits:
            refuse_on_tape(given[k])
        outs.append(given[k] if fits else empty(spec, device, op.name))
    op_id = _push(op, found, inputs, outs, device)
    if autograd.state.recording:
        autograd.record_call(op, inputs, outs, found, op_id)  # type: ignore[arg-type]
    for wanted, made in zip(given, outs, strict=False):
        if wanted is not made:
            copy(made, wanted)
    visible = list(given or outs[: op.visible])
    return visible[0] if op.visible == 1 else visible


def _as_list(op: Op, out: Any) -> list[NDArray]:
    given = [] if out is None else list(out) if isinstance(out, list | tuple) else [out]
    if given and len(given) != op.visible:
        raise OperatorError(
            f"{op.name}: out= has {len(given)} arrays, the operator gives {op.visible}."
        )
    return given


def _push(
    op: Op,
    found: Answer,
    inputs: Sequence[NDArray],
    outs: Sequence[NDArray],
    device: Device,
) -> int:
    mutated = [inputs[op.inputs.index(name)] for name in op.mutates]
    rewritten = [x.chunk for x in mutated if isinstance(x.chunk, SparseChunk)]
    reads = [x.chunk for x in inputs]
    writes: list[Any] = [array.chunk for array in (*outs, *mutated)]
    kernel = found.kernel
    if op.needs_rng:
        kernel = drawing(kernel, launch.take_stream(device, op.name, writes))
    on_cuda = backend_of(device) == "cuda"
    if on_cuda:
        every = [*inputs, *outs]
        changed = [*map(op.inputs.index, op.mutates), *range(len(inputs), len(every))]
        kernel = placed(op, kernel, [x.spec for x in every], changed)

    def work() -> None:
        compute(kernel, inputs, outs, rewritten)

    cost = cost_of(found, inputs, outs)
    run = during(device, work) if on_cuda else work
    origin = attribution.origin
    return engine.current.push(
        run, device, reads, writes, op.name, cost=cost, origin=origin
    )


def drawing(kernel: Callable[..., None], stream: rng.Stream) -> Callable[..., None]:
    """A kernel that is given the stream's generator, after its arrays."""
    return lambda *args: kernel(*args, stream.generator)


def compute(
    kernel: Callable[..., None],
    inputs: Sequence[NDArray],
    outs: Sequence[NDArray],
    rewritten: Sequence[Chunk],
) -> None:
    """Run a rule's kernel on what the arrays store; inside the engine.

    rewritten: the memory of those inputs, sparse ones, that it writes to as well.
    """
    destinations: list[Destination] = []

    def target(array: Any) -> Any:
        if not isinstance(array.chunk, SparseChunk):
            return array.view()
        destinations.append(Destination(array.chunk))
        return destinations[-1]

    args = [target(x) if x.chunk in rewritten else x.view() for x in inputs]
    args += [target(array) for array in outs]
    _through(destinations, kernel, args)


def _through(
    destinations: Sequence[Destination], kernel: Callable[..., None], args: Any
) -> None:
    """Run a kernel; what it stored counts only if it came to its end."""
    try:
        kernel(*args)
        for destination in destinations:
            destination.keep()
    finally:
        for destination in destinations:
            destination.drop()


def cost_of(found: Answer, inputs: Sequence[NDArray], outs: Sequence[NDArray]) -> Cost:
    """What a call by a rule costs, as far as it is known before it runs."""
    touched = [*inputs, *outs]
    return _cost([inputs[1]] * len(touched) if found.by_rows else touched)


def _cost(arrays: Sequence[NDArray]) -> Cost:
    """What is stored is read and written; of what is not known yet, nothing."""
    moved = sum([x.chunk.nbytes for x in arrays])
    return Cost(moved // 4, moved)


# -- on dense copies -------------------------------------------------------------------


def _densely(op: Op, inputs: Sequence[NDArray], out: Any) -> Any:
    """Make everything dense, compute, and bring the result into the wanted form."""
    given = _as_list(op, out)
    wanted = _wanted(op, inputs)
    _report(op, inputs, given, wanted)
    plain = [densely(x) for x in inputs]
    device = plain[0].context if plain else given[0].context
    result = launch.invoke(op, plain, None, device, NDArray)
    results = result if isinstance(result, list) else [result]
    for name in op.mutates:
        k = op.inputs.index(name)
        if plain[k] is not inputs[k]:
            copy(plain[k], inputs[k])
    for target, made in zip(given, results, strict=False):
        refuse_on_tape(target)
        copy(made, target)
    if given:
        return out
    if wanted != DEFAULT:
        return cast(result, wanted)
    return result


def _wanted(op: Op, inputs: Sequence[NDArray]) -> str:
    """The storage type of a result that was computed densely."""
    if op.name == "dot":
        asked = op.settings["forward_stype"]
        stypes = stypes_of([x.spec for x in inputs])
        turned = (op.settings["transpose_a"], op.settings["transpose_b"])
        if asked is None and stypes == ("default", "csr") and turned == (False, True):
            return "csr"
        return asked or DEFAULT
    if op.name == "_identity_with_attr_like_rhs":
        return stype_of(inputs[1].spec)
    return DEFAULT


def cast(array: NDArray, stype: str) -> Any:
    """The array in a storage type: itself if it has it, else a recorded copy."""
    if array.stype == stype:
        return array
    return launch.invoke(lookup("cast_storage").of(stype=stype), [array])


def densely(array: NDArray) -> Any:
    """The array, dense: itself if it is, else a recorded copy."""
    return cast(array, DEFAULT)


_reported = threading.local()


class StorageFallback(UserWarning):
    """An operator has no sparse kernel, so that sparse arrays were made dense."""


def _report(
    op: Op, inputs: Sequence[NDArray], given: Sequence[NDArray], wanted: str
) -> None:
    """Tell of a dense computation, once per thread, operator and storage types."""
    if not knobs.get("MXNET_STORAGE_FALLBACK_LOG_VERBOSE"):
        return
    stypes = stypes_of([x.spec for x in inputs])
    results = tuple(x.stype for x in given) or (wanted,)
    known = vars(_reported).setdefault("known", set())
    if (op.name, stypes, results) in known:
        return
    known.add((op.name, stypes, results))
    warnings.warn(
        f"{op.name} has no sparse kernel for ({', '.join(stypes)}) → "
        f"({', '.join(results)}): it computes with dense copies. The result is "
        "the same; memory and time are those of dense arrays. Convert with tostype(), "
        "or turn off this notice with MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0.",
        StorageFallback,
        stacklevel=_outside(),
    )


def _outside() -> int:
    """How many frames up the first line outside minimx stands."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        if not frame.f_globals.get("__name__", "").startswith("minimx"):
            break
        frame, level = frame.f_back, level + 1
    return level


# -- copies ----------------------------------------------------------------------------


def copy(source: NDArray, target: NDArray) -> None:
    """Copy between arrays of any storage types, devices and element types."""
    if source.shape != target.shape:
        raise ShapeError(
            f"copyto: the source has shape {source.shape}, the target {target.shape}. "
            "Reshape one of them."
        )
    kernel = conversion(source.stype, target.stype)
    if kernel is None:
        raise OperatorError(
            f"copyto: {source.stype} cannot be copied to {target.stype} at once. Go "
            "through default: x.tostype('default')."
        )
    at, prop, name = transfer._route(source.context, target.context)
    dtype, convert = target.spec.dtype, kernel
    if backend_of(target.context) == "cuda":
        specs = [spec_of(source.shape, dtype, source.stype), target.spec]
        convert = on_host("copyto", kernel, specs, [1])

    def work() -> None:
        if backend_of(source.context) == "cpu":
            stored = source.view()
        else:
            with working(source.context):
                stored = source._host_view()
        if source.spec.dtype != dtype:
            stored = _converted(stored, dtype)
        chunk = target.chunk
        destinations = [Destination(chunk)] if isinstance(chunk, SparseChunk) else []
        with working(target.context):
            place: Any = destinations[0] if destinations else target.view()
            _through(destinations, convert, (stored, place))

    cost = _cost([source, target])
    reads, writes = [source.chunk], [target.chunk]
    engine.current.push(work, at, reads, writes, name, prop=prop, cost=cost)


def _converted(stored: Any, dtype: Any) -> Any:
    if isinstance(stored, tuple):
        return stored._replace(data=stored.data.astype(dtype))  # type: ignore[attr-defined]
    return stored.astype(dtype)


SparseSpec.eager = staticmethod(run)
