"""The static picture of `ConvChooser`: a pure function of its state."""

from __future__ import annotations

from typing import Any

from minimx_widgets import palette, svg
from minimx_widgets.units import human_bytes, human_time

#: The columns: names, times; the height of a row and of a head.
NAME, TIME, ROW, HEAD = 14.0, 136.0, 18.0, 40.0
#: Where the column of workspaces begins, as a share of the width.
SPACE = 0.62


def seconds_of(row: dict[str, Any]) -> float:
    """The time that counts: what was measured, else what is guessed."""
    return float(row["guess"] if row["measured"] is None else row["measured"])


def picture(state: dict[str, Any], title: str, *, dark: bool, width: int) -> str:
    """Bars for time and workspace of every algorithm, by direction."""
    muted = palette.surface("muted", dark=dark)
    head = f"{state['layers'][state['layer']]}: {state['shape']}"
    where = f"chosen as on a {state['device']}, {state['workspace']} MiB of workspace"
    parts = [
        *svg.heading(head, "", width, dark=dark),
        svg.text(NAME, 38, where, muted, space=width - 28),
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
    words = "pale: a guess; strong: measured"
    right = width - 24 - svg.width_of(words, 10)
    parts.append(svg.text(width - 14, y + 12, words, muted, anchor="end", size=10))
    legend, low = svg.legend(NAME, y + 12, colours, right, dark=dark)
    return svg.picture(width, y + 24 + low, parts + legend, title=title, dark=dark)


def _direction(
    direction: dict[str, Any], y: float, width: int, *, dark: bool
) -> list[str]:
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = [
        svg.text(NAME, y + 12, direction["name"], ink, size=12, bold=True),
        svg.text(TIME, y + 12, direction["why"], muted, space=width - TIME - 14),
        svg.text(TIME, y + 30, "time", muted, size=10),
        svg.text(SPACE * width, y + 30, "workspace", muted, size=10),
    ]
    left = [row for row in direction["rows"] if not row["excluded"]]
    slowest = max([seconds_of(row) for row in left], default=1.0) or 1.0
    largest = max([row["workspace"] for row in left], default=1) or 1
    labels = [svg.width_of(label) for row in left for label in _labels(row)]
    room = max(labels, default=0.0) + 20
    long = (SPACE * width - TIME - room) / slowest
    wide = ((1 - SPACE) * width - room) / largest
    for k, row in enumerate(direction["rows"]):
        parts += _row(row, y + HEAD + k * ROW, long, wide, width, dark=dark)
    return parts


def _labels(row: dict[str, Any]) -> tuple[str, str]:
    """What is said of the time and of the workspace of an algorithm."""
    time = ("≈ " if row["measured"] is None else "") + human_time(seconds_of(row))
    notes = f"  [{', '.join(row['notes'])}]" if row["notes"] else ""
    return time, human_bytes(row["workspace"]) + notes


def _row(
    row: dict[str, Any], y: float, second: float, byte: float, width: int,
    *, dark: bool,
) -> list[str]:  # fmt: skip
    """An algorithm; second and byte: how many pixels wide they are drawn."""
    ink, muted, accent = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "accent")
    )
    star, colour = ("★ ", accent) if row["chosen"] else ("", muted)
    text = f"{star}{row['name']} ({row['number']})"
    tint = ink if not row["excluded"] else muted
    bold, space = row["chosen"], TIME - NAME - 6
    parts = [svg.text(NAME, y + 11, text, tint, bold=bold, space=space)]
    if row["excluded"]:
        text, space = f"excluded: {row['excluded']}", width - TIME - 14
        return [*parts, svg.text(TIME, y + 11, text, muted, space=space)]
    long = max(2.0, second * seconds_of(row))
    known = row["measured"] is not None
    parts.append(svg.rect(TIME, y + 2, long, 11, colour, opacity=1.0 if known else 0.5))
    label, label_of_space = _labels(row)
    parts.append(svg.text(TIME + long + 6, y + 11, label, tint))
    fill, left = palette.category("workspace", dark=dark), SPACE * width
    wide = max(byte * row["workspace"], 1.0)
    parts.append(svg.rect(left, y + 2, wide, 11, fill))
    return [*parts, svg.text(left + wide + 6, y + 11, label_of_space, tint)]
