"""All claims: as a table, with their verdicts, and as a page of the book.

minimx claims                 the table
minimx claims --run [05]      makes the experiments, of one notebook or of all
minimx claims --markdown > book/claims.md
"""

from __future__ import annotations

import argparse
import html
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from minimx.commands.cli.lab import notebooks_folder
from minimx.tools.progress import Bar
from minimx_widgets.course.claims import MODULES, every, in_notebook
from minimx_widgets.course.claims.claim import NONE, Claim
from minimx_widgets.course.parts.text import VERDICTS, table, verdicts

WIDE = 60  # characters of a claim in the table

HEAD = """# Claims

What MXNet's documents say, and what became of it. Each claim has an experiment, which
`minimx claims --run` makes, and a function that decides from its numbers: no verdict is
typed. `minimx claims --markdown` writes this page, and a test holds it to what the
functions say.

The brackets name the document, the line, and how the numbers were obtained. *Measured*
was timed or counted while something ran. *Virtual* is read from the virtual clock,
which is the same on every machine. *Planned* was computed without running anything.
*Modelled* comes from costs of machines that are not here. What is measured was measured
on {machine}.
"""


def listing(claims: Sequence[Claim]) -> str:
    """A line for each claim: what it says, where, how its numbers come about."""
    rows = [
        (
            _short(one.text),
            f"{one.document.name}:{one.line or '-'}",
            one.document.generation,
            one.kind,
            one.notebook,
        )
        for one in claims
    ]
    return repr(table(("claim", "document:line", "MXNet", "kind", "notebook"), rows))


def _short(text: str) -> str:
    plain = html.unescape(re.sub("<[^>]+>", "", text))
    return plain if len(plain) <= WIDE else f"{plain[: WIDE - 1]}…"


def run(options: argparse.Namespace) -> int:
    """Print the claims of `options.notebook`, or of all; the exit code.

    options.run: make the experiments, and print verdicts and evidence. .markdown: print
    the page of the book. 1 if an experiment raised an error, 2 for a notebook without
    claims.
    """
    notebook, out = options.notebook, sys.stdout
    if notebook and notebook not in MODULES:
        print(
            f"minimx claims: no notebook {notebook!r} has claims. There are: "
            f"{', '.join(MODULES)}.",
            file=sys.stderr,
        )
        return 2
    claims = in_notebook(notebook) if notebook else every()
    if not (options.run or options.markdown):
        print(listing(claims), file=out)
        print(f"{len(claims)} claims; --run makes their experiments.", file=out)
        return 0
    found, failed = _judged(claims, None if options.markdown else out)
    if options.markdown:
        print("\n".join(page(found)).rstrip(), file=out)
    for one, error in failed:
        print(
            f"minimx claims: {one.notebook} {one.name}: "
            f"{type(error).__name__}: {error}",
            file=sys.stderr,
        )
    return 1 if failed else 0


Judged = dict[tuple[str, str], tuple[str, str, str]]


def _judged(
    claims: Sequence[Claim], out: TextIO | None
) -> tuple[Judged, list[tuple[Claim, Exception]]]:
    """The rows of all claims by notebook and name, and the experiments that failed."""
    found: Judged = {}
    failed = []
    with Bar() as bar:
        for done, one in enumerate(claims):
            bar.show(done, len(claims), f"{one.notebook} {one.name}")
            try:
                row = one.row()
            except Exception as error:  # named at the end; the others go on
                failed.append((one, error))
                continue
            found[one.notebook, one.name] = row
            if out is not None:
                bar.close()
                print(f"{one.notebook} {verdicts([row])!r}", file=out, flush=True)
    return found, failed


def page(found: Judged) -> Iterator[str]:
    """The lines of the page, for claims that were judged."""
    yield HEAD.format(machine=machine())
    for notebook in MODULES:
        judged = [one for one in in_notebook(notebook) if (notebook, one.name) in found]
        if judged:
            title, file = heading(notebook)
            yield f"## {title}\n\n[The notebook](../notebooks/{file})\n"
            yield from (line(one, found[notebook, one.name]) for one in judged)
            yield ""


def line(one: Claim, row: tuple[str, str, str]) -> str:
    """The entry of a claim: its verdict, what was expected, and what was found."""
    _, verdict, evidence = row
    said = [one.shown, f"Expected: {one.prediction}", f"Found: {evidence}."]
    if one.tolerance != NONE:
        said.append(f"Tolerance: {one.tolerance}.")
    return f"- **{mark(verdict)}** " + "<br>".join(said).replace("*", "\\*")


def mark(verdict: str) -> str:
    """A verdict behind its mark."""
    return f"{VERDICTS[verdict.split()[0]]} {verdict}"


def heading(notebook: str) -> tuple[str, str]:
    """The title of a notebook, and the name of its file."""
    folder = notebooks_folder() or Path()
    (path,) = folder.glob(f"*{notebook}*.ipynb")
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].lstrip("# "), path.name


def machine() -> str:
    """What kind of machine this is, in words."""
    return f"{os.cpu_count()} cores of {platform.machine()} under {platform.system()}"
