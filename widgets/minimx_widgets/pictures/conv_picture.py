"""The static picture of `ConvChooser`: a pure function of its state."""

from __future__ import annotations

from typing import Any

from minimx_widgets import palette, svg
from minimx_widgets.units import human_bytes, human_time

#: The columns: names, times, workspaces; the height of a row and of a head.
NAME, TIME, SPACE, ROW, HEAD = 14.0, 128.0, 560.0, 18.0, 40.0
BAR = 300.0
BAR_OF_SPACE = 200.0


def seconds_of(row: dict[str, Any]) -> float:
    """The time that counts: what was measured, else what is guessed."""
    return float(row["guess"] if row["measured"] is None else row["measured"])


def picture(state: dict[str, Any], title: str, *, dark: bool, width: int) -> str:
    """Bars for time and workspace of every algorithm, by direction."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    head = f"{state['layers'][state['layer']]}: {state['shape']}"
    where = f"chosen as on a {state['device']}, {state['workspace']} MiB of workspace"
    parts = [
        svg.text(NAME, 21, svg.clipped(head, width - 28, 13), ink, size=13, bold=True),
        svg.text(NAME, 38, where, muted),
    ]
    y = 52.0
    for direction in state["directions"]:
        parts += _direction(direction, y, width, dark=dark)
        y += HEAD + ROW * len(direction["rows"]) + 6
    colours = [
        ("chosen", palette.surface("accent", dark=dark)),
        ("allowed", muted),
        ("workspace", palette.category("workspace", dark=dark)),
    ]
    parts += svg.legend(NAME, y + 12, colours, dark=dark)
    parts.append(
        svg.text(NAME + 250, y + 12, "pale: a guess; strong: measured", muted, size=10)
    )
    return svg.picture(width, y + 24, parts, title=title, dark=dark)


def _direction(
    direction: dict[str, Any], y: float, width: int, *, dark: bool
) -> list[str]:
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = [
        svg.text(NAME, y + 12, direction["name"], ink, size=12, bold=True),
        svg.text(TIME, y + 12, direction["why"], muted),
        svg.text(TIME, y + 30, "time", muted, size=10),
        svg.text(SPACE, y + 30, "workspace", muted, size=10),
    ]
    left = [row for row in direction["rows"] if not row["excluded"]]
    slowest = max([seconds_of(row) for row in left], default=1.0) or 1.0
    largest = max([row["workspace"] for row in left], default=1) or 1
    for k, row in enumerate(direction["rows"]):
        parts += _row(row, y + HEAD + k * ROW, slowest, largest, width, dark=dark)
    return parts


def _row(
    row: dict[str, Any], y: float, slowest: float, largest: int, width: int,
    *, dark: bool,
) -> list[str]:  # fmt: skip
    ink, muted, accent = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "accent")
    )
    star, colour = ("★ ", accent) if row["chosen"] else ("", muted)
    text = f"{star}{row['name']} ({row['number']})"
    tint = ink if not row["excluded"] else muted
    parts = [svg.text(NAME, y + 11, text, tint, bold=row["chosen"])]
    if row["excluded"]:
        text = svg.clipped(f"excluded: {row['excluded']}", width - TIME - 14)
        return [*parts, svg.text(TIME, y + 11, text, muted)]
    long = max(2.0, BAR * seconds_of(row) / slowest)
    known = row["measured"] is not None
    parts.append(svg.rect(TIME, y + 2, long, 11, colour, opacity=1.0 if known else 0.5))
    label = ("" if known else "≈ ") + human_time(seconds_of(row))
    parts.append(svg.text(TIME + long + 6, y + 11, label, tint))
    space = palette.category("workspace", dark=dark)
    wide = BAR_OF_SPACE * row["workspace"] / largest
    parts.append(svg.rect(SPACE, y + 2, max(wide, 1.0), 11, space))
    label = human_bytes(row["workspace"])
    if row["notes"]:
        label += f"  [{', '.join(row['notes'])}]"
    return [*parts, svg.text(SPACE + max(wide, 1.0) + 6, y + 11, label, tint)]
