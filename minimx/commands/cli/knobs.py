"""`minimx knobs`: the table of knobs, or everything about one."""

from __future__ import annotations

import argparse
import sys

from minimx.core.errors import KnobError, did_you_mean
from minimx.core.knobs import Knob, knobs
from minimx.core.knobs.declarations import GROUPS
from minimx.tools.knob_show import text_table


def run(options: argparse.Namespace) -> int:
    """Print what was asked for; 2 for a knob or a group that does not exist."""
    try:
        if options.name:
            print(knobs.describe(options.name))
            return 0
        chosen = _chosen(options)
    except KnobError as unknown:
        print(unknown, file=sys.stderr)
        return 2
    print(_tables(chosen) if chosen else "No knob is like that.")
    return 0


def _chosen(options: argparse.Namespace) -> list[Knob]:
    """The knobs that pass all filters. Raises `KnobError` for an unknown group."""
    group = _group(options.group) if options.group else ""
    changed = knobs.diff()
    return [
        knob
        for knob in knobs
        if (not group or knob.group == group)
        and (not options.live or knob.live)
        and (not options.planned or not knob.live)
        and (not options.changed or knob.name in changed)
    ]


def _group(text: str) -> str:
    """The group that a text means: its name, or a part of it."""
    names = [group.GROUP for group in GROUPS]
    matches = [name for name in names if text.lower() in name.lower()]
    exact = [name for name in matches if name.lower() == text.lower()]
    if len(exact or matches) != 1:
        raise KnobError(
            f"{text!r} means no single group: {'; '.join(matches or names)}."
            f"{did_you_mean(text, names)}"
        )
    return (exact or matches)[0]


def _tables(chosen: list[Knob]) -> str:
    """All rows in one alignment, with the name of its group above each block."""
    head, *rows = text_table(chosen, knobs.snapshot()).splitlines()
    lines, group = [head], ""
    for knob, row in zip(chosen, rows, strict=True):
        if knob.group != group:
            group = knob.group
            lines += ["", group]
        lines.append(row)
    count = f"{len(chosen)} knob{'s' * (len(chosen) > 1)}"
    live = sum(knob.live for knob in chosen)
    foot = f"{count}, {live} live; * marks what stands away from its default."
    return "\n".join([*lines, "", foot])
