"""Numbers across borders: between devices, and between us and NumPy.

A copy is an engine operation like any other. Which lane it takes follows MXNet: into a
GPU on the destination's copy lane, out of one on the source's, between host arrays on
the normal lane of the source. Between GPUs that may not or cannot reach each other it
is two operations, with a stop in pinned memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core import autograd, drivers, engine
from minimx.core.arrays import sparse
from minimx.core.arrays.chunk import Chunk
from minimx.core.device import Device, cpu
from minimx.core.drivers import copies, working
from minimx.core.drivers.cuda import cuda
from minimx.core.dtypes import resolve
from minimx.core.engine.var import UNCOUNTED
from minimx.core.errors import DeviceError, ShapeError
from minimx.core.events import owner
from minimx.core.ops.registry import GradContext, Op, Value
from minimx.core.ops.spec import Cost, Spec

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray


def copy(source: NDArray, target: NDArray) -> None:
    """Copy the numbers of one array into another, casting if the dtypes differ.

    Both have the same shape; they may be on different devices. The copy is pushed to
    the engine, and nothing waits for it here.
    """
    if source.spec.eager is not None or target.spec.eager is not None:
        sparse.attached().copy(source, target)
        return
    if source.shape != target.shape:
        raise ShapeError(
            f"copyto: the source has shape {source.shape}, the target {target.shape}. "
            "Reshape one of them."
        )
    _copy_dense(source, target)


def _copy_dense(source: NDArray, target: NDArray) -> None:
    """Copy in as many hops as the way between the two devices has."""
    start, end = source.context, target.context
    drivers.driver_for(end)  # a device that is not there is the caller's error
    if start.device_type == end.device_type == "gpu":
        (_, stop), *rest = drivers.hops(start, end, _link(start, end))
        if rest:
            staged = _empty(stop, source.spec, type(source))
            _copy_dense(source, staged)
            _copy_dense(staged, target)
            return
    at, prop, name = _route(start, end)

    def run() -> None:
        copies.between(target.view(), target.context, source.view(), source.context)

    cost = copy_cost(start, end, source.spec.nbytes, target.spec.nbytes)
    engine.current.push(
        run, at, [source.chunk], [target.chunk], name, prop=prop, cost=cost
    )


def _link(start: Device, end: Device) -> Any:
    if {start.backend, end.backend} != {"cuda"}:
        return drivers.link_between(start, end)
    return cuda().link(start, end)


def copy_cost(source: Device, target: Device, read: int, written: int) -> Any:
    """The work of a copy: a transfer of the bytes read if a GPU is part of it.

    read, written: in bytes; they differ where the element type is converted.
    """
    if "gpu" in (source.device_type, target.device_type):
        return engine.Transfer(source, target, read)
    return Cost(0, read + written)


def _empty(device: Device, spec: Spec, array_class: type[NDArray]) -> NDArray:
    return array_class(Chunk(device, spec.nbytes, owner("_copyto")), spec)


def _route(source: Device, target: Device) -> tuple[Device, Any, str]:
    """The device, lane and name of a copy."""
    from_gpu = source.device_type == "gpu"
    to_gpu = target.device_type == "gpu"
    name = f"Copy{'GPU' if from_gpu else 'CPU'}2{'GPU' if to_gpu else 'CPU'}"
    if from_gpu:
        return source, engine.COPY_FROM_GPU, name
    if to_gpu:
        return target, engine.COPY_TO_GPU, name
    return source, engine.NORMAL, name


class _Move(Op):
    """The operator on the tape of a copy to another device."""

    name = "_copyto"

    def __init__(self, source: Device) -> None:
        object.__setattr__(self, "source", source)

    def grad(
        self, at: GradContext, dout: Value, *saved: Value
    ) -> Sequence[Value | None]:
        """The gradient travels back to where the array came from."""
        home = dout.as_in_context(self.source)  # type: ignore[attr-defined]
        return (home.astype(at.ins[0].dtype, copy=False),)


def copy_recorded(source: NDArray, target: NDArray) -> None:
    """Copy; while recording, gradients flow back from the target to the source.

    Shapes are the same; devices and dtypes may differ.
    """
    copy(source, target)
    if autograd.state.recording and source._entry is not None:
        op = _Move(source.context)
        ins, outs = (source.spec,), (target.spec,)
        node = autograd.TapeNode(op, [source._entry], ins, outs, [], 0)
        target._entry = (node, 0)


def moved(array: NDArray, device: Device, at_once: bool = False) -> NDArray:
    """A copy on a device, recorded.

    at_once: take its memory now, so that a full device is an error before anything was
    handed to the engine, which keeps arrays that are to stay whole or absent.
    """
    out = _empty(device, array.spec, type(array))
    if at_once:
        out.chunk.memory()
    copy_recorded(array, out)
    return out


class OneNumber(np.ndarray[Any, Any]):
    """A NumPy array of one element that serves where a plain number is wanted.

    MXNet has no arrays without axes, so its programs print `loss.mean().asnumpy()` with
    "%f", and NumPy 2.4 stopped taking an array of shape (1,) for a number. Whatever is
    computed from it is an ordinary array again.
    """

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """The result of a computation: no longer one of us."""
        return array[()] if return_scalar else np.asarray(array)


def to_numpy(array: NDArray) -> Any:
    """A NumPy copy of an array; waits for it."""
    if array.context.device_type == "gpu":
        found = _from_gpu(array)
    else:
        engine.wait_to_read(array.chunk)
        found = array.view().copy()
    return found.view(OneNumber) if array.spec.size == 1 else found


def _from_gpu(array: NDArray) -> Any:
    host = np.empty(array.shape, array.spec.dtype)

    def run() -> None:
        with working(array.context):
            np.copyto(host, array._host_view())

    arrived = engine.Var()
    engine.current.push(
        run,
        array.context,
        [array.chunk],
        [arrived],
        "CopyGPU2CPU",
        prop=engine.COPY_FROM_GPU,
        cost=engine.Transfer(array.context, cpu(), array.spec.nbytes),
    )
    engine.wait_to_read(arrived)
    return host


def from_numpy_copy(source: Any, device: Device, array_class: type[NDArray]) -> NDArray:
    """An array on a device with the numbers of a NumPy array (of a known dtype).

    source: any layout; it may be changed afterwards, since it is copied at once.
    """
    spec = Spec.of(tuple(source.shape), source.dtype)
    out = array_class(Chunk(device, spec.nbytes, owner("array")), spec)
    if device.device_type != "gpu":
        # No other thread knows the new chunk yet, so none has to wait.
        np.copyto(out.view(), source)
        return out
    drivers.driver_for(device)  # a device that is not there is the caller's error
    private = np.array(source)  # the caller may change his array before the copy runs

    def run() -> None:
        with working(device):
            copies.copyto(out.view(), private)

    engine.current.push(
        run,
        device,
        (),
        [out.chunk],
        "CopyCPU2GPU",
        prop=engine.COPY_TO_GPU,
        cost=engine.Transfer(cpu(), device, spec.nbytes),
    )
    return out


def shared_view(array: NDArray) -> Any:
    """The memory of a host array as a NumPy array that keeps the array alive."""
    if array.context.device_type == "gpu":
        raise DeviceError(
            f"the array lives on {array.context}; its memory cannot be shared with the "
            "host. Copy it first with as_in_context(mx.cpu())."
        )
    engine.wait_to_read(array.chunk)
    array.chunk.version = UNCOUNTED
    return np.asarray(_Exporter(array))


class _Exporter:
    """Offers an array's memory to NumPy; NumPy keeps this object, and so the chunk."""

    def __init__(self, array: NDArray) -> None:
        self.array = array
        self.__array_interface__ = array.view().__array_interface__


def rebuild(array_class: type[NDArray], numbers: Any, device: Device) -> NDArray:
    """The array that `NDArray.__reduce__` pickled, on the device that it was on.

    numbers: a NumPy array. Raises DeviceError if there is no such device here.
    """
    return from_numpy_copy(numbers, device, array_class)


class _Foreign:
    """Stands in for a pool block when the memory belongs to another library."""

    __slots__ = ("data", "shown")

    id = 0  # no pool counts it

    def __init__(self, data: Any) -> None:
        self.data = data
        self.shown = (None, 0, None)

    def free(self) -> None:
        """Nothing to give back: dropping the reference is all."""


def wrap_numpy(source: Any, device: Device, array_class: type[NDArray]) -> NDArray:
    """An array over the memory of a C-contiguous NumPy array, without copying.

    device: of the host's memory. Who changes one changes the other; the NumPy array
    stays alive as long as the result does.
    """
    spec = Spec.of(tuple(source.shape), resolve(source.dtype))
    chunk = Chunk(device, spec.nbytes, owner("from_numpy"))
    memory = source.reshape(-1).view(np.uint8)
    if memory.flags["WRITEABLE"]:
        # Through a memoryview it stays writable for us, whatever becomes of the source.
        memory = np.frombuffer(memoryview(memory), np.uint8)
    chunk.block, chunk.version = _Foreign(memory), UNCOUNTED  # type: ignore[assignment]
    return array_class(chunk, spec)
