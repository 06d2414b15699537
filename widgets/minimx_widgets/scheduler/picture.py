"""The static picture of a scheduler at a moment: queues on the left, lanes below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx_widgets import palette, svg
from minimx_widgets.scheduler.stepping import DONE, READY, RUNNING, STATES, WAITING
from minimx_widgets.units import human_bytes

if TYPE_CHECKING:
    from minimx_widgets.scheduler.view import SchedulerStepper

ROW, CHIP, LEFT = 22.0, 18.0, 92.0
#: What a state is drawn in, of the categories of the palette.
CATEGORY = {
    WAITING: "workspace",
    READY: "parameter",
    RUNNING: "gradient",
    DONE: "temporary",
}


def colour(state: int, *, dark: bool) -> str:
    """The colour of an operation in a state."""
    if state in CATEGORY:
        return palette.category(CATEGORY[state], dark=dark)
    return palette.surface("line", dark=dark)


def draw(view: SchedulerStepper, *, dark: bool, width: int) -> str:
    """Head, the move in words, queues, ready set, lanes."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    line, moment = view.shown.line, view.moment
    head = f"move {view.step} of {len(line.moments) - 1} · {moment.time} µs · "
    head += f"{view.shown.name} · {human_bytes(moment.live)} in use"
    parts = [
        svg.text(14, 21, "Scheduler", ink, size=13, bold=True),
        svg.text(96, 21, svg.clipped(head, width - 110, 11.5), muted, size=11.5),
    ]
    rows = svg.wrapped(moment.text, width - 28, 11.5)[:2]
    parts += [
        svg.text(14, 40 + 15 * k, row, ink, size=11.5) for k, row in enumerate(rows)
    ]
    top = 66.0
    names = view.program.operations
    for name, queue in zip(view.program.variables, moment.queues, strict=True):
        label = f"{name}  v{queue.version}"
        parts.append(svg.text(14, top + 13, svg.clipped(label, LEFT - 16), ink))
        x = LEFT
        for place, (number, writes) in enumerate(queue.entries):
            granted = place < queue.granted
            word = f"{'W' if writes else 'R'} {names[number].name}"
            wide = 14 + len(word) * 6.4
            if x + wide > width - 14:
                parts.append(svg.text(x, top + 13, "…", muted))
                break
            fill = colour(moment.states[number], dark=dark)
            said = f"{word}: {'has it' if granted else 'waits'}"
            opacity = 1.0 if granted else 0.25
            parts.append(
                svg.rect(
                    x, top, wide, CHIP, fill, opacity=opacity, title=said, round_=9
                )
            )
            paper = palette.surface("paper", dark=dark)
            parts.append(svg.text(x + 7, top + 13, word, paper if granted else ink))
            x += wide + 5
        top += ROW
    ready = ", ".join(names[k].name for k in moment.ready) or "none"
    parts.append(svg.text(14, top + 14, f"ready: {ready}", muted))
    top += ROW + 4
    parts += _lanes(view, top, width, dark=dark)
    top += ROW * len(moment.workers) + 34
    shown = sorted({state for state in moment.states if state in CATEGORY})
    entries = [(STATES[state], colour(state, dark=dark)) for state in shown]
    parts += svg.legend(14, top, entries, dark=dark)
    return svg.picture(width, top + 14, parts, title=repr(view), dark=dark)


def _lanes(view: SchedulerStepper, top: float, width: int, *, dark: bool) -> list[str]:
    """What each worker did until now, and the axis."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    paper, rule = (palette.surface(name, dark=dark) for name in ("paper", "line"))
    line, moment = view.shown.line, view.moment
    whole = max(1, line.makespan, view.lines[0].line.makespan)
    space = width - LEFT - 14
    parts = []
    for worker in range(len(moment.workers)):
        y = top + ROW * worker
        name = f"worker {worker + 1}" if line.workers else "main thread"
        parts.append(svg.text(14, y + 13, name, ink))
        parts.append(svg.line([(LEFT, y + ROW - 2), (width - 14, y + ROW - 2)], rule))
    begun = {k for k, state in enumerate(moment.states) if state in (RUNNING, DONE)}
    for bar in line.bars:
        if bar.op not in begun or bar.start > moment.time:
            continue
        one = view.program.operations[bar.op]
        x = LEFT + space * bar.start / whole
        wide = max(space * (bar.end - bar.start) / whole - 1, 1)
        fill = colour(moment.states[bar.op], dark=dark)
        said = f"{one.name}: {bar.start} to {bar.end} µs"
        y = top + ROW * bar.worker
        parts.append(svg.rect(x, y, wide, CHIP, fill, title=said, round_=3))
        label = svg.clipped(one.name, wide - 8)
        parts.append(svg.text(x + 4, y + 13, label, paper))
    bottom = top + ROW * len(moment.workers)
    for tick in svg.ticks(0, whole, 8):
        x = LEFT + space * tick / whole
        side = "end" if tick > 0.96 * whole else "middle"
        parts.append(svg.text(x, bottom + 12, f"{tick:g} µs", muted, anchor=side))
    x = LEFT + space * moment.time / whole
    parts.append(
        svg.line([(x, top - 3), (x, bottom)], palette.surface("accent", dark=dark))
    )
    return parts
