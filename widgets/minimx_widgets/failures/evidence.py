"""What instruments saw of a run, as plain numbers and words for views and tables."""

from __future__ import annotations

import math
from typing import Any

from minimx.core.record import Record
from minimx_widgets.failures.jobs.facts import JobOutcome
from minimx_widgets.failures.program import Outcome, short
from minimx_widgets.tables import Table

Evidence = dict[str, Any]


def message(seen: Outcome) -> Evidence:
    """The error as the program's user reads it."""
    if not seen.error:
        return {"kind": "message", "lines": ["The program ends without an exception."]}
    lines = [f"In step {seen.ended}:", seen.error, *seen.notes]
    lines += [f"in {frame}" for frame in seen.frames]
    return {"kind": "message", "lines": lines}


def failed(record: Record) -> list[dict[str, Any]]:
    """The operations of a record that failed or were poisoned, as they were pushed."""
    ops = record.ops()
    rows = ops[ops["failed"]]
    rows = rows[rows["op"].argsort()]
    texts = {name: record.texts(rows[name]) for name in ("name", "layer", "phase")}
    return [
        {
            "op": int(row["op"]),
            "name": texts["name"][k],
            "layer": short(texts["layer"][k]) or "other",
            "phase": texts["phase"][k],
        }
        for k, row in enumerate(rows)
    ]


def timeline(seen: Outcome) -> Evidence:
    """What failed, and what its failure poisoned."""
    assert seen.record is not None
    rows = failed(seen.record)
    count = len(seen.record.ops())
    if not rows:
        text = f"{count:,} operations, and none failed."
        return {"kind": "timeline", "lines": [text], "op": 0}
    step = _step_of(seen.record, rows[0]["op"])
    lines = [
        f"{count:,} operations; {len(rows)} failed or were spoiled by one that did.",
        f"The first: {rows[0]['name']} of {rows[0]['layer']}, {rows[0]['phase']} of "
        f"step {step}.",
    ]
    nonfinite = [f"{row['name']} ({row['layer']})" for row in rows[1:6]]
    lines.append(f"Then {', '.join(nonfinite)} …")
    return {"kind": "timeline", "lines": lines, "op": rows[0]["op"]}


def _step_of(record: Record, op: int) -> int:
    """How many forward passes began before an operation, less one."""
    ops = record.ops()
    ops = ops[ops["op"].argsort()]
    forward = [phase == "forward" for phase in record.texts(ops["phase"])]
    updated = [phase == "update" for phase in record.texts(ops["phase"])]
    step, after = 0, False
    for k, number in enumerate(ops["op"].tolist()):
        after = after or updated[k]
        if forward[k] and after:
            step, after = step + 1, False
        if number == op:
            break
    return step


def finite_map(seen: Outcome) -> Evidence:
    """Magnitudes by layer, step and half, and the first operation that went wrong."""
    assert seen.watch is not None
    cells: dict[tuple[str, int, str], dict[str, Any]] = {}
    for (step, phase, layer), cell in seen.watch.cells.items():
        if phase not in ("forward", "backward"):
            continue
        row = short(layer)
        row = row if row in seen.layers else "loss"
        key = (row, step, phase)
        found = cells.setdefault(
            key,
            {"layer": row, "step": step, "phase": phase, "calls": 0, "bad": 0,
             "largest": 0.0},
        )  # fmt: skip
        found["calls"] += cell.calls
        found["bad"] += cell.bad
        found["largest"] = max(found["largest"], cell.largest)
    first = seen.watch.first
    return {
        "kind": "map",
        "layers": [*seen.layers, "loss"],
        "steps": 1 + max((key[1] for key in cells), default=0),
        "cells": list(cells.values()),
        "lines": [
            "Every number was finite." if first is None else f"First: {first!r}",
            *_largest_text(first),
        ],
    }


def _largest_text(first: Any) -> list[str]:
    if first is None:
        return []
    return [f"The largest finite number there was {first.largest:.4g}."]


def norms(seen: Outcome) -> Evidence:
    """Three numbers a step."""
    rows = [
        {"step": step, **{name: _number(value) for name, value in row.items()}}
        for step, row in enumerate(seen.norms)
    ]
    return {"kind": "norms", "rows": rows}


def parameters(seen: Outcome) -> Evidence:
    """The parameters as they are at the end; of a run that an error ended, nothing."""
    lines = [] if seen.parameters else ["An error ended the run before the end."]
    return {"kind": "parameters", "rows": seen.parameters, "lines": lines}


def losses(seen: Outcome | JobOutcome) -> list[list[Any]]:
    """(step, loss); None for one that is not finite."""
    return [[step, _number(loss)] for step, loss in seen.losses.items()]


def _number(value: float) -> float | None:
    """A number that JSON knows."""
    return float(value) if math.isfinite(value) else None


# -- the numbers that may be predicted -------------------------------------------------


def lines_named(seen: Outcome) -> float:
    """Lines of the program in the traceback; 0 without an error."""
    return float(len(seen.frames))


def failed_count(seen: Outcome) -> float:
    """Operations that failed or were poisoned."""
    assert seen.record is not None
    return float(len(failed(seen.record)))


def finite_steps(seen: Outcome) -> float:
    """Steps that were run, and in which every number is finite."""
    assert seen.watch is not None
    bad: dict[int, int] = {}
    for (step, phase, _), cell in seen.watch.cells.items():
        if phase in ("forward", "backward"):
            bad[step] = bad.get(step, 0) + cell.bad
    return float(sum(not count for count in bad.values()))


def moving_steps(seen: Outcome) -> float:
    """Steps in which the weights move by more than 0.001, and by a finite distance."""
    moved = [row["moved"] for row in seen.norms]
    return float(sum(math.isfinite(one) and one > 1e-3 for one in moved))


def moved(seen: Outcome) -> float:
    """Parameters whose values changed; 0 for a run that an error ended."""
    return float(sum(row["moved"] for row in seen.parameters))


#: Key -> head of the tables of rows.
_COLUMNS = {
    "norms": {
        "step": "step",
        "gradient": "gradient norm",
        "scale": "loss scale",
        "moved": "weights moved by",
    },
    "parameters": {
        "name": "parameter",
        "grad_req": "grad_req",
        "dtype": "type",
        "fresh": "fresh",
        "moved": "moved",
        "finite": "finite",
    },
}


def table(evidence: Evidence) -> Table:
    """A piece of evidence as a table."""
    kind = evidence["kind"]
    if kind == "map":
        rows = [
            (
                str(cell["step"]),
                cell["phase"],
                cell["layer"],
                str(cell["calls"]),
                str(cell["bad"]),
                f"{cell['largest']:.3g}",
            )
            for cell in evidence["cells"]
        ]
        heads = ("step", "half", "layer", "calls", "not finite", "largest")
        return Table.of(heads, rows, "Finite map")
    if "heads" in evidence:
        return Table.of(evidence["heads"], evidence["body"], kind.capitalize())
    if kind in _COLUMNS:
        columns = _COLUMNS[kind]
        cells = [[_cell(row[key]) for key in columns] for row in evidence["rows"]]
        return Table.of(tuple(columns.values()), cells, kind.capitalize())
    return Table.of(("",), [(line,) for line in evidence["lines"]], kind.capitalize())


def _cell(value: Any) -> str:
    if value is None:
        return "not finite"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
