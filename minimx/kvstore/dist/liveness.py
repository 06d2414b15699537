"""Whether the processes of the other ranks are alive, where this machine can say."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from minimx.kvstore.dist.order import named

#: Seconds between two looks at whether the other processes are alive.
LOOK: Final = 0.2


def alive(pid: int) -> bool:
    """Whether a process of this machine runs; one that only waits to be reaped not."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Processes:
    """The other processes of the job on this machine: rank -> its process id."""

    def __init__(self, pids: Mapping[int, int]) -> None:
        self._pids = pids
        self._last_look = time.monotonic()

    def died(self) -> str:
        """Which of them have died, in words; looks every `LOOK` seconds, else empty."""
        if time.monotonic() - self._last_look < LOOK:
            return ""
        self._last_look = time.monotonic()
        dead = [rank for rank, pid in self._pids.items() if not alive(pid)]
        if not dead:
            return ""
        pids = ", ".join(str(self._pids[rank]) for rank in dead)
        return f"{named(dead)} died (process {pids})."
