"""A question that wants a number first, and then measures."""

from __future__ import annotations

import html
import math
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as ipw


class PredictCard(ipw.VBox):  # type: ignore[misc]
    """A prediction, locked in before the measurement is shown.

    question: one sentence, HTML allowed.
    measure: called without arguments when the prediction is locked in; returns the
        number to compare with. It runs outside the cell, so the page stays alive.
    unit: what the number counts ("×", "ms", "KiB").

    Without a page (in tests, in nbconvert) `predict(value)` does what the button does.
    """

    def __init__(
        self, question: str, measure: Callable[[], float], unit: str = ""
    ) -> None:
        self.question = question
        self.unit = unit
        self.predicted: float | None = None
        self.confidence: int | None = None
        self.measured: float | None = None
        self._measure = measure
        self._number = ipw.FloatText(
            value=None, layout=ipw.Layout(width="8em"), tooltip="your prediction"
        )
        self._sure = ipw.IntSlider(
            value=70,
            min=50,
            max=100,
            step=5,
            description="how sure?",
            readout_format="d",
            layout=ipw.Layout(width="20em"),
        )
        self._button = ipw.Button(
            description="Lock in and measure", button_style="primary", icon="lock"
        )
        self._answer = ipw.HTML()
        self._button.on_click(self._pressed)
        row = ipw.HBox(
            [self._number, ipw.HTML(html.escape(unit)), self._sure, self._button],
            layout=ipw.Layout(align_items="center", gap="0.6em"),
        )
        super().__init__(
            [ipw.HTML(f"<b>Predict.</b> {question}"), row, self._answer],
            layout=ipw.Layout(
                border="1px solid var(--jp-border-color1)",
                padding="0.6em 0.9em",
                margin="0.4em 0",
                max_width="52em",
            ),
        )

    def __repr__(self) -> str:
        state = "open" if self.predicted is None else f"predicted {self.predicted:g}"
        return f"PredictCard({state}, unit={self.unit!r})"

    def predict(self, value: float, confidence: int = 70) -> float:
        """Lock a prediction in, measure, show both; returns the measured number.

        Raises ValueError if the prediction is not a finite number, and whatever the
        measurement raises; the card stays open then.
        """
        if not math.isfinite(value):
            raise ValueError(f"a prediction is a finite number, not {value}.")
        self._answer.value = "<i>measuring …</i>"
        try:
            measured = float(self._measure())
        except BaseException as error:
            self._answer.value = (
                f"<b>The measurement failed:</b> {html.escape(str(error))}"
            )
            raise
        self.predicted, self.confidence, self.measured = value, confidence, measured
        for control in (self._number, self._sure, self._button):
            control.disabled = True
        self._answer.value = self._comparison()
        return measured

    def _pressed(self, _: Any) -> None:
        value, sure = self._number.value, self._sure.value
        if value is None:
            self._answer.value = "Enter a number first. A wild guess is fine."
            return
        self._button.disabled = True

        def work() -> None:
            try:
                self.predict(value, sure)
            except Exception:  # already shown on the card, which stays open
                self._button.disabled = False

        threading.Thread(target=work, name="prediction", daemon=True).start()

    def _comparison(self) -> str:
        said, seen = self.predicted, self.measured
        assert said is not None
        assert seen is not None
        return (
            f"You said <b>{said:.4g} {html.escape(self.unit)}</b>, this machine says "
            f"<b>{seen:.4g} {html.escape(self.unit)}</b>: {_distance(said, seen)}."
            f"{_axis(said, seen)}"
        )


def _distance(said: float, seen: float) -> str:
    if said == seen:
        return "exactly right"
    if said > 0 and seen > 0:
        ratio = max(said, seen) / min(said, seen)
        if ratio < 1.1:
            return "within a tenth"
        return f"{'too high' if said > seen else 'too low'} by a factor of {ratio:.3g}"
    return f"{'too high' if said > seen else 'too low'} by {abs(said - seen):.4g}"


def _axis(said: float, seen: float) -> str:
    """Prediction and measurement on one axis, a picture of two marks."""
    low, high = min(0.0, said, seen), max(0.0, said, seen)
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return 40 + 400 * (value - low) / span

    marks = "".join(
        f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{colour}"/>'
        f'<text x="{x(value):.1f}" y="{y + 4}" dx="9" font-size="12" '
        f'fill="currentColor">{label}</text>'
        for value, label, y, colour in (
            (said, "you", 14, "var(--jp-warn-color1, #e68a00)"),
            (seen, "measured", 36, "var(--jp-brand-color1, #1976d2)"),
        )
    )
    return (
        '<svg viewBox="0 0 540 50" width="540" height="50" role="img" '
        'aria-label="prediction and measurement on one axis" style="display:block">'
        '<line x1="40" x2="440" y1="25" y2="25" stroke="currentColor" opacity="0.35"/>'
        f"{marks}</svg>"
    )
