"""Results as text: a table like the document's, laws, its columns, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from minimx.commands.bench.document import MODELS, SOURCE, Column, columns
from minimx.commands.bench.fit import saturation
from minimx.commands.bench.machine import differences, machine_text
from minimx.commands.bench.result import Cell, Result
from minimx.core.storage.stats import human

SHORT = {
    "oom": "OOM",
    "rehearsed": "fits",
    "timeout": "slow",
    "left out": "–",
    "failed": "failed",
}


def name(model: str) -> str:
    """What the document calls a network."""
    return MODELS.get(model, model)


def speed_text(cell: Cell | None) -> str:
    """A cell in a word."""
    if cell is None:
        return ""
    if cell.images_per_second is not None:
        return number(cell.images_per_second)
    return SHORT[cell.status]


def number(speed: float) -> str:
    """Images per second, to three digits and more.

    >>> number(0.123456), number(12.3456), number(10177.84)
    ('0.123', '12.3', '10178')
    """
    return f"{speed:.3g}" if speed < 100 else f"{speed:.0f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts in columns, the first of them a head."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def speeds_table(result: Result) -> str:
    """Images per second: a row for each batch size, a column for each network."""
    return _grid(result, speed_text)


def memory_table(result: Result) -> str:
    """The most memory in use at once, in the same rows and columns."""
    return _grid(result, _peak)


def _grid(result: Result, shown: Callable[[Cell | None], str]) -> str:
    rows = [["batch", *map(name, result.models)]]
    for batch in result.batches:
        cells = [result.cell(model, batch) for model in result.models]
        rows.append([str(batch), *map(shown, cells)])
    return aligned(rows)


def _peak(cell: Cell | None) -> str:
    if cell is None or cell.peak_bytes is None:
        return speed_text(cell)
    return human(cell.peak_bytes)


def beside_rows(
    result: Result, model: str, document: Iterable[Column]
) -> list[list[str]]:
    """A network's column beside columns of the document, with their laws."""
    theirs = list(document)
    batches = {cell.batch for cell in result.cells if cell.model == model}
    batches |= {batch for column in theirs for batch in column.speeds}
    rows = [["batch", "here", *(column.label for column in theirs)]]
    for batch in sorted(batches):
        cells = [_documented(column, batch) for column in theirs]
        rows.append([str(batch), speed_text(result.cell(model, batch)), *cells])
    laws = [result.law(model)]
    for column in theirs:
        laws.append(saturation({b: s for b, s in column.speeds.items() if s}))
    rows.append(["peak", *(number(law.peak) if law else "" for law in laws)])
    rows.append(["90 % at", *(str(law.enough) if law else "" for law in laws)])
    return rows


def _documented(column: Column, batch: int) -> str:
    if batch not in column.speeds:
        return ""
    speed = column.speeds[batch]
    return "OOM" if speed is None else number(speed)


def report(result: Result, document: Iterable[str] = ()) -> str:
    """Everything about a result. document: machines of the document to set beside."""
    settings = result.settings
    size = settings["gpu_memory"]
    card = f", a simulated {settings['card']}" if settings.get("card") else ""
    where = settings["ctx"] + card + (f" of {human(size)}" if size else "")
    parts = [
        f"{settings['task']} on {where}, {settings['dtype']}, images per second "
        f"(median of {settings['least']} to {settings['most']} batches after "
        f"{settings['warm']})",
        machine_text(result.machine),
        "",
        speeds_table(result),
        "",
        "memory",
        memory_table(result),
        "",
    ]
    for model in result.models:
        law = result.law(model)
        if law is not None:
            parts.append(f"{name(model)}: {law}")
    notes = [c for c in result.cells if c.note and c.status != "left out"]
    parts += [f"{name(c.model)}, batch {c.batch}: {c.note}" for c in notes]
    wanted = tuple(document)
    for model in result.models if wanted else ():
        found = [c for c in columns(settings["task"], model) if c.label in wanted]
        if found:
            lines = ", ".join(f"{column.label} line {column.line}" for column in found)
            parts += ["", f"{name(model)} beside {SOURCE} ({lines})"]
            parts.append(aligned(beside_rows(result, model, found)))
    return "\n".join(parts)


def comparison(a: Result, b: Result) -> str:
    """Two results side by side; says first what sets machine and settings apart."""
    apart = differences(a.machine, b.machine)
    ways = differences(a.settings, b.settings)
    parts = []
    if apart:
        parts.append("TWO MACHINES, so that ratios say nothing about the programs:")
        parts += [f"  {difference}" for difference in apart]
    if ways:
        parts.append("MEASURED IN TWO WAYS:")
        parts += [f"  {difference}" for difference in ways]
    if not parts:
        parts.append("one machine, measured in one way")
    rows = [["network", "batch", "first", "second", "second / first"]]
    for cell in a.cells:
        other = b.cell(cell.model, cell.batch)
        if other is not None:
            ratio = ""
            if cell.images_per_second and other.images_per_second:
                ratio = f"{other.images_per_second / cell.images_per_second:.2f}"
            rows.append(
                [name(cell.model), str(cell.batch)]
                + [speed_text(cell), speed_text(other), ratio]
            )
    parts.append(aligned(rows) if len(rows) > 1 else "They have no cell in common.")
    return "\n".join(parts)
