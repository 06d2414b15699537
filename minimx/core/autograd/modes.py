"""What this thread's calls mean: recorded or not, training or predicting."""

from __future__ import annotations

import functools
import threading
from typing import Any

from minimx.core.events import attribute, attribution


class _State(threading.local):
    def __init__(self) -> None:
        self.recording = False
        self.training = False


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
    """A `with` scope (and decorator) that sets recording and training mode."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._saved: list[tuple[bool, bool, tuple[str, str, str]]] = []

    def __enter__(self) -> None:
        at = attribution
        before = (at.layer, at.phase, at.category)
        if self._recording:
            attribute(at.layer, "forward", "activation")
        self._saved.append((state.recording, state.training, before))
        if self._recording is not None:
            state.recording = self._recording
        if self._training is not None:
            state.training = self._training

    def __exit__(self, *_: object) -> None:
        state.recording, state.training, before = self._saved.pop()
        attribute(*before)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


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
