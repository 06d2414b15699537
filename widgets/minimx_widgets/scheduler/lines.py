"""Lines of moves: a run of a program, every moment of it, and others that branch off.

    line = run(program, workers=2)          # as the engine does it
    line.moments[-1].time                   # µs until all is done

A line can be cut at any moment and gone on with otherwise: `Line.cut`, `Line.start`,
`Line.wait`. Going back costs nothing, as every moment is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from minimx.core.errors import ArgumentError
from minimx_widgets.scheduler.program import Operation, Program
from minimx_widgets.scheduler.stepping import DONE, Bar, Moment, Stepper


@dataclass(frozen=True)
class Move:
    """A move: `op` starts on `worker`; or, with op -1, time goes on."""

    op: int = -1
    worker: int = -1


@dataclass(frozen=True)
class Line:
    """Moves from the beginning, and every moment on the way.

    own: the move from which on a person chose, rather than the engine; -1 for none.
    """

    program: Program
    workers: int
    push: int
    moves: tuple[Move, ...]
    moments: tuple[Moment, ...]
    bars: tuple[Bar, ...]
    own: int = -1

    @property
    def over(self) -> bool:
        """Whether all operations are done at its end."""
        return all(state == DONE for state in self.moments[-1].states)

    @property
    def makespan(self) -> int:
        """The µs at its end."""
        return self.moments[-1].time

    @property
    def peak(self) -> int:
        """The most bytes in use at a moment."""
        return max(moment.live for moment in self.moments)

    def at(self, step: int) -> Stepper:
        """The state after so many moves, to ask and to go on with."""
        stepper = Stepper(self.program, self.workers, self.push)
        for move in self.moves[:step]:
            _do(stepper, move)
        return stepper

    def cut(self, step: int) -> Line:
        """The line as it was after `step` moves."""
        return replayed(self, self.moves[:step], self.own if self.own < step else -1)

    def start(self, step: int, number: int, worker: int) -> Line:
        """The line up to `step`, then this operation starts on this worker.

        Raises `ArgumentError`, with the reason, where that may not be.
        """
        self.at(step).start(number, worker)
        move = Move(number, worker)
        return replayed(self, (*self.moves[:step], move), _first(self.own, step))

    def wait(self, step: int) -> Line:
        """The line up to `step`, then time goes on until something happens."""
        self.at(step).advance()
        return replayed(self, (*self.moves[:step], Move()), _first(self.own, step))

    def until_choice(self) -> Line:
        """Go on to where an operation could start, or to the end."""
        stepper = self.at(len(self.moves))
        moves = list(self.moves)
        while not stepper.over and not stepper.can_start():
            stepper.advance()
            moves.append(Move())
        return replayed(self, moves, self.own)

    def to_end(self) -> Line:
        """Go on as the engine would, to the end."""
        stepper = self.at(len(self.moves))
        moves = list(self.moves)
        while not stepper.over:
            moves.append(_next(stepper))
            _do(stepper, moves[-1])
        return replayed(self, moves, self.own)


def _first(own: int, step: int) -> int:
    """From where on a person chose, if it is at `step` that it happens now."""
    return step if own < 0 or own > step else own


def _next(stepper: Stepper) -> Move:
    if stepper.can_start():
        return Move(stepper.ready[0], stepper.free[0])
    return Move()


def _do(stepper: Stepper, move: Move) -> Moment:
    if move.op < 0:
        return stepper.advance()
    return stepper.start(move.op, move.worker)


def replayed(line: Line, moves: Iterable[Move], own: int = -1) -> Line:
    """The line of these moves, from the beginning."""
    moves = tuple(moves)
    stepper = Stepper(line.program, line.workers, line.push)
    moments = [stepper.moment(), *(_do(stepper, move) for move in moves)]
    return replace(
        line, moves=moves, moments=tuple(moments), bars=tuple(stepper.bars), own=own
    )


def begin(program: Program, workers: int = 2, push: int = 1) -> Line:
    """A line without moves."""
    moment = Stepper(program, workers, push).moment()
    return Line(program, workers, push, (), (moment,), ())


def run(program: Program, workers: int = 2, push: int = 1) -> Line:
    """All moves as the engine makes them.

    It starts what is ready as soon as a worker is free: the highest priority first,
    equal ones in the order in which they became ready.
    """
    return begin(program, workers, push).to_end()


def policy(line: Line, name: str = "MySchedule") -> str:
    """The order of a line as a class for `mx.engine.register`, as source text.

    Of the operations that are ready the real engine then starts the one that began
    first in the line; names that the line does not have come last, in their order. A
    policy answers which one is next, so it cannot let a worker wait for what comes.
    Raises `ArgumentError` unless `name` can be the name of a class.
    """
    if not name.isidentifier():
        raise ArgumentError(f"policy: {name!r} cannot be the name of a class.")
    order = [line.program.operations[bar.op].name for bar in line.bars]
    return f'''class {name}:
    """What began first in a line of {line.makespan} µs on {line.workers} workers."""

    ORDER = {order!r}

    def pick(self, ready):
        places = [
            self.ORDER.index(one.name) if one.name in self.ORDER else len(self.ORDER)
            for one in ready
        ]
        return places.index(min(places))
'''


def bound(program: Program, workers: int) -> int:
    """No schedule ends before so many µs: work shared out, or the longest path."""
    path = sum(program.operations[k].cost for k in program.critical_path())
    return max(path, -(-program.work // max(workers, 1)))


def overlapping(line: Line) -> list[tuple[Operation, Operation]]:
    """The pairs of operations that ran at the same time somewhere in the line."""
    found = []
    bars = sorted(line.bars, key=lambda bar: bar.start)
    for k, one in enumerate(bars):
        for other in bars[k + 1 :]:
            if other.start >= one.end:
                break
            names = line.program.operations
            found.append((names[one.op], names[other.op]))
    return found
