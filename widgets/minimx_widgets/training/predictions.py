"""What a network says of a few test images now, and a `Probe` that asks it.

`Probe.due` is the policy: not before some steps and a second have passed, and never so
often that looking takes more than a small share of the time. `Probe.look` asks: in the
thread that trains, between two steps, in predict mode, with random numbers of its own,
so that the training goes on as without a look. What it finds is a `Look`, which
views draw.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from minimx import nd
from minimx.core import autograd, rng
from minimx.core.arrays.array import NDArray
from minimx.core.errors import MXNetError
from minimx.core.events import attributed
from minimx.gluon import Block
from minimx_widgets.training.first_layer import Filters, filters_of, picture
from minimx_widgets.training.layer_health import (
    OUTPUTS,
    Health,
    count,
    outputs_seen,
    parameters,
)

if TYPE_CHECKING:
    from minimx_widgets.training.training import Data

Array = npt.NDArray[Any]
SAMPLE = 200  # test images that are asked about
CHUNK = 50  # so many at once, so that memory hardly rises
SHOWN = 12  # images of the strip, and rows of the confusion
BROKEN = -1  # the "class" of an answer that is not finite


@dataclass(frozen=True)
class Seen:
    """A test image and what the network says of it.

    number: its place in the test set. guess: the class with the largest answer, BROKEN
    where answers are not finite, None without an answer. chances: the most probable
    classes and their probabilities, at most three.
    """

    number: int
    pixels: Array
    label: int
    guess: int | None = None
    chances: tuple[tuple[int, float], ...] = ()

    @property
    def right(self) -> bool:
        """Whether the answer is the label."""
        return self.guess == self.label


@dataclass(frozen=True)
class Look:
    """What was seen after a step.

    strip: always the same images. wrong: those of the sample that are wrong with the
    greatest confidence. right, asked, broken: of the sample. confusion: how often a
    class (row) was taken for another (column), for `classes`, of which there are
    `totals` in the sample. took: seconds that looking cost.
    problem: why there are no answers, in words.
    """

    step: int
    strip: tuple[Seen, ...]
    wrong: tuple[Seen, ...] = ()
    right: int = 0
    asked: int = 0
    broken: int = 0
    classes: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()
    all_classes: int = 0
    confusion: Array = field(default_factory=lambda: np.zeros((0, 0), int))
    filters: Filters | None = None
    health: tuple[Health, ...] = ()
    took: float = 0.0
    problem: str = ""

    @property
    def sick(self) -> tuple[Health, ...]:
        """The layers with numbers that are not finite, or all zero."""
        return tuple(one for one in self.health if one.word)

    @property
    def most_confused(self) -> tuple[int, int, int] | None:
        """A class, what it is most often taken for, and how often; None if never."""
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        if not wrong.any():
            return None
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        return self.classes[row], self.classes[column], int(wrong[row, column])


def confused(labels: Array, guesses: Array, classes: int) -> npt.NDArray[np.int64]:
    """How often a class (row) was taken for another (column); broken answers left out.

    >>> confused(np.array([0, 1, 1]), np.array([0, 0, -1]), 2).tolist()
    [[1, 0], [1, 0]]
    """
    kept = guesses != BROKEN
    flat = labels[kept] * classes + guesses[kept]
    counts = np.bincount(flat, minlength=classes * classes)
    return counts.reshape(classes, classes).astype(np.int64)


def most_confused(counts: Array, most: int = SHOWN) -> tuple[int, ...]:
    """The classes with the most mistakes as row and column together, in order.

    >>> most_confused(np.array([[5, 0, 0], [0, 5, 1], [0, 0, 5]]), most=2)
    (1, 2)
    """
    off = counts - np.diag(np.diag(counts))
    mistakes = off.sum(0) + off.sum(1)
    first = np.argsort(-mistakes, kind="stable")[:most]
    return tuple(int(one) for one in np.sort(first))


class Probe:
    """Asks a network about a sample of the test set now and then.

    every: at least so many steps between two looks. seconds: at least so many seconds.
    share: looking may take this share of the time at most; a look that costs 20 ms is
    followed by one second without at a share of 0.02. There is no look unless `wanted`.
    """

    def __init__(
        self,
        *,
        every: int = 10,
        seconds: float = 1.0,
        share: float = 0.02,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.every, self.seconds, self.share = every, seconds, share
        self._clock = clock
        self.latest: Look | None = None
        self._listeners: list[Callable[[Look], None]] = []
        self._wishes: list[Callable[[], bool]] = []
        self._subject: Block | None = None
        self._sample: _Sample | None = None
        self._last: tuple[int, float] | None = None  # step and moment of the last look
        self._cost: float = 0.0  # seconds that the last look took

    def watch(
        self, callback: Callable[[Look], None], wish: Callable[[], bool] = lambda: True
    ) -> Callable[[], None]:
        """Call back after every look; returns what ends that.

        wish: whether this listener wants looks now. Callbacks run in the thread that
        looks and should be quick.
        """
        self._listeners.append(callback)
        self._wishes.append(wish)

        def unwatch() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)
                self._wishes.remove(wish)

        return unwatch

    @property
    def wanted(self) -> bool:
        """Whether looks are wanted."""
        return any(wish() for wish in list(self._wishes))

    @property
    def pause(self) -> float:
        """Seconds from the end of a look to the next, so that the share is kept.

        The first look at a network does not count: it makes what later ones use.
        """
        return max(self.seconds, self._cost * (1 / self.share - 1))

    def due(self, step: int, now: float) -> bool:
        """Whether it is time to look after a step. now: what the clock says."""
        if not self.wanted:
            return False
        if self._last is None or step < self._last[0]:
            return True
        last_step, then = self._last
        return step - last_step >= self.every and now - then >= self.pause

    def look(self, net: Block, data: Data, device: Any, step: int = 0) -> Look:
        """Ask the network about the sample, and tell all who watch.

        To be called by the thread that trains, between two steps. A network that cannot
        be asked (parts not initialised, no memory, answers of another shape) is named
        in `Look.problem`, and training goes on.
        """
        first, self._subject = net is not self._subject, net
        sample = self._sample_of(data)
        with rng.own(0, 0, 0), autograd.pause(), attributed(phase="evaluate"):
            problem = _unready(net)
            began = self._clock()
            try:
                seen = problem or _asked(net, sample, device, step)
            except MXNetError as refused:
                seen = str(refused).splitlines()[0]
        if isinstance(seen, str):
            seen = Look(step, sample.strip(), problem=seen)
        seen = replace(seen, took=self._clock() - began)
        self._tell(seen)
        now = self._clock()
        self._cost = 0.0 if first else now - began
        self._last = (step, now)
        return seen

    def show(self, data: Data) -> None:
        """Show the images of data that no network was asked about yet."""
        self._tell(Look(0, self._sample_of(data).strip()))

    def _tell(self, look: Look) -> None:
        self.latest = look
        for callback in list(self._listeners):
            callback(look)

    def _sample_of(self, data: Data) -> _Sample:
        if self._sample is None or self._sample.data is not data:
            self._sample = _Sample(data)
        return self._sample


class _Sample:
    """The same test images for every look, drawn once, with a strip of all classes."""

    def __init__(self, data: Data) -> None:
        self.data = data
        order = np.random.default_rng(0).permutation(len(data.test_x))[:SAMPLE]
        self.x: Array = data.test_x[order]
        self.labels: Array = data.test_y[order].astype(int)
        self._numbers = order
        self._strip = _one_of_each(self.labels, SHOWN)

    def strip(
        self, guesses: Array | None = None, chances: Array | None = None
    ) -> tuple[Seen, ...]:
        """The images that are always shown."""
        return self.seen(self._strip, guesses, chances)

    def seen(
        self,
        places: Sequence[int],
        guesses: Array | None,
        chances: Array | None,
    ) -> tuple[Seen, ...]:
        """Images of the sample, with the answers where there are any."""
        found = []
        for at in places:
            one = Seen(
                int(self._numbers[at]), picture(self.x[at]), int(self.labels[at])
            )
            if guesses is not None and chances is not None:
                guess = int(guesses[at])
                best = () if guess == BROKEN else np.argsort(-chances[at])[:3]
                found.append(
                    replace(
                        one,
                        guess=guess,
                        chances=tuple((int(k), float(chances[at, k])) for k in best),
                    )
                )
            else:
                found.append(one)
        return tuple(found)


def _one_of_each(labels: Array, most: int) -> list[int]:
    """Places of one image of each class, then of a second one, and so on; by class."""
    seen: dict[int, int] = {}
    turns = []
    for place, label in enumerate(labels.tolist()):
        seen[label] = seen.get(label, 0) + 1
        turns.append((seen[label], label, place))
    return sorted(
        (place for _, _, place in sorted(turns)[:most]),
        key=lambda place: (labels[place], place),
    )


def _unready(net: Block) -> str:
    """Why the network cannot be asked yet; waits until its weights are those of now.

    The steps under way are the training's cost, not ours.
    """
    for parameter in net.collect_params().values():
        if parameter._deferred_init is not None:
            return "The network learns its shapes from the first batch."
        parameter.list_data()[0].wait_to_read()
    return ""


def _asked(net: Block, sample: _Sample, device: Any, step: int) -> Look | str:
    """What is seen of the network, or in words why there are no answers."""
    answers = []
    with outputs_seen(net) as outputs:
        for start in range(0, len(sample.x), CHUNK):
            with attributed(category="data"):
                images = nd.array(sample.x[start : start + CHUNK], ctx=device)
            out = net(images)
            if not isinstance(out, NDArray) or len(out.shape) != 2:
                return "The network's answer is not one array (samples, classes)."
            answers.append(out.asnumpy().astype(np.float64))
    found = parameters(net, gradients=step > 0)
    found += [(layer, OUTPUTS, out) for layer, out in outputs.items()]
    health = count(found)
    filters = filters_of(net, sample.x.shape[1:])
    return replace(
        _judged(np.concatenate(answers), sample, step), health=health, filters=filters
    )


def _judged(answers: Array, sample: _Sample, step: int) -> Look:
    """Right and wrong, and what was taken for what."""
    labels = sample.labels
    finite: Array = np.asarray(np.isfinite(answers).all(axis=1))
    chances = softmax(np.where(finite[:, None], answers, 0))
    guesses = np.where(finite, answers.argmax(axis=1), BROKEN)
    classes = max(answers.shape[1], int(labels.max()) + 1)
    counts = confused(labels, guesses, classes)
    kept = most_confused(counts)
    wrong = np.flatnonzero(guesses != labels)
    surest = wrong[np.argsort(-chances[wrong].max(axis=1), kind="stable")][:SHOWN]
    return Look(
        step,
        sample.strip(guesses, chances),
        wrong=sample.seen(surest.tolist(), guesses, chances),
        right=int((guesses == labels).sum()),
        asked=len(labels),
        broken=int((~finite).sum()),
        classes=kept,
        totals=tuple(np.bincount(labels, minlength=classes)[list(kept)].tolist()),
        all_classes=classes,
        confusion=counts[np.ix_(kept, kept)],
    )


def softmax(answers: Array) -> Array:
    """Probabilities of each row.

    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    powers = np.exp(answers - answers.max(axis=1, keepdims=True))
    result: Array = powers / powers.sum(axis=1, keepdims=True)
    return result
