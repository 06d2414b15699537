"""What a run of either program showed, and how it ended."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass, field

from minimx.core.record import Record
from minimx_widgets.code.errors import Place, raised


@dataclass
class RunOutcome:
    """What both programs have in common.

    losses: of the steps whose loss was read. error: what ended it, its notes included.
    raised: where in minimx that was raised. frames: the program's own lines on the way
    to it. ended: the step in which the program heard of it. layers: their names.
    record: of the run, or of its last step.
    """

    losses: dict[int, float] = field(default_factory=dict)
    error: str = ""
    raised: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    ended: int | None = None
    layers: tuple[str, ...] = ()
    record: Record | None = None

    @property
    def last_loss(self) -> float:
        """The mean of the last two losses that were read; NaN if there is none."""
        read = list(self.losses.values())[-2:]
        return sum(read) / len(read) if read else math.nan

    def end_with(self, error: Exception, step: int, file: str) -> None:
        """Note what ended the run in a step. file: that of the program."""
        self.error = f"{type(error).__name__}: {error}"
        self.raised = raised(error)
        self.notes = tuple(getattr(error, "__notes__", ()))
        self.frames = tuple(
            f"{frame.name}: {frame.line}"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == file
        )
        self.ended = step
