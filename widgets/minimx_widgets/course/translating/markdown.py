r"""The texts of a markdown cell, and the cell with other texts in their places.

    texts("# Title\n\nTwo lines\nof text.")   # ["Title", "Two lines of text."]
    replaced(cell, {"Title": "Titel"}.get)     # the cell, with what is known replaced

A heading, a paragraph, an item of a list, a quotation and a table are one text each. A
line that was broken is one line in the text, so that breaking it elsewhere changes
nothing. Fenced code, formulas on lines of their own and lines of HTML tags are not
texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

FENCE: Final = re.compile(r"\s*(```+|~~~+|\$\$)")
HEADING: Final = re.compile(r"(\s*#{1,6}\s+)(.*)")
ITEM: Final = re.compile(r"(\s*(?:[-*+]|\d+[.)])\s+)(.*)")
QUOTE: Final = re.compile(r"(\s*>\s?)(.*)")
TABLE: Final = re.compile(r"\s*\|")
TAGS: Final = re.compile(r"\s*(</?[a-zA-Z][^>]*>\s*)+")
#: What has no words for a reader: code, formulas, tags, addresses of links.
WORDLESS: Final = re.compile(r"`[^`]*`|\$[^$]*\$|<[^>]*>|\]\([^)]*\)")
LETTER: Final = re.compile(r"[^\W\d_]")


class Block(NamedTuple):
    """Some lines of a cell.

    lines: as they are. text: what is in them to be read; "" for none. before: what
    stands before the text.
    """

    lines: str
    text: str = ""
    before: str = ""


def texts(cell: str) -> list[str]:
    """What a reader reads of a cell, in its order."""
    return [block.text for block in blocks(cell) if block.text]


def replaced(cell: str, other: Callable[[str], str | None]) -> str:
    """The cell with other texts; a block stays as it is where `other` has none."""
    found = []
    for block in blocks(cell):
        text = other(block.text) if block.text else None
        found.append(block.lines if not text else f"{block.before}{text}")
    return "\n".join(found)


def blocks(cell: str) -> Iterator[Block]:
    """All lines of a cell; joined by line ends they are the cell."""
    lines = cell.split("\n")
    place = 0
    while place < len(lines):
        end = _end(lines, place)
        yield _block(lines[place:end])
        place = end


def _end(lines: list[str], start: int) -> int:
    """Behind the last line of the block that begins at `start`."""
    first, end = lines[start], start + 1
    if fence := FENCE.match(first):
        if fence[1] == "$$" and first.strip() != "$$" and first.rstrip().endswith("$$"):
            return end  # a formula on one line
        while end < len(lines) and not lines[end].rstrip().endswith(fence[1]):
            end += 1
        return min(end + 1, len(lines))
    if not first.strip() or HEADING.match(first) or TAGS.fullmatch(first):
        return end
    same = next((kind for kind in (TABLE, QUOTE) if kind.match(first)), None)
    while end < len(lines) and lines[end].strip():
        line = lines[end]
        if same is not None and not same.match(line):
            break
        if same is None and any(
            kind.match(line) for kind in (FENCE, HEADING, ITEM, QUOTE, TABLE)
        ):
            break
        if TAGS.fullmatch(line):
            break
        end += 1
    return end


def _block(lines: list[str]) -> Block:
    whole = "\n".join(lines)
    first = lines[0]
    indented = first.startswith("    ") and not ITEM.match(first)  # so it is code
    if FENCE.match(first) or TAGS.fullmatch(first) or indented:
        return Block(whole)
    if TABLE.match(first):
        return Block(whole, whole if has_words(whole) else "")
    for kind in (HEADING, ITEM, QUOTE):
        if match := kind.match(first):
            rest = lines[1:]
            if kind is QUOTE:
                rest = [QUOTE.sub(r"\2", line) for line in rest]
            text = _one_line([match[2], *rest])
            return Block(whole, text, match[1]) if has_words(text) else Block(whole)
    text = _one_line(lines)
    indent = first[: len(first) - len(first.lstrip())]
    return Block(whole, text, indent) if has_words(text) else Block(whole)


def _one_line(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines).strip()


def has_words(text: str) -> bool:
    """Whether there is something to read: not only code, formulas and numbers."""
    return LETTER.search(WORDLESS.sub("", text)) is not None
