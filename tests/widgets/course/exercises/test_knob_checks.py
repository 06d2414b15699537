"""The exercises of notebook 00: right answers pass, typical wrong ones are told why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from minimx.core.errors import KnobError
from minimx_widgets.course.exercises.knob_checks import (
    SETTINGS,
    Board,
    check_restores,
    check_turned,
)

Turning = Iterator[Any]


# Right


@contextmanager
def model(board: Any, **changes: Any) -> Turning:
    unknown = [name for name in changes if name not in board]
    if unknown:
        raise KnobError(f"no such setting: {', '.join(unknown)}")
    before = {name: board[name] for name in changes}
    board.update(changes)
    try:
        yield board
    finally:
        board.update(before)


class ByClass:
    """The same as a class with __enter__ and __exit__."""

    def __init__(self, board: Any, **changes: Any) -> None:
        self.board, self.changes = board, changes

    def __enter__(self) -> Any:
        for name in self.changes:
            if name not in self.board:
                raise KnobError(f"no such setting: {name}")
        self.before = {name: self.board[name] for name in self.changes}
        self.board |= self.changes
        return self.board

    def __exit__(self, *error: object) -> None:
        for name, value in self.before.items():
            self.board[name] = value


@pytest.mark.parametrize("attempt", [model, ByClass])
def test_right_answers_pass(attempt: Any) -> None:
    for check in (check_restores, check_turned):
        feedback = check(attempt)
        assert feedback.passed, feedback


# Wrong


@contextmanager
def blank(board: Any, **changes: Any) -> Turning:
    before = ...  # noqa: F841
    board.update(changes)
    try:
        yield board
    finally:
        ...  # noqa: PIE790


@contextmanager
def without_finally(board: Any, **changes: Any) -> Turning:
    before = {name: board[name] for name in changes}
    board.update(changes)
    yield board
    board.update(before)


@contextmanager
def swallowing(board: Any, **changes: Any) -> Turning:
    before = {name: board[name] for name in changes}
    board.update(changes)
    with suppress(Exception):
        yield board
    board.update(before)


@contextmanager
def losing_nothings(board: Any, **changes: Any) -> Turning:
    before = {name: board[name] for name in changes if board[name]}
    board.update(changes)
    try:
        yield board
    finally:
        board.update(before)


@contextmanager
def forgetting_to_turn(board: Any, **changes: Any) -> Turning:
    yield board


def decorator_forgotten(board: Any, **changes: Any) -> Turning:
    yield board


@pytest.mark.parametrize(
    ("attempt", "seen", "idea"),
    [
        (blank, "after the block volume was 9", "step 1"),
        (without_finally, "after a block that raised", "finally"),
        (swallowing, "never came out", "`except` without `raise`"),
        (losing_nothings, "after the block bass was 5, not 0", "0, '' and None"),
        (forgetting_to_turn, "inside the block", "step 2"),
        (decorator_forgotten, "which `with` cannot use", "@contextmanager"),
        (lambda board, **changes: None, "it returned None", "@contextmanager"),
        (7, "7 is not a function", ""),
    ],
)
def test_wrong_answers_to_both_exercises(attempt: Any, seen: str, idea: str) -> None:
    for check in (check_restores, check_turned):
        feedback = check(attempt)
        assert not feedback.passed
        assert seen in feedback.seen
        assert idea in feedback.idea


@contextmanager
def accepting_anything(board: Any, **changes: Any) -> Turning:
    before = {name: board[name] for name in changes if name in board}
    for name in before:
        board[name] = changes[name]
    try:
        yield board
    finally:
        board.update(before)


@contextmanager
def refusing_halfway(board: Any, **changes: Any) -> Turning:
    before = {}
    try:
        for name, value in changes.items():
            if name not in board:
                raise KnobError(name)
            before[name] = board[name]
            board[name] = value
        yield board
    finally:
        board.update(before)


@contextmanager
def refusing_in_other_words(board: Any, **changes: Any) -> Turning:
    before = {name: board[name] for name in changes}  # KeyError
    board.update(changes)
    try:
        yield board
    finally:
        board.update(before)


@contextmanager
def writing_the_whole_board(board: Any, **changes: Any) -> Turning:
    if set(changes) - set(board):
        raise KnobError("unknown")
    before = dict(board)
    board.update(changes)
    try:
        yield board
    finally:
        board.clear()
        board.update(before)


REMEMBERED: dict[str, Any] = {}


@contextmanager
def sharing_its_memory(board: Any, **changes: Any) -> Turning:
    if set(changes) - set(board):
        raise KnobError("unknown")
    for name in changes:
        REMEMBERED[name] = board[name]
    board.update(changes)
    try:
        yield board
    finally:
        board.update({name: REMEMBERED[name] for name in changes})


@pytest.mark.parametrize(
    ("attempt", "seen", "idea"),
    [
        (accepting_anything, "`volum` is no setting", "no error said so"),
        (refusing_halfway, "had been written to by then", "check all names first"),
        (refusing_in_other_words, "refused with KeyError", "short lesson"),
        (writing_the_whole_board, "with 12 writes", "whole board"),
        (sharing_its_memory, "in random program", "blocks inside blocks"),
    ],
)
def test_wrong_answers_to_the_free_exercise(attempt: Any, seen: str, idea: str) -> None:
    assert check_restores(attempt).passed, "it is right for the faded exercise"
    feedback = check_turned(attempt)
    assert not feedback.passed
    assert seen in feedback.seen
    assert idea in feedback.idea


def test_nothing_to_check_is_said() -> None:
    assert check_turned(...).seen == "nothing to check yet"


def test_a_board_counts_every_write() -> None:
    board = Board()
    board["volume"] = 1
    board.update(bass=2, lamp="on")
    board |= {"title": "x"}
    assert board.writes == 4
    del board["title"]
    assert board.pop("lamp") == "on"
    assert board.writes == 6
    board.clear()
    assert board.writes == 6 + len(SETTINGS) - 2
