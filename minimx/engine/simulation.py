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

from minimx.engine.lanes import Lane
from minimx.engine.var import Claim, append, release


@dataclass(eq=False, slots=True)
class Job:
    """A claim in the simulation: who serves it, when it was pushed and got ready."""

    claim: Claim
    lane: Lane
    pushed: int
    priority: int = 0
    ready: int = 0


@dataclass(eq=False, slots=True)
class _Serving:
    """A lane's idle workers, and the ready jobs that wait for one."""

    idle: list[int]
    queue: list[tuple[int, int, Job]] = field(default_factory=list)


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
        if append(job.claim):
            # Of several threads that push, one may lag behind the simulation.
            self._foresee(max(self.time, job.pushed), job, None)
        else:
            self._blocked[job.claim] = job

    def step(self) -> None:
        """Let the next event happen; there is one as long as a job is pending."""
        self.time, _, job, worker = heappop(self._agenda)
        if worker is None:
            self._queue(job)
        else:
            self._end(job, worker)

    def _foresee(self, time: int, job: Job, worker: int | None) -> None:
        heappush(self._agenda, (time, next(self._order), job, worker))

    def _serving(self, lane: Lane) -> _Serving:
        serving = self._lanes.get(lane.name)
        if serving is None:
            serving = self._lanes[lane.name] = _Serving(list(range(lane.threads)))
        return serving

    def _queue(self, job: Job) -> None:
        """A job is ready: it queues on its lane, where a worker may be idle."""
        job.ready = self.time
        serving = self._serving(job.lane)
        urgency = -job.priority if job.lane.by_priority else 0
        heappush(serving.queue, (urgency, next(self._order), job))
        if serving.idle:
            self._start(serving, heappop(serving.idle))

    def _start(self, serving: _Serving, worker: int) -> None:
        """A worker takes the first job of its lane."""
        _, _, job = heappop(serving.queue)
        end = self._run(job, f"{job.lane.name}/{worker}")
        self._foresee(end, job, worker)

    def _end(self, job: Job, worker: int) -> None:
        """A job is done: others may have become ready, and its worker is free."""
        self.pending -= 1
        for claim in release(job.claim) or ():
            next_job = self._blocked.pop(claim)
            # Its turn may come at a moment when, in simulated time, nobody has pushed
            # it.
            self._foresee(max(self.time, next_job.pushed), next_job, None)
        serving = self._serving(job.lane)
        if serving.queue:
            self._start(serving, worker)
        else:
            heappush(serving.idle, worker)
