"""How training goes: loss, accuracy, throughput, and where the workers' time went."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from minimx.core.events import PHASES
from minimx.core.record import Record
from minimx_widgets import esm
from minimx_widgets.base import View
from minimx_widgets.packing import Array, Coder, Columns
from minimx_widgets.pictures.training_series import (
    BATCH,
    BATCHES,
    KEPT,
    LOSS,
    SPEED,
    STEADY,
    TEST,
    TRAIN,
    Line,
    kept,
    line_of,
    running_mean,
    running_median,
)
from minimx_widgets.run import News
from minimx_widgets.tables import Table
from minimx_widgets.units import human_count, human_loss

__all__ = ["BATCH", "LOSS", "SPEED", "TEST", "TRAIN", "TrainingMonitor"]
RECENT = 1_000_000_000  # nanoseconds over which the split by phase is taken


class TrainingMonitor(View):
    """Loss, accuracy and throughput of a run, over the shadow of the run before.

    axis: "steps" or "time". loss_scale: "linear" or "log". accuracy_scale: "linear", or
    "nines", on which 98, 99 and 99.9 % lie well apart.
    """

    _esm = esm.module("training_monitor")
    rate = 5.0

    axis = traitlets.Enum(("steps", "time"), "steps").tag(sync=True, kept=True)
    loss_scale = traitlets.Enum(("linear", "log"), "linear").tag(sync=True, kept=True)
    accuracy_scale = traitlets.Enum(("linear", "nines"), "nines").tag(
        sync=True, kept=True
    )
    height = traitlets.Int(150).tag(sync=True)

    def __init__(self, record: Any = None, **settings: Any) -> None:
        self._phases = Coder(PHASES)
        # (when, busy nanoseconds by phase) of the last second.
        self._recent: deque[tuple[int, Array]] = deque()
        #: The lines of the run before, by name of the metric.
        self.shadow: dict[str, Line] = {}
        super().__init__(record, **settings)

    def series(self, name: str) -> tuple[Array, Array]:
        """Axis values and values of a metric, in the order in which it was observed."""
        line = line_of(self.record, name)
        return line.at(self.axis), line.values

    def leave(self, record: Record) -> None:
        """Keep the lines of a run that ends: the next one is drawn over them."""
        self.shadow = kept(record) or self.shadow

    @property
    def speed(self) -> float | None:
        """Samples per second: the median of the last few values."""
        _, values = self.series(SPEED)
        return float(running_median(values[-STEADY:])[-1]) if len(values) else None

    @property
    def train_accuracy(self) -> float | None:
        """On the last batches; on the epoch so far where batches were not noted."""
        _, values = self.series(BATCH)
        if not len(values):
            return self.last(TRAIN)
        return float(running_mean(values[-BATCHES:])[-1])

    def last(self, name: str) -> float | None:
        """The newest value of a metric, if there is one."""
        _, values = self.series(name)
        return float(values[-1]) if len(values) else None

    def __repr__(self) -> str:
        steps, _ = self.series(LOSS)
        parts = [f"{len(steps)} steps"]
        loss, test, train = (self.last(name) for name in (LOSS, TEST, TRAIN))
        if loss is not None:
            parts.append(f"loss={human_loss(loss)}")
        if train is not None:
            parts.append(f"train={100 * train:.1f}%")
        if test is not None:
            parts.append(f"test={100 * test:.2f}%")
        return f"TrainingMonitor({', '.join(parts)})"

    def columns(self, news: News) -> Columns:
        """Metrics, times relative to the record's start."""
        if news.full:
            self._phases, self._recent = Coder(PHASES), deque()
        self._count_phases(news)
        rows = news.batch["metrics"]
        start = self.record.conditions.t_start
        tables: dict[str, dict[str, Array]] = {
            "metrics": {
                "t": (rows["t"] - start).astype("f8"),
                "step": rows["step"].astype("f8"),
                "name": rows["name"].astype("u4"),
                "value": rows["value"].astype("f8"),
            }
        }
        if news.full and self.shadow:
            tables["shadow"] = self._shadow_columns()
        return tables

    def _shadow_columns(self) -> dict[str, Array]:
        """The lines of the run before, one after the other; names by place in KEPT."""
        lines = [(KEPT.index(name), line) for name, line in self.shadow.items()]
        names = [np.full(len(line.values), place) for place, line in lines]
        return {
            "t": np.concatenate([line.times for _, line in lines]),
            "step": np.concatenate([line.steps for _, line in lines]),
            "name": np.concatenate(names).astype("u1"),
            "value": np.concatenate([line.values for _, line in lines]).astype("f8"),
        }

    def extras(self, news: Sequence[News]) -> dict[str, Any]:
        """The session's state, and busy time by phase over the last second."""
        total = sum((busy for _, busy in self._recent), np.zeros(len(PHASES)))
        return {"status": dict(self.run.status), "phases": total.tolist()}

    def table(self) -> Table:
        """One row per epoch: what was observed last in it."""
        metrics, strings = self.record.metrics(), self.record.strings
        names = [LOSS, TRAIN, TEST, SPEED]
        found: dict[int, dict[str, float]] = {}
        epoch = 1
        for row in metrics:
            name = strings[row["name"]]
            if name == "epoch":
                epoch = int(row["value"])
            elif name in names:
                found.setdefault(epoch, {})[name] = float(row["value"])
        rows = [
            (
                str(number),
                _maybe(values.get(LOSS), human_loss),
                _maybe(values.get(TRAIN), lambda v: f"{100 * v:.2f} %"),
                _maybe(values.get(TEST), lambda v: f"{100 * v:.2f} %"),
                _maybe(values.get(SPEED), human_count),
            )
            for number, values in sorted(found.items())
        ]
        heads = ("epoch", LOSS, TRAIN, TEST, SPEED)
        return Table.of(heads, rows, "At the end of each epoch")

    def phases(self) -> dict[str, float]:
        """The share of all busy time that each phase took, 0 to 1."""
        ops = self.record.ops()
        codes = Coder(PHASES).codes(self.record.strings, ops["phase"])
        busy = _busy(ops, codes)
        total = float(busy.sum()) or 1.0
        return {name: float(busy[i]) / total for i, name in enumerate(PHASES)}

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: three charts and the split by phase."""
        from minimx_widgets.pictures.training_picture import draw

        return draw(self, dark=dark, width=width)

    def _count_phases(self, news: News) -> None:
        """Add the busy time of new operations, forget what is older than a second."""
        ops = news.batch["ops"]
        if not len(ops):
            return
        busy = _busy(ops, self._phases.codes(news.strings, ops["phase"]))
        newest = int(ops["t_end"].max())
        if news.full:
            recent = ops["t_end"] > newest - RECENT
            busy = _busy(
                ops[recent], self._phases.codes(news.strings, ops["phase"][recent])
            )
        self._recent.append((newest, busy))
        while self._recent and self._recent[0][0] < newest - RECENT:
            self._recent.popleft()


def _busy(ops: Array, codes: Array) -> Array:
    took = (ops["t_end"] - ops["t_start"]).astype(float)
    return np.bincount(codes, weights=took, minlength=len(PHASES))


def _maybe(value: float | None, text: Any) -> str:
    return "" if value is None else str(text(value))
