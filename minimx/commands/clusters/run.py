"""One run of a function on all ranks, as far as it has been heard of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.commands.clusters.failure import Failure
from minimx.core.record.tables import Contents

STREAMS = ("out", "err")


class Run:
    """What the ranks have sent: results, failures, records.

    how_ended: says of a rank how its process ended.
    """

    def __init__(self, size: int, how_ended: Callable[[int], str]) -> None:
        self.size = size
        self.results: dict[int, bytes] = {}
        self.failures: dict[int, Failure] = {}  # in the order of their arrival
        self.records: dict[int, Contents] = {}
        self.steps: dict[int, tuple[int, int]] = {}  # done, in all (0: not known)
        self.positions: dict[int, str] = {}
        self.died = False  # whether the process of a rank has ended
        self._how_ended = how_ended
        self._through: set[int] = set()  # ranks that have said that they are
        self._loud = {(rank, what) for rank in range(size) for what in STREAMS}

    def take(self, rank: int, kind: str, content: tuple[Any, ...]) -> None:
        """Note a message from a rank, or that one of its connections has closed.

        Numbers from `size` on are those of servers.
        """
        if rank >= self.size and kind != "record":
            self.died = self.died or kind == "closed"
            return
        if kind in ("result", "error"):
            self._through.add(rank)
        if kind == "result":
            self.results[rank] = content[0]
        elif kind == "error":
            self.failures.setdefault(rank, Failure(*content))
        elif kind == "record":
            self.records[rank] = content[0]
        elif kind == "progress":
            self.steps[rank] = content
        elif kind == "where":
            self.positions[rank] = content[0]
        elif kind == "quiet":
            self._loud.discard((rank, content[0]))
        elif kind == "closed" and content[0] == "control":
            self._gone(rank)
        elif kind == "closed":
            self._loud.discard((rank, content[0]))

    def _gone(self, rank: int) -> None:
        self.died = True
        self._through.add(rank)
        if rank not in self.results and rank not in self.failures:
            what = f"the process {self._how_ended(rank)}"
            known = any(not one.follows for one in self.failures.values())
            self.failures[rank] = Failure(what, follows=known)

    def missing(self) -> list[int]:
        """The ranks that have neither returned nor failed."""
        known = self.results.keys() | self.failures.keys()
        return [rank for rank in range(self.size) if rank not in known]

    @property
    def over(self) -> bool:
        """Whether all ranks are through, and all that they wrote has come."""
        return not self._loud and len(self._through) == self.size

    def state(self, rank: int) -> str:
        """In a word, what a rank does.

        >>> run = Run(1, str)
        >>> run.take(0, "result", (b"",))
        >>> run.state(0)
        'finished'
        """
        if rank in self.failures:
            return "failed"
        return "finished" if rank in self.results else "running"
