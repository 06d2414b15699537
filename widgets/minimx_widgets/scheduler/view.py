"""`SchedulerStepper`: the dependency engine stopped after each move, and yours to move.

Queues of the variables, the ready set, workers and memory after every push, start and
end. Step on and back, run to a breakpoint, or choose which operation starts where: what
may not start says which variable it waits for, and what would go wrong otherwise.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.record import Record
from minimx_widgets import esm
from minimx_widgets.base import STYLE, AnsweringWidget
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.pieces import Code
from minimx_widgets.scheduler import lines, stepping
from minimx_widgets.scheduler.levels import LEVELS, Level
from minimx_widgets.scheduler.lines import Line
from minimx_widgets.scheduler.optimum import optimum
from minimx_widgets.scheduler.program import Operation, Program
from minimx_widgets.scheduler.stepping import STATES, Moment
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted, human_bytes

#: So many lines are kept; the oldest of one's own goes when there is another.
MOST_LINES = 8


@dataclass(frozen=True)
class Named:
    """A line of moves and what it is called."""

    name: str
    line: Line


class SchedulerStepper(AnsweringWidget):
    """The engine's scheduler, one move at a time.

        SchedulerStepper(
            Program.of(op("P", reads="a", writes="b", cost=3),
                       op("Q", reads="b", writes="c", cost=2)),
            workers=2,
        )

    program: a `Program`, operations (`op(…)`), or a record, of which the first 40
    operations are taken. workers: 1 to 8; 0 is NaiveEngine, where the pushing thread
    does all. push: µs that the main thread takes to push an operation. What the engine
    does with it is one *line* of moves; moves of your own begin another line, and
    `show(name)` goes back to the first.

    The page asks what these do too: `show`, `start(op, worker)`, `wait()`, `finish()`,
    `why(op)`, `run_to(op)`, `set_workers(n)`. `policy()` is the shown order as a class
    that the real engine runs. `SchedulerStepper.level(1)` is a program
    for which the engine's own line is not the best one.
    """

    _esm = esm.module("scheduler_stepper")
    _css = STYLE + (esm.STATIC / "scheduler_stepper.css").read_text(encoding="utf-8")

    state = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        program: Program | Record | list[Operation] | tuple[Operation, ...],
        *,
        workers: int = 2,
        push: int = 1,
        **settings: Any,
    ) -> None:
        self.program = _program(program)
        self._lock = threading.RLock()
        self._push = push
        self._mine = 0  # lines of one's own so far
        self._first_workers = workers
        self._begin(workers)
        super().__init__(**settings)
        self.refresh()

    @classmethod
    def level(cls, number: int) -> SchedulerStepper:
        """A level of "be the scheduler", from 1: its target is the proved optimum.

        Raises `ArgumentError` for a number without a level.
        """
        if isinstance(number, bool) or number not in range(1, len(LEVELS) + 1):
            raise ArgumentError(
                f"SchedulerStepper: no level {number!r}; there are 1 to {len(LEVELS)}."
            )
        one: Level = LEVELS[number - 1]
        return cls(one.program, workers=one.workers, push=one.push)

    @property
    def reached(self) -> bool:
        """Whether a line of one's own ends as early as any schedule can."""
        own = [one.line for one in self.lines if one.line.own >= 0 and one.line.over]
        return any(line.makespan <= self.best for line in own)

    def _begin(self, workers: int) -> None:
        line = lines.run(self.program, workers, self._push)
        found = optimum(self.program, workers, self._push)
        #: The least µs of any schedule, or a bound below which none can be.
        self.best = lines.bound(self.program, workers) if found is None else found
        self.exact = found is not None
        self.lines = [Named("the engine", line)]
        self._shown, self._step = 0, 0

    # -- its state ---------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        return ("workers", "moves", "step")

    def _more(self) -> dict[str, Any]:
        line = self.shown.line
        more: dict[str, Any] = {}
        if self.workers != self._first_workers:
            more["workers"] = self.workers
        if line.own >= 0:
            more["moves"] = [[move.op, move.worker] for move in line.moves]
        return more | ({"step": self._step} if self._step else {})

    def _bring(self, more: Mapping[str, Any]) -> None:
        workers, step = more.get("workers", self._first_workers), more.get("step", 0)
        moves = [lines.Move(*map(operator.index, one)) for one in more.get("moves", ())]
        with self._lock:
            before = self.lines, self._shown, self._step, self.best, self.exact
            try:
                if workers != self.workers:
                    self._begin(operator.index(workers))
                self.lines, self._shown, self._step = self.lines[:1], 0, 0
                if moves:
                    begun = lines.begin(self.program, workers, self._push)
                    line = lines.replayed(begun, moves, own=0)
                    self._keep_line(line, new=True)
                self.show(step=operator.index(step))
            except Exception:
                self.lines, self._shown, self._step, self.best, self.exact = before
                raise

    # -- what is shown -----------------------------------------------------------------

    @property
    def shown(self) -> Named:
        """The line that is drawn."""
        return self.lines[self._shown]

    @property
    def step(self) -> int:
        """How many moves were made at what is drawn."""
        return self._step

    @property
    def moment(self) -> Moment:
        """The state that is drawn."""
        return self.shown.line.moments[self._step]

    @property
    def workers(self) -> int:
        """How many workers there are; 0 for NaiveEngine."""
        return self.shown.line.workers

    def show(self, name: str = "", step: int | None = None) -> None:
        """Show another line, or another of its moments; negative ones from the end."""
        with self._lock:
            names = [one.name for one in self.lines]
            name = name or self.shown.name
            if name not in names:
                near = did_you_mean(name, names)
                raise ArgumentError(f"SchedulerStepper: no line {name!r}.{near}")
            shown = names.index(name)
            count = len(self.lines[shown].line.moments)
            wanted = (
                (self._step if shown == self._shown else 0) if step is None else step
            )
            if not -count <= wanted < count:
                raise ArgumentError(
                    f"SchedulerStepper: {name} has {count - 1} moves; step={wanted} is "
                    "not there."
                )
            self._shown, self._step = shown, wanted % count
            self.refresh()

    def run_to(self, name: str) -> int:
        """Show the next moment in which an operation starts; returns its step.

        Raises `ArgumentError` where it does not start any more in this line.
        """
        number = self.program.number(name)
        with self._lock:
            moments = self.shown.line.moments
            for step in range(self._step + 1, len(moments)):
                if moments[step].kind == "start" and moments[step].op == number:
                    self.show(step=step)
                    return step
        raise ArgumentError(
            f"SchedulerStepper: {name} does not start after move {self._step} of "
            f"{self.shown.name!r}."
        )

    # -- moves of one's own ------------------------------------------------------------

    def start(self, name: str, worker: int | None = None) -> None:
        """Start an operation now, on a worker (from 1; by default the first free one).

        From here on the line is your own: time then goes on to the next moment in which
        something could start. Raises `ArgumentError`, with the hazard, where it may not
        start.
        """
        number = self.program.number(name)
        with self._lock:
            stepper = self.shown.line.at(self._step)
            if worker is None:
                free = stepper.free or [0]
                worker = free[0] + 1
            if isinstance(worker, bool) or not isinstance(worker, int):
                raise ArgumentError(f"worker={worker!r} is not a number from 1.")
            self._go_on(self.shown.line.start(self._step, number, worker - 1))

    def wait(self) -> None:
        """Start nothing now: time goes on until something happens."""
        with self._lock:
            self._go_on(self.shown.line.wait(self._step))

    def finish(self) -> None:
        """Let the engine go on with a line of your own, to its end."""
        with self._lock:
            own = self.shown.line.own
            if self.shown.line.over:
                self.show(step=-1)
                return
            self._keep_line(self.shown.line.to_end(), new=own < 0)
            self._step = len(self.shown.line.moments) - 1
            self.refresh()

    def why(self, name: str) -> str:
        """Why an operation is not running now, in a sentence."""
        return self.shown.line.at(self._step).why(self.program.number(name))

    def policy(self, name: str = "MySchedule") -> str:
        """The shown line's order as a class for `mx.engine.register`, as source text.

        Paste it into a cell: the real runtime then starts ready operations in this
        order. Raises `ArgumentError` unless `name` can be the name of a class.
        """
        return lines.policy(self.shown.line, name)

    def set_workers(self, workers: int) -> None:
        """Another number of workers, 0 for NaiveEngine: all begins again."""
        with self._lock:
            self._begin(workers)
            self.refresh()

    def _go_on(self, line: Line) -> None:
        """A move was made at the moment that is shown."""
        # A line of one's own goes on at its end; elsewhere another one branches off.
        at_end = self._step == len(self.shown.line.moments) - 1
        line = line.until_choice()
        self._keep_line(line, new=self.shown.line.own < 0 or not at_end)
        self._step = len(line.moments) - 1
        self.refresh()

    def _keep_line(self, line: Line, *, new: bool) -> None:
        if not new:
            self.lines[self._shown] = Named(self.shown.name, line)
            return
        self._mine += 1
        if len(self.lines) == MOST_LINES:
            del self.lines[1]
        self.lines.append(Named(f"mine {self._mine}", line))
        self._shown = len(self.lines) - 1

    # -- to and from the page ----------------------------------------------------------

    def refresh(self) -> None:
        """Send everything to the page."""
        program, line = self.program, self.shown.line
        self.state = {
            "program": program.name,
            "operations": [
                [one.name, list(one.reads), list(one.writes), one.cost, one.priority]
                for one in program.operations
            ],
            "variables": list(program.variables),
            "sizes": [program.nbytes[name] for name in program.variables],
            "lines": [
                [one.name, one.line.makespan, one.line.over, one.line.peak]
                for one in self.lines
            ],
            "shown": self._shown,
            "step": self._step,
            "own": line.own,
            "workers": line.workers,
            "best": self.best,
            "exact": self.exact,
            "moments": [_sent(moment) for moment in line.moments],
            "waits": self._waits(),
            "bars": [[bar.op, bar.worker, bar.start, bar.end] for bar in line.bars],
            "states": list(STATES),
            "revision": self.state.get("revision", 0) + 1,
        }

    def _waits(self) -> dict[str, str]:
        """Why each operation that waits at the shown moment does."""
        stepper = self.shown.line.at(self._step)
        waiting = (stepping.ABSENT, stepping.WAITING)
        return {
            str(number): stepper.why(number)
            for number, state in enumerate(stepper.states)
            if state in waiting
        }

    def _do(self, message: Mapping[str, Any]) -> str:
        """Do what the page asks, at the moment that it shows."""
        kind = message["kind"]
        with self._lock:
            if "step" in message:
                last = len(self.shown.line.moments) - 1
                self._step = min(max(int(message["step"]), 0), last)
            if kind == "start":
                worker = message.get("worker")
                name = self.program.operations[int(message["op"])].name
                self.start(name, None if worker is None else int(worker) + 1)
            elif kind == "wait":
                self.wait()
            elif kind == "finish":
                self.finish()
            elif kind == "workers":
                self.set_workers(int(message["count"]))
            elif kind == "show":
                self.show(str(message["name"]), 0)
            elif kind == "why":
                return self.why(self.program.operations[int(message["op"])].name)
        return ""

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The engine's lines behind the move that is shown, or why an operation waits.

        With `op` that of an operation that waits: the rule of each of its hazards.
        """
        with self._lock:
            line = self.shown.line
            step = min(int(message["step"]), len(line.moments) - 1)
            waits = []
            if "op" in message:
                waits = line.at(step).waits(int(message["op"]))
            kinds = dict.fromkeys(hazard.kind for hazard in waits)
            return decision("scheduler", *(kinds or (line.moments[step].kind,)))

    # -- faces -------------------------------------------------------------------------

    def __repr__(self) -> str:
        engine = self.lines[0].line
        who = counted(engine.workers, "worker") if engine.workers else "NaiveEngine"
        parts = [
            counted(len(self.program.operations), "operation"),
            who,
            f"done after {engine.makespan} µs",
            f"{'the best is' if self.exact else 'none is faster than'} {self.best} µs",
            f"at most {human_bytes(engine.peak)}",
        ]
        ended = [one for one in self.lines[1:] if one.line.over]
        parts += [f"{one.name} {one.line.makespan} µs" for one in ended]
        return f"SchedulerStepper({', '.join(parts)})"

    def table(self) -> Tables:
        """The operations with their times, and all moves of the line in words."""
        line = self.shown.line
        bars = {bar.op: bar for bar in line.bars}
        pushed = {
            moment.op: moment.time for moment in line.moments if moment.kind == "push"
        }
        rows = []
        for number, one in enumerate(self.program.operations):
            bar = bars.get(number)
            rows.append(
                (
                    one.name, " ".join(one.reads), " ".join(one.writes), str(one.cost),
                    str(pushed.get(number, "")),
                    "" if bar is None else str(bar.start),
                    "" if bar is None else str(bar.end),
                    "" if bar is None else str(bar.worker + 1),
                )
            )  # fmt: skip
        heads = (
            "operation",
            "reads",
            "writes",
            "µs",
            "pushed",
            "start",
            "end",
            "worker",
        )
        moves = [
            (str(step), str(moment.time), moment.text, str(moment.live))
            for step, moment in enumerate(line.moments)
        ]
        more = ("move", "µs", "what happens", "bytes in use")
        return Tables(
            (
                Table.of(heads, rows, f"Operations: {self.shown.name}"),
                Table.of(more, moves, "Moves"),
            )
        )

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the moment that is shown."""
        from minimx_widgets.scheduler.picture import draw

        return draw(self, dark=dark, width=width)


def _program(given: Any) -> Program:
    if isinstance(given, Program):
        return given
    if isinstance(given, Record):
        return Program.recorded(given)
    if isinstance(given, list | tuple) and all(isinstance(o, Operation) for o in given):
        return Program.of(*given)
    raise ArgumentError(
        "SchedulerStepper: give a Program, a list of operations made by op(…), or a "
        f"record; this is a {type(given).__name__}."
    )


def _sent(moment: Moment) -> list[Any]:
    """A moment as the page wants it."""
    queues = [
        [queue.version, [[n, int(w)] for n, w in queue.entries], queue.granted]
        for queue in moment.queues
    ]
    return [
        moment.time, moment.kind, moment.op, moment.worker, moment.text,
        list(moment.states), queues, list(moment.ready), list(moment.workers),
        moment.live,
    ]  # fmt: skip
