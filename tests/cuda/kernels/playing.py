"""A driver's library for numba's CUDA simulator: streams, events and graphs, played.

It has the C interface that `kernels.cuda` calls, and CUDA's rules: what a stream is
asked for while it is written down does not happen; a thread that writes may not take
memory, wait, or use stream 0, or the recording is spoiled; what branches off must come
back before the end. Kernels and copies of the simulator reach it by `install`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from numba import cuda as module
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
from numba.cuda.simulator.cudadrv.devices import FakeCUDAContext
from numba.cuda.simulator.cudadrv.driver import CudaAPIError
from numba.cuda.simulator.kernel import FakeCUDAKernel

from minimx.cuda import toolkit
from minimx.cuda.driver import PlayedCuda
from minimx.cuda.kernels import native

ILLEGAL, UNSUPPORTED, INVALIDATED, UNJOINED, ISOLATION = 1, 900, 901, 904, 905
ALREADY = 704
_getitem: Any = FakeCUDAKernel.__getitem__
_context: Any = FakeCUDAContext
_copy, _alloc = FakeCUDAArray.copy_to_device, PlayedCuda.alloc


class Capture:
    """Launches that are being written down, and the streams that are part of it."""

    def __init__(self, origin: int) -> None:
        self.origin = origin
        self.nodes: list[Callable[[], Any]] = []
        self.apart: set[int] = set()  # streams that have not come back
        self.spoiled = False


class Library:
    """The functions of the driver's library; each returns CUDA's code, 0 for success.

    There is one, as threads keep their streams. calls: the names of those that were
    called. streams: how many launches each got. ready: what can be launched. strangers:
    pairs of devices that do not reach each other.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.streams: dict[int, int] = {}
        self.strangers: set[tuple[int, int]] = set()
        self._peers: set[int] = set()
        self._handles = count(16)
        self._flags: dict[int, int] = {}
        self._captures: dict[int, Capture] = {}
        self._events: dict[int, tuple[int, Capture | None]] = {}
        self._graphs: dict[int, list[Callable[[], Any]]] = {}
        self.ready: dict[int, list[Callable[[], Any]]] = {}

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu"):
            self.calls.append(name)
        return super().__getattribute__(name)

    # -- what the simulator does -------------------------------------------------------

    def asked(self, stream: int, what: Callable[[], Any]) -> None:
        """A kernel or a copy on the device: now, or written down."""
        self.streams[stream] = self.streams.get(stream, 0) + 1
        capture = self._captures.get(stream)
        if capture is not None:
            capture.nodes.append(what)
            if stream != capture.origin:
                capture.apart.add(stream)
            return
        if not stream:
            self.forbid("the use of stream 0")
        what()

    def forbid(self, what: str) -> None:
        """Something that CUDA does not allow while the thread writes."""
        if self._captures:
            for capture in self._captures.values():
                capture.spoiled = True
            raise CudaAPIError(f"[{UNSUPPORTED}] {what} while a stream is captured")

    # -- streams and events ------------------------------------------------------------

    def cuStreamCreate(self, handle: Any, flags: Any) -> int:  # noqa: N802
        handle._obj.value = next(self._handles)
        self._flags[handle._obj.value] = flags.value
        return 0

    def cuEventCreate(self, event: Any, flags: Any) -> int:  # noqa: N802
        event._obj.value = next(self._handles)
        return 0

    def cuEventRecord(self, event: Any, stream: Any) -> int:  # noqa: N802
        self._events[event.value] = stream.value, self._captures.get(stream.value)
        return 0

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: Any) -> int:  # noqa: N802
        earlier, written = self._events[event.value]
        mine = self._captures.get(stream.value)
        if mine is not None and written is not mine:
            mine.spoiled = True
            return ISOLATION
        if written is None:
            return 0
        if mine is None:
            self._captures[stream.value] = written
            written.apart.add(stream.value)
        elif stream.value == written.origin:
            written.apart.discard(earlier)
        return 0

    def cuEventDestroy_v2(self, event: Any) -> int:  # noqa: N802
        del self._events[event.value]
        return 0

    # -- neighbours --------------------------------------------------------------------

    def cuDeviceGet(self, device: Any, ordinal: Any) -> int:  # noqa: N802
        device._obj.value = 100 + ordinal.value
        return 0

    def cuDeviceCanAccessPeer(self, can: Any, device: Any, peer: Any) -> int:  # noqa: N802
        can._obj.value = (device.value, peer.value) not in self.strangers
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:  # noqa: N802
        context._obj.value = device.value
        return 0

    def cuCtxEnablePeerAccess(self, context: Any, flags: Any) -> int:  # noqa: N802
        again = context.value in self._peers
        self._peers.add(context.value)
        return ALREADY if again else 0

    # -- graphs ------------------------------------------------------------------------

    def cuStreamBeginCapture_v2(self, stream: Any, mode: Any) -> int:  # noqa: N802
        if stream is None or self._flags.get(stream.value) != 1:
            return UNSUPPORTED  # stream 0 would wait for it
        if stream.value in self._captures:
            return ILLEGAL
        self._captures[stream.value] = Capture(stream.value)
        return 0

    def cuStreamEndCapture(self, stream: Any, graph: Any) -> int:  # noqa: N802
        capture = self._captures.get(stream.value)
        if capture is None:
            return ILLEGAL
        for member in [s for s, c in self._captures.items() if c is capture]:
            del self._captures[member]
        if capture.spoiled:
            return INVALIDATED
        if capture.apart:
            return UNJOINED
        graph._obj.value = next(self._handles)
        self._graphs[graph._obj.value] = capture.nodes
        return 0

    def cuGraphGetNodes(self, graph: Any, nodes: Any, number: Any) -> int:  # noqa: N802
        number._obj.value = len(self._graphs[graph.value])
        return 0

    def cuGraphInstantiateWithFlags(  # noqa: N802
        self, handle: Any, graph: Any, flags: Any
    ) -> int:
        handle._obj.value = next(self._handles)
        self.ready[handle._obj.value] = self._graphs[graph.value]
        return 0

    def cuGraphDestroy(self, graph: Any) -> int:  # noqa: N802
        del self._graphs[graph.value]
        return 0

    def cuGraphExecDestroy(self, handle: Any) -> int:  # noqa: N802
        del self.ready[handle.value]
        return 0

    def cuGraphLaunch(self, handle: Any, stream: Any) -> int:  # noqa: N802
        for node in self.ready[handle.value]:
            self.asked(stream.value, node)
        return 0

    def cuGetErrorString(self, code: int, words: Any) -> int:  # noqa: N802
        words._obj.value = b"played error"
        return 0


class Stream:
    """What numba makes of a handle."""

    def __init__(self, library: Library, handle: int) -> None:
        self._library, self._handle = library, handle

    def __int__(self) -> int:
        return self._handle

    def synchronize(self) -> None:
        if self._handle in self._library._captures:
            self._library.forbid("cuStreamSynchronize")


def _number(stream: Any) -> int:
    """The handle of a stream of the simulator, which has none."""
    return id(stream)


LIBRARY = Library()


def install(patch: pytest.MonkeyPatch) -> Library:
    """Have kernels, copies and memory of the simulator ask the library."""
    library = LIBRARY
    library.calls.clear()
    library.streams.clear()

    def configured(kernel: Any, configuration: Any) -> Callable[..., None]:
        stream = int(configuration[2]) if len(configuration) > 2 else 0
        return lambda *args: library.asked(
            stream, lambda: _getitem(kernel, configuration)(*args)
        )

    def copied(self: Any, other: Any, stream: Any = 0) -> None:
        library.asked(int(stream), partial(_copy, self, other))

    def taken(self: Any, nbytes: int) -> Any:
        library.forbid("cuMemAlloc")
        return _alloc(self, nbytes)

    driver = native.Native(library)
    patch.setattr(native, "driver", lambda: driver)
    patch.setattr(FakeCUDAKernel, "__getitem__", configured)
    patch.setattr(FakeCUDAArray, "copy_to_device", copied)
    patch.setattr(PlayedCuda, "alloc", taken)
    patch.setattr(module, "external_stream", partial(Stream, library), raising=False)
    patch.setattr(module.stream, "__int__", _number, raising=False)
    return library


def two_devices(patch: pytest.MonkeyPatch) -> Library:
    """The same, on a machine with two devices; the simulator has one."""
    gpus: Any = module.gpus
    patch.setattr(gpus, "lst", (_context(0), _context(1)))
    patch.setattr(toolkit, "stack", lambda: toolkit.Stack("simulator", 2))
    library = install(patch)
    library._peers.clear()
    return library
