"""Lines of the package with some of them marked: as text, as HTML, for a page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """Some lines of a file.

    file: where it is in the project. line: the number of the first. marks: the numbers
    of the lines that matter. why: what they have to do with what was asked.
    """

    file: str
    line: int
    text: str
    marks: tuple[int, ...]
    why: str

    @property
    def lines(self) -> list[tuple[int, str, bool]]:
        """Number, text, and whether it is marked, of each line."""
        return [
            (self.line + k, text, self.line + k in self.marks)
            for k, text in enumerate(self.text.split("\n"))
        ]

    def inside(self, other: Piece) -> bool:
        """Whether all of its lines are lines of the other one."""
        return (
            self.file == other.file
            and other.line <= self.line
            and self.lines[-1][0] <= other.lines[-1][0]
        )


@dataclass(frozen=True, repr=False)
class Code:
    """What acts on something, the piece that says most first.

    missing: why a piece that was looked for is not there.
    """

    name: str
    pieces: tuple[Piece, ...]
    missing: str = ""

    def __repr__(self) -> str:
        parts = [self.missing] if self.missing else []
        for piece in self.pieces:
            parts.append(f"{piece.file}:{piece.line}  {piece.why}")
            parts += [
                f"{'>' if marked else ' '} {number:4}  {text}".rstrip()
                for number, text, marked in piece.lines
            ]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(self.missing)}</p>"] if self.missing else []
        for piece in self.pieces:
            lines = [
                f"<mark>{number:4}  {escape(text)}</mark>"
                if marked
                else f"{number:4}  {escape(text)}"
                for number, text, marked in piece.lines
            ]
            head = escape(f"{piece.file}:{piece.line}  {piece.why}")
            body = "\n".join(lines)
            parts.append(f"<p><code>{head}</code></p><pre>{body}</pre>")
        return "".join(parts)

    def as_message(self) -> dict[str, Any]:
        """The pieces as a page wants them."""
        pieces = [
            {
                "place": f"{piece.file}:{piece.line}",
                "why": piece.why,
                "lines": [list(line) for line in piece.lines],
            }
            for piece in self.pieces
        ]
        message = {"kind": "source", "name": self.name, "pieces": pieces}
        return message | ({"error": self.missing} if self.missing else {})
