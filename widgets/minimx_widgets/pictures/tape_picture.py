"""The static picture of a tape at one of its steps: a graph, and bytes below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from minimx.tools.drawing.layout import Layout
from minimx_widgets import palette, svg
from minimx_widgets.pictures.graph_picture import GraphPicture, draw, route
from minimx_widgets.pictures.tape_steps import STATES
from minimx_widgets.units import human_bytes

if TYPE_CHECKING:
    from minimx_widgets.views.tape_stepper import TapeRun

#: How a box of each state is drawn: as a pass's picture draws one of these.
_AS = {
    "recorded": "kept",
    "reached": "rewired",
    "let go": "removed",
    "retained": "changed",
    "stored": "added",
}
TOP, STRIP, TALLEST = 64.0, 130.0, 900.0


def picture(run: TapeRun, step: int, title: str, *, dark: bool, width: int) -> str:
    """The tape after a step, the step in words, and the bytes of all steps."""
    ink = palette.surface("ink", dark=dark)
    if not run.steps:
        parts = svg.heading("Tape", "nothing was recorded", width, dark=dark)
        return svg.picture(width, 60, parts, title=title, dark=dark)
    head = f"step {step + 1} of {len(run.steps)}"
    if not run.walked:
        head += ": backward has not run"
    parts = svg.heading("Tape", head, width, dark=dark)
    said = run.sentences[step]
    lines, _ = svg.paragraph(14, 39, said, ink, space=width - 28, size=11.5, most=2)
    parts += lines
    layout = run.picture.layout
    space = width - 28
    scale = min(1.0, space / max(layout.width, 1), TALLEST / max(layout.height, 1))
    left = 14 + (space - layout.width * scale) / 2
    now, drawn = states(run, step), _at(run, step)
    parts += draw(drawn, x=left, y=TOP, scale=scale, dark=dark)
    parts += _sent(run, step, left, scale, dark=dark)
    bottom = TOP + layout.height * scale + 14
    parts += _strip(run, step, bottom, width, dark=dark)
    used = [word for word in _AS if word in {STATES[state] for state in now.values()}]
    entries = [(word, palette.state(_AS[word], dark=dark)) for word in used]
    entries += [
        ("results that the tape keeps", palette.category("activation", dark=dark)),
        ("gradients between calls", palette.category("gradient", dark=dark)),
    ]
    height = bottom + STRIP + 26
    legend, low = svg.legend(14, height - 10, entries, width - 14, dark=dark)
    return svg.picture(width, height + low, parts + legend, title=title, dark=dark)


def states(run: TapeRun, step: int) -> dict[int, int]:
    """The state of each box after a step; boxes that are not there yet are missing."""
    found: dict[int, int] = {}
    for one in run.steps[: step + 1]:
        for at, state in one.changes:
            if at in run.boxes:
                found[run.boxes[at]] = state
    return found


def _at(run: TapeRun, step: int) -> GraphPicture:
    """The boxes that are there after a step, in their states, and their lines."""
    now = states(run, step)
    whole, layout = run.picture, run.picture.layout
    for _, box, user in run.outside:  # an array from outside comes with its user
        if user in now:
            now[box] = STATES.index("recorded")
    kept = sorted(now)
    number = {old: new for new, old in enumerate(kept)}
    boxes = tuple(
        replace(whole.boxes[k], state=_AS[STATES[now[k]]], badge=_badge(run, k, now[k]))
        for k in kept
    )
    pairs = [
        ((number[a], number[b], state), bends)
        for (a, b, state), bends in zip(whole.lines, layout.bends, strict=True)
        if a in number and b in number
    ]
    less = Layout(
        tuple(layout.places[k] for k in kept),
        tuple(bends for _, bends in pairs),
        layout.width,
        layout.height,
    )
    return GraphPicture(boxes, tuple(line for line, _ in pairs), less)


def _sent(
    run: TapeRun, step: int, left: float, scale: float, *, dark: bool
) -> Iterator[str]:
    """The lines along which a step sent gradients."""
    one = run.steps[step]
    user = run.boxes.get(one.at, -1)
    to = {run.boxes.get(at, -1) for at in one.sent}
    layout = run.picture.layout
    ink = palette.category("gradient", dark=dark)
    for (a, b, _), bends in zip(run.picture.lines, layout.bends, strict=True):
        if b == user and a in to:
            stops = route(layout, a, b, bends)
            points = [(left + u * scale, TOP + v * scale) for u, v in stops]
            yield svg.line(points, ink, width=2.5)


def _badge(run: TapeRun, box: int, state: int) -> str:
    """How many bytes of results a call keeps, if it does."""
    size = run.sizes[box]
    gone = STATES[state] in ("absent", "let go")
    return "" if gone or not size else human_bytes(size)


def _strip(
    run: TapeRun, step: int, top: float, width: float, *, dark: bool
) -> Iterator[str]:
    """Bytes over the steps, and a mark at the one that is shown."""
    muted, line = (palette.surface(name, dark=dark) for name in ("muted", "line"))
    left, right, bottom = 76.0, width - 16.0, top + STRIP - 20
    most = max(max(one.kept + one.flight for one in run.steps), 1) * 1.1
    wide = (right - left) / len(run.steps)

    def y(nbytes: float) -> float:
        return bottom - nbytes / most * (bottom - top - 16)

    for value in svg.byte_ticks(most, 4):
        yield svg.line([(left, y(value)), (right, y(value))], line)
        text = human_bytes(value)
        yield svg.text(left - 6, y(value) + 4, text, muted, anchor="end", size=10)
    for k, one in enumerate(run.steps):
        x = left + k * wide
        tall = y(0) - y(one.kept)
        green = palette.category("activation", dark=dark)
        orange = palette.category("gradient", dark=dark)
        title = (
            f"{run.sentences[k]}\n{one.kept:,} B kept, {one.flight:,} B between calls"
        )
        if one.kept:
            yield svg.rect(x, y(one.kept), wide, tall, green, opacity=0.75, title=title)
        if one.flight:
            high = y(one.kept) - y(one.kept + one.flight)
            above = y(one.kept + one.flight)
            yield svg.rect(x, above, wide, high, orange, opacity=0.75, title=title)
        if one.kind == "begin":
            yield svg.line([(x, top), (x, bottom)], muted, dash="3 3")
            yield svg.text(x + 5, top + 9, "backward", muted, size=10)
    accent = palette.surface("accent", dark=dark)
    x = left + (step + 0.5) * wide
    yield svg.line([(x, top), (x, bottom)], accent, width=2)
    yield svg.text(left, bottom + 15, "step 1", muted, size=10)
    last = f"step {len(run.steps)}"
    yield svg.text(right, bottom + 15, last, muted, anchor="end", size=10)
