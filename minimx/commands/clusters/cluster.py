"""A cluster: ranks on this machine that run functions of a notebook.

cluster = mx.cluster(4)
cluster.run(train, steps=100)
cluster.close()
"""

from __future__ import annotations

import importlib.util
import time
import weakref
from collections.abc import Callable, Mapping
from queue import Empty
from types import TracebackType
from typing import Any, Final

from minimx.commands.clusters.engines import Engines, check_alone
from minimx.commands.clusters.failure import Failure, RankError
from minimx.commands.clusters.live import Lines, Live, ranks
from minimx.commands.clusters.progress import progress
from minimx.commands.clusters.ranks import PATIENCE, Ranks
from minimx.commands.clusters.run import Run
from minimx.commands.clusters.shipping import received, shipped
from minimx.core.errors import ArgumentError, MXNetError, Unavailable
from minimx.core.knobs import knobs as registry
from minimx.core.record import Record
from minimx.kvstore.dist.roles import Roles
from minimx.tools.mpi import mpiexec
from minimx.tools.record_merge import merged

#: Seconds that other ranks have to report after one has failed, and to say where they
#: are when the time is up.
AFTER: Final = 5.0
ANSWER: Final = 1.0
TICK: Final = 0.1
AGAIN: Final = "All ranks have ended; the next run starts new ones."


class Cluster:
    """Processes on this machine that train together: ranks 0 to n - 1 of one job.

    n: how many; or a client of ipyparallel, or a view of one, whose engines MPI has
    started: they are the ranks then, and are not ended. servers: how many processes
    keep parameters and do nothing else, as with `minimx launch -n 4 -s 2`; 0: stores
    that need servers have one in each rank. knobs: values of knobs for all ranks and
    servers, by name; knobs_of: for single ranks, by rank. timeout: seconds that a run
    may take; None: any. record: whether what the ranks do is recorded.

    In a rank, `mx.kv.create("dist_sync")` gives the store of all ranks. All of them
    compare their seeds, knobs and versions at the start, and warn of differences.

        with mx.cluster(n=4, servers=2) as cluster:
            cluster.run(train)    # with mx.kv.create("dist_async"), or "p3"

    Raises `ArgumentError` for numbers below these, `Unavailable` where MPI or
    cloudpickle is missing, and `MXNetError` if the ranks do not begin. The processes
    end at `close` or with the `with` block; also if this process ends, however that
    happens.
    """

    progress = staticmethod(progress)

    def __init__(
        self,
        n: Any = 2,
        *,
        servers: int = 0,
        knobs: Mapping[str, object] | None = None,
        knobs_of: Mapping[int, Mapping[str, object]] | None = None,
        timeout: float | None = None,
        record: bool = True,
    ) -> None:
        self._engines = None if isinstance(n, int) else engines_of(n)
        self.n = int(n) if self._engines is None else len(self._engines.pids)
        if self.n < 1:
            raise ArgumentError(
                f"mx.cluster: n is the number of ranks, from 1; not {n}."
            )
        if not isinstance(servers, int) or servers < 0:
            raise ArgumentError(
                f"mx.cluster: servers is the number of servers, from 0; not {servers}."
            )
        if self._engines is None:
            _check_installed()
        else:
            check_alone(knobs or {}, knobs_of or {}, servers)
        self.servers = servers
        self.timeout = timeout
        self.records = record
        self.record = Record()
        self._environments = _environments(self.n, knobs or {}, knobs_of or {})
        self._environments += _environments(servers, knobs or {}, {})
        processes = range(self.n + servers)
        self._roles = Roles((*processes[: self.n],), (*processes[self.n :],), True)
        self._state = "ready"
        self._closed = False
        self._ranks: Ranks | Engines | None = None
        self._end: Callable[[], object] = lambda: None
        self._begin()

    def _begin(self) -> Ranks | Engines:
        if self._engines is not None:
            self._ranks = self._engines
            return self._engines
        found = self._ranks = Ranks(self._environments, self.servers)
        # Also when the cluster is dropped, or this process ends.
        self._end = weakref.finalize(self, found.close)
        run = Run(self.n, found.how_ended)
        live = Lines()
        try:
            ready = 0
            while ready < self.n and not run.failures:
                rank, kind, content = found.events.get()
                ready += kind == "ready"
                self._take(run, live, rank, kind, content)
            if run.failures:
                self._finish(found, run, live)
                raise RankError(run.failures, "The ranks could not begin.")
        except BaseException:
            self.close()
            raise
        self._state = "ready"
        return found

    # -- running ----------------------------------------------------------------------

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
        """Call a function on every rank, with these arguments; what each returned.

        Function and arguments are shipped as they are now; a rank works on copies. What
        ranks print is shown line by line, with the rank. `record` becomes that of this
        run. The ranks stay between runs, also after an exception or Ctrl-C. If one dies
        or does not stop, all of them end, and the next run starts new ones; where there
        are servers, after any failure.

        Raises `RankError` if the function raised on a rank, if a rank died, or if it
        took longer than `timeout`; `ArgumentError` for what cannot be shipped.
        """
        if self._closed:
            raise MXNetError("this cluster is closed. Make another: mx.cluster(4)")
        payload, cells = shipped(function, args, kwargs)
        found = self._ranks or self._begin()
        run = Run(self.n, found.how_ended)
        live = Live(run)
        self._state = "running"
        every = range(self.n)
        found.send(self._roles.servers, "begin", self.records)
        found.send(every, "run", payload, cells, self.records)
        try:
            self._follow(found, run, live)
        except BaseException:  # as by Ctrl-C
            self._state = "interrupted"
            found.send(every, "interrupt")
            self._finish(found, run, live)
            raise
        finally:
            if self.records:
                self.record = merged(run.records, found.clocks, self._roles.title)
            live.look(end=True)
        self._state = "failed" if run.failures else "finished"
        if run.failures:
            raise RankError(run.failures, "" if self._ranks else AGAIN)
        return [received(rank, run.results[rank]) for rank in every]

    def _follow(self, found: Ranks | Engines, run: Run, live: Lines) -> None:
        """Take what comes until the run is over, on all ranks also if one failed."""
        begin = time.monotonic()
        while not run.over and not run.failures:
            self._next(found, run, live)
            if self.timeout and time.monotonic() - begin > self.timeout:
                self._ask_where(found, run, live)
        if run.failures or run.died:
            self._finish(found, run, live)
        elif self.records and self.servers:
            found.send(self._roles.servers, "end")
            until = time.monotonic() + AFTER
            while len(run.records) < self.n + self.servers and time.monotonic() < until:
                self._next(found, run, live)

    def _finish(self, found: Ranks | Engines, run: Run, live: Lines) -> None:
        """Let the ranks come to an end. If one does not, or has died, end all."""
        self._ranks, until = None, time.monotonic() + AFTER
        try:
            while not run.over and time.monotonic() < until:
                self._next(found, run, live)
            if run.over and not run.died and not self.servers:
                self._ranks = found
        finally:
            if self._ranks is None:  # servers cannot begin anew with new ranks' jobs
                found.close(0.0 if self.servers and run.over else PATIENCE)
        while not run.over and not found.events.empty():
            self._next(found, run, live)

    def _next(self, found: Ranks | Engines, run: Run, live: Lines) -> None:
        try:
            rank, kind, content = found.events.get(timeout=TICK)
        except Empty:
            pass
        else:
            self._take(run, live, rank, kind, content)
        live.look()

    def _take(
        self,
        run: Run,
        live: Lines,
        rank: int,
        kind: str,
        content: tuple[Any, ...],
    ) -> None:
        if kind in ("out", "err"):
            title = str(rank) if rank < self.n else self._roles.title(rank)
            live.line(title, kind, content[0])
        else:
            run.take(rank, kind, content)

    def _ask_where(self, found: Ranks | Engines, run: Run, live: Lines) -> None:
        """The time is up: note of ranks that are not through where they are."""
        late = run.missing()
        found.send(late, "where")
        until = time.monotonic() + ANSWER
        while not run.positions.keys() >= {*late} and time.monotonic() < until:
            self._next(found, run, live)
        for rank in run.missing():
            what = f"not finished after {self.timeout:g} s"
            run.failures[rank] = Failure(what, run.positions.get(rank, ""))
        found.send(late, "interrupt")

    # -- the end ----------------------------------------------------------------------

    def close(self) -> None:
        """End all ranks. Twice does no harm."""
        self._end()
        self._ranks, self._closed = None, True
        if self._state == "ready":
            self._state = "closed"

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        serving = f" and {ranks(self.servers, 'server')}" if self.servers else ""
        return f"cluster of {ranks(self.n)}{serving}: {self._state}"


cluster = Cluster  # `mx.cluster`


def engines_of(client: Any) -> Engines:
    """The engines of a client. Raises `ArgumentError` if it is something else."""
    if not hasattr(client, "apply_async") and not hasattr(client, "ids"):
        raise ArgumentError(
            f"mx.cluster: {client!r} is neither a number of ranks nor a client of "
            "ipyparallel. As in: mx.cluster(4)"
        )
    return Engines(client)


def _check_installed() -> None:
    """Raise `Unavailable` if something that is needed is missing."""
    fix = "Install it with: pip install 'minimx[dist]'"
    for package in ("mpi4py", "cloudpickle"):
        if importlib.util.find_spec(package) is None:
            raise Unavailable(f"mx.cluster needs the package {package}. {fix}")
    if not mpiexec():
        raise Unavailable(f"mx.cluster needs MPI's launcher, mpiexec. {fix}")


def _environments(
    n: int,
    every: Mapping[str, object],
    single: Mapping[int, Mapping[str, object]],
) -> list[dict[str, str]]:
    """What each rank gets besides the environment of this process; knobs as texts."""
    for rank in single:
        if rank not in range(n):
            raise ArgumentError(
                f"mx.cluster: knobs_of has rank {rank}, but the ranks are 0 to {n - 1}."
            )
    return [
        {
            registry.resolve(name): _text(registry.resolve(name), value)
            for name, value in {**every, **single.get(rank, {})}.items()
        }
        for rank in range(n)
    ]


def _text(name: str, value: object) -> str:
    knob = registry.declared[name]
    return str(knob.format(knob.check(value)))
