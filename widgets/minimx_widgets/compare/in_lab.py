"""A knob of a lab tried in a replay: the last steps, and what they would be with it.

The lab's training goes on meanwhile, and none of its knobs is turned.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import ipywidgets

from minimx.core import engine
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.experiments import rerun
from minimx.experiments.groups import checked
from minimx_widgets.compare.turnable import proposed
from minimx_widgets.training.meter import Facts
from minimx_widgets.training.session import RUNNING
from minimx_widgets.views.ab_compare import ABCompare

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab

#: The drawer of a lab in which the comparison is shown.
REPLAY: Final = "A knob tried in a replay"
#: Steps that are recorded, and seconds that they may take.
STEPS: Final = 2
PATIENCE: Final = 30.0
_LOOK: Final = 0.05  # seconds between two looks at the training


class Replays:
    """The steps of a lab that were recorded last, and which knobs are tried on them."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._record: Record | None = None
        self._recording = Recording()
        self._recording.stop()  # until a knob is tried
        self._net: Any = None
        self._turned: dict[str, Any] = {}
        self._next: ABCompare | None = None  # for the drawer, which is about to open

    def stepped(self, step: int, facts: Facts) -> None:
        """A step of the training has ended; in its thread."""
        self._lab.turns.stepped(step, facts)
        self._recording.stepped()

    def propose(self, name: str, text: str = "") -> str:
        """Compare the newest steps with a replay of them in which a knob is turned.

        text: its value; empty, or the one in force, stands for another one. While the
        lab trains, two steps of it are recorded, whose replay becomes A; otherwise A is
        what it was. The comparison opens in its drawer. Returns what it did, in words.

        Raises `ArgumentError` for knobs that no replay can turn, and where nothing was
        recorded and nothing trains; `KnobError` for a value that the knob cannot take.
        """
        declared = knobs.declared[knobs.resolve(name)]
        now = declared.format(knobs.get(declared.name))
        value = proposed(declared.name, now, text)
        changes = checked({declared.name: value})
        lab = self._lab
        if lab.session.state == RUNNING:
            self._recording = recording = Recording()
            self._record = recording.wait(lambda: lab.session.state == RUNNING)
            self._turned = {}
            self._net = None if lab.fit is None else lab.fit.binding.blocks
        elif self._record is None:
            raise ArgumentError(
                f"{declared.name}: a replay needs {STEPS} steps of a training, and "
                "nothing trains. Press Train, and try the knob again while it runs."
            )
        self._next = self._made({**self._turned, **changes})
        self._turned |= changes
        lab.drawers.pull(None)
        lab.drawers.pull(REPLAY)
        return f"{declared.name}={value} tried on the last {STEPS} steps, below,"

    def panel(self) -> ReplayPanel:
        """The comparison, for its drawer. Raises `ArgumentError` before the first."""
        if self._record is None:
            raise ArgumentError(
                "While a network trains, hold Alt and click a knob, or press Alt+Enter "
                f"in its row: its last {STEPS} steps are compared here with a replay "
                "in which that knob is turned. The training goes on as it is."
            )
        made, self._next = self._next or self._made(self._turned), None
        return ReplayPanel(made)

    def _made(self, turned: dict[str, Any]) -> ABCompare:
        if self._record is None:
            raise ArgumentError("Replays: nothing was recorded yet.")
        # Both sides are replays: pools that hold idle blocks, as in a training, or a
        # busy machine, make no difference between them.
        same = rerun(self._record)
        return ABCompare(same, net=self._net, names=("last steps", ""), **turned)


class ReplayPanel(ipywidgets.VBox):  # type: ignore[misc]
    """A comparison as one widget."""

    def __init__(self, view: ABCompare) -> None:
        self.view: ABCompare | None = view
        super().__init__([view.box])

    def close(self) -> None:
        """Take the comparison away; the box calls it once more as it is deleted."""
        view, self.view = self.view, None
        if view is not None:
            view.close()
        super().close()


class Recording:
    """A record of a few whole steps of a training, made in its thread.

    It begins and ends with nothing under way, so that the first operations wait for
    none that is missing.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self.record = Record(calls=True)
        self._left = steps
        self._over = threading.Event()

    def stepped(self) -> None:
        """A step has ended."""
        if self._over.is_set():
            return
        if self.record.running:
            self._left -= 1
            if self._left:
                return
        engine.wait_all()
        if self._left:
            self.record.start()
        else:
            self.stop()

    def stop(self) -> None:
        """Record no more."""
        self._over.set()
        self.record.stop()

    def wait(self, alive: Callable[[], bool]) -> Record:
        """Wait for the steps; `alive` says whether the training still runs.

        Raises `ArgumentError` if they do not come within `PATIENCE` seconds.
        """
        end = time.monotonic() + PATIENCE
        while not self._over.wait(_LOOK):
            if time.monotonic() > end or not alive():
                self.stop()
                raise ArgumentError(
                    f"The training made no {STEPS} steps within {PATIENCE:.0f} s. Let "
                    "it run, and try the knob again."
                )
        return self.record
