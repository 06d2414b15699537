"""A question that wants a number first, and then measures."""

from __future__ import annotations

import html
import math
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import ipywidgets as ipw

from minimx_widgets.base import Bundle, mimebundle
from minimx_widgets.course.predicting import ledger as ledgers
from minimx_widgets.course.predicting.ledger import Answer, Ledger
from minimx_widgets.course.predicting.reading import Unreadable, read_number
from minimx_widgets.course.predicting.units import shown
from minimx_widgets.language import filled, noop, tr

PREDICT: Final = noop("Predict.")
_TEXT = "line-height:1.5;white-space:normal"
_FRAME = "border:1px solid var(--jp-border-color1);padding:0.6em 0.9em;max-width:50em"
#: How far from the answer a wrong answer that is known by name may be, relatively.
ALIKE = 0.02
#: Seconds in which what was set before a click may still arrive.
UNDER_WAY = 0.25
#: A number, or how to compute it from the numbers of the question.
Wrong = Mapping[float | Callable[..., float], str]


class PredictCard(ipw.VBox):  # type: ignore[misc]
    """A prediction, locked in before the answer is shown.

        PredictCard(
            "An array of {n} MiB in the <b>Round</b> pool: how large is the block?",
            lambda n: rounded(n),
            "MiB",
            by="the pool",
            name="08/round",
            numbers={"n": (17, 20, 33)},
            wrong={lambda n: n: "The pool rounds up: that is the request itself."},
        )

    question: one sentence, HTML allowed; with `numbers`, their names in braces.
    measure: called with the numbers when the prediction is locked in; returns the
        number to compare with. It runs outside the cell, so the page stays alive.
    unit: what the number counts ("×", "ms", "KiB", "pushes").
    by: what says the number, where it is not measured on this machine.
    name: what the answer is remembered under; by default the text of the question.
    numbers: by name, what may stand in the question. Each learner gets others, and
        others again after "Another one"; without a ledger the first of each.
    wrong: known wrong answers, and the misconception behind each.
    within: how far off, relatively, a prediction may be and still be right.
    why: what is said beside the answer, HTML allowed.
    heading, place, attempt: where a recall or an exit ticket asks the question: what
        stands before it, the name of the place, and the attempt with which it begins.
    ledger: where answers are remembered; by default that of the folder.

    All texts are English; they are shown in the language of the folder, and the ledger
    keeps the English ones. An answer stays locked in when the cell is run again and
    after a restart of the kernel. Without a page (in tests, in nbconvert)
    `predict(value)` does what the button does.
    """

    def __init__(
        self,
        question: str,
        measure: Callable[..., float],
        unit: str = "",
        by: str = "",
        *,
        name: str = "",
        numbers: Mapping[str, Sequence[float]] | None = None,
        wrong: Wrong | None = None,
        within: float = 0.1,
        why: str = "",
        heading: str = PREDICT,
        place: str = "",
        attempt: int = 0,
        ledger: Ledger | None = None,
    ) -> None:
        self.unit = unit
        self.by = by
        self.name = name or question
        self.ledger = ledgers.here() if ledger is None else ledger
        self.answer: Answer | None = None
        self._template = question
        self._measure = measure
        self._choices = dict(numbers or {})
        self._wrong = dict(wrong or {})
        self._within = within
        self._why = why
        self._heading = heading
        self._place = place
        self._first = attempt
        self._locked = threading.Lock()
        self._build()
        self._draw(attempt)
        self._recall()

    @property
    def predicted(self) -> float | None:
        """The prediction that is locked in."""
        return None if self.answer is None else self.answer.value

    @property
    def measured(self) -> float | None:
        """The number that it is compared with."""
        return None if self.answer is None else self.answer.seen

    @property
    def confidence(self) -> int | None:
        """How sure the learner was, in percent."""
        return None if self.answer is None else self.answer.sure

    def _read(self, text: str) -> float:
        """What a learner wrote; raises Unreadable."""
        theirs = tr(self.unit)
        if theirs != self.unit and text.strip().endswith(theirs):
            text = text.strip().removesuffix(theirs)
        return read_number(text, self.unit)

    def _said(self, value: float) -> str:
        """An answer as the page shows it."""
        return shown(value, tr(self.unit))

    def right_answer(self) -> str:
        """The answer as the page would show it; nothing is locked in."""
        return self._said(float(self._measure(**self.numbers)))

    # -- the question --------------------------------------------------------------

    def _draw(self, attempt: int) -> None:
        """Choose the numbers of an attempt, the same for a learner each time."""
        self.attempt = attempt
        self.numbers = drawn(self._choices, self.ledger.learner, self.name, attempt)
        self.question = self._worded(str)
        self._text.value = self._asked()

    def _worded(self, language: Callable[[str], str] = tr) -> str:
        """The question with its numbers, as HTML; `str` as the language is English."""
        texts = {key: shown(value) for key, value in self.numbers.items()}
        return filled(language(self._template), texts)

    def _recall(self) -> None:
        """Show the answer that is locked in already, if it is to this question."""
        last = self.ledger.last(self.name, self._place)
        if last is None or last.attempt < self._first:
            return
        self._draw(last.attempt)
        if last.asked == self.question:
            self.answer = last
            self._show()
        else:  # the course asks another question under this name now
            self._draw(self._first)

    # -- the page ------------------------------------------------------------------

    def _build(self) -> None:
        self._text = ipw.HTML()
        # One message for each change: while a busy kernel has not answered the first of
        # several, the page keeps the others back, and a click would overtake them.
        self._number = ipw.Text(
            placeholder=tr("a number"),
            continuous_update=False,
            tooltip=tr("your prediction"),
            layout=ipw.Layout(width="9em"),
        )
        self._read_as = ipw.HTML()
        self._sure = ipw.IntSlider(
            value=70,
            continuous_update=False,
            min=50,
            max=100,
            step=5,
            description=tr("% sure"),
            tooltip=tr("how sure are you? 50 is a coin toss"),
            layout=ipw.Layout(width="20em"),
            style={"description_width": "initial"},
        )
        self._button = ipw.Button(
            description=tr("Lock in and look" if self.by else "Lock in and measure"),
            button_style="primary",
            icon="lock",
            layout=ipw.Layout(width="auto"),
        )
        self._again = ipw.Button(
            description=tr("Another one"),
            tooltip=tr("the same question with other numbers"),
            icon="refresh",
            layout=ipw.Layout(width="auto", display="none"),
        )
        self._answer = ipw.HTML()
        self._button.on_click(self._pressed)
        self._again.on_click(lambda _: self.again())
        self._number.observe(self._preview, "value")
        row = ipw.HBox(
            [
                self._number,
                ipw.HTML(html.escape(tr(self.unit))),
                self._sure,
                self._button,
                self._again,
            ],
            layout=ipw.Layout(
                align_items="center", grid_gap="0.6em", flex_flow="row wrap"
            ),
        )
        super().__init__(
            [self._text, row, self._read_as, self._answer],
            layout=ipw.Layout(
                border="1px solid var(--jp-border-color1)",
                padding="0.5em 0.9em",
                margin="0.4em 0",
                max_width="52em",
            ),
        )

    def _asked(self) -> str:
        heading, question = tr(self._heading), self._worded()
        return f'<div style="{_TEXT}"><b>{heading}</b> {question}</div>'

    def __repr__(self) -> str:
        said = self.predicted
        state = "open" if said is None else f"predicted {shown(said)}"
        return f"PredictCard({state}, unit={self.unit!r})"

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        data, metadata = mimebundle(self, repr(self))
        hint = tr("<i>Run the cell to answer.</i>") if self.answer is None else ""
        still = f"{self._asked()}{self._answer.value or hint}"
        data["text/html"] = f'<div style="{_FRAME}">{still}</div>'
        return data, metadata

    def _preview(self, _: Any) -> None:
        """How the number is read, once it is written."""
        text = self._number.value.strip()
        try:
            read = self._said(self._read(text)) if text else ""
        except Unreadable as error:
            self._read_as.value = f"<i>{html.escape(tr(str(error)))}</i>"
            return
        plain = not read or read in (text, f"{text} {tr(self.unit)}".rstrip())
        said = tr("<i>read as {number}</i>", number=html.escape(read))
        self._read_as.value = "" if plain else said

    def _pressed(self, _: Any) -> None:
        try:
            value = self._read(self._number.value)
        except Unreadable as error:
            self._answer.value = html.escape(tr(str(error)))
            return
        self._enable(False)  # here already, so that a second click finds it locked

        def work() -> None:
            # Of several quick changes the page sends the last one when the kernel has
            # answered the first, and this click comes between the two.
            time.sleep(UNDER_WAY)
            try:
                self.predict(value, self._sure.value)
            except Exception:  # already shown on the card, which is open again
                return

        threading.Thread(target=work, name="prediction", daemon=True).start()

    def _enable(self, enabled: bool) -> None:
        for control in (self._number, self._sure, self._button):
            control.disabled = not enabled

    # -- the answer ----------------------------------------------------------------

    def predict(self, value: float, confidence: int = 70) -> float:
        """Lock a prediction in, measure, show both; returns the measured number.

        Raises ValueError if the prediction is not a finite number or if one is locked
        in, and whatever the measurement raises; the card stays open then.
        """
        if not math.isfinite(value):
            raise ValueError(f"a prediction is a finite number, not {value}.")
        with self._locked:
            if self.answer is not None:
                raise ValueError(
                    f"{self._said(self.answer.value)} is locked in."
                    + (" again() asks with other numbers." if self.numbers else "")
                )
            self._answer.value = tr("<i>measuring …</i>")
            self._enable(False)
            try:
                seen = float(self._measure(**self.numbers))
            except BaseException as error:
                self._enable(True)
                said = tr("<b>The measurement failed:</b>")
                self._answer.value = f"{said} {html.escape(str(error))}"
                raise
            self.answer = self._judged(float(value), confidence, seen)
            self.ledger.add(self.answer)
        self._show()
        return seen

    def again(self) -> None:
        """Ask the same question with other numbers.

        Raises ValueError where the question has no numbers to change, or is open.
        """
        if self.answer is None or not self._choices:
            why = "it is open" if self.answer is None else "it has no other numbers"
            raise ValueError(f"this question cannot be asked again: {why}.")
        self.answer = None
        before = self.question
        for attempt in range(self.attempt + 1, self.attempt + 20):
            self._draw(attempt)
            if self.question != before:
                break
        self._number.value = self._answer.value = ""
        self._enable(True)
        self._again.layout.display = "none"

    def _judged(self, value: float, sure: int, seen: float) -> Answer:
        right = value == seen or abs(value - seen) <= self._within * abs(seen)
        lesson = "" if right else self._misconception(value)
        return Answer(
            card=self.name,
            asked=self.question,
            value=value,
            seen=seen,
            unit=self.unit,
            sure=int(sure),
            right=right,
            attempt=self.attempt,
            topic=self.name.partition("/")[0] if "/" in self.name else "",
            lesson=lesson,
            numbers=self.numbers,
            place=self._place,
        )

    def _misconception(self, value: float) -> str:
        for wrong, lesson in self._wrong.items():
            known = wrong(**self.numbers) if callable(wrong) else wrong
            if abs(value - known) <= ALIKE * abs(known):
                return lesson
        return ""

    def _show(self) -> None:
        self._enable(False)
        self._sure.value = self.confidence or self._sure.value
        self._answer.value = f'<div style="{_TEXT}">{self._comparison()}</div>'
        self._again.layout.display = "" if self._choices else "none"

    def _comparison(self) -> str:
        answer = self.answer
        if answer is None:
            raise RuntimeError("nothing to compare before a prediction is locked in")
        said, seen = (
            html.escape(self._said(each)) for each in (answer.value, answer.seen)
        )
        text = tr(
            "You said <b>{said}</b>, {who} says <b>{seen}</b>: {distance}.",
            said=said,
            who=html.escape(tr(self.by or "this machine")),
            seen=seen,
            distance=distance(answer.value, answer.seen),
        )
        mark = "✔ " if answer.right else ""
        axis = _axis(answer.value, answer.seen, tr(self.by or "measured"))
        return mark + text + self._behind(answer) + axis

    def _behind(self, answer: Answer) -> str:
        """What stands below the comparison: misconception, reason, notice."""
        text = ""
        if answer.lesson:
            behind = tr("<b>What may be behind it:</b>")
            text += f"<br>{behind} {tr(answer.lesson)}"
        if self._why:
            text += f"<br>{tr(self._why)}"
        if self.ledger.notice:
            text += f"<br><i>{html.escape(tr(self.ledger.notice))}</i>"
        return text


def drawn(
    choices: Mapping[str, Sequence[float]], learner: int, name: str, attempt: int
) -> dict[str, float]:
    """The numbers of an attempt at a question: always the same for one learner.

    learner: 0 for none; the first attempt then has the first number of each choice.
    """
    chance = random.Random(f"{learner}:{name}:{attempt}")
    first = not learner and not attempt
    return {
        key: options[0] if first else chance.choice(options)
        for key, options in choices.items()
    }


def distance(answer: float, seen: float) -> str:
    """How far a prediction was off, in the learner's language.

    >>> distance(3, 3), distance(1, 10), distance(95, 100), distance(0, 5)
    ('exactly right', 'too low by a factor of 10', 'within a tenth', 'too low by 5')
    """
    if answer == seen:
        return tr("exactly right")
    way = tr("too high") if answer > seen else tr("too low")
    if answer > 0 and seen > 0:
        ratio = max(answer, seen) / min(answer, seen)
        if ratio < 1.1:
            return tr("within a tenth")
        return tr("{way} by a factor of {ratio}", way=way, ratio=_three(ratio))
    return tr("{way} by {difference}", way=way, difference=shown(abs(answer - seen)))


def _three(ratio: float) -> str:
    """A factor with three digits, without an exponent as long as it can be read."""
    if ratio < 100:
        return f"{ratio:.3g}"
    return f"{ratio:,.0f}" if ratio < 1e9 else f"{ratio:.1e}"


def _axis(answer: float, seen: float, by: str) -> str:
    """Prediction and answer on one axis, a picture of two marks."""
    low, high = min(0.0, answer, seen), max(0.0, answer, seen)
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return 40 + 400 * (value - low) / span

    marks = "".join(
        f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{colour}"/>'
        f'<text x="{x(value):.1f}" y="{y + 4}" dx="9" font-size="12" '
        f'fill="currentColor">{label}</text>'
        for value, label, y, colour in (
            (answer, tr("you"), 14, "var(--jp-warn-color1, #e68a00)"),
            (seen, html.escape(by), 36, "var(--jp-brand-color1, #1976d2)"),
        )
    )
    zero = f"{x(0):.1f}"
    return (
        '<svg viewBox="0 0 540 50" width="540" height="50" role="img" '
        'aria-label="prediction and answer on one axis" style="display:block">'
        '<line x1="40" x2="440" y1="25" y2="25" stroke="currentColor" opacity="0.35"/>'
        f'<line x1="{zero}" x2="{zero}" y1="18" y2="32" stroke="currentColor"/>'
        f'<text x="{zero}" y="29" dx="-6" font-size="11" text-anchor="end" '
        f'fill="currentColor">0</text>{marks}</svg>'
    )
