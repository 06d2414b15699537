"""A program on the queues of the real engine, one move after the other.

Nothing here decides which operation may run: `append` and `release` of
`minimx.core.engine.var` do. This module keeps a virtual clock, hands what is ready to
workers, and writes down the state after each move, with the reason in words.

    stepper = Stepper(program, workers=2)
    stepper.step().text                     # "P is pushed, and ready."

`lines.py` keeps what happens as a line of moves, to go back and to go on otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minimx.core.engine.var import WRITING, Claim, Var, append, release
from minimx.core.errors import ArgumentError
from minimx_widgets.scheduler.program import Hazard, Program

#: The states of an operation.
STATES = ("not pushed", "waiting", "ready", "running", "done")
ABSENT, WAITING, READY, RUNNING, DONE = range(len(STATES))
#: More workers than this are more than a page shows.
MOST_WORKERS = 8


@dataclass(frozen=True)
class Queue:
    """The queue of a variable: (operation, whether it writes), oldest first.

    granted: how many of them have the variable now; the others wait.
    """

    version: int
    entries: tuple[tuple[int, bool], ...]
    granted: int


@dataclass(frozen=True)
class Moment:
    """The state after a move.

    kind: "begin", "push", "start", "finish". op, worker: whom it was about, or -1.
    states: of the operations. ready: those that could start, in the engine's order.
    workers: for each the operation that it runs, or -1. live: bytes of variables.
    """

    time: int
    kind: str
    op: int
    worker: int
    text: str
    states: tuple[int, ...]
    queues: tuple[Queue, ...]
    ready: tuple[int, ...]
    workers: tuple[int, ...]
    live: int


@dataclass(frozen=True)
class Bar:
    """An operation on a worker, in µs; `end` as far as it is known to end."""

    op: int
    worker: int
    start: int
    end: int


class Stepper:
    """The state of a run: vars with their queues, a clock, workers.

    workers: how many; 0 is NaiveEngine, where the pushing thread does each operation
    before it pushes the next. push: µs that one push takes the main thread.
    """

    def __init__(self, program: Program, workers: int = 2, push: int = 1) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int):
            raise ArgumentError(f"workers={workers!r} is not a whole number.")
        if not 0 <= workers <= MOST_WORKERS:
            raise ArgumentError(
                f"workers={workers}: give 1 to {MOST_WORKERS}, or 0 for NaiveEngine, "
                "which has none."
            )
        if isinstance(push, bool) or not isinstance(push, int) or push < 0:
            raise ArgumentError(f"push={push!r} is not a number of µs from 0.")
        self.program, self.push_cost, self.naive = program, push, workers == 0
        self.time = 0
        self.pushed = 0
        self.states = [ABSENT] * len(program.operations)
        self.workers = [-1] * max(workers, 1)
        self.ends = [0] * max(workers, 1)
        self.ready: list[int] = []
        self.bars: list[Bar] = []
        self._next_push = 0
        self._vars = {name: Var() for name in program.variables}
        self._claims: list[Claim] = []
        self._number: dict[int, int] = {}  # of a claim's operation
        self._queued: dict[str, list[int]] = {name: [] for name in program.variables}
        self._uses = _last_uses(program)
        self._started: set[str] = set()

    # -- what can happen ---------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether all is done."""
        return all(state == DONE for state in self.states)

    @property
    def free(self) -> list[int]:
        """The workers without work."""
        return [k for k, running in enumerate(self.workers) if running < 0]

    def can_start(self) -> bool:
        """Whether something could start now: after what is pushed at the same time."""
        due = self.pushed < len(self.states) and self._next_push <= self.time
        return bool(self.ready and self.free) and not (due and not self.naive)

    def start(self, number: int, worker: int) -> Moment:
        """An operation begins on a worker. Raises `ArgumentError` with the reason."""
        one = self.program.operations[number]
        if not 0 <= worker < len(self.workers):
            raise ArgumentError(
                f"{one.name} cannot start on worker {worker + 1}: there are "
                f"{len(self.workers)}, from 1."
            )
        if self.states[number] != READY:
            raise ArgumentError(self.why(number))
        busy = self.workers[worker]
        if busy >= 0:
            raise ArgumentError(
                f"{one.name} cannot start on worker {worker + 1}: it works on "
                f"{self.program.operations[busy].name} until {self.ends[worker]} µs."
            )
        self.ready.remove(number)
        self.states[number] = RUNNING
        self.workers[worker], self.ends[worker] = number, self.time + one.cost
        self.bars.append(Bar(number, worker, self.time, self.ends[worker]))
        self._started |= {*one.reads, *one.writes}
        until = f"until {self.ends[worker]} µs"
        return self._moment(
            "start",
            number,
            worker,
            f"{one.name} starts on {self._place(worker)}, {until}.",
        )

    def advance(self) -> Moment:
        """What happens next by itself: an operation ends, or one is pushed."""
        running = [
            (self.ends[k], k) for k, number in enumerate(self.workers) if number >= 0
        ]
        more = self.pushed < len(self.states) and not (self.naive and running)
        if running and (not more or min(running)[0] <= max(self._next_push, self.time)):
            return self._finish(min(running)[1])
        if not more:
            raise ArgumentError("nothing is left to happen: all operations are done.")
        return self._push()

    def step(self) -> Moment:
        """The next move of the engine: it starts what it can, else time goes on."""
        if self.can_start():
            return self.start(self.ready[0], self.free[0])
        return self.advance()

    # -- why not -----------------------------------------------------------------------

    def waits(self, number: int) -> list[Hazard]:
        """For each var that was not granted: whom the operation waits for, and why."""
        one = self.program.operations[number]
        found = []
        for name in (*one.reads, *one.writes):
            queue = self._queued[name]
            if number not in queue:
                continue
            ahead = queue[: queue.index(number)]
            if not ahead or queue.index(number) < self._granted(name):
                continue
            writing = name in one.writes
            found += [
                Hazard(kind, name, earlier, number)
                for kind, earlier in self._conflicts(name, ahead, writing)
            ]
        return found

    def why(self, number: int) -> str:
        """Why an operation is not running: a sentence."""
        one, state = self.program.operations[number], self.states[number]
        if state == DONE:
            return f"{one.name} is done; it cannot start again."
        if state == RUNNING:
            worker = self.workers.index(number)
            return f"{one.name} runs already, on {self._place(worker)}."
        if state == READY:
            return f"{one.name} is ready: all its variables were granted."
        if state == ABSENT:
            return (
                f"{one.name} cannot start: it is not pushed yet. The main thread "
                "pushes one operation after the other, in the order of the program."
            )
        reasons = [self.explain(hazard) for hazard in self.waits(number)]
        return f"{one.name} cannot start: {'; '.join(reasons)}."

    def explain(self, hazard: Hazard) -> str:
        """A hazard in words."""
        first, second = (
            self.program.operations[k].name for k in (hazard.first, hazard.second)
        )
        said = {
            "RAW": f"it reads {hazard.var}, which {first} has yet to write",
            "WAR": f"it writes {hazard.var}, which {first} has yet to read",
            "WAW": f"it writes {hazard.var}, which {first} has to write before",
        }
        wrong = {
            "RAW": f"{second} would read the old value",
            "WAR": f"{first} would read the new value",
            "WAW": f"the value of {first} would be left at the end",
        }
        return f"{said[hazard.kind]} ({hazard.kind}: {wrong[hazard.kind]})"

    def _conflicts(
        self, name: str, ahead: Sequence[int], writing: bool
    ) -> list[tuple[str, int]]:
        """The nearest claims ahead that one has to wait for."""
        readers: list[tuple[str, int]] = []
        for earlier in reversed(ahead):
            if name in self.program.operations[earlier].writes:
                if readers:
                    break
                return [("WAW" if writing else "RAW", earlier)]
            if writing:
                readers.append(("WAR", earlier))
        return readers[::-1]

    # -- moves -------------------------------------------------------------------------

    def _push(self) -> Moment:
        number = self.pushed
        one = self.program.operations[number]
        self.time = max(self.time, self._next_push)
        self._next_push = self.time + self.push_cost
        self.pushed += 1
        claim = Claim(
            tuple(self._vars[name] for name in one.reads),
            tuple(self._vars[name] for name in one.writes),
            adds=1,
        )
        self._claims.append(claim)
        self._number[id(claim)] = number
        for name in (*one.reads, *one.writes):
            self._queued[name].append(number)
        if append(claim):
            self._become_ready(number)
            return self._moment("push", number, -1, f"{one.name} is pushed, and ready.")
        self.states[number] = WAITING
        reasons = [self.explain(hazard) for hazard in self.waits(number)]
        text = f"{one.name} is pushed, and waits: {'; '.join(reasons)}."
        return self._moment("push", number, -1, text)

    def _finish(self, worker: int) -> Moment:
        number = self.workers[worker]
        one = self.program.operations[number]
        self.time = max(self.time, self.ends[worker])
        self.workers[worker] = -1
        self.states[number] = DONE
        for name in (*one.reads, *one.writes):
            self._queued[name].remove(number)
        found = [
            self._number[id(claim)] for claim in release(self._claims[number]) or ()
        ]
        for made in found:
            self._become_ready(made)
        names = " and ".join(self.program.operations[k].name for k in found)
        more = f" {names} {'is' if len(found) == 1 else 'are'} ready." if found else ""
        self._next_push = (
            max(self._next_push, self.time) if self.naive else self._next_push
        )
        text = f"{one.name} is done on {self._place(worker)}.{more}"
        return self._moment("finish", number, worker, text)

    def _become_ready(self, number: int) -> None:
        """Behind those that are as urgent."""
        self.states[number] = READY
        urgency = self.program.operations[number].priority
        place = len(self.ready)
        while (
            place and self.program.operations[self.ready[place - 1]].priority < urgency
        ):
            place -= 1
        self.ready.insert(place, number)

    # -- what is seen ------------------------------------------------------------------

    def moment(self) -> Moment:
        """The state before any move."""
        count = len(self.states)
        text = f"{count} operations are to be pushed, none is yet."
        return self._moment("begin", -1, -1, text)

    def _moment(self, kind: str, number: int, worker: int, text: str) -> Moment:
        return Moment(
            self.time, kind, number, worker, text,
            tuple(self.states),
            tuple(self._queue(name) for name in self._vars),
            tuple(self.ready), tuple(self.workers), self._live(),
        )  # fmt: skip

    def _queue(self, name: str) -> Queue:
        entries = tuple(
            (number, name in self.program.operations[number].writes)
            for number in self._queued[name]
        )
        return Queue(self._vars[name].version, entries, self._granted(name))

    def _granted(self, name: str) -> int:
        readers = self._vars[name].readers
        return 1 if readers == WRITING else readers

    def _live(self) -> int:
        """The bytes of variables in use, from their first start to their last end."""
        done = {k for k, state in enumerate(self.states) if state == DONE}
        return sum(
            self.program.nbytes[name]
            for name in self._started
            if not self._uses[name] <= done
        )

    def _place(self, worker: int) -> str:
        return "the pushing thread" if self.naive else f"worker {worker + 1}"


def _last_uses(program: Program) -> dict[str, set[int]]:
    """For each variable the operations that use it."""
    found: dict[str, set[int]] = {name: set() for name in program.variables}
    for number, one in enumerate(program.operations):
        for name in (*one.reads, *one.writes):
            found[name].add(number)
    return found
