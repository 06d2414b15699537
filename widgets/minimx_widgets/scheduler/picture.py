"""The static picture of a scheduler at a moment: queues on the left, lanes below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx_widgets import palette, svg
from minimx_widgets.scheduler.stepping import DONE, READY, RUNNING, STATES, WAITING
from minimx_widgets.units import human_bytes

if TYPE_CHECKING:
    from minimx_widgets.scheduler.view import SchedulerStepper

ROW, CHIP, LEFT = 22.0, 18.0, 92.0
#: Pixels of the words of an entry of a queue; where there are less, none is drawn.
LEAST = 48.0
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
    parts = svg.heading("Scheduler", head, width, dark=dark)
    lines, _ = svg.paragraph(
        14, 40, moment.text, ink, space=width - 28, size=11.5, most=2
    )
    parts += lines
    top = 66.0
    names = view.program.operations
    for name, queue in zip(view.program.variables, moment.queues, strict=True):
        label = f"{name}  v{queue.version}"
        parts.append(svg.text(14, top + 13, label, ink, space=LEFT - 20))
        x = LEFT
        for place, (number, writes) in enumerate(queue.entries):
            granted = place < queue.granted
            word = f"{'W' if writes else 'R'} {names[number].name}"
            space = width - 30 - x
            if space < LEAST:
                parts.append(svg.text(x, top + 13, "…", muted))
                break
            wide = 14 + min(svg.width_of(word), space)
            fill = colour(moment.states[number], dark=dark)
            said = f"{word}: {'has it' if granted else 'waits'}"
            opacity = 1.0 if granted else 0.25
            parts.append(
                svg.rect(
                    x, top, wide, CHIP, fill, opacity=opacity, title=said, round_=9
                )
            )
            paper = palette.surface("paper", dark=dark)
            fill = paper if granted else ink
            parts.append(svg.text(x + 7, top + 13, word, fill, space=space))
            x += wide + 5
        top += ROW
    ready = ", ".join(names[k].name for k in moment.ready) or "none"
    parts.append(svg.text(14, top + 14, f"ready: {ready}", muted, space=width - 28))
    top += ROW + 4
    parts += _lanes(view, top, width, dark=dark)
    top += ROW * len(moment.workers) + 34
    shown = sorted({state for state in moment.states if state in CATEGORY})
    entries = [(STATES[state], colour(state, dark=dark)) for state in shown]
    legend, low = svg.legend(14, top, entries, width - 14, dark=dark)
    height = top + 14 + low
    return svg.picture(width, height, parts + legend, title=repr(view), dark=dark)


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
        parts.append(svg.text(x + 4, y + 13, one.name, paper, space=wide - 8))
    bottom = top + ROW * len(moment.workers)
    for tick in svg.ticks(0, whole, 8):
        x = LEFT + space * tick / whole
        label, right = f"{tick:g} µs", width - 8
        parts.append(svg.tick(x, bottom + 12, label, muted, LEFT - 20, right, size=11))
    x = LEFT + space * moment.time / whole
    parts.append(
        svg.line([(x, top - 3), (x, bottom)], palette.surface("accent", dark=dark))
    )
    return parts
