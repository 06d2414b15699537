"""How knobs look: one line, a table, a card; as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minimx.core.knobs.knob import Knob, Value

if TYPE_CHECKING:
    from minimx.core.knobs.example import Example

SCOPES = {
    "live": "at the next operation",
    "bind": (
        "when the next graph is bound: a hybridized block binds again by itself at its "
        "next call, an executor that is bound stays as it is"
    ),
    "create": "when what obeys it is made; what exists stays as it is",
    "restart": "at once: its part is drained and restarted in this process",
}


def when(knob: Knob) -> str:
    """When a change acts, in words, with what must be made anew."""
    if not knob.live:
        return f"not yet; {acts(knob)}"
    if knob.made:
        return f"when {knob.made} is made; one that exists stays as it is"
    return SCOPES[knob.scope]


def acts(knob: Knob) -> str:
    """When a knob acts, or where it will: the column of every table."""
    return knob.scope if knob.live else f"planned: {knob.planned_in}"


def value_text(knob: Knob, value: Value) -> str:
    """A value as a table shows it."""
    return knob.format(value) or "(empty)"


def summary_line(
    declared: Mapping[str, Knob], diff: Mapping[str, tuple[Any, Any]]
) -> str:
    """How many knobs there are, how many act, and which were turned."""
    live = sum(knob.live for knob in declared.values())
    turned = ", ".join(f"{name}={new!r}" for name, (_, new) in diff.items())
    ending = f"; turned: {turned}" if turned else ""
    return f"<{len(declared)} knobs, {live} of them live{ending}>"


def text_table(knobs: Iterable[Knob], values: Mapping[str, Value]) -> str:
    """An aligned table; a `*` marks the knobs that stand away from their default."""
    rows = [("", "knob", "value", "default", "acts")]
    for knob in knobs:
        value = value_text(knob, values[knob.name])
        default = value_text(knob, knob.default)
        mark = "*" if value != default and not knob.follows else ""
        rows.append((mark, knob.name, value, knob.default_text, acts(knob)))
    cells = [[row[0], row[1], *map(_short, row[2:])] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    return "\n".join(_padded(row, widths) for row in cells)


def _short(cell: str) -> str:
    """As much of a long address or path as a column shows."""
    return cell if len(cell) <= 32 else cell[:31] + "…"


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return "  ".join([*cells, row[-1]]).rstrip()


def html_table(knobs: Iterable[Knob], values: Mapping[str, Value]) -> str:
    """The same table for a notebook, one foldable part per group."""
    groups: dict[str, list[Knob]] = {}
    for knob in knobs:
        groups.setdefault(knob.group, []).append(knob)
    return "".join(
        f"<details><summary><b>{_escaped(group)}</b>, {len(group_knobs)} knobs, "
        f"{sum(knob.live for knob in group_knobs)} live</summary><table><thead><tr>"
        "<th>knob</th><th>value</th><th>default</th><th>acts</th><th>meaning</th>"
        "</tr></thead><tbody>"
        f"{''.join(_html_row(knob, values[knob.name]) for knob in group_knobs)}"
        "</tbody></table></details>"
        for group, group_knobs in groups.items()
    )


def _html_row(knob: Knob, value: Value) -> str:
    shown = _escaped(value_text(knob, value))
    cells = (
        f"<code>{knob.name}</code>",
        shown if value == knob.default else f"<b>{shown}</b>",
        _escaped(knob.default_text),
        _escaped(acts(knob)),
        _escaped(knob.summary),
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _escaped(text: str) -> str:
    import html

    return html.escape(text)


class Card:
    """Everything about one knob, for reading."""

    def __init__(self, knob: Knob, value: Value) -> None:
        self.knob = knob
        self.value = value

    def rows(self) -> list[tuple[str, str]]:
        """The facts as (label, text)."""
        knob = self.knob
        documented = (
            f"{doc}: {text}" for doc, text in knob.defaults_by_document.items()
        )
        example = knob.example
        rows = [
            ("value", value_text(knob, self.value)),
            ("default", knob.default_text),
            ("allowed", knob.kind),
            ("group", knob.group),
            ("acts", when(knob)),
            ("acts in", example.acts_in if example else ""),
            ("look at", knob.observable),
            ("also called", ", ".join(knob.aliases)),
            ("defaults in documents", "; ".join(documented)),
            ("named in", ", ".join(knob.sources)),
        ]
        return [(label, text) for label, text in rows if text]

    def __repr__(self) -> str:
        import textwrap

        lines = [self.knob.name, ""]
        for label, text in self.rows():
            head = f"  {label:<22}"
            lines += textwrap.wrap(
                text,
                88,
                initial_indent=head,
                subsequent_indent=" " * len(head),
                break_on_hyphens=False,
            )
        lines += ["", *textwrap.wrap(self.knob.meaning, 86)]
        example = self.knob.example
        if example is not None:
            lines += ["", *textwrap.wrap(tried(example), 86), ""]
            lines += [f"    {line}" for line in example.typed().splitlines()]
            lines += ["", "It prints", ""]
            lines += [f"    {line}" for line in example.output().splitlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{_escaped(label)}</th>"
            f"<td style='text-align:left'>{_escaped(text)}</td></tr>"
            for label, text in self.rows()
        )
        return (
            f"<h4><code>{self.knob.name}</code></h4>"
            f"<p>{_escaped(self.knob.meaning)}</p><table>{rows}</table>{self._trial()}"
        )

    def _trial(self) -> str:
        """The example as HTML: what to run, and what it prints under each value."""
        example = self.knob.example
        if example is None:
            return ""
        return (
            f"<p>{_escaped(tried(example))}</p>"
            f"<pre>{_escaped(example.typed())}</pre>"
            f"<p>It prints</p><pre>{_escaped(example.output())}</pre>"
        )


def tried(example: Example) -> str:
    """What to do with the lines of an example."""
    needed = f" It needs {example.needs}." if example.needs else ""
    return f"Try it: run this under each value of the knob.{needed}"
