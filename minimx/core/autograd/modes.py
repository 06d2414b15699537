"""What this thread's calls mean: recorded or not, training or predicting."""

from __future__ import annotations

import functools
import threading
from collections.abc import Generator
from typing import Any

from minimx.core.events import attribute, attribution
from minimx.core.knobs import ipython


class _Before:
    """What held before a scope: the modes, and whose work it was that records noted."""

    __slots__ = ("modes", "work")

    def __init__(self) -> None:
        at = attribution
        self.modes = state.recording, state.training
        self.work = at.layer, at.phase, at.category, at.owners


class _State(threading.local):
    """The modes of a thread, and what they were before each open scope."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False
        self.scopes: list[_Before] = []  # outermost first


state = _State()


def is_recording() -> bool:
    """Whether calls of this thread are being recorded."""
    return state.recording


def is_training() -> bool:
    """Whether dropout drops and batch normalisation uses its batch."""
    return state.training


def set_recording(is_recording: bool) -> bool:
    """Turn recording on or off; returns what it was."""
    old, state.recording = state.recording, bool(is_recording)
    return old


def set_training(train_mode: bool) -> bool:
    """Turn training mode on or off; returns what it was."""
    old, state.training = state.training, bool(train_mode)
    return old


class _Mode:
    """A `with` scope (and decorator) that sets recording and training mode.

    Ctrl-C may interrupt a scope anywhere, also as `__exit__` begins, before it has done
    anything. Then the generator that holds what was before is dropped together with the
    exception; Python closes what it drops, and so the modes come back.
    """

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._open: list[Generator[None]] = []

    def __enter__(self) -> None:
        scope = _scope(self._recording, self._training)
        self._open.append(scope)
        next(scope)

    def __exit__(self, *_: object) -> None:
        self._open.pop().close()

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with _Mode(self._recording, self._training):
                return function(*args, **kwargs)

        return inside


def _scope(recording: bool | None, training: bool | None) -> Generator[None]:
    """Set modes until it is closed; None leaves a mode as it is."""
    at, scopes = attribution, state.scopes
    before, depth = _Before(), len(scopes)
    try:
        scopes.append(before)
        if recording:
            attribute(at.layer, "forward", "activation")
        if recording is not None:
            state.recording = recording
        if training is not None:
            state.training = training
        yield
    finally:
        # Nothing is called here, since Python looks for Ctrl-C after calls. If an outer
        # scope has ended first, it has brought back what was before this one.
        if scopes[depth : depth + 1] == [before]:
            state.recording, state.training = before.modes
            at.layer, at.phase, at.category, at.owners = before.work
            del scopes[depth:]


def close_scopes() -> None:
    """Close what an interrupted cell left open: no scope reaches into the next cell.

    Modes that were set by `set_recording` and `set_training` stay.
    """
    if state.scopes:
        before = state.scopes[0]
        state.recording, state.training = before.modes
        at = attribution
        at.layer, at.phase, at.category, at.owners = before.work
        state.scopes.clear()


ipython.actions.append(close_scopes)


def record(train_mode: bool = True) -> _Mode:
    """Record what is computed inside the `with` block, in training mode by default."""
    return _Mode(True, train_mode)


def pause(train_mode: bool = False) -> _Mode:
    """Do not record what is computed inside the `with` block."""
    return _Mode(False, train_mode)


def train_mode() -> _Mode:
    """Training behaviour inside the `with` block, recording as it was."""
    return _Mode(None, True)


def predict_mode() -> _Mode:
    """Prediction behaviour inside the `with` block, recording as it was."""
    return _Mode(None, False)
