"""A scaling curve that is computed beside what is going on: in a thread of its own.

The newest question counts. It waits until nothing was asked for a moment, so that a
slider that is dragged does not start a thousand curves; a newer question stops it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.errors import MXNetError
from minimx_widgets.pictures.kvstore.trial import Trial

UP_TO_4096 = tuple(2**k for k in range(13))
#: Seconds without another question before a curve begins, and between two looks at it.
PAUSE, LOOK = 0.15, 0.1

Curve = dict[str, Any]


def empty(trial: Trial) -> Curve:
    """The curve of a trial before its first point; times are nanoseconds."""
    title = f"{trial.store}, {trial.changed.name}"
    return {
        "title": title,
        "done": False,
        "lesson": "",
        "workers": [],
        "step": [],
        "efficiency": [],
        "overlap": [],
    }


def extend(curve: Curve, trial: Trial, workers: int) -> None:
    """Add one point; where there is no way, the lesson ends the curve."""
    try:
        found = trial.predicted(workers)
    except MXNetError as cut:
        curve |= {"lesson": str(cut), "done": True}
        return
    curve["workers"].append(workers)
    curve["step"].append(1e9 * found.step_seconds)
    curve["efficiency"].append(found.efficiency)
    curve["overlap"].append(found.overlap)


def whole(trial: Trial, workers: Sequence[int] = UP_TO_4096) -> Curve:
    """All points of a curve, at once."""
    curve = empty(trial)
    for count in workers:
        if not curve["done"]:
            extend(curve, trial, count)
    return curve | {"done": True}


class Scaler:
    """Computes curves in a thread, and calls `show` with what there is of the newest.

    The thread starts with the first question and ends with `close`.
    """

    def __init__(self, show: Callable[[Trial, Curve], None]) -> None:
        self._show = show
        self._asked = threading.Condition()
        self._wanted: Trial | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    def ask(self, trial: Trial) -> None:
        """Compute the curve of this trial, soon. Never waits."""
        with self._asked:
            self._wanted = trial
            self._asked.notify_all()
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._work, name="minimx scaling", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End the thread and wait for it, unless it is the caller."""
        with self._asked:
            self._closed = True
            self._asked.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            trial = self._next()
            if trial is None:
                return
            self._draw(trial)

    def _next(self) -> Trial | None:
        """The newest question, once there was none for a while; None at the end."""
        with self._asked:
            self._asked.wait_for(lambda: self._closed or self._wanted is not None)
            while not self._closed:
                trial = self._wanted
                self._asked.wait(PAUSE)
                if trial is self._wanted:
                    self._wanted = None
                    return trial
            return None

    def _draw(self, trial: Trial) -> None:
        curve, shown = empty(trial), time.monotonic()
        for count in UP_TO_4096:
            if curve["done"] or self._closed or self._wanted is not None:
                break
            extend(curve, trial, count)
            if time.monotonic() - shown > LOOK:
                self._show(trial, dict(curve))
                shown = time.monotonic()
        if not self._closed and self._wanted is None:
            self._show(trial, curve | {"done": True})
