"""A scene of a store in words and numbers: its tables, and what its page receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minimx_widgets.packing import Columns
from minimx_widgets.pictures.kvstore.scene import (
    KINDS,
    LINE_OF,
    LINES,
    PULL,
    PUSH,
    Numbers,
    Scene,
    covered,
)
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import human_bytes, human_share, human_time

#: A table has at most so many links and keys.
MOST_ROWS = 64


def summary(numbers: Numbers) -> list[str]:
    """The key numbers in words."""
    said = [
        f"step {human_time(numbers.step)}",
        f"computing {human_time(numbers.compute)}",
        f"{human_share(numbers.overlap)} of communication hidden",
        f"waits {human_time(numbers.exposed)}",
    ]
    if numbers.efficiency is not None:
        said.append(f"efficiency {human_share(numbers.efficiency)}")
    return said


def speed(bandwidth: float | None) -> str:
    """A bandwidth in words.

    >>> speed(12e9), speed(None)
    ('12 GB/s', 'cut')
    """
    return "cut" if bandwidth is None else f"{bandwidth / 1e9:.3g} GB/s"


def tables(scene: Scene, curve: Mapping[str, Any]) -> Tables:
    """Places, links, keys, and the scaling curve as far as it is known."""
    parts = [_places(scene), _links(scene), _keys(scene)]
    if curve.get("workers"):
        parts.append(_scaling(curve))
    return Tables(tuple(parts))


def _places(scene: Scene) -> Table:
    bars, rows = scene.bars, []
    lines = np.array(LINE_OF)[bars.kind]
    waiting = np.zeros(len(scene.rows))
    for number, start, end in scene.waits:
        waiting[number] += end - start
    for k, row in enumerate(scene.rows):
        mine = [(bars.row == k) & (lines == line) for line in range(len(LINES))]
        took = [
            float(np.diff(covered(bars.start[one], bars.end[one])).sum())
            for one in mine
        ]
        said = [human_time(ns) if ns else "" for ns in (*took, waiting[k])]
        rows.append((row.label, *said))
    return Table.of(
        ("place", *LINES, "waits"), rows, f"{scene.title} ({scene.source}): places"
    )


def _links(scene: Scene) -> Table:
    rows = [
        (
            wire.name,
            speed(wire.now and wire.now.bandwidth),
            wire.state or "as it is",
            human_bytes(load.nbytes),
            human_time(load.busy),
            human_share(load.share),
        )
        for wire, load in zip(scene.layout.wires, scene.loads, strict=True)
        if load.nbytes or wire.state
    ]
    heads = ("link", "speed", "state", "carried", "in use", "load")
    return Table.of(heads, rows[:MOST_ROWS], _more("Links", rows))


def _keys(scene: Scene) -> Table:
    bars, rows = scene.bars, []
    for k, key in enumerate(scene.keys):
        mine = bars.key == k
        sent, back = mine & (bars.kind == PUSH), mine & (bars.kind == PULL)
        rows.append(
            (
                key.name,
                str(key.priority),
                human_bytes(key.nbytes),
                human_time(bars.start[sent].min()) if sent.any() else "",
                human_time(bars.end[sent].max()) if sent.any() else "",
                human_time(bars.end[back].max()) if back.any() else "",
            )
        )
    heads = ("key", "priority", "bytes", "push from", "push to", "back at")
    return Table.of(heads, rows[:MOST_ROWS], _more("Keys", rows))


def _more(name: str, rows: Sequence[Any]) -> str:
    count = len(rows)
    return name if count <= MOST_ROWS else f"{name}, the first {MOST_ROWS} of {count}"


def _scaling(curve: Mapping[str, Any]) -> Table:
    columns = zip(
        *(curve["workers"], curve["step"], curve["efficiency"], curve["overlap"]),
        strict=True,
    )
    rows = [
        (f"{n:,}", human_time(step), human_share(efficiency), human_share(hidden))
        for n, step, efficiency, hidden in columns
    ]
    heads = ("workers", "step", "efficiency", "hidden")
    return Table.of(heads, rows, f"Scaling: {curve['title']} (modelled)")


def facts(scene: Scene) -> dict[str, Any]:
    """All of a scene but the bars, as plain data for the page."""
    layout = scene.layout
    return {
        "source": scene.source,
        "title": scene.title,
        "lesson": scene.lesson,
        "kinds": list(KINDS),
        "lines": list(LINES),
        "places": [
            [one.name, one.kind, one.x, one.y, one.count, one.factor]
            for one in layout.places
        ],
        "buses": [[one.name, one.left, one.right, one.y] for one in layout.buses],
        "wires": [
            {
                "name": wire.name,
                "points": [list(point) for point in wire.points],
                "curved": wire.curved,
                "bandwidth": wire.now.bandwidth if wire.now else 0,
                "latency": wire.now.latency if wire.now else 0,
                "state": wire.state,
                "nbytes": load.nbytes,
                "busy": load.busy,
                "load": load.share,
            }
            for wire, load in zip(layout.wires, scene.loads, strict=True)
        ],
        "rows": [[row.label, row.place, list(row.lines)] for row in scene.rows],
        "routes": [list(route) for route in scene.routes],
        "keys": [[key.name, key.priority, key.nbytes] for key in scene.keys],
        "waits": [list(wait) for wait in scene.waits],
        "span": scene.span,
        "begins": scene.begins,
        "numbers": None if scene.numbers is None else vars(scene.numbers),
    }


def columns(scene: Scene) -> Columns:
    """The bars as columns."""
    bars = scene.bars
    return {
        "bars": {
            "row": bars.row,
            "kind": bars.kind,
            "key": bars.key,
            "start": bars.start,
            "end": bars.end,
            "route": bars.route,
            "nbytes": bars.nbytes,
            "op": bars.op,
        }
    }
