"""The same training under two settings: one side after the other, from the same seed.

At the end the first side trains a few steps once more: a machine is warmer, or busier,
than it was, and a difference in time that is no larger than this one is none.

Each side begins with an empty pool and trains for a number of steps, so that what it
measures is its own. Figures of memory leave out what other trainings of the process
hold meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import minimx as mx
from minimx.core import rng, storage
from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.storage.garbage import collect
from minimx_widgets.lab.turns import WINDOW, Turn, spread, summed
from minimx_widgets.packing import Array
from minimx_widgets.pictures.training_series import BATCH, LOSS, line_of
from minimx_widgets.training.meter import Facts, Meter
from minimx_widgets.training.session import Program, Progress
from minimx_widgets.training.spread import devices_of, memory_of
from minimx_widgets.training.training import Data, Fit, Settings, load

#: Steps that each side trains, where nothing else is asked.
STEPS = 60
#: The last steps of a side, whose operations are kept.
KEPT = 2
#: Steps that the first side trains once more.
AGAIN = 15
LEAST, MOST = 5, 5000


@dataclass(frozen=True)
class Side:
    """One of the two settings.

    name: "A" or "B". words: what is special about it, such as "In-place off". knobs:
    their values by name.
    """

    name: str
    text: str
    settings: Settings
    knobs: Mapping[str, Any] = field(default_factory=dict)


class Outcome:
    """What a side measured so far.

    facts: of every step; memory is that of this side alone. test: the share of the test
    set that is recognised at the end, None before. error: why it ended early, or "".
    kept: a record of the last steps alone.
    """

    def __init__(self, side: Side) -> None:
        self.side = side
        self.facts: list[Facts] = []
        self.test: float | None = None
        self.error = ""
        self.record, self.kept = Record(), Record()
        self.base = Facts(peak=0.0, reserved=0.0)

    def stepped(self, _step: int, facts: Facts) -> None:
        """A step has ended."""
        peak, reserved = (facts.peak or 0.0, facts.reserved or 0.0)
        own = facts.but(
            peak=peak - (self.base.peak or 0.0),
            reserved=reserved - (self.base.reserved or 0.0),
        )
        self.facts.append(own)

    @property
    def losses(self) -> Array:
        """The mean loss of each step's batch; one value may still be under way."""
        return line_of(self.record, LOSS).values

    @property
    def accuracies(self) -> Array:
        """The share of each step's batch that was recognised, from 0 to 1."""
        return line_of(self.record, BATCH).values

    def last(self, step: int) -> list[Facts]:
        """The newest steps up to one, from which the figures of the table come.

        Their loss and accuracy are those of single batches, as far as they are known.
        """
        first = step - min(WINDOW, max(step // 2, 1))
        losses, right = self.losses, self.accuracies
        found = []
        for place, facts in list(enumerate(self.facts[:step]))[first:]:
            if place < len(losses):
                loss, accuracy = float(losses[place]), float(right[place])
                facts = facts.but(loss=loss, accuracy=accuracy)
            found.append(facts)
        return found


class Comparison:
    """Two sides, to be run by a session.

    steps: that each side trains.
    Raises `ArgumentError` for a network that two trainings cannot share.
    """

    def __init__(
        self,
        first: Side,
        second: Side,
        *,
        steps: int = STEPS,
    ) -> None:
        if not LEAST <= steps <= MOST:
            raise ArgumentError(
                f"A comparison of {steps} steps: choose from {LEAST} to {MOST:,}."
            )
        for side in (first, second):
            if isinstance(side.settings.network, mx.gluon.Block):
                raise ArgumentError(
                    "A comparison trains two networks from the beginning, and this "
                    "lab was given one Block with its weights. Give the lab a function "
                    "that makes the network: Lab(make_net, data)."
                )
            _devices(side)  # those that are missing are added before it is measured
        self.steps = steps
        self.outcomes = Outcome(first), Outcome(second)
        #: The first side once more, for fewer steps.
        self.again = Outcome(first)
        self.repeated = min(steps, AGAIN)
        self.finished = False
        #: Knobs that were turned from outside while the sides were measured.
        self.disturbed: list[str] = []
        self._changed: Callable[[], None] = lambda: None
        self._loaded: tuple[Any, Data] | None = None  # what of which source
        #: True while the comparison itself turns knobs.
        self.turning = False

    def on_change(self, changed: Callable[[], None]) -> None:
        """Call this after every step, in the thread that trains; it must be quick."""
        self._changed = changed

    @property
    def turn(self) -> Turn:
        """Both sides as one turn from the first to the second, for its figures.

        They are compared at the same step, also while the second trains.
        """
        counts = [len(one.facts) for one in self.outcomes]
        step = min(counts) or max(counts)
        a, b = (one.last(step) if one.facts else [] for one in self.outcomes)
        first, second = (one.side.text for one in self.outcomes)
        names = self.differences
        return Turn(
            1, names[0] if len(names) == 1 else "", first, second, 0,
            before=_summed(a), after=_summed(b), spread=self._noise(a), steps=len(b),
            settled=self.finished,
        )  # fmt: skip

    def _noise(self, steps: list[Facts]) -> Facts:
        """How far single steps of the first side lie apart, and its times in all."""
        noise, again = spread(steps), self.again.facts[1:]
        if not again:
            return noise
        late, early = summed(again).ms or 0.0, summed(steps).ms or 0.0
        return noise.but(ms=max(noise.ms or 0.0, abs(late - early)))

    @property
    def differences(self) -> list[str]:
        """The settings and knobs that differ between the sides."""
        a, b = (outcome.side for outcome in self.outcomes)
        one, other = vars(a.settings), vars(b.settings)
        found = [name for name in one if not _same(one[name], other[name])]
        unknown = object()
        return found + [
            name
            for name in {**a.knobs, **b.knobs}
            if a.knobs.get(name, unknown) != b.knobs.get(name, unknown)
        ]

    @property
    def first_difference(self) -> int | None:
        """The first step whose losses differ in any bit; 0 if none does so far.

        None before both sides have a loss.
        """
        first, second = (one.losses for one in self.outcomes)
        both = min(len(first), len(second))
        if not both:
            return None
        same = first[:both].view(np.int64) == second[:both].view(np.int64)
        return 0 if same.all() else int(np.argmin(same)) + 1

    def program(self) -> Program:
        """Train the one side, then the other, then the first a little once more.

        An error of the family `MXNetError`, such as memory that is not there, ends its
        side and is kept; others are raised.
        """
        unwatch = knobs.watch("*", self._heard)
        try:
            for outcome in (*self.outcomes, self.again):
                if self.outcomes[0].error and outcome is self.again:
                    break
                try:
                    yield from self._trained(outcome)
                except MXNetError as error:
                    outcome.error = str(error)
                    # The engine raises it once more; the other side has no part in it.
                    with suppress(MXNetError):
                        mx.nd.waitall()
                self._changed()
            self.finished = True
        finally:
            unwatch()
            _settle(self.outcomes[1])
            self._changed()

    def _trained(self, outcome: Outcome) -> Program:
        side, seed = outcome.side, outcome.side.settings.seed
        _settle(outcome)
        with self._turned(side.knobs), rng.own(seed, seed, seed), outcome.record:
            outcome.base = Meter(outcome.record, *memory_of(_devices(side))).end()
            yield self._at(outcome, "preparing")
            settings = replace(side.settings, epochs=0)
            data = self._data(settings.data)
            fit = Fit(settings, outcome.record, data=data, stepped=outcome.stepped)
            program = fit.program()
            try:
                yield from self._steps(outcome, fit, program)
            finally:
                program.close()
                mx.nd.waitall()
                outcome.kept.stop()
            if outcome is not self.again:
                outcome.test = yield from fit.evaluate()

    def _data(self, source: Any) -> Data:
        """The data of a side; the second finds that of the first if it is the same."""
        if self._loaded is None or not _same(self._loaded[0], source):
            self._loaded = source, load(source)
        return self._loaded[1]

    def _steps(self, outcome: Outcome, fit: Fit, program: Program) -> Program:
        steps = self.repeated if outcome is self.again else self.steps
        while fit.step < steps:
            if fit.step == steps - KEPT and not outcome.kept.running:
                mx.nd.waitall()
                outcome.kept.start()
            progress = next(program)
            self._changed()
            yield self._at(outcome, progress.text, step=progress.step)

    def _at(self, outcome: Outcome, text: str, *, step: bool = False) -> Progress:
        everything = (*self.outcomes, self.again)
        done = sum(len(one.facts) for one in everything)
        side = outcome.side
        once_more = " once more" if outcome is self.again else ""
        return Progress(
            done, 2 * self.steps + self.repeated,
            f"{side.name} ({side.text}){once_more}: {text}", steps=done, step=step,
        )  # fmt: skip

    @contextmanager
    def _turned(self, values: Mapping[str, Any]) -> Iterator[None]:
        """The knobs of a side, inside the block alone."""
        scope = knobs(**values)
        self._turning_by_itself(scope.__enter__)
        try:
            yield
        finally:
            self._turning_by_itself(lambda: scope.__exit__(None, None, None))

    def _turning_by_itself(self, turn: Callable[[], object]) -> None:
        self.turning = True
        try:
            turn()
        finally:
            self.turning = False

    def _heard(self, name: str, new: Any, old: Any) -> None:
        if not self.turning:
            self.disturbed.append(name)


def _summed(steps: list[Facts]) -> Facts | None:
    """The medians of all figures; of loss and accuracy the means."""
    if not steps:
        return None
    means = {
        name: float(np.mean(known))
        for name in ("loss", "accuracy")
        if (known := [v for one in steps if (v := getattr(one, name)) is not None])
    }
    return summed(steps).but(**means)


def _same(one: Any, other: Any) -> bool:
    """Whether two settings are equal; of other than text and numbers: if it is one."""
    return one is other or (isinstance(one, str | int | float) and one == other)


def _settle(outcome: Outcome) -> None:
    """Let the pool be empty but for what others hold."""
    mx.nd.waitall()
    collect()
    for device in _devices(outcome.side):
        storage.empty_cache(device)


def _devices(side: Side) -> list[Any]:
    return devices_of(side.settings.device, side.settings.devices)
