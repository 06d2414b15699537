"""The numbers behind a picture, as a table that prints and renders itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Rows of text under heads. Columns of numbers are set flush right."""

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
        right = self._numeric()
        out = [self.caption] if self.caption else []
        for line in lines:
            cells = [
                cell.rjust(width) if flush else cell.ljust(width)
                for cell, width, flush in zip(line, widths, right, strict=True)
            ]
            out.append("  ".join(cells).rstrip())
        return "\n".join(out)

    def _numeric(self) -> list[bool]:
        """Which columns hold numbers: every cell begins with a digit, or a sign."""
        return [
            all(row[i].lstrip("+-−±")[:1].isdigit() or not row[i] for row in self.rows)
            for i in range(len(self.heads))
        ]

    def html(self) -> str:
        """The table as HTML, everything escaped."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        right = ["right" if flush else "left" for flush in self._numeric()]

        def line(tag: str, cells: tuple[str, ...]) -> str:
            pairs = zip(cells, right, strict=True)
            return "".join(
                f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
                for cell, side in pairs
            )

        heads = line("th", self.heads)
        rows = "".join(f"<tr>{line('td', row)}</tr>" for row in self.rows)
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
