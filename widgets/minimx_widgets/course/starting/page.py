"""The start page: what to do next, the notebooks as cards, and the system check.

Links are relative and open notebooks in JupyterLab. Everything is in the page itself,
so that it needs no network, and colours are those of JupyterLab's theme.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from minimx.commands.cli import doctor
from minimx.commands.cli.doctor import Finding
from minimx.commands.cli.lab import notebooks_folder
from minimx_widgets.course.parts.text import Shown, words
from minimx_widgets.course.predicting.ledger import NAME, Answer, Ledger
from minimx_widgets.course.starting import notebooks
from minimx_widgets.course.starting.notebooks import Folder, Notebook, Progress
from minimx_widgets.course.starting.pictures import picture
from minimx_widgets.language import tr, tr_all

EMPTY: Final = (
    "No notebook of the course lies in {folder}. Run `minimx lab`, which copies the "
    "course into a folder and opens this page there."
)
REPAIR: Final = (
    "Close JupyterLab and run `minimx lab --fresh`: it puts new copies in their place "
    "and keeps the damaged files beside them."
)
#: How the three states of a finding are shown.
MARKS: Final = {"ok": "✔", "absent": "–", "broken": "✘"}
COLOURS: Final = {"ok": "success", "absent": "warn", "broken": "error"}
STYLE: Final = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def start_page(folder: Path | None = None, course: Path | None = None) -> Shown:
    """What to do next, how far you are, and what this machine offers.

    folder: with the learner's notebooks and ledger; by default the one that the kernel
    runs in. course: the notebooks with their stored pictures; by default those that
    minimx was installed with. Only reads, whatever the ledger and notebooks look like.
    """
    here = folder or Path.cwd()
    found = notebooks.read(here)
    if not found.notebooks:
        text = tr(EMPTY, folder=str(here))
        return Shown(text, f"<p>{words(text)}</p>")
    ledger = Ledger(here / NAME) if (here / NAME).exists() else Ledger()
    states = [notebooks.progress(each, ledger) for each in found.notebooks]
    findings = doctor.examine()
    source = course or notebooks_folder()
    pictures = [picture(source / n.file) if source else "" for n in found.notebooks]
    following = _following(found.notebooks, states)
    rich = [
        f"<style>\n{STYLE}</style>",
        '<div class="mx-start">',
        _next(following, _summary(states, ledger), ledger.notice),
        f"<h2>{tr('The notebooks')}</h2>",
        _cards(found.notebooks, states, pictures),
        _others(found),
        _check(findings),
        "</div>",
    ]
    return Shown(_plain(found, states, following, ledger, findings), "".join(rich))


def _following(
    books: Sequence[Notebook], states: Sequence[Progress]
) -> tuple[Notebook, Progress] | None:
    """The first notebook that is not done."""
    pairs = zip(books, states, strict=True)
    return next(((book, state) for book, state in pairs if not state.done), None)


def _summary(states: Sequence[Progress], answers: Sequence[Answer] | Ledger) -> str:
    if not len(answers):
        return tr(
            "You have made no predictions yet. Each number that you lock in is kept "
            "in the file {name} in this folder, and nowhere else.",
            name=NAME,
        )
    done = sum(state.done for state in states)
    predicted = sum(state.predicted for state in states)
    right = sum(state.right for state in states)
    return tr(
        f"{done} of {len(states)} notebooks done. Of {predicted} "
        f"prediction{'s' * (predicted != 1)}, {right} right at the first try."
    )


def _next(
    following: tuple[Notebook, Progress] | None, summary: str, notice: str
) -> str:
    if following is None:
        first = tr("<b>You have done all notebooks.</b>")
    else:
        book, state = following
        begun = "Begin with {notebook}: {state}."
        if state.share:
            begun = "Go on with {notebook}: {state}."
        link = f'<a href="{quote(book.file)}"><b>{html.escape(book.title)}</b></a>'
        first = tr(begun, notebook=link, state=state.text)
    lines = [first, html.escape(summary)]
    if notice:
        lines.append(f"<i>{html.escape(tr(notice))}</i>")
    return f'<div class="next">{"<br>".join(lines)}</div>'


def _cards(
    books: Sequence[Notebook], states: Sequence[Progress], pictures: Sequence[str]
) -> str:
    items = "".join(map(_card, books, states, pictures))
    return f'<ul class="cards">{items}</ul>'


def _card(book: Notebook, state: Progress, image: str) -> str:
    shown = f'<img alt="" src="{image}">' if image else ""
    mark = "✔ " if state.done else ""
    return (
        f'<li class="card"><a href="{quote(book.file)}">{shown}'
        f"<b>{html.escape(book.title)}</b>"
        f'<span class="about">{html.escape(book.about)}</span>'
        f'<span class="state">{mark}{html.escape(state.text)}</span>'
        f'<div class="bar"><div style="width:{state.share:.0%}"></div></div></a></li>'
    )


def _others(found: Folder) -> str:
    """Further copies, and files that are no notebooks, with what to do."""
    text = ""
    if found.copies:
        links = ", ".join(
            f'<a href="{quote(name)}">{html.escape(name)}</a>' for name in found.copies
        )
        text += f"<p>{tr('Other versions of these notebooks:')} {links}</p>"
    if found.damaged:
        names = html.escape(", ".join(found.damaged))
        head = tr("Cannot be read as notebooks:")
        text += f"<p><b>{head}</b> {names}. {words(tr(REPAIR))}</p>"
    return text


def _verdict(findings: Sequence[Finding]) -> str:
    broken = [each.part for each in findings if each.state == "broken"]
    if broken:
        return tr("System check: {parts} cannot be used", parts=", ".join(broken))
    absent = [each.part for each in findings if each.state == "absent"]
    if not absent:
        return tr("System check: all that the course needs is here")
    return tr(
        "System check: all that the course needs is here; optional and not here: "
        "{parts}",
        parts=", ".join(absent),
    )


def _check(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f'<tr><td style="color:var(--jp-{COLOURS[each.state]}-color1)">'
        f"<b>{MARKS[each.state]}</b></td><td>{html.escape(each.part)}</td>"
        f"<td>{html.escape(each.found)}</td><td>{words(each.advice)}</td></tr>"
        for each in findings
    )
    opened = " open" if any(each.state == "broken" for each in findings) else ""
    heads = "<th></th>" + "".join(
        f"<th>{head}</th>" for head in tr_all(("part", "found", "what to do"))
    )
    same = tr("The same in a terminal:")
    return (
        f"<details{opened}><summary><b>{html.escape(_verdict(findings))}</b></summary>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>{same} <code>minimx doctor</code>.</p></details>"
    )


def _plain(
    found: Folder,
    states: Sequence[Progress],
    following: tuple[Notebook, Progress] | None,
    ledger: Ledger,
    findings: Sequence[Finding],
) -> str:
    lines = [_summary(states, ledger)]
    if following is not None:
        title, text = following[0].title, following[1].text
        lines.append(tr("next: {notebook}, {state}", notebook=title, state=text))
    lines += filter(None, [tr(ledger.notice)])
    lines += [
        f"{book.title}: {state.text}"
        for book, state in zip(found.notebooks, states, strict=True)
    ]
    bad = tr("cannot be read:")
    lines += [f"{bad} {name}. {tr(REPAIR)}" for name in found.damaged]
    lines.append(_verdict(findings))
    return "\n".join(lines)
