"""Lanes on a clock that is only a number: who starts when, if work takes this long.

A discrete-event simulation over the same dependency policy (`var.py`) and the same
lanes as the threaded engines, so what it says about waiting, overlap and priorities is
what those engines would do on a machine where nothing else happens. It is
deterministic: of two events at one moment, the one that was foreseen first comes first.

Who comes in: the virtual engine, which runs real functions in simulated order, and the
replay of recorded runs, which runs nothing. Never: threads, clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from minimx.core.engine.lanes import Lane
from minimx.core.engine.var import Claim, append, release


@dataclass(eq=False, slots=True)
class _Serving:
    """A lane's idle workers, the names of all, and the ready jobs that wait for one."""

    idle: list[int]
    names: list[str]
    by_priority: bool
    queue: list[tuple[int, int, Job]] = field(default_factory=list)

    def take(self) -> Job:
        """The job that is next: the first of the queue, or the one that is picked."""
        if (pick := self.queue[0][2].lane.pick) is None:
            return heappop(self.queue)[2]
        self.queue.sort()  # which keeps it a heap
        return self.queue.pop(pick([job.claim for *_, job in self.queue]))[2]


@dataclass(eq=False, slots=True)
class Job:
    """A claim in the simulation: who serves it, when it was pushed and got ready."""

    claim: Claim
    lane: Lane
    pushed: int
    priority: int = 0
    ready: int = 0
    serving: _Serving | None = None


class Simulation:
    """Jobs on lanes in simulated time; all times are nanoseconds.

    `time` is the moment of the last event, `pending` counts the jobs that have not
    ended.
    """

    def __init__(self, run: Callable[[Job, str], int], time: int = 0) -> None:
        """`run(job, worker)` is called when a job starts and says when it ends.

        It may push further jobs.
        """
        self._run = run
        self.time = time
        self.pending = 0
        self._order = count()
        self._lanes: dict[str, _Serving] = {}
        self._blocked: dict[Claim, Job] = {}
        # What is going to happen: when, in which order, to which job; with the number
        # of the worker that ends it, or None if the job becomes ready.
        self._agenda: list[tuple[int, int, Job, int | None]] = []

    def push(self, job: Job) -> None:
        """Queue a job on its vars, behind all jobs pushed before."""
        self.pending += 1
        lane = job.lane
        job.serving = self._lanes.get(lane.name)
        if job.serving is None:
            workers = range(lane.threads)
            names = [f"{lane.name}/{worker}" for worker in workers]
            job.serving = _Serving([*workers], names, lane.by_priority)
            self._lanes[lane.name] = job.serving
        if append(job.claim):
            # Of several threads that push, one may lag behind the simulation.
            self._foresee(max(self.time, job.pushed), job, None)
        else:
            self._blocked[job.claim] = job

    def step(self) -> None:
        """Let the next event happen; there is one as long as a job is pending."""
        self.time, _, job, worker = heappop(self._agenda)
        if worker is None:
            self._serve(self._line_up(job))
        else:
            self._end(job, worker)

    def _foresee(self, time: int, job: Job, worker: int | None) -> None:
        heappush(self._agenda, (time, next(self._order), job, worker))

    def _line_up(self, job: Job) -> _Serving:
        """A job is ready, but no worker looks at the queue of its lane yet."""
        job.ready = self.time
        serving = job.serving
        assert serving is not None
        urgency = -job.priority if serving.by_priority else 0
        heappush(serving.queue, (urgency, next(self._order), job))
        return serving

    def _serve(self, serving: _Serving) -> None:
        """Idle workers take the first jobs of their lane."""
        while serving.queue and serving.idle:
            worker = heappop(serving.idle)
            job = serving.take()
            end = self._run(job, serving.names[worker])
            self._foresee(end, job, worker)

    def _end(self, job: Job, worker: int) -> None:
        """A job is done: others may have become ready, and its worker is free.

        As in the threaded engines the worker hands over what became ready first, and
        then looks which job is the most urgent one.
        """
        self.pending -= 1
        mine = job.serving
        assert mine is not None
        heappush(mine.idle, worker)
        ready = release(job.claim)
        if ready is None:
            self._serve(mine)
            return
        lanes = [mine]
        for claim in ready:
            next_job = self._blocked.pop(claim)
            if next_job.pushed <= self.time:
                lanes.append(self._line_up(next_job))
            else:  # in simulated time, nobody has pushed it yet
                self._foresee(next_job.pushed, next_job, None)
        for serving in lanes:
            self._serve(serving)
