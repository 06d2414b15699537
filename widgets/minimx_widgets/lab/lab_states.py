"""What a lab says of itself: the words of its state, and what the page may do in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minimx_widgets.lab.lab_settings import title_of
from minimx_widgets.training.precision import SINGLE
from minimx_widgets.training.session import (
    DONE,
    FAILED,
    PAUSED,
    READY,
    RUNNING,
    STOPPED,
    Progress,
)
from minimx_widgets.training.training import Settings


@dataclass(frozen=True)
class Standing:
    """Where a lab stands.

    state: of its session. goes_on: a training waits to be gone on with, whatever the
    session says. taken_by: the lab that it made way for. other: the lab that would make
    way for this one. undo: the training that can be brought back. left: what an earlier
    kernel has left. busy: what is to be
    to be shown about the machine. complaint: about the kernel.
    """

    state: str
    progress: Progress
    error: BaseException | None = None
    result: str = ""
    epochs: int = 0
    goes_on: bool = False
    taken_by: str = ""
    other: str = ""
    undo: str = ""
    left: str = ""
    busy: str = ""
    complaint: str = ""

    @property
    def shown(self) -> str:
        """The state for the page: what can be gone on with is paused."""
        return PAUSED if self.goes_on and self.state in (READY, STOPPED) else self.state

    @property
    def text(self) -> str:
        """The state in a line."""
        text = self.progress.text
        if self.shown == RUNNING:
            return " · ".join(filter(None, (text, self.progress.pace))) or (
                "Preparing data and network…"
            )
        if self.shown == PAUSED and self.taken_by:
            return f"Paused, as {self.taken_by} took over: Go on takes over · {text}"
        ready = "Ready. Press Train."
        if self.other:
            ready = f"Ready. Train takes over from {self.other}, which is paused then."
        return {
            READY: ready,
            PAUSED: f"Paused · {text}",
            DONE: f"Done · {self.result}",
            STOPPED: f"Stopped · {text}",
            FAILED: "Failed: see below.",
        }[self.shown]

    @property
    def loses(self) -> str:
        """What is under way, and would end if a setting began afresh."""
        if self.shown not in (RUNNING, PAUSED):
            return ""
        progress = self.progress
        return f"step {progress.steps:,} of epoch {progress.epoch}"

    def as_message(self) -> dict[str, Any]:
        """The standing as the browser wants it."""
        progress, error = self.progress, self.error
        message = "" if error is None else f"{type(error).__name__}: {error}"
        return {
            "state": self.shown,
            "done": progress.done,
            "total": progress.total,
            "words": self.text,
            "epoch": progress.epoch,
            "epochs": progress.epochs or self.epochs,
            "step": progress.steps,
            "error": message or self.complaint,
            "message": message,
            "loses": self.loses,
            "undo": self.undo,
            "left": self.left,
            "busy": self.busy if self.shown == RUNNING else "",
        }


def described(
    settings: Settings, shown: str, epoch: int | None, test: float | None
) -> str:
    """What `repr` says of a lab.

    shown: its state. epoch: None before the first training. test: the newest share of
    the test set that was recognised, None before there is one.
    """
    device = settings.device
    if settings.dtype != SINGLE:
        device += f" {settings.dtype}"
    parts = [f"{title_of(settings)}, {device}, {shown}"]
    if epoch is not None:
        of = f"/{settings.epochs}" if settings.epochs else ""
        parts.append(f"epoch {epoch}{of}")
    if test is not None:
        parts.append(f"test={100 * test:.2f}%")
    return f"Lab({', '.join(parts)})"
