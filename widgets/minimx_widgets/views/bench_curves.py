"""`BenchCurves`: images per second over the batch size, beside MXNet's document.

One network at a time: the measured points with the law t(b) = t0 + b · t1 that fits
them, the document's machines as pale lines, and a cross where a device was too small.
"""

from __future__ import annotations

import math
import os
from typing import Any

import traitlets

from minimx.commands.bench import table as text
from minimx.commands.bench.document import Column, columns
from minimx.commands.bench.fit import ENOUGH
from minimx.commands.bench.machine import machine_text
from minimx.commands.bench.result import Cell, Result, load
from minimx.core.errors import ArgumentError, did_you_mean
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import PicturedWidget
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import human_bytes

LEFT, RIGHT, TOP, BOTTOM = 62.0, 110.0, 52.0, 62.0
#: A law is drawn so far beyond the last measured batch.
BEYOND = 4
Box = tuple[float, float, float, float]


class BenchCurves(PicturedWidget):
    """A result of `minimx bench`, or the file it was written to, as curves.

        BenchCurves("mine.json", model="resnet50_v2")

    model: the network that is shown first. machines: of the document, all by default.
    """

    _esm = esm.module("bench_curves")

    #: The networks with their points, laws and columns of the document.
    state = traitlets.Dict().tag(sync=True)
    #: The network that is shown.
    model = traitlets.Unicode().tag(sync=True, kept=True)
    height = traitlets.Int(320).tag(sync=True)

    def __init__(
        self,
        result: Result | str | os.PathLike[str],
        *,
        model: str = "",
        machines: tuple[str, ...] | None = None,
        **settings: Any,
    ) -> None:
        self.result = result if isinstance(result, Result) else load(result)
        if not self.result.cells:
            raise ArgumentError("BenchCurves: the result has no cells to draw.")
        self._machines = machines
        super().__init__(
            state=self._state(), model=model or self.result.models[0], **settings
        )
        self.on_msg(self._hear)

    @traitlets.validate("model")
    def _known(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name not in self.result.models:
            near = did_you_mean(name, self.result.models)
            raise ArgumentError(
                f"BenchCurves: {name!r} was not measured; there are "
                f"{', '.join(self.result.models)}.{near}"
            )
        return name

    def _usual(self) -> dict[str, Any]:
        return {"model": self.result.models[0]}

    def document(self, model: str) -> list[Column]:
        """The document's columns that are drawn beside a network."""
        return [
            column
            for column in columns(self.result.settings["task"], model)
            if self._machines is None or column.label in self._machines
        ]

    def cells(self, model: str) -> list[Cell]:
        """The measured cells of a network, by batch size."""
        mine = [cell for cell in self.result.cells if cell.model == model]
        return sorted(mine, key=lambda cell: cell.batch)

    # -- to and from the browser ------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "task": self.result.settings["task"],
            "machine": machine_text(self.result.machine),
            "models": [self._network(model) for model in self.result.models],
        }

    def _network(self, model: str) -> dict[str, Any]:
        law = self.result.law(model)
        return {
            "model": model,
            "name": text.name(model),
            "cells": [
                [c.batch, c.images_per_second, c.status, c.peak_bytes, c.note]
                for c in self.cells(model)
            ],
            "law": [law.t0, law.t1, law.enough, law.worst] if law else None,
            "document": [
                [column.label, column.line, sorted(column.speeds.items())]
                for column in self.document(model)
            ],
        }

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        if message.get("kind") == "table":
            self.send({"kind": "table", "html": self.table().html()})
        elif message.get("kind") == "show":
            self.model = str(message["model"])

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        speeds = self.result.speeds(self.model)
        law = self.result.law(self.model)
        full = sum(cell.status == "oom" for cell in self.cells(self.model))
        caption = [f"{text.name(self.model)}, {self.result.settings['task']}"]
        if speeds:
            sizes = "batch size" if len(speeds) == 1 else "batch sizes"
            caption.append(f"{len(speeds)} {sizes} up to {max(speeds)}")
            caption.append(f"{text.number(max(speeds.values()))} images/s at most")
        if law is not None:
            caption.append(f"{ENOUGH:.0%} of the peak from batch {law.enough}")
        if full:
            caption.append(f"{full} OOM")
        return f"BenchCurves({', '.join(caption)})"

    def table(self) -> Tables:
        """What was measured, and each network beside the document."""
        heads = ("network", "batch", "images/s", "memory", "note")
        rows = [
            (
                text.name(cell.model),
                str(cell.batch),
                text.speed_text(cell),
                "" if cell.peak_bytes is None else human_bytes(cell.peak_bytes),
                cell.note,
            )
            for model in self.result.models
            for cell in self.cells(model)
        ]
        parts = [Table.of(heads, rows, machine_text(self.result.machine))]
        for model in self.result.models:
            theirs = self.document(model)
            if theirs:
                head, *lines = text.beside_rows(self.result, model, theirs)
                parts.append(Table.of(head, lines, f"{text.name(model)}, images/s"))
        return Tables(tuple(parts))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the network that is shown."""
        muted = palette.surface("muted", dark=dark)
        high = float(self.height)
        scale = Scale.of(self, (LEFT, width - RIGHT, TOP, high - BOTTOM))
        law = self.result.law(self.model)
        caption = str(law) if law else machine_text(self.result.machine)
        title = f"{text.name(self.model)}: images/s"
        parts = svg.heading(title, "", width, dark=dark)
        parts.append(svg.text(14, 38, caption, muted, space=width - 28))
        parts += scale.axes(dark=dark)
        parts += self._document(scale, dark=dark)
        parts += self._measured(scale, dark=dark)
        accent = palette.surface("accent", dark=dark)
        names = [("measured", accent), ("MXNet's document", muted)]
        names += [("✕ out of memory", palette.surface("alert", dark=dark))]
        legend, low = svg.legend(LEFT, high - 12, names, width - RIGHT, dark=dark)
        parts += legend
        return svg.picture(width, high + low, parts, title=repr(self), dark=dark)

    def _document(self, scale: Scale, *, dark: bool) -> list[str]:
        muted, paper = (palette.surface(n, dark=dark) for n in ("muted", "paper"))
        parts, labelled = [], []
        for column in self.document(self.model):
            known = [(b, s) for b, s in sorted(column.speeds.items()) if s]
            parts.append(
                svg.line([scale.at(*point) for point in known], muted, opacity=0.45)
            )
            for batch, speed in column.speeds.items():
                if speed is None:
                    x, y = scale.at(batch, known[-1][1])
                    parts += _cross(x, y, muted)
            x, y = scale.at(*known[-1])
            labelled.append((y, x, column.label))
        lowest: dict[float, float] = {}  # of the labels at one end
        for y, x, label in sorted(labelled, reverse=True):
            lowest[x] = min(y + 3.5, lowest.get(x, math.inf) - 11)
            wide = svg.width_of(label, 10)
            parts.append(svg.rect(x + 6, lowest[x] - 9, wide + 4, 11, paper))
            parts.append(svg.text(x + 8, lowest[x], label, muted, size=10))
        return parts

    def _measured(self, scale: Scale, *, dark: bool) -> list[str]:
        accent, alert = (palette.surface(n, dark=dark) for n in ("accent", "alert"))
        parts = []
        law, speeds = self.result.law(self.model), self.result.speeds(self.model)
        if law is not None:
            ends = math.log2(min(speeds)), math.log2(max(speeds) * BEYOND)
            steps = [2 ** (ends[0] + (ends[1] - ends[0]) * k / 60) for k in range(61)]
            curve = [(b, law.speed(b)) for b in steps if b <= scale.widest]
            places = [scale.at(*point) for point in curve]
            parts.append(svg.line(places, accent, width=1.6, dash="5 3"))
        for cell in self.cells(self.model):
            title = f"batch {cell.batch}: {text.speed_text(cell)}"
            if cell.images_per_second is not None:
                x, y = scale.at(cell.batch, cell.images_per_second)
                parts.append(svg.dot(x, y, accent, f"{title} images/s"))
            elif cell.status == "oom":
                x, _ = scale.at(cell.batch, scale.lowest)
                parts += _cross(x, scale.box[3] - 10, alert, "OOM")
        return parts


class Scale:
    """Both axes count by factors: batch size across, images per second up."""

    def __init__(self, batches: list[int], speeds: list[float], box: Box) -> None:
        self.box = box
        self.batches = sorted(set(batches))
        self.widest = max(self.batches)
        self.lowest = 10 ** math.floor(math.log10(min(speeds, default=1.0)))
        self.highest = 10 ** math.ceil(math.log10(max(speeds, default=10.0) * 1.01))

    @classmethod
    def of(cls, view: BenchCurves, box: Box) -> Scale:
        """Wide enough for all that a view draws."""
        speeds = list(view.result.speeds(view.model).values())
        batches = [cell.batch for cell in view.cells(view.model)]
        for column in view.document(view.model):
            speeds += [speed for speed in column.speeds.values() if speed]
            batches += column.speeds
        return cls(batches, speeds, box)

    def at(self, batch: float, speed: float) -> tuple[float, float]:
        """The place of a point."""
        left, right, top, bottom = self.box
        first = math.log2(self.batches[0])
        wide = max(math.log2(self.widest) - first, 1)
        x = left + (math.log2(batch) - first) / wide * (right - left)
        up = math.log(max(speed, self.lowest) / self.lowest)
        tall = math.log(self.highest / self.lowest)
        return x, bottom - up / tall * (bottom - top)

    def axes(self, *, dark: bool) -> list[str]:
        """Lines at powers of ten, and a label for each batch size."""
        rule, muted = (palette.surface(n, dark=dark) for n in ("line", "muted"))
        left, right, _, bottom = self.box
        parts, level = [], float(self.lowest)
        while level <= self.highest * 1.001:
            _, y = self.at(self.batches[0], level)
            parts.append(svg.line([(left, y), (right, y)], rule))
            caption = f"{level:g}"
            parts.append(
                svg.text(left - 6, y + 3.5, caption, muted, anchor="end", size=10)
            )
            level *= 10
        for batch in self.batches:
            x, _ = self.at(batch, self.lowest)
            parts.append(
                svg.text(x, bottom + 15, str(batch), muted, anchor="middle", size=10)
            )
        middle = (left + right) / 2
        caption = "batch size"
        return [
            *parts,
            svg.text(middle, bottom + 30, caption, muted, anchor="middle", size=10),
        ]


def _cross(x: float, y: float, colour: str, caption: str = "") -> list[str]:
    parts = [
        svg.line([(x - 4, y - 4), (x + 4, y + 4)], colour, width=1.6),
        svg.line([(x - 4, y + 4), (x + 4, y - 4)], colour, width=1.6),
    ]
    if caption:
        parts.append(
            svg.text(x, y - 8, caption, colour, anchor="middle", size=10, bold=True)
        )
    return parts
