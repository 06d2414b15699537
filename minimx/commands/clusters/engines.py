"""The ranks of a cluster on engines of ipyparallel that MPI has started.

    import ipyparallel
    engines = ipyparallel.Cluster(engines="mpi", n=4).start_and_connect_sync()
    cluster = mx.cluster(engines)

The engines are the user's: they are there before, and stay. ipyparallel is used as it
comes, by a client's views and their results; it is imported nowhere.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from queue import Queue
from typing import Any, Final

from minimx.commands.clusters.ranks import PINGS, Event
from minimx.core.errors import ArgumentError, MXNetError

#: Seconds between two looks at what engines have written.
PERIOD: Final = 0.1


class Engines:
    """As `Ranks`, on the engines of a client or of a view of some of them.

    Raises `MXNetError` if they are not all ranks of one job.
    """

    def __init__(self, client: Any) -> None:
        self.events: Queue[Event] = Queue()
        self._view = client if hasattr(client, "apply_async") else client[:]
        found = self._view.apply_async(introduced).get()
        ranks = [rank for rank, _, _ in found]
        if {size for _, size, _ in found} != {len(found)}:
            raise MXNetError(
                f"these {len(found)} engines are not all ranks of one job of MPI. Let "
                'it start them, ipyparallel.Cluster(engines="mpi"), and give all.'
            )
        self._ranks: list[int] = ranks  # of each engine of the view
        self.pids = {rank: pid for rank, _, pid in found}
        self.clocks = self._ahead()

    def _ahead(self) -> dict[int, int]:
        """By how many nanoseconds clocks are ahead, as `ranks.ahead` measures it."""
        best: dict[int, tuple[int, int]] = {}
        for _ in range(PINGS):
            begin = time.perf_counter_ns()
            there = self._view.apply_async(time.perf_counter_ns).get()
            took = time.perf_counter_ns() - begin
            for rank, moment in zip(self._ranks, there, strict=True):
                answer = took, moment - begin - took // 2
                best[rank] = min(best.get(rank, answer), answer)
        return {r: off if abs(off) > took / 2 else 0 for r, (took, off) in best.items()}

    def send(self, ranks: Sequence[int], kind: str, *content: Any) -> None:
        """Run a function, or interrupt it, on all; an engine takes no other message."""
        if kind == "run":
            self.events = Queue()  # an earlier run that did not end has its own
            result = self._view.apply_async(remote, *content)
            follow = (result, self.events)
            threading.Thread(
                target=self._follow, args=follow, name="engines", daemon=True
            ).start()
        elif kind == "interrupt":
            self._view.client.send_signal(signal.SIGINT, self._view.targets)

    def _follow(self, result: Any, events: Queue[Event]) -> None:
        """Put what the engines write, and then what came of it, into `events`."""
        written = {"out": [""] * len(self._ranks), "err": [""] * len(self._ranks)}
        over = False
        while not over:
            over = result.wait(PERIOD)
            for what, before in written.items():
                now = getattr(result, f"std{what}")
                for i, text in enumerate([now] if isinstance(now, str) else now):
                    end = len(text) if over else text.rfind("\n") + 1
                    for line in text[len(before[i]) : end].splitlines():
                        events.put((self._ranks[i], what, (line,)))
                    before[i] = text[: max(end, len(before[i]))]
        for rank, (kind, content, record) in zip(
            self._ranks, self._outcomes(result), strict=True
        ):
            if record is not None:
                events.put((rank, "record", (record,)))
            events.put((rank, kind, content))
            for what in written:
                events.put((rank, "quiet", (what,)))

    def _outcomes(self, result: Any) -> list[Any]:
        """What `remote` gave on each engine, or how the engine failed."""
        try:
            return list(result.get())
        except Exception as reason:  # of ipyparallel's kinds, as if an engine died
            failure = ("error", (f"{type(reason).__name__}: {reason}", "", False), None)
            return [failure] * len(self._ranks)

    def how_ended(self, rank: int) -> str:
        """How a rank's process ended; ipyparallel says nothing of it."""
        return "has ended"

    def close(self, patience: float = 0.0) -> None:
        """The engines stay."""

    kill = close


def introduced() -> tuple[int, int, int]:
    """On an engine: its rank, how many there are, and its process id."""
    from minimx.kvstore.dist.job import job

    return job().rank, job().size, os.getpid()


def remote(
    payload: bytes, cells: Mapping[str, str], recorded: bool
) -> tuple[str, tuple[Any, ...], Any]:
    """On an engine: run a function, as `worker.perform` does."""
    from minimx.commands.clusters.worker import perform

    return perform(payload, dict(cells), recorded)


def check_alone(
    knobs: Mapping[str, object], knobs_of: Mapping[int, object], servers: int
) -> None:
    """Raise `ArgumentError` if knobs or servers are given for engines that run."""
    if servers:
        raise ArgumentError(
            "mx.cluster: engines of ipyparallel are all ranks; servers are for ranks "
            "that mx.cluster starts, as in mx.cluster(4, servers=2)."
        )
    if knobs or knobs_of:
        raise ArgumentError(
            "mx.cluster: engines of ipyparallel have begun with their own knobs. Turn "
            "them in the function that is run: mx.knobs.set(...)."
        )
