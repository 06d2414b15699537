"""Notebook 00's exercises: context managers that turn settings of a board and back.

A board is a dictionary that counts how often it is written to. The last check is a
property test: random blocks inside random blocks, with errors raised in random places.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from minimx.core.errors import KnobError
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

# Values that are easy to lose: nothing, zero, the empty text.
SETTINGS = {"volume": 3, "bass": 0, "lamp": "off", "title": "", "source": None}

HINTS = (
    "Which of the four steps of <code>turned_one</code> has to come first when a name "
    "may be wrong? A check <i>before</i> the first write needs no repair afterwards.",
    "<code>{name: board[name] for name in changes}</code> remembers exactly what you "
    "will have to put back, also where the old value is <code>0</code> or "
    "<code>None</code>.",
    "A worked solution of a similar problem: take keys from a rack, all or none. "
    + code(
        """
        @contextmanager
        def taken(rack, *keys):
            missing = [key for key in keys if key not in rack]
            if missing:
                raise KeyError(f"not on the rack: {', '.join(missing)}")
            taken = {key: rack.pop(key) for key in keys}
            try:
                yield taken
            finally:
                rack.update(taken)
        """
    ),
)

Attempt = Callable[..., AbstractContextManager[Any]]
Problem = Iterator[Feedback]  # what is wrong, worst first; nothing if all is well


class Mishap(Exception):
    """What the checks raise inside a block; it has to come out again."""


class Board(dict[str, Any]):
    """Settings, and how many writes they have seen. What is written must exist."""

    def __init__(self) -> None:
        super().__init__(SETTINGS)
        self.writes = 0

    def __setitem__(self, name: str, value: Any) -> None:
        self.writes += 1
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self.writes += 1
        super().__delitem__(name)

    def update(self, *others: Any, **more: Any) -> None:
        """As of any dictionary; counts every entry."""
        for name, value in dict(*others, **more).items():
            self[name] = value

    def __ior__(self, other: Any) -> Board:  # type: ignore[override, misc]
        self.update(other)
        return self

    def pop(self, name: str, *default: Any) -> Any:
        """As of any dictionary; counts as a write."""
        self.writes += 1
        return super().pop(name, *default)

    def clear(self) -> None:
        """As of any dictionary; counts every entry."""
        self.writes += len(self)
        super().clear()


@check
def check_restores(attempt: Attempt) -> Feedback:
    """The faded exercise: `attempt(board, **changes)` turns settings and back."""
    return _verdict(
        [_turns, _restores, _restores_after_errors, _lets_errors_out],
        attempt,
        "it turns settings and puts them back, also after an error",
    )


@check
def check_turned(attempt: Attempt) -> Feedback:
    """The free exercise: also refuses unknown names, nests, and writes sparingly."""
    return _verdict(
        [
            _turns,
            _restores,
            _restores_after_errors,
            _lets_errors_out,
            _refuses,
            _nests,
            _spares,
        ],
        attempt,
        "300 random programs of nested blocks and errors left the board as it was, "
        "with two writes per setting",
    )


def _verdict(
    tests: list[Callable[[Attempt], Problem]], attempt: Attempt, praise: str
) -> Feedback:
    if not callable(attempt):
        return Feedback(
            False,
            f"{attempt!r} is not a function",
            "a function (board, **changes) that can be used after `with`",
        )
    made = attempt(Board(), volume=3)
    if not hasattr(made, "__enter__"):
        return Feedback(
            False,
            f"it returned {made!r}, which `with` cannot use",
            "a context manager",
            "`@contextmanager` above the function, and one `yield` inside",
        )
    for test in tests:
        for problem in test(attempt):
            return problem
    return Feedback(True, praise)


def _turns(attempt: Attempt) -> Problem:
    board = Board()
    with attempt(board, volume=9, lamp="on"):
        seen = board["volume"], board["lamp"]
    if seen != (9, "on"):
        yield Feedback(
            False,
            f"inside the block, volume and lamp were {seen[0]!r} and {seen[1]!r}",
            "9 and 'on'",
            "step 2, turn: every one of `changes` goes onto the board",
        )


def _restores(attempt: Attempt) -> Problem:
    board = Board()
    with attempt(board, volume=9, bass=5, title="Suite", source="radio"):
        pass
    if board != SETTINGS:
        yield Feedback(
            False,
            f"after the block {_difference(board, SETTINGS)}",
            "the board as it was before the block",
            "step 1, remember: also 0, '' and None are values to be put back",
        )


def _restores_after_errors(attempt: Attempt) -> Problem:
    board = Board()
    try:
        with attempt(board, volume=9, lamp="on"):
            raise Mishap
    except Mishap:
        pass
    if board != SETTINGS:
        yield Feedback(
            False,
            f"after a block that raised, {_difference(board, SETTINGS)}",
            "the board as it was before the block",
            "what runs after the `yield` if the block raises: only `finally`",
        )


def _lets_errors_out(attempt: Attempt) -> Problem:
    try:
        with attempt(Board(), volume=9):
            raise Mishap
    except Mishap:
        return
    yield Feedback(
        False,
        "an error that was raised inside the block never came out of it",
        "the same error, after the board was put back",
        "`except` without `raise`: the code around your block must get the error",
    )


def _refuses(attempt: Attempt) -> Problem:
    for changes in ({"volum": 9}, {"volume": 9, "volum": 9}):
        board = Board()
        try:
            with attempt(board, **changes):
                raise Mishap
        except Mishap:
            yield _accepted()
        except KnobError:
            pass
        except Exception as other:
            yield Feedback(
                False,
                f"`volum` was refused with {type(other).__name__}: {other}",
                "a KnobError that names the setting which does not exist",
                "an error is a short lesson: what was asked, what is true, what to try",
            )
        if board.writes:
            yield Feedback(
                False,
                f"{changes} was refused, but the board had been written to by then",
                "no write at all: either every change is made or none",
                "check all names first, then turn; a half-turned board is the worst",
            )


def _accepted() -> Feedback:
    return Feedback(
        False,
        "`volum` is no setting of the board, and the block was entered",
        "a KnobError before the block begins",
        "the case: an unknown name was set, and no error said so",
    )


def _nests(attempt: Attempt) -> Problem:
    chance = random.Random(0)
    for program in range(300):
        board = Board()
        try:
            _blocks(attempt, board, chance, depth=4)
        except Mishap:
            pass
        except _Wrong as wrong:
            yield Feedback(
                False,
                f"in random program {program}, after a nested block {wrong}",
                "each block puts back what was there when it began",
                "where `before` lives: blocks inside blocks need one each",
            )
        if board != SETTINGS:
            yield Feedback(
                False,
                f"after random program {program} {_difference(board, SETTINGS)}",
                "the board as it was at the beginning",
                "blocks inside blocks, left through an error",
            )


class _Wrong(Exception):
    """A block did not put the board back; says how."""


def _blocks(attempt: Attempt, board: Board, chance: random.Random, depth: int) -> None:
    """One or two blocks, with blocks inside, and now and then a mishap."""
    for _ in range(chance.randint(1, 2)):
        names = chance.sample(sorted(SETTINGS), chance.randint(1, 3))
        changes = {name: chance.choice([0, 1, None, "", "x"]) for name in names}
        before = dict(board)
        try:
            with attempt(board, **changes):
                if depth:
                    _blocks(attempt, board, chance, depth - 1)
                if chance.random() < 0.3:
                    raise Mishap
        except Mishap:
            if chance.random() < 0.5:
                raise
        finally:
            if board != before:
                raise _Wrong(_difference(board, before))


def _spares(attempt: Attempt) -> Problem:
    board = Board()
    with attempt(board, volume=9, lamp="on"):
        pass
    if board.writes > 4:
        yield Feedback(
            False,
            f"two settings were turned with {board.writes} writes to the board",
            "at most 4: one to turn each and one to put it back",
            "putting back the whole board: on a real one every write restarts a part",
        )


def _difference(board: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Where two boards differ first, in words."""
    for name in wanted:
        if name not in board:
            return f"{name} was gone"
        if board[name] != wanted[name]:
            return f"{name} was {board[name]!r}, not {wanted[name]!r}"
    return f"{', '.join(sorted(set(board) - set(wanted)))} had been added"
