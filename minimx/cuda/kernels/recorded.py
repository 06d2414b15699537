"""Launches of a graph's nodes, recorded as one CUDA graph.

    recorded = Recorded([launch, ...], places)      # they happen, too
    if recorded.places == where_the_arrays_are:
        recorded.launch()                                   # once more, all at once

Before CUDA writes launches down they run as ever: that is this call's work, and it does
everything that happens only once, as compiling a kernel or asking for scratch memory,
which CUDA would not allow in a recording. The scratch memory stays with the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.storage import Block
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.recording import recording

Launch = Callable[[], None]


class Refused(Exception):
    """Launches that ran, but could not be recorded.

    number: which of them it was, or None where it was all of them. Its cause says why.
    """

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.number = number


class Recorded:
    """Launches that happen at one call.

    places: where the arrays were that they touch; for a replay to compare.
    nodes: how many kernels and copies. nbytes: how much scratch memory they keep.
    """

    __slots__ = ("_graph", "_held", "nbytes", "nodes", "places")

    def __init__(self, launches: Sequence[Launch], places: Any) -> None:
        """Run launches, and record them; inside `working`.

        Raises `Refused` when they have run, but cannot be recorded; what the launches
        themselves raise passes through.
        """
        self.places = places
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
