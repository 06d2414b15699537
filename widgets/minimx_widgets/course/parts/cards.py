"""A question that wants a number first, and then measures."""

from __future__ import annotations

import html
import math
import re
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as ipw

from minimx_widgets.base import Bundle, mimebundle

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
_FRAME = "border:1px solid var(--jp-border-color1);padding:0.6em 0.9em;max-width:50em"


class PredictCard(ipw.VBox):  # type: ignore[misc]
    """A prediction, locked in before the measurement is shown.

    question: one sentence, HTML allowed.
    measure: called without arguments when the prediction is locked in; returns the
        number to compare with. It runs outside the cell, so the page stays alive.
    unit: what the number counts ("×", "ms", "KiB").
    by: who says the number, where it is not measured on this machine.

    Without a page (in tests, in nbconvert) `predict(value)` does what the button does.
    """

    def __init__(
        self,
        question: str,
        measure: Callable[[], float],
        unit: str = "",
        by: str = "",
    ) -> None:
        self.question = question
        self.unit = unit
        self.by = by
        self.predicted: float | None = None
        self.confidence: int | None = None
        self.measured: float | None = None
        self._measure = measure
        self._number = ipw.Text(
            placeholder="a number",
            tooltip="your prediction",
            layout=ipw.Layout(width="8em"),
        )
        self._sure = ipw.IntSlider(
            value=70,
            min=50,
            max=100,
            step=5,
            description="% sure",
            tooltip="how sure are you? 50 is a coin toss",
            layout=ipw.Layout(width="20em"),
            style={"description_width": "4em"},
        )
        self._button = ipw.Button(
            description="Lock in and " + ("look" if by else "measure"),
            button_style="primary",
            icon="lock",
            layout=ipw.Layout(width="auto"),
        )
        self._answer = ipw.HTML()
        self._button.on_click(self._pressed)
        super().__init__(
            [ipw.HTML(self._asked()), self._row(), self._answer],
            layout=ipw.Layout(
                border="1px solid var(--jp-border-color1)",
                padding="0.5em 0.9em",
                margin="0.4em 0",
                max_width="52em",
            ),
        )

    def _row(self) -> Any:
        unit = ipw.HTML(html.escape(self.unit))
        return ipw.HBox(
            [self._number, unit, self._sure, self._button],
            layout=ipw.Layout(
                align_items="center", grid_gap="0.6em", flex_flow="row wrap"
            ),
        )

    def _asked(self) -> str:
        style = "line-height:1.5;white-space:normal"
        return f'<div style="{style}"><b>Predict.</b> {self.question}</div>'

    def __repr__(self) -> str:
        state = "open" if self.predicted is None else f"predicted {self.predicted:g}"
        return f"PredictCard({state}, unit={self.unit!r})"

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        data, metadata = mimebundle(self, repr(self))
        hint = "<i>Run the cell to answer.</i>" if self.predicted is None else ""
        still = f"{self._asked()}{self._answer.value or hint}"
        data["text/html"] = f'<div style="{_FRAME}">{still}</div>'
        return data, metadata

    def predict(self, value: float, confidence: int = 70) -> float:
        """Lock a prediction in, measure, show both; returns the measured number.

        Raises ValueError if the prediction is not a finite number, and whatever the
        measurement raises; the card stays open then.
        """
        if not math.isfinite(value):
            raise ValueError(f"a prediction is a finite number, not {value}.")
        self._answer.value = "<i>measuring …</i>"
        self._lock(True)
        try:
            measured = float(self._measure())
        except BaseException as error:
            self._lock(False)
            self._answer.value = (
                f"<b>The measurement failed:</b> {html.escape(str(error))}"
            )
            raise
        self.predicted, self.confidence, self.measured = value, confidence, measured
        self._answer.value = self._comparison()
        return measured

    def _lock(self, locked: bool) -> None:
        for control in (self._number, self._sure, self._button):
            control.disabled = locked

    def _pressed(self, _: Any) -> None:
        value = read_number(self._number.value)
        if value is None:
            self._answer.value = "Enter a number first. A wild guess is fine."
            return
        sure = self._sure.value
        self._lock(True)  # here already, so that a second click finds it locked

        def work() -> None:
            try:
                self.predict(value, sure)
            except Exception:  # already shown on the card, which is open again
                return

        threading.Thread(target=work, name="prediction", daemon=True).start()

    def _comparison(self) -> str:
        answer, seen = self.predicted, self.measured
        if answer is None or seen is None:
            raise RuntimeError("nothing to compare before a prediction is locked in")
        unit = f" {html.escape(self.unit)}" if self.unit else ""
        who = html.escape(self.by) or "this machine"
        return (
            f"You said <b>{answer:.4g}{unit}</b>, {who} says "
            f"<b>{seen:.4g}{unit}</b>: {distance(answer, seen)}."
            f"{_axis(answer, seen, self.by or 'measured')}"
        )


def read_number(text: str) -> float | None:
    """The number that a text begins with; a unit may follow. None if there is none.

    >>> read_number("34 ×"), read_number("0,5 ms"), read_number("1e3"), read_number("?")
    (34.0, 0.5, 1000.0, None)
    """
    match = _NUMBER.match(text.strip())
    if match is None:
        return None
    value = float(match.group().replace(",", "."))
    return value if math.isfinite(value) else None


def distance(answer: float, seen: float) -> str:
    """How far a prediction was off, as a text.

    >>> distance(3, 3), distance(1, 10), distance(95, 100), distance(0, 5)
    ('exactly right', 'too low by a factor of 10', 'within a tenth', 'too low by 5')
    """
    if answer == seen:
        return "exactly right"
    way = "too high" if answer > seen else "too low"
    if answer > 0 and seen > 0:
        ratio = max(answer, seen) / min(answer, seen)
        if ratio < 1.1:
            return "within a tenth"
        return f"{way} by a factor of {ratio:.3g}"
    return f"{way} by {abs(answer - seen):.4g}"


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
            (answer, "you", 14, "var(--jp-warn-color1, #e68a00)"),
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
