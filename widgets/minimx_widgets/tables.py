"""The numbers behind a picture, as a table that prints and renders itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Rows of text under heads. The first column holds names, the others numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    @classmethod
    def of(
        cls, heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = ""
    ) -> Table:
        """A table from any sequences."""
        return cls(tuple(heads), tuple(map(tuple, rows)), caption)

    def __repr__(self) -> str:
        lines = [self.heads, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.heads))]
        out = [self.caption] if self.caption else []
        for line in lines:
            cells = [line[0].ljust(widths[0])]
            pairs = zip(line[1:], widths[1:], strict=True)
            cells += [cell.rjust(width) for cell, width in pairs]
            out.append("  ".join(cells).rstrip())
        return "\n".join(out)

    def html(self) -> str:
        """The table as HTML, everything escaped."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        heads = "".join(f"<th>{escape(head)}</th>" for head in self.heads)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
            for row in self.rows
        )
        head = f"<thead><tr>{heads}</tr></thead>"
        return f"<table>{caption}{head}<tbody>{rows}</tbody></table>"

    def _repr_html_(self) -> str:
        return self.html()


@dataclass(frozen=True)
class Tables:
    """Several tables, one below the other."""

    parts: tuple[Table, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))

    def html(self) -> str:
        """All tables as HTML."""
        return "".join(part.html() for part in self.parts)

    def _repr_html_(self) -> str:
        return self.html()
