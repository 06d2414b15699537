"""Levels of "be the scheduler": programs that the engine ends later than it could.

The engine starts what is ready as soon as a worker is free. In each of these programs
another order is better, or a worker that waits for what comes.
"""

from __future__ import annotations

from dataclasses import dataclass

from minimx_widgets.scheduler.program import Program, op


@dataclass(frozen=True)
class Level:
    """A program, the workers for it, and the µs of a push."""

    program: Program
    workers: int
    push: int
    lesson: str


TAILS = "first what has the longest way behind it: its own µs and all that waits for it"

LEVELS = (
    Level(
        Program.of(
            op("b", writes="b", cost=2), op("c", writes="c", cost=2),
            op("d", writes="d", cost=2), op("a1", writes="a", cost=2),
            op("a2", reads="a", writes="a2", cost=2),
            op("a3", reads="a2", writes="a3", cost=2),
            name="level 1",
        ),
        2, 0, "the longest chain goes first",
    ),
    Level(
        Program.of(
            op("short1", writes="p", cost=4), op("short2", writes="q", cost=4),
            op("long", writes="r", cost=8), name="level 2",
        ),
        2, 1, "a worker that waits a moment can start what is longer",
    ),
    Level(
        Program.of(
            op("load", writes="x", cost=1), op("s", writes="s", cost=5),
            op("u", writes="u", cost=3), op("v", reads="x", writes="v", cost=4),
            op("w", reads="v", writes="w", cost=4),
            op("join", reads="w u", writes="j", cost=1), name="level 3",
        ),
        2, 0, "what frees others is urgent, however short it is",
    ),
    Level(Program.generated(107, 8, 6), 2, 0, TAILS),
    Level(Program.generated(19, 9, 8), 3, 0, TAILS),
    Level(Program.generated(108, 10, 8), 2, 0, TAILS),
)  # fmt: skip
