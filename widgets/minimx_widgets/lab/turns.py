"""What was turned in a training, and what the steps before and after measured.

A knob that is turned splits the training's steps in two. What a step cost before is the
median of the last steps before the turn; what it costs now is the median of the steps
after it, the first one left out, because that step was under way, or bound a graph
again; of peaks the higher one of each two neighbours counts. Only figures are kept
here; nothing knows of knobs, labs or pages.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from minimx_widgets.training.meter import NAMES, Facts

#: A turn is measured over at most so many steps on either side.
WINDOW = 20
#: After so many steps the median is worth reading.
SETTLED = 5
# Standard deviations per median deviation, where deviations are normal.
NORMAL = 1.4826


# Of a figure that only ever grows the last value counts.
_TOTALS = ("skipped",)
# What cannot be compared between two trainings.
_OF_ONE_TRAINING = ("loss", "accuracy", "skipped")


@dataclass
class Turn:
    """One change of a knob or a setting, and the steps round it.

    step: the last step before the change. kind: "knob" or "setting". spread: how far
    single steps before the turn lay from their median, as a standard deviation. note:
    what the lab has to say, such as why the knob cannot act now. steps: how many steps
    `after` was measured over; from `SETTLED` on it is settled.
    """

    number: int
    name: str
    old: str
    new: str
    step: int
    kind: str = "knob"
    before: Facts | None = None
    after: Facts | None = None
    spread: Facts | None = None
    note: str = ""
    steps: int = 0
    settled: bool = False

    def as_message(self) -> dict[str, Any]:
        """The turn as plain JSON; values that are not finite are texts, as "nan"."""
        return {name: _plain(value) for name, value in asdict(self).items()}


class Turns:
    """The history of turns; may be used from several threads.

    `turned` and `note` come from where something is turned, `stepped` from the thread
    that trains. Changes without a step between them are measured together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: list[Turn] = []
        self._open: list[Turn] = []  # measured at present; all of the same step
        # The steps since the last turn, without the first one after it.
        self._steps: deque[Facts] = deque(maxlen=WINDOW)
        self._fresh = False  # no step has ended since the last turn
        self._known: tuple[Facts | None, Facts | None] = (None, None)
        self._step = 0
        self._watchers: list[Callable[[], None]] = []

    @property
    def all(self) -> list[Turn]:
        """Every turn so far, the oldest first, as they are now."""
        with self._lock:
            return [replace(turn) for turn in self._turns]

    @property
    def last(self) -> Turn | None:
        """The newest turn."""
        with self._lock:
            return replace(self._turns[-1]) if self._turns else None

    def __len__(self) -> int:
        return len(self._turns)

    def get(self, number: int) -> Turn:
        """A turn by its number, from 1 on. Raises `KeyError` if there is none."""
        with self._lock:
            if not 1 <= number <= len(self._turns):
                raise KeyError(f"Turns: there are {len(self._turns)}; {number} is none")
            return replace(self._turns[number - 1])

    def turned(self, name: str, old: str, new: str, kind: str = "knob") -> Turn | None:
        """Something was changed, after the step that ended last.

        A change to the same value is none. Returns the turn.
        """
        if old == new:
            return None
        with self._lock:
            if not (self._open and self._fresh):
                self._close()
            before, spread = self._known
            number = len(self._turns) + 1
            turn = Turn(number, name, old, new, self._step, kind, before, None, spread)
            self._turns.append(turn)
            self._open.append(turn)
            self._fresh = True
            copy = replace(turn)
        self._tell()
        return copy

    def stepped(self, step: int, facts: Facts) -> None:
        """A step has ended; `facts` are its own. Steps come in order."""
        with self._lock:
            self._step = step
            first, self._fresh = self._fresh, False
            if not first:
                self._steps.append(facts)
                changed = self._measure()
        if not first and changed:
            self._tell()

    def note(self, name: str, text: str) -> None:
        """Say something about the last turn of this name; without one it is ignored."""
        with self._lock:
            found = [turn for turn in self._turns if turn.name == name][-1:]
            changed = any(turn.note != text for turn in found)
            for turn in found:
                turn.note = text
        if changed:
            self._tell()

    def begin(self) -> None:
        """Another training begins.

        Turns that no step has followed yet are measured in it, against the one before;
        its loss, accuracy and skipped steps are not compared.
        """
        with self._lock:
            waiting = [] if self._steps else self._open
            for turn in waiting:
                turn.before, turn.step = _without_learning(turn.before), 0
            if waiting:
                self._known = (_without_learning(self._known[0]), self._known[1])
            else:
                self._close()
                self._known = (None, None)
            self._fresh, self._step = True, 0
        self._tell()

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each change, in the thread that made it.

        Returns a function that ends it.
        """
        with self._lock:
            self._watchers.append(callback)

        def stop() -> None:
            with self._lock:
                if callback in self._watchers:
                    self._watchers.remove(callback)

        return stop

    def __repr__(self) -> str:
        turn = self.last
        if turn is None:
            return "Turns(none yet)"
        return f"Turns({len(self)}, last {turn.name}: {turn.old} → {turn.new})"

    # With the lock held

    def _close(self) -> None:
        """The open turns are measured no further; what is known stands before the next.

        If no step counted since, what was before the last turn still is.
        """
        if self._steps:
            self._known = (summed(self._steps), spread(self._steps))
        self._open = []
        self._steps.clear()

    def _measure(self) -> bool:
        """Give the open turns what the steps so far say; whether there are any."""
        count = len(self._steps)
        after = summed(self._steps) if self._open else None
        for turn in self._open:
            turn.after, turn.steps = after, count
            turn.settled = count >= SETTLED
        changed = bool(self._open)
        if count == WINDOW:
            self._open = []
        return changed

    def _tell(self) -> None:
        with self._lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher()


def _values(steps: Iterable[Facts], figure: str) -> list[float]:
    """A figure of single steps; of a peak the higher one of each two neighbours.

    On a busy machine what a step pushed may run in the next one, so that its own peak
    lacks all arrays in between.
    """
    found = (getattr(facts, figure) for facts in steps)
    values = [float(value) for value in found if value is not None]
    if figure == "peak" and len(values) > 1:
        return [max(two) for two in pairwise(values)]
    return values


def summed(steps: Iterable[Facts]) -> Facts:
    """The median of every figure; of a running total the last value."""
    steps = list(steps)
    known = {figure: _values(steps, figure) for figure in NAMES}
    return Facts(
        **{
            figure: values[-1] if figure in _TOTALS else median(values)
            for figure, values in known.items()
            if values
        }
    )


def spread(steps: Iterable[Facts]) -> Facts:
    """How far single steps lie from their median, as a standard deviation."""
    steps = list(steps)
    known = {figure: _values(steps, figure) for figure in NAMES}
    return Facts(
        **{
            figure: 0.0 if figure in _TOTALS else deviation(values)
            for figure, values in known.items()
            if values
        }
    )


def median(values: list[float]) -> float:
    """The median; NaN if at least half of the values are.

    >>> median([3.0, 1.0, 2.0]), median([1.0, float("nan")])
    (2.0, nan)
    """
    numbers = [value for value in values if not math.isnan(value)]
    if 2 * len(numbers) <= len(values):
        return math.nan
    return statistics.median(numbers)


def deviation(values: list[float]) -> float:
    """A standard deviation that outliers do not move: 1.48 median deviations.

    >>> deviation([1.0, 2.0, 3.0, 100.0, 2.0])
    1.4826
    """
    middle = median(values)
    if not math.isfinite(middle):
        return 0.0
    return NORMAL * median([abs(value - middle) for value in values])


def _without_learning(facts: Facts | None) -> Facts | None:
    return facts and facts.but(**dict.fromkeys(_OF_ONE_TRAINING))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
