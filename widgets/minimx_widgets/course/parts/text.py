"""Text that a notebook makes: hints, source excerpts, refusals, verdicts on claims.

Everything here has a rich form for the page and a plain one, which says the same in
words: nbval compares it, and a terminal shows it.
"""

from __future__ import annotations

import html
import inspect
import os
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minimx.core.knobs import KnobWarning
from minimx_widgets.code.sources import source_lines
from minimx_widgets.course.parts.own_kernels import note
from minimx_widgets.language import tr, tr_all

# What a sentence in a document can turn out to be, and its mark.
VERDICTS = {"holds": "✔", "fails": "✘", "depends": "◐"}
_COLOURS = {
    "holds": "--jp-success-color1",
    "fails": "--jp-error-color1",
    "depends": "--jp-warn-color1",
}
# JupyterLab shows a bare <pre> in the font of the text.
_LINES = "margin:0.4em 0;font-family:var(--jp-code-font-family, monospace)"
FEWEST_WORDS = 6  # different ones, of a sentence that explains something
FEWEST_IDEAS = 2  # of the model sentence, that it has to name
_STEM = 5  # letters by which "blocks" and "block", "waits" and "waiting" are one idea
# Words of four letters and more that are about nothing.
_SMALL = frozenset(
    re.findall(
        r"\w+",
        """
        about above after again along also among another anything because been
        before begins behind below beside between both cannot could does done down
        each either even ever every everything first from further goes have however
        into itself just keep least less like made make makes many means might more
        most much must needs never none nothing once only other others otherwise
        over rather same second several shall should since some something still such
        take takes than that their them themselves then there therefore these they
        thing things this those though through till together under until upon very
        want wants well were what whatever when where wherever whether which while
        whoever whom whose will with within without would your
        """,
    )
)


class Shown:
    """Something with a rich and a plain form."""

    def __init__(self, plain: str, rich: str, kind: str = "text/html") -> None:
        """`kind` is the MIME type of `rich`: HTML, Markdown or SVG."""
        self.plain = plain
        self.rich = rich
        self.kind = kind

    def __repr__(self) -> str:
        return self.plain

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.plain, self.kind: self.rich}


def hints(*texts: str) -> Shown:
    """Hints that unfold one inside the other: the next is offered by the last."""
    rich = ""
    for number, text in reversed(list(enumerate(texts, 1))):
        head = tr("Hint {number} of {count}", number=str(number), count=str(len(texts)))
        rich = (
            f"<details style='margin-left:1em'><summary>{head}</summary>"
            f"<div style='margin:0.3em 1em'>{tr(text)}</div>{rich}</details>"
        )
    return Shown(tr(f"{len(texts)} hints, folded"), rich)


def code(text: str) -> str:
    """Lines as they are typed or printed, as HTML."""
    body = html.escape(textwrap.dedent(text).strip("\n").rstrip())
    return f"<pre style='{_LINES}'>{body}</pre>"


def words(text: str) -> str:
    """Plain words as HTML; what stands in `backticks` is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))


@contextmanager
def refused(error: type[BaseException] = Exception) -> Iterator[None]:
    """Show the message of the error that the block is expected to raise.

    Raises AssertionError if the block raises nothing; other errors pass through.
    """
    try:
        yield
    except error as refusal:
        print(f"{type(refusal).__name__}: {refusal}")
        for note in getattr(refusal, "__notes__", ()):
            print(f"  {note}")
    else:
        raise AssertionError("nothing was refused here, though the text says it is")


def plain_warnings() -> None:
    """Show warnings of knobs every time, in one line, without the name of a file.

    Where oneDNN is installed, a line says that the course does without.
    """
    warnings.simplefilter("always", KnobWarning)
    warnings.formatwarning = _in_one_line
    if words := note():
        print(tr(words))


def _in_one_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    return f"{category.__name__}: {message}\n"


def read_core(thing: Any, *more: Any) -> Shown:
    """The source of functions or classes of minimx, as they are installed here.

    Comments and docstrings are part of it. Above each stands where to find it.
    """
    plain, rich = [], []
    for one in (thing, *more):
        path, lines, start = source_lines(one)
        body = textwrap.dedent("".join(lines)).rstrip()
        name = f"{inspect.unwrap(one).__module__}.{one.__qualname__}"
        plain.append(f"# {name}\n{body}")
        rich.append(f"{_place(path.resolve(), name, start)}\n```python\n{body}\n```")
    return Shown("\n\n".join(plain), "\n\n".join(rich), "text/markdown")


def _place(path: Path, name: str, line: int) -> str:
    """The name of something; a link to its file, if the page can reach it."""
    root = Path.cwd().parent
    where = f"`{name}`, from line {line}"
    if path.is_relative_to(root) and (root / "notebooks").is_dir():
        address = os.path.relpath(path).replace(os.sep, "/")
        return f"[`{name}`]({address}), from line {line}\n"
    return f"{where}\n"


def explained(sentence: str, model: str) -> Shown:
    """A learner's own sentence beside a model one, which it unlocks.

    It needs six different words, and two of the ideas that the model sentence names;
    until then the answer names those that are missing.
    """
    sentence, model = " ".join(sentence.split()), tr(model)
    if len(set(sentence.lower().split())) < FEWEST_WORDS:
        several = len(sentence.split()) >= FEWEST_WORDS
        plain = f"Write a sentence of at least {FEWEST_WORDS} words first."
        if several:
            plain = f"Write a sentence with at least {FEWEST_WORDS} different words."
        plain = tr(plain)
        return Shown(plain, f"<i>{plain}</i>")
    wanted, named = _ideas(model), _ideas(sentence)
    missing = [word for stem, word in wanted.items() if stem not in named]
    if len(wanted) - len(missing) < min(FEWEST_IDEAS, len(wanted)):
        plain = tr(
            "Not there yet. Which part do these play: {words}? Say it in your words.",
            words=", ".join(f"“{word}”" for word in missing[:3]),
        )
        return Shown(plain, f"<i>{html.escape(plain)}</i>")
    yours, ours = tr_all(("yours", "ours"))
    plain = f"{yours}: {sentence}\n{ours}:  {model}"
    rich = (
        f"<table><tr><th>{yours}</th><td style='text-align:left'>"
        f"{html.escape(sentence)}</td></tr><tr><th>{ours}</th>"
        f"<td style='text-align:left'>{html.escape(model)}</td></tr></table>"
        f"<i>{tr('Does yours name a cause, or only what happened?')}</i>"
    )
    return Shown(plain, rich)


def _ideas(sentence: str) -> dict[str, str]:
    """The words of a sentence that it is about, by their first letters.

    >>> _ideas("Blocks wait because the pool's blocks are large")
    {'block': 'blocks', 'wait': 'wait', 'pool': 'pool', 'large': 'large'}
    """
    words = re.findall(r"[^\W\d_]{4,}", sentence.lower())
    kept = [word for word in words if word not in _SMALL]
    found: dict[str, str] = {}
    for word in kept:
        found.setdefault(word[:_STEM], word)
    return found


def verdicts(rows: Sequence[tuple[str, str, str]]) -> Shown:
    """A table of (what a document claims, verdict, evidence); cells may be HTML.

    A verdict begins with "holds", "fails" or "depends"; ValueError otherwise.
    """
    for _, verdict, _ in rows:
        if verdict.split()[0] not in VERDICTS:
            text = ", ".join(VERDICTS)
            raise ValueError(f"{verdict!r}: a verdict begins with one of {text}.")
    shown = [(tr(claim), verdict, tr(evidence)) for claim, verdict, evidence in rows]
    body = "".join(
        f"<tr>{_cell(claim)}{_verdict(verdict)}{_cell(evidence)}</tr>"
        for claim, verdict, evidence in shown
    )
    heads = "".join(_cell(w, "th") for w in tr_all(("claim", "verdict", "evidence")))
    rich = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    plain = "\n".join(
        f"{VERDICTS[verdict.split()[0]]} {tr(verdict)}: {_text(claim)}\n"
        f"    {_text(evidence)}"
        for claim, verdict, evidence in shown
    )
    return Shown(plain, rich)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Shown:
    """Rows of texts and numbers; columns of numbers are aligned at the right."""
    cells = [[tr(str(cell)) for cell in row] for row in (heads, *rows)]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [_is_numeric(column[1:]) for column in columns]
    plain = "\n".join(
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )
    head, *body = (
        "".join(
            _cell(html.escape(cell), kind, "right" if numeric else "left")
            for cell, numeric in zip(row, right, strict=True)
        )
        for kind, row in zip(["th"] + ["td"] * len(rows), cells, strict=True)
    )
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    rich = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return Shown(plain, rich)


def _is_numeric(cells: Sequence[str]) -> bool:
    """Whether a column has numbers, perhaps with a unit, and gaps."""
    number = re.compile(r"[-+−±]?(\d.*|inf|nan)")
    return all(number.fullmatch(cell) for cell in cells if cell)


def _cell(text: str, kind: str = "td", side: str = "left") -> str:
    return f"<{kind} style='text-align:{side};vertical-align:top'>{text}</{kind}>"


def _verdict(verdict: str) -> str:
    word = verdict.split()[0]
    style = f"color:var({_COLOURS[word]});white-space:nowrap"
    return _cell(f"<b style='{style}'>{VERDICTS[word]} {html.escape(tr(verdict))}</b>")


def _text(markup: str) -> str:
    """HTML without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", markup))
