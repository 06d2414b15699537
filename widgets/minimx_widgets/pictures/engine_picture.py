"""The engine timeline as a static picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.events import PHASES
from minimx_widgets import palette, svg
from minimx_widgets.joined import joined
from minimx_widgets.pictures.engine_layout import LANE, PUSHER, TOP, Box, EngineLayout
from minimx_widgets.sources import of_clock
from minimx_widgets.units import human_count, human_share, human_time

if TYPE_CHECKING:
    from minimx_widgets.views.engine_timeline import EngineTimeline

KINDS = ("RAW", "WAR", "WAW")
LEFT, RIGHT, BELOW = 150, 14, 44


def draw(
    view: EngineTimeline,
    layout: EngineLayout,
    *,
    dark: bool,
    width: int,
    picture: type[Picture] | None = None,
) -> str:
    """The layout as a picture."""
    made = (picture or Picture)(view, layout, dark=dark, width=width)
    parts = [*made.head(), *made.lanes(), *made.axis(), *made.boxes()]
    names = made.legend()
    y, right = made.height - 10, width - RIGHT
    legend, low = svg.legend(LEFT, y, names, right, dark=dark)
    parts += [*made.selected(), *made.marks(), *legend]
    return svg.picture(width, made.height + low, parts, title=repr(view), dark=dark)


class Picture:
    """One static picture in the making; others may arrange and name lanes anew."""

    title = "Engine"

    def __init__(
        self,
        view: EngineTimeline,
        layout: EngineLayout,
        *,
        dark: bool,
        width: int,
    ) -> None:
        self.view, self.layout, self.dark = view, layout, dark
        self.by = view.shown_colour
        self.width = width
        self.places = self.tops()
        self.height = round(self.places[-1]) + BELOW
        self.record = view.record
        self.ops = view.record.ops()
        self.layers: dict[int, int] = {}

    def ink(self, name: str) -> str:
        """The colour of a surface or of text."""
        return palette.surface(name, dark=self.dark)

    def x(self, value: Any) -> Any:
        """The place of a moment, or of each of many."""
        layout = self.layout
        share = (value - layout.start) / (layout.end - layout.start)
        return LEFT + share * (self.width - LEFT - RIGHT)

    def tops(self) -> list[float]:
        """Where each lane begins, and the end of the last one."""
        return [TOP + lane * float(LANE) for lane in range(len(self.layout.lanes) + 1)]

    def label(self, lane: str) -> str:
        """What a lane is called."""
        return lane

    def y(self, lane: int) -> float:
        """Where a lane begins."""
        return self.places[lane]

    def colour(self, box: Box) -> str:
        """The colour of a phase, of a layer or of an operator."""
        if self.by == "phase":
            return palette.phase(PHASES[box.phase], dark=self.dark)
        number = self.layers.setdefault(box.text, len(self.layers))
        return palette.layer(number, dark=self.dark)

    def head(self) -> list[str]:
        """The title and the key numbers."""
        source = of_clock(self.record.conditions.clock)
        text = " · ".join([*self.view.summary(), source])
        return svg.heading(self.title, text, self.width, dark=self.dark)

    def lanes(self) -> list[str]:
        """Backgrounds, names, busy shares, and the ticks of the pushes."""
        parts = []
        for lane, name in enumerate(self.layout.lanes):
            y = self.y(lane)
            wide = self.width - LEFT - RIGHT
            parts.append(svg.rect(LEFT, y, wide, LANE - 4, self.ink("card")))
            label, space = self.label(name), LEFT - 70.0
            parts.append(svg.text(14, y + 16, label, self.ink("ink"), space=space))
            busy = float(self.layout.busy[lane]) if len(self.layout.busy) else 0.0
            share = "push" if name == PUSHER and not busy else human_share(min(1, busy))
            muted = self.ink("muted")
            parts.append(svg.text(LEFT - 8, y + 16, share, muted, anchor="end"))
        places = np.unique(np.round(self.x(self.layout.pushes) * 2) / 2)
        for x in places.tolist():
            ends = [(x, self.y(0) + 4), (x, self.y(0) + LANE - 8)]
            parts.append(svg.line(ends, self.ink("ink"), opacity=0.45))
        return parts

    def axis(self) -> list[str]:
        """Ticks of time, or of numbers of operations."""
        bottom = self.y(len(self.layout.lanes))
        parts = []
        for value in svg.ticks(self.layout.start, self.layout.end, 7):
            x = self.x(value)
            text = human_time(value)
            if self.view.axis == "events":
                text = f"#{human_count(value)}"
            ends = [(x, TOP - 4), (x, bottom - 4)]
            parts.append(svg.line(ends, self.ink("line")))
            muted, ends_at = self.ink("muted"), self.width - 8
            parts.append(svg.tick(x, bottom + 11, text, muted, LEFT - 20, ends_at))
        return parts

    def boxes(self) -> list[str]:
        """The operations, and above them their names."""
        parts, names = [], []
        paper, rest = self.ink("paper"), self.rests()
        for box in self.layout.boxes:
            x, wide = self.x(box.start), self.x(box.end) - self.x(box.start)
            y, colour = self.y(box.lane), self.colour(box)
            text = self.text(box)
            high = LANE - 4
            parts.append(svg.rect(x, y, max(wide, 0.6), high, colour, title=text))
            space = min(wide, self.x(rest[box.lane, box.start]) - x) - 8
            if space > 22 and box.row >= 0:
                name = self.record.strings[self.ops[box.row]["name"]]
                names.append(svg.text(x + 4, y + 16, name, paper, size=10, space=space))
        return [*parts, *names]

    def rests(self) -> dict[tuple[int, float], float]:
        """By lane and start of a box, where the next box of that lane begins."""
        starts = sorted({(box.lane, box.start) for box in self.layout.boxes})
        nexts = [*starts[1:], (-1, 0.0)]  # one more than there are, if there is none
        return {
            one: after[1] if after[0] == one[0] else self.layout.end
            for one, after in zip(starts, nexts, strict=False)
        }

    def text(self, box: Box) -> str:
        """What pointing at a box says."""
        if box.row < 0:
            return f"{box.count} short operations, {PHASES[box.phase]}"
        row = self.ops[box.row]
        took = human_time(int(row["t_end"]) - int(row["t_start"]))
        strings = self.record.strings
        layer = strings[row["layer"]]
        return ", ".join(filter(None, (strings[row["name"]], layer, took)))

    def selected(self) -> list[str]:
        """Arrows between the selected operation and its neighbours."""
        op = self.view.run.selected
        by_op = {
            int(self.ops[box.row]["op"]): box
            for box in reversed(self.layout.boxes)  # the first one of a row counts
            if box.row >= 0
        }
        if op not in by_op:
            return []
        colours = (
            self.ink("accent"),
            palette.phase("backward", dark=self.dark),
            palette.phase("update", dark=self.dark),
        )
        parts = []
        deps = self.record.deps()
        deps = deps[~joined(deps, self.record.strings)]
        for row in deps[(deps["src"] == op) | (deps["dst"] == op)]:
            src, dst = int(row["src"]), int(row["dst"])
            if src in by_op and dst in by_op:
                kind = KINDS.index(self.record.strings[row["kind"]])
                parts.append(self.arrow(by_op[src], by_op[dst], colours[kind]))
        parts += self.gradient(op, by_op)
        box = by_op[op]
        x, y = self.x(box.start), self.y(box.lane)
        corner = self.x(box.end)
        ring = [(x, y), (corner, y), (corner, y + LANE - 4), (x, y + LANE - 4), (x, y)]
        return [*parts, svg.line(ring, self.ink("ink"), width=2)]

    def gradient(self, op: int, by_op: Mapping[int, Box]) -> list[str]:
        """Dashed lines between an operation and those of its gradient."""
        deps = self.record.deps()
        held = {*deps["src"][joined(deps, self.record.strings)].tolist()}
        pairs = [
            (int(row["forward_op"]), int(row["op"]))
            for row in self.ops[(self.ops["forward_op"] == op) | (self.ops["op"] == op)]
            if row["forward_op"] and int(row["op"]) not in held
        ]
        colour = palette.phase("backward", dark=self.dark)
        parts = []
        for forward, backward in pairs:
            if forward in by_op and backward in by_op:
                ends = [by_op[forward], by_op[backward]]
                x0, x1 = (self.x((box.start + box.end) / 2) for box in ends)
                y0, y1 = (self.y(box.lane) + LANE - 4 for box in ends)
                deep = max(y0, y1) + 4
                line = [(x0, y0), (x0, deep), (x1, deep), (x1, y1)]
                parts.append(svg.line(line, colour, width=1.6, dash="6 3"))
                head = [(x1, y1 - 1), (x1 - 3.5, y1 + 5), (x1 + 3.5, y1 + 5)]
                parts.append(svg.area(head, colour))
        return parts

    def arrow(self, source: Box, target: Box, colour: str) -> str:
        """An arrow from the end of one box to the start of another."""
        middle = (LANE - 4) / 2
        x0, y0 = self.x(source.end), self.y(source.lane) + middle
        x1, y1 = self.x(target.start), self.y(target.lane) + middle
        head = [(x1, y1), (x1 - 6, y1 - 3.5), (x1 - 6, y1 + 3.5)]
        shaft = svg.line([(x0, y0), (x1 - 5, y1)], colour, width=1.6)
        return shaft + svg.area(head, colour)

    def marks(self) -> list[str]:
        """The knobs that were turned."""
        parts, free = [], float(LEFT)
        bottom = self.y(len(self.layout.lanes)) - 4
        ends = self.record.ops()["t_end"]
        for row in self.record.knobs():
            value = float(int(row["t"]) - self.record.conditions.t_start)
            if self.view.axis == "events":
                value = float((ends < int(row["t"])).sum())
            x = self.x(value)
            if not LEFT <= x <= self.width - RIGHT:
                continue
            mark = self.ink("mark")
            parts.append(svg.line([(x, TOP - 12), (x, bottom)], mark, dash="4 3"))
            strings = self.record.strings
            text = f"{strings[row['name']]}={strings[row['new']]}"
            space = svg.width_of(text, 10) + 6
            if x >= free and x + space < self.width - RIGHT:
                parts.append(svg.text(x + 4, TOP - 6, text, mark, size=10))
                free = x + space
        return parts

    def legend(self) -> list[tuple[str, str]]:
        """What the colours mean."""
        if self.by == "phase":
            used = {PHASES[box.phase]: box.phase for box in self.layout.boxes}
            order = sorted(used, key=PHASES.index)
            return [(name, palette.phase(name, dark=self.dark)) for name in order]
        strings = self.record.strings
        return [
            (strings[s] or f"no {self.by}", palette.layer(n, dark=self.dark))
            for s, n in list(self.layers.items())[:8]
        ]
