"""Whether every quotation stands at the line that its claim names.

    python -m tests.widgets.course.claims.quotations FOLDER

FOLDER holds the five documents, which are not part of this repository. Markup and the
breaks of lines do not count.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from minimx_widgets.course.claims import every
from minimx_widgets.course.claims.claim import Claim


def plain(text: str) -> str:
    """Words alone: without marks of code or of emphasis, in one line."""
    return " ".join(re.sub(r"[`*_]|\"|'", "", text).split())


def missing(one: Claim, folder: Path) -> list[str]:
    """Parts of its quotations that do not stand at the named lines."""
    if not one.document.file:
        return []
    lines = (folder / one.document.file).read_text(encoding="utf-8").split("\n")
    there = plain(" ".join(lines[one.line - 1 : (one.last or one.line)]))
    quoted = [part for part in one.quotations if part]
    return [part for part in quoted if plain(part) not in there] or (
        [] if quoted else ["(nothing is quoted)"]
    )


def main(folder: str) -> int:
    """Print what is missing; 1 if anything is."""
    found = [(one, missing(one, Path(folder))) for one in every()]
    wrong = [(one, parts) for one, parts in found if parts]
    for one, parts in wrong:
        print(f"{one.notebook} {one.name}, {one.place}: {parts}")
    print(f"{len(found)} claims, {len(wrong)} with a quotation that is not there")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
