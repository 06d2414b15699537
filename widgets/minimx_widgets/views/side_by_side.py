"""`SideBySide`: a training under two settings, over each other on shared axes.

Four charts of the steps (peak of memory, time, loss, accuracy), the last steps of
either side from their beginning on (memory in use, and what ran on which worker), and a
figure for every difference. It fills while the sides train.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import traitlets

from minimx.core.record import Record
from minimx_widgets import esm
from minimx_widgets.base import PicturedWidget
from minimx_widgets.lab import turn_text
from minimx_widgets.lab.turn_text import Figure, Row
from minimx_widgets.packing import Array
from minimx_widgets.pictures import side_by_side_picture
from minimx_widgets.pictures.engine_layout import PUSHER, lay_out
from minimx_widgets.tables import Table
from minimx_widgets.training.comparing import Comparison, Outcome
from minimx_widgets.training.session import Session
from minimx_widgets.units import counted

INTERVAL = 1 / 5  # seconds between two pictures while it trains
#: So many points of a line of memory are kept.
POINTS = 1500
BEGINS = ("live", "alloc", "hit")
TEST = Figure("test", "test accuracy", lambda v: f"{100 * v:.1f} %", turn_text.MORE)


class SideBySide(PicturedWidget):
    """Two sides of a comparison, and the session that trains them.

        view = lab.compare(MXNET_EXEC_ENABLE_INPLACE=False)
        view.wait()
        view.table()

    Training starts with `train`; `stop` ends it, `wait` waits for it.
    """

    _esm = esm.module("side_by_side")

    #: Both sides with their lines, the figures, and how far it is.
    state = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(132).tag(sync=True)

    def __init__(self, comparison: Comparison, **settings: Any) -> None:
        self.comparison = comparison
        comparison.on_change(self._poke)
        self.session = Session(comparison.program, lambda _: self._poke(now=True))
        self._showing = threading.Lock()
        self._shown = 0.0
        self._steps: list[dict[str, Any]] = [{}, {}]
        super().__init__(**settings)
        self._show()
        self.on_msg(self._hear)

    # Training

    def train(self) -> None:
        """Train both sides in the background, the one after the other."""
        self.session.train()

    def stop(self, wait: bool = True) -> None:
        """End it after the step that is under way; what was measured stays."""
        self.session.stop(wait)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; returns whether it came within `timeout` seconds.

        Raises the error that ended it.
        """
        return self.session.wait(timeout)

    # Looking

    @property
    def rows(self) -> list[Row]:
        """Each figure of both sides and how it differs."""
        found = turn_text.rows(self.comparison.turn) or turn_text.blank()
        tests = [one.test for one in self.comparison.outcomes]
        if tests != [None, None]:
            found.append(turn_text.row(TEST, tests[0], tests[1], 0.0))
        return found

    @property
    def losses(self) -> str:
        """Whether both sides had the same losses, in words; "" before any is known."""
        step = self.comparison.first_difference
        if step is None:
            return ""
        if step:
            return f"losses differ from step {step} on"
        return "losses the same to the bit"

    @property
    def headline(self) -> str:
        """The difference that counts, and whether the losses are the same."""
        found = turn_text.main(self.comparison.turn)
        return " · ".join(filter(None, (found.text if found else "", self.losses)))

    def __repr__(self) -> str:
        a, b = self.comparison.outcomes
        done = [len(one.facts) for one in (a, b)]
        steps = counted(self.comparison.steps, "step")
        text = f"A: {a.side.text}, B: {b.side.text}, {steps} each"
        if not self.comparison.finished:
            text += f", so far {done[0]} and {done[1]}"
        failed = [f"{one.side.name} failed" for one in (a, b) if one.error]
        label = [self.losses] if self.losses else []
        return f"SideBySide({', '.join([text, *failed, *label])})"

    def table(self) -> Table:
        """Every figure: A, B, and the difference."""
        a, b = (one.side for one in self.comparison.outcomes)
        rows = [(r.label, r.before, r.after, r.change, r.source) for r in self.rows]
        caption = f"A: {a.text}. B: {b.text}. {self.headline}"
        return Table.of(("figure", "A", "B", "B against A", "how"), rows, caption)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of what is known now."""
        return side_by_side_picture.draw(
            self._state(), repr(self), height=self.height, dark=dark, width=width
        )

    def close(self) -> None:
        """Stop, and take the view away."""
        self.session.stop()
        super().close()

    # To and from the page

    def _poke(self, now: bool = False) -> None:
        if now or time.monotonic() - self._shown >= INTERVAL:
            self._show()

    def _show(self) -> None:
        with self._showing:
            self._shown = time.monotonic()
            self.state = self._state()

    def _state(self) -> dict[str, Any]:
        comparison, progress = self.comparison, self.session.progress
        return {
            "steps": comparison.steps,
            "sides": [_lines(one) for one in comparison.outcomes],
            "rows": [row.as_message() for row in self.rows],
            "headline": self.headline,
            "state": self.session.state,
            "progress": [progress.done, progress.total or 1, progress.text],
            "notes": self._notes(),
            "last": [self._last_steps(i) for i in (0, 1)],
        }

    def _notes(self) -> list[str]:
        comparison, error = self.comparison, self.session.error
        notes = [
            f"{one.side.name} ended at step {len(one.facts)}: {one.error}"
            for one in comparison.outcomes
            if one.error
        ]
        if error is not None:
            notes.append(f"{type(error).__name__}: {error}")
        if comparison.disturbed:
            names = ", ".join(dict.fromkeys(comparison.disturbed))
            notes.append(
                f"Turned from outside meanwhile: {names}. The sides may differ in "
                "more than what was asked; compare again."
            )
        return notes

    def _last_steps(self, number: int) -> dict[str, Any]:
        """The last steps of a side once they are known, and then for good."""
        outcome = self.comparison.outcomes[number]
        if not self._steps[number] and outcome.test is not None:
            self._steps[number] = last_steps(
                outcome.kept, outcome.side.settings.device, outcome.base.peak or 0.0
            )
        return self._steps[number]

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        if message.get("kind") == "table":
            self.send({"kind": "table", "html": self.table().html()})
        elif message.get("kind") == "stop":
            self.stop(wait=False)


def _lines(outcome: Outcome) -> dict[str, Any]:
    """The lines of a side: a value for each step; null where it is not known."""

    def line(figure: str) -> list[float | None]:
        return [getattr(facts, figure) for facts in outcome.facts]

    return {
        "name": outcome.side.name,
        "words": outcome.side.text,
        "peak": line("peak"),
        "planned": line("planned"),
        "ms": line("ms"),
        "loss": _plain(outcome.losses),
        "accuracy": _plain(outcome.accuracies),
        "test": outcome.test,
    }


def _plain(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def last_steps(record: Record, device: str, base: float) -> dict[str, Any]:
    """What ran and how much memory was in use, in nanoseconds from the first push.

    base: bytes that do not belong to the side. Returns "took", "times" and "bytes" of
    the line of memory, "lanes", and "boxes" as [lane, start, end, phase, what].
    """
    layout = lay_out(record, by="name")
    zero = layout.start
    times, used = _in_use(record, device)
    strings = record.strings
    lanes = [lane for lane in layout.lanes if lane != PUSHER]
    shift = len(layout.lanes) - len(lanes)
    return {
        "took": layout.end - zero,
        "times": (times - zero).tolist(),
        "bytes": (used - base).tolist(),
        "lanes": lanes,
        "boxes": [
            [box.lane - shift, box.start - zero, box.end - zero, box.phase,
             strings[box.text] if box.count == 1 else f"{box.count} operations"]
            for box in layout.boxes
        ],
    }  # fmt: skip


def _in_use(record: Record, device: str) -> tuple[Array, Array]:
    """Bytes in use on a device after each change, and when that was."""
    mem, strings, start = record.mem(), record.strings, record.conditions.t_start
    living: dict[int, int] = {}
    times, used, live = [0.0], [0.0], 0
    for row in mem:
        event, block = strings[row["event"]], int(row["block"])
        if strings[row["device"]] != device:
            continue
        if event in BEGINS and block not in living:
            living[block] = int(row["requested"])
            live += living[block]
        elif event == "free":
            live -= living.pop(block, 0)
        if event == "live":
            used[0] = float(live)
        else:
            times.append(float(row["t"] - start))
            used.append(float(live))
    keep = np.unique(np.linspace(0, len(times) - 1, POINTS).round().astype(int))
    if len(times) <= POINTS:
        keep = np.arange(len(times))
    return np.array(times)[keep], np.array(used)[keep]
