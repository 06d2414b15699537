"""Text that a notebook makes: unfolding hints, source excerpts, verdicts on claims."""

from __future__ import annotations

import html
import inspect
import textwrap
from collections.abc import Sequence
from typing import Any


class _Shown:
    """Something with a rich and a plain form."""

    def __init__(self, rich: str, plain: str) -> None:
        self._rich = rich
        self._plain = plain

    def __repr__(self) -> str:
        return self._plain

    def _repr_html_(self) -> str:
        return self._rich


def hints(*texts: str) -> _Shown:
    """Hints that unfold one inside the other: the next is offered by the last."""
    rich = ""
    for number, text in reversed(list(enumerate(texts, 1))):
        rich = (
            f"<details style='margin-left:1em'><summary>Hint {number} of {len(texts)}"
            f"</summary><div style='margin:0.3em 1em'>{text}</div>{rich}</details>"
        )
    return _Shown(rich, f"{len(texts)} hints, folded")


def read_core(thing: Any, first: int = 1, last: int | None = None) -> _Shown:
    """The source of a function or class of minimx, as it is installed here.

    first, last: which of its lines to show, counted from 1.
    """
    lines, start = inspect.getsourcelines(thing)
    module = inspect.getmodule(thing)
    name = module.__name__ if module else "?"
    shown = lines[first - 1 : last]
    body = textwrap.dedent("".join(shown)).rstrip()
    title = f"{name}.{thing.__qualname__}, from line {start + first - 1}"
    rich = (
        f"<div><code>{html.escape(title)}</code>"
        f"<pre style='border-left:3px solid var(--jp-border-color1);padding-left:1em'>"
        f"{html.escape(body)}</pre></div>"
    )
    return _Shown(rich, f"# {name}.{thing.__qualname__}\n{body}")


def verdicts(rows: Sequence[tuple[str, str, str]]) -> _Shown:
    """A table of (what a document claims, verdict, evidence)."""
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{c}</td>" for c in row) + "</tr>"
        for row in rows
    )
    head = "".join(
        f"<th style='text-align:left'>{word}</th>"
        for word in ("claim", "verdict", "evidence")
    )
    rich = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    plain = "\n".join(" | ".join(row) for row in rows)
    return _Shown(rich, plain)
