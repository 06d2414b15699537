"""The static picture of a level: target, question, choices, rows with bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx_widgets import palette, svg

if TYPE_CHECKING:
    from minimx_widgets.levels.view import LevelView

LEFT = 132.0
#: Heights of rows, from the least weight to the largest.
LOW, HIGH = 20.0, 46.0


def draw(view: LevelView, *, dark: bool, width: int) -> str:
    """Head, question, picture, choices."""
    game, state = view.game, view.play.state
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    numbers = " · ".join(f"{label} {value}" for label, value in game.numbers(state))
    target = f"target {game.says(view.best)}"
    head = f"{game.name} · {target} · {numbers}"
    parts = svg.heading(view.title, head, width, dark=dark)
    more, top = svg.paragraph(
        14, 42, game.question(state), ink, space=width - 28, size=11.5, most=3
    )
    parts += more
    more, top = _rows(view, top - 4, width, dark=dark)
    parts += more
    offered = [one.text for one in game.choices(state) if not one.refused]
    if offered:
        words = f"Choices: {'; '.join(offered)}"
        more, top = svg.paragraph(14, top + 12, words, muted, space=width - 28, most=3)
        parts, top = [*parts, *more], top - 12
    entries = [(name, palette.category(c, dark=dark)) for name, c in game.kinds]
    legend, low = svg.legend(14, top + 18, entries, width - 14, dark=dark)
    height = top + 32 + low
    return svg.picture(width, height, parts + legend, title=repr(view), dark=dark)


def _rows(
    view: LevelView, top: float, width: int, *, dark: bool
) -> tuple[list[str], float]:
    """The rows with their bars and the axis, and where they end."""
    scene = view.game.scene(view.play.state)
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    paper, rule = (palette.surface(name, dark=dark) for name in ("paper", "line"))
    space, parts = width - LEFT - 14, []
    tops: list[tuple[float, float]] = []
    for row in scene.rows:
        high = LOW + (HIGH - LOW) * row.weight
        tops.append((top, high))
        middle = top + high / 2 + 4
        parts.append(svg.text(14, middle, row.label, ink, space=60))
        space_ = LEFT - 82
        parts.append(
            svg.text(LEFT - 8, middle, row.detail, muted, anchor="end", space=space_)
        )
        parts.append(svg.rect(LEFT, top, space, high, rule, opacity=0.35, round_=3))
        top += high + 4
    for bar in scene.bars:
        y, high = tops[bar.row]
        x = LEFT + space * bar.start / scene.end
        wide = max(space * (bar.end - bar.start) / scene.end - 1, 2)
        tall = max(high * bar.share, 12)
        fill = palette.category(view.game.kinds[bar.kind][1], dark=dark)
        box = (x, y + high - tall, wide, tall)
        opacity = 0.35 if bar.later else 1.0
        parts.append(svg.rect(*box, fill, opacity=opacity, title=bar.says, round_=3))
        colour, middle = ink if bar.later else paper, y + high - tall / 2 + 4
        parts.append(svg.text(x + 4, middle, bar.text, colour, space=wide - 6))
    parts.append(svg.text(LEFT - 8, top + 11, scene.axis, muted, anchor="end"))
    for tick in svg.ticks(0, scene.end, 8):
        x = LEFT + space * tick / scene.end
        last = tick > 0.96 * scene.end
        anchor = "end" if last else "middle" if tick else "start"
        parts.append(svg.text(x, top + 11, f"{tick:g}", muted, anchor=anchor))
    x = LEFT + space * scene.now / scene.end
    accent = palette.surface("accent", dark=dark)
    parts.append(svg.line([(x, tops[0][0] - 3), (x, top)], accent))
    return parts, top + 18
