"""Whether the processes of the other ranks are alive, where this machine can say."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Final

from minimx.core.files import process_runs
from minimx.core.knobs import knobs
from minimx.kvstore.dist.deaths import deaths

#: Seconds between two looks at whether the other processes are alive.
LOOK: Final = 0.2
#: Seconds between two signs of life, and without any until a process counts as dead,
#: between machines. A program may hold Python's lock, and with it these, for seconds.
EVERY: Final = 5
SILENT: Final = 60
SILENCE: Final = (
    "{} gave no sign of life for {} s: the machine or its network is down, or the "
    "process hangs. PS_HEARTBEAT_TIMEOUT says how long to wait; 0: for ever."
)


def alive(pid: int) -> bool:
    """Whether a process of this machine runs; one that only waits to be reaped not."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False
    return process_runs(pid)


class Processes:
    """The other processes of the job, by number.

    pids: the process ids of those on this machine. Of others, `minimx launch` notes who
    has died. own: the number of this process.
    """

    def __init__(self, pids: Mapping[int, int], own: int = 0) -> None:
        self.pids, self._own = pids, own
        self._last_look = time.monotonic()

    def died(self) -> dict[int, str]:
        """Those that have died, and which process or on which machine.

        They are looked for every `LOOK` seconds; in between it is empty.
        """
        if time.monotonic() - self._last_look < LOOK:
            return {}
        self._last_look = time.monotonic()
        dead = {k: f"process {pid}" for k, pid in self.pids.items() if not alive(pid)}
        for number, host in deaths().items():
            if number != self._own and number not in self.pids:
                dead[number] = f"on {host}"
        return dead


class Heartbeats:
    """When each of the other processes was last heard, on whatever machine.

    far: whether there are other machines. These may vanish without a word, so then
    `EVERY` and `SILENT` hold unless the knobs are set; MXNet looks only if they are.

    >>> beats = Heartbeats([1, 2], now=0.0)
    >>> beats.heard(1, now=8.0)
    >>> with knobs(PS_HEARTBEAT_INTERVAL=4, PS_HEARTBEAT_TIMEOUT=5):
    ...     beats.due(now=3.0), beats.due(now=4.0), beats.silent(left=(), now=10.0)
    (False, True, [2])
    >>> [Heartbeats([1], far=far).timeout for far in (False, True)]
    [0, 60]
    """

    def __init__(
        self, others: Iterable[int], far: bool = False, now: float | None = None
    ) -> None:
        begin = _now(now)
        self.others = tuple(others)
        self._far = far
        self._heard = dict.fromkeys(self.others, begin)
        self._said = begin

    @property
    def interval(self) -> int:
        """Seconds between two signs of life; 0: none are given."""
        by_itself = self._far and not knobs.is_set("PS_HEARTBEAT_INTERVAL")
        return EVERY if by_itself else int(knobs.PS_HEARTBEAT_INTERVAL)

    @property
    def timeout(self) -> int:
        """Seconds without any after which a process counts as dead; 0: never."""
        if self._far and not knobs.is_set("PS_HEARTBEAT_TIMEOUT"):
            return max(SILENT, 3 * self.interval) if self.interval else 0
        return int(knobs.PS_HEARTBEAT_TIMEOUT)

    @property
    def active(self) -> bool:
        """Whether signs of life are given, or waited for."""
        return bool(self.others and (self.interval or self.timeout))

    def heard(self, process: int, now: float | None = None) -> None:
        """A process has sent something."""
        self._heard[process] = _now(now)

    def due(self, now: float | None = None) -> bool:
        """Whether to say now that this process lives."""
        if not self.interval or _now(now) - self._said < self.interval:
            return False
        self._said = _now(now)
        return True

    def silent(self, left: Container[int], now: float | None = None) -> list[int]:
        """Who was not heard for too long, and has not left."""
        if not self.timeout:
            return []
        return [
            process
            for process, heard in self._heard.items()
            if process not in left and _now(now) - heard >= self.timeout
        ]


def _now(given: float | None) -> float:
    return time.monotonic() if given is None else given
