"""The training that a changed setting ended, kept until the next one is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets.lab.lab_settings import title_of
from minimx_widgets.training.session import Progress
from minimx_widgets.training.training import Fit, Settings

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab


@dataclass(frozen=True)
class Left:
    """A training that was left and can be gone on with."""

    settings: Settings
    fit: Fit
    record: Record
    progress: Progress

    @property
    def title(self) -> str:
        """What it trains and how far it is."""
        return f"{title_of(self.settings)}, step {self.progress.steps:,}"


class Undoing:
    """What the undo of a lab goes back to."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.left: Left | None = None

    def keep(self) -> None:
        """Interrupt the training that is under way, and keep it."""
        lab = self._lab
        lab.interrupt()
        if lab.goes_on and lab.fit is not None:
            self.forget()
            progress = lab.session.progress
            self.left = Left(replace(lab.settings), lab.fit, lab.record, progress)

    def forget(self) -> None:
        """Do without the training that was kept."""
        left, self.left = self.left, None
        if left is not None:
            left.record.stop()

    def back(self) -> Left:
        """The training that was kept; the one that is under way is kept instead.

        Raises `ArgumentError` if there is none.
        """
        left, self.left = self.left, None
        if left is None:
            raise ArgumentError(
                "Lab.undo: no setting has ended a training. Network, data, device, "
                "optimizer and seed do."
            )
        self.keep()
        lab = self._lab
        if not lab.goes_on and lab.fit is not None:
            lab.record.stop()
        return left
