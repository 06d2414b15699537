"""What a learner does on a card."""

from __future__ import annotations

import threading

from minimx_widgets.course import PredictCard


def press(card: PredictCard, text: str) -> None:
    """Enter a number or a letter and press the button; waits for the measurement."""
    card._number.value = text
    card._button.click()
    finished()


def finished() -> None:
    """Wait for what was measured."""
    for thread in threading.enumerate():
        if thread.name == "prediction":
            thread.join(timeout=20)
