"""Streams beside a thread's own, and CUDA graphs: launches that are written down.

    together(one, other)          # two pieces of work, on two streams
    with recording() as graph:
        launch()                  # written down; nothing happens
    graph.launch()                # now it does, as often as wanted

While CUDA writes, a thread may launch kernels and copy on the device, and nothing else:
memory that is taken or given back, waiting for the device and its own stream 0 break
the recording. A graph keeps the addresses that it has seen, so the owner of that memory
keeps it as long as the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any, Final

from minimx.core.errors import DeviceError
from minimx.core.storage import Block
from minimx.cuda.driver import current_device, current_stream, into
from minimx.cuda.kernels import native, scratch
from minimx.cuda.kernels.launching import cuda

# What other threads do meanwhile is their affair: CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
THREAD_LOCAL: Final = 1
# CU_STREAM_NON_BLOCKING. CUDA's stream 0 waits for streams without it, and to wait for
# one that is written down is an error, in whichever thread it happens.
NON_BLOCKING: Final = 1
# CU_EVENT_DISABLE_TIMING.
UNTIMED: Final = 2

_thread = threading.local()


def together(first: Callable[[], None], second: Callable[[], None]) -> None:
    """Let two pieces of work that do not need one another run side by side.

    Both begin after what this thread has launched so far, and what it launches next
    begins after both. Only inside `working`. In the simulator all is done in turn.
    """
    driver = native.driver()
    if driver is None:
        first()
        second()
        return
    main, beside = current_stream(), _stream(driver, "beside")
    _follow(driver, beside, main)
    first()
    try:
        with into(beside, lane=1):
            second()
    finally:
        _follow(driver, main, beside)


def _stream(driver: native.Native, use: str) -> Any:
    """A stream of this thread on its device, made at first use and there to stay."""
    streams = _thread.__dict__.setdefault("streams", {})
    key = current_device(), use
    if key not in streams:
        handle = c_void_p()
        driver.call("cuStreamCreate", byref(handle), c_uint(NON_BLOCKING))
        streams[key] = cuda.external_stream(handle.value)
    return streams[key]


def _follow(driver: native.Native, later: Any, earlier: Any) -> None:
    """Let a stream wait for all that another was asked for so far.

    While the earlier one is written down, the later one is from here on as well.
    """
    event = c_void_p()
    driver.call("cuEventCreate", byref(event), c_uint(UNTIMED))
    try:
        driver.call("cuEventRecord", event, c_void_p(int(earlier)))
        driver.call("cuStreamWaitEvent", c_void_p(int(later)), event, c_uint(0))
    finally:  # CUDA keeps it for as long as a stream waits
        driver.library.cuEventDestroy_v2(event)


def not_recorded(why: str) -> None:
    """Refuse to go on where launches are written down. Raises `DeviceError`."""
    if getattr(_thread, "writes", False):
        raise DeviceError(f"{why}, which a CUDA graph must not.")


@contextmanager
def recording() -> Iterator[Recording]:
    """Write down what this thread launches inside the block; it does not happen.

    Only inside `working` of a real device. What cannot be written down raises
    `DeviceError`, or what numba makes of it; the thread goes on as before.
    """
    driver = native.driver()
    assert driver is not None
    stream = _stream(driver, "recording")
    graph, where, found = c_void_p(), c_void_p(int(stream)), Recording(driver)
    # What is dropped meanwhile is given back later.
    with cuda.defer_cleanup(), into(stream, lane=0):
        driver.call("cuStreamBeginCapture_v2", where, c_uint(THREAD_LOCAL))
        _thread.writes = True
        try:
            try:
                yield found
            except BaseException:
                # The stream has to leave this state; why it does is raised already.
                driver.library.cuStreamEndCapture(where, byref(graph))
                raise
            driver.call("cuStreamEndCapture", where, byref(graph))
            found.instantiate(graph)
        finally:
            _thread.writes = False
            if graph:
                driver.library.cuGraphDestroy(graph)


class Recording:
    """Launches that were written down. nodes: how many kernels and copies."""

    __slots__ = ("_driver", "_handle", "nodes")

    def __init__(self, driver: native.Native) -> None:
        self._driver = driver
        self._handle = c_void_p()
        self.nodes = 0

    def instantiate(self, graph: c_void_p) -> None:
        """Make what was written down ready to be launched."""
        count, call = c_size_t(), self._driver.call
        call("cuGraphGetNodes", graph, None, byref(count))
        handle = byref(self._handle)
        call("cuGraphInstantiateWithFlags", handle, graph, c_ulonglong(0))
        self.nodes = count.value

    def launch(self) -> None:
        """Have all of it happen, in the stream of this thread. Raises `DeviceError`."""
        stream = c_void_p(int(current_stream()))
        self._driver.call("cuGraphLaunch", self._handle, stream)

    def __del__(self) -> None:
        if self._handle:  # one that still runs is destroyed when it is done
            self._driver.library.cuGraphExecDestroy(self._handle)


# -- launches that replay --------------------------------------------------------------


class Refused(Exception):
    """Launches that ran, but could not be recorded.

    number: which of them it was, or None where it was all of them. Its cause says why.
    """

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.number = number


class Recorded:
    """Launches that happen at one call.

    addresses: where the arrays were that they touch; for a replay to compare.
    nodes: how many kernels and copies. nbytes: how much scratch memory they keep.
    """

    __slots__ = ("_graph", "_held", "nbytes", "nodes", "addresses")

    def __init__(self, launches: Sequence[Callable[[], None]], addresses: Any) -> None:
        """Run launches, and record them; inside `working`.

        Raises `Refused` when they have run, but cannot be recorded; what the launches
        themselves raise passes through.
        """
        self.addresses = addresses
        self._held: dict[int, list[Block]] = {}
        with scratch.kept(self._held):
            for launch in launches:
                launch()
            number: int | None = None
            try:
                with recording() as graph:
                    for at, launch in enumerate(launches):
                        number = at
                        launch()
                    number = None
            except Exception as error:  # they have just run: it is the recording
                raise Refused(number) from error
        self._graph = graph
        self.nodes: int = graph.nodes
        blocks = [block for lane in self._held.values() for block in lane]
        self.nbytes = sum(block.size for block in blocks)

    def launch(self) -> None:
        """Have them happen, in the stream of this thread. Raises `DeviceError`."""
        self._graph.launch()

    def __del__(self) -> None:
        for lane in self._held.values():
            for block in lane:
                block.free()
