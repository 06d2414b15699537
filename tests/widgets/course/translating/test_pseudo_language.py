"""The whole course in the pseudo-language: what a learner reads is in its brackets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from minimx_widgets.course import claims, hints, knob_board, my_predictions
from minimx_widgets.course.claims.claim import NONE
from minimx_widgets.course.parts.checks import Feedback
from minimx_widgets.course.parts.text import explained, verdicts
from minimx_widgets.course.predicting.card import PredictCard
from minimx_widgets.course.predicting.ledger import NAME, Ledger
from minimx_widgets.course.recalling import bank
from minimx_widgets.course.recalling.rounds import exit_ticket, recall
from minimx_widgets.course.starting.page import start_page
from minimx_widgets.course.starting.writing import start_notebook
from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.translating import copies, markdown
from minimx_widgets.course.translating.extracting import PACKAGE, modules
from minimx_widgets.course.translating.literals import called
from minimx_widgets.failures import CAUSES, PROBES, REMEDIES
from minimx_widgets.language import speaking, tr
from tests.test_readme import NOTEBOOKS, ROOT
from tests.widgets.course.translating.pseudo_language import (
    english,
    outside,
    pseudo_language,
)

#: Evidence of claims that is put together from lists, or that quotes an error of
#: minimx: it is shown in English, at least in part. By its first words.
PIECED = (
    "a parameter that the second loss did not use",
    "KiB without and with it:",
    "records in random order",
    "at 128 images ResNet-50",
    "AlexNet, 8 images a device.",
    "Round against Naive:",
    "with 4 MiB allowed, 2 takes",
    "with MINIMX_CUDNN_INVERTED_LIMIT=1",
    "F(4×4) had more than",
    "broadcast_add: the inputs live",
)
#: What Python or minimx says of an attempt; that stays English.
PYTHONS = re.compile(r"\w+Error: |.*argument after \*\* must be")


@pytest.fixture(autouse=True)
def in_brackets() -> Iterator[None]:
    with speaking(pseudo_language()):
        yield


def answered(card: PredictCard, value: float) -> str:
    """All that a card shows once a prediction is locked in."""
    card.predict(value)
    return f"{card._text.value} {card._answer.value} {card._button.description}"


def test_every_question_of_recalls_and_exit_tickets() -> None:
    for name, question in bank.every().items():
        card = question.card(ledger=Ledger())
        wrong = 2.0 if question.options else card._measure(**card.numbers) * 3 + 1
        assert outside(answered(card, wrong)) == [], name
        lessons = [*question.wrong.values(), *question.options.values()]
        assert outside(" ".join(map(tr, lessons))) == [], name


def cards() -> Iterator[tuple[str, ast.Call]]:
    """The prediction cards of the notebooks, in their code."""
    for path in NOTEBOOKS:
        for cell in exercises.read(path)["cells"]:
            if cell["cell_type"] == "code" and "PredictCard(" in cell["source"]:
                source = re.sub(r"^[%!].*$", "pass", cell["source"], flags=re.MULTILINE)
                for node in ast.walk(ast.parse(source)):
                    if isinstance(node, ast.Call) and called(node) == "PredictCard":
                        yield f"{path.name} {cell['id']}", node


def plain(node: ast.expr) -> Any:
    """The value of an expression without names; None for another one."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def test_every_card_of_the_notebooks() -> None:
    seen = 0
    for place, node in cards():
        values = {pair.arg: pair.value for pair in node.keywords}
        text = plain(node.args[0])
        words = [plain(each) or "" for each in node.args[2:]] + ["", ""]
        by = plain(values["by"]) if "by" in values else words[1]
        if text is None:
            continue
        numbers = plain(values["numbers"]) if "numbers" in values else {}
        numbers = numbers if numbers is not None else {}
        if not numbers:  # so that no field is looked for
            text = re.sub(r"\{\w+\}", "7", text) if "numbers" not in values else text
        card = PredictCard(
            text, lambda **_: 7.0, words[0], by, numbers=numbers, ledger=Ledger()
        )
        shown = re.sub(r"\{\w+\}", "7", answered(card, 70.0))
        assert outside(shown) == [], place
        wrong = values.get("wrong")
        for lesson in wrong.values if isinstance(wrong, ast.Dict) else []:
            assert outside(tr(plain(lesson) or "")) == [], place
        why = plain(values["why"]) if "why" in values else ""
        assert outside(tr(why or "")) == [], place
        seen += 1
    assert seen > 80


def test_rounds_hints_sentences_and_what_was_predicted() -> None:
    ledger = Ledger()
    for each in (recall("09", ledger), exit_ticket("09", ledger)):
        assert outside(each._repr_mimebundle_()[0]["text/html"]) == []
        each._pressed()
        assert outside(each._note.value) == []
        for card in each.cards:
            card.predict(1.0)
    assert outside(my_predictions(Ledger()).rich) == []
    assert outside(re.sub(r"<td.*?</td>", "", my_predictions(ledger).rich)) == []
    model = import_module("minimx_widgets.course.pooling")
    assert outside(hints(*model.HINTS).rich) == []
    assert outside(explained("too short", model.SENTENCE).rich) == []
    assert tr("MXNet reads the variable") in knob_board.moments().rich
    yours = explained(f"{tr(model.SENTENCE)}", model.SENTENCE).rich
    assert outside(yours) == []


def test_every_claim_with_its_prediction_and_its_tolerance() -> None:
    for one in claims.every():
        parts = [tr(one.text), tr(one.prediction), tr(one.kind)]
        parts += [tr(one.tolerance)] if one.tolerance != NONE else []
        assert outside(" ".join(parts)) == [], one.name


def test_verdicts_and_evidence() -> None:
    """As `minimx claims --markdown` wrote them, so that no experiment has to run."""
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    found = re.findall(
        r"^- \*\*. (.*?)\*\*.*?<br>Found: (.*?)\.(?:<br>Tolerance.*)?$",
        page,
        re.MULTILINE,
    )
    assert len(found) > 90
    for verdict, evidence in found:
        text = evidence.replace("\\*", "*")
        rich = verdicts([("", verdict, text)]).rich
        left = outside(rich) or english(rich)
        assert (left != []) is text.startswith(PIECED), f"{text}: {left}"


class Fn:
    """A function of anything that returns nothing."""

    def __call__(self, *args: Any, **settings: Any) -> None: ...

    def __repr__(self) -> str:
        return "f"


def feedback() -> Iterator[tuple[str, Feedback]]:
    """What the checks of all exercises say of attempts that are wrong."""
    for path in modules():
        if "course" not in path.parts or "\ndef check_" not in path.read_text("utf-8"):
            continue
        place = path.relative_to(PACKAGE.parent).with_suffix("")
        module = import_module(".".join(place.parts))
        for name, check in vars(module).items():
            if name.startswith("check_") and len(signature(check).parameters) == 1:
                for attempt in (..., Fn()):
                    yield f"{path.name} {name} {attempt}", check(attempt)


def test_what_checks_say() -> None:
    seen = 0
    for place, said in feedback():
        assert not said.passed
        parts = [said.seen, said.expected, said.idea]
        text = " ".join(tr(part) for part in parts if not PYTHONS.match(part))
        assert set(outside(re.sub(r"'\w+'", "", text))) <= {"None"}, place
        seen += not PYTHONS.match(said.seen)
    assert seen > 40


def test_the_start_page_and_its_notebook(tmp_path: Path) -> None:
    copies.write(NOTEBOOKS[0].parent, tmp_path / "mine", pseudo_language())
    mine = tmp_path / "mine"
    rows = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)  # what `minimx doctor` says
    for content in ("", "nonsense\n"):
        (mine / NAME).write_text(content)
        page = start_page(mine)
        assert set(outside(rows.sub("", page.rich))) <= {"jsonl", "predictions"}
    empty = start_page(tmp_path)
    assert outside(empty.plain.replace(str(tmp_path), "")) == []
    book = start_notebook(mine).decode()
    assert outside(markdown.replaced("# Start here", tr)) == []
    assert "Start here" not in book


def test_every_markdown_cell_of_the_copies(tmp_path: Path) -> None:
    copies.write(NOTEBOOKS[0].parent, tmp_path / "mine", pseudo_language())
    for path in NOTEBOOKS:
        here = exercises.read(path)["cells"]
        there = exercises.read(tmp_path / "mine" / path.name)["cells"]
        for old, new in zip(here, there, strict=True):
            if new["cell_type"] == "markdown":
                for text in markdown.texts(new["source"]):
                    assert outside(re.sub(r"\]\([^)]*\)", "", text)) == [], new["id"]
            else:
                assert old["source"] == new["source"]


def test_the_case_files() -> None:
    for cause in CAUSES.values():
        shown = (cause.text, cause.look, cause.says, cause.sign)
        assert outside(" ".join(map(tr, shown))) == [], cause.name
    for remedies in REMEDIES.values():
        assert outside(" ".join(map(tr, remedies.values()))) == []
    for probes in PROBES.values():
        for one in probes.values():
            assert outside(" ".join(map(tr, (one.label, one.what, one.question)))) == []
