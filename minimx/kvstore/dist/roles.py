"""Which of the processes of a job are workers, and which serve.

Processes are known by their rank among all of the job; workers and servers are numbered
from 0 in the order of these ranks. Where no process is a server alone, the workers
serve as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Roles(NamedTuple):
    """The processes of each kind, by rank among all.

    servers: the process of each server; one process may run several. dedicated: whether
    they do nothing else.
    """

    workers: tuple[int, ...]
    servers: tuple[int, ...]
    dedicated: bool

    def title(self, process: int) -> str:
        """What a process is called in messages.

        >>> roles = assigned(["server", "worker", "worker"])
        >>> roles.title(0), roles.title(2)
        ('server 0', 'rank 1')
        """
        if process in self.workers:
            return f"rank {self.workers.index(process)}"
        if process in self.servers:
            return f"server {self.servers.index(process)}"
        return "the scheduler"


def assigned(roles: Sequence[str], servers: int | None = None) -> Roles:
    """Who does what, from the role of each process.

    roles: `worker`, `server`, `scheduler` or empty, which is a worker. servers: how
    many the workers run between them if no process is a server; None: one each.

    >>> assigned(["worker"] * 2)
    Roles(workers=(0, 1), servers=(0, 1), dedicated=False)
    >>> assigned(["worker"] * 2, servers=3).servers
    (0, 1, 0)
    """
    workers = tuple(k for k, role in enumerate(roles) if role in ("", "worker"))
    dedicated = tuple(k for k, role in enumerate(roles) if role == "server")
    if dedicated or not workers:
        return Roles(workers, dedicated, True)
    count = len(workers) if servers is None else max(servers, 1)
    shared = tuple(workers[k % len(workers)] for k in range(count))
    return Roles(workers, shared, False)
