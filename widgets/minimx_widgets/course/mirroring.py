"""Notebook 09: what is kept for the gradient, what is computed again, what it costs.

A chain of layers is the network on which the trade can be counted on paper: each layer
is one product, its gradient two. `planned` asks the planner what a choice of kept
layers needs, `ran` runs it; both checks judge by what really ran.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx import nd, sym
from minimx.core import autograd, engine
from minimx.core.device import cpu
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.mirror_segments import Line, even_segments, planned_bytes
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.specs import every_spec
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.storage import pool_for
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code
from minimx_widgets.training.mirror_measure import Measured, raced
from minimx_widgets.training.subject import Subject

SENTENCE = (
    "With k segments the k borders are kept all the time and the N / k layers of one "
    "segment while its gradient runs; more segments make one of them larger and the "
    "other smaller, and their sum is least where both are √N."
)

HINTS = (
    "A segment costs the sum of its layers, a border the layer that is kept there. For "
    "equal layers √N segments of √N are right. Where layers differ, how many "
    "<i>KiB</i> belong into a segment, and <i>which</i> of its last few layers is "
    "cheapest to keep?",
    "Go along the chain with a sum. When it exceeds a threshold, keep the smallest "
    "layer among the last ones and begin again behind it. You need not know the "
    "threshold: <code>mirroring.planned(sizes, kept).kib</code> says what a choice "
    "needs, so try some twenty and take the best.",
    "A worked solution of a similar problem: stops on a journey of given legs, so "
    "that no day is longer than it must be. "
    + code(
        """
        def stops(legs, limit):
            today, found = 0, []
            for number, leg in enumerate(legs):
                if today + leg > limit:
                    found.append(number)  # sleep before this leg
                    today = 0
                today += leg
            return found

        def shortest_days(legs, days):
            limits = range(max(legs), sum(legs) + 1)
            return next(limit for limit in limits if len(stops(legs, limit)) < days)
        """
    ),
)

KIB = 1024
#: Rows of a batch: so a layer of so many float32 numbers is as many KiB.
BATCH = 256
#: Columns of an ordinary layer, and KiB of its output.
SLOT = 64


def chain(sizes: Sequence[int], plan: Collection[int] | None = None) -> Any:
    """A symbol of one layer after the other, with outputs of so many KiB.

    plan: the layers that say force_mirroring=False; the others say True. Without a
    plan there is nothing to say.
    """
    x = sym.var("data")
    for number, size in enumerate(sizes):
        mark = {} if plan is None else {"force_mirroring": str(number not in plan)}
        x = sym.FullyConnected(
            x, num_hidden=size, no_bias=True, name=f"layer{number}", attr=mark
        )
    return x


def shape_of(sizes: Sequence[int]) -> tuple[int, int]:
    """The shape of a chain's data: as large as its first layer."""
    return (BATCH, sizes[0])


@dataclass(frozen=True)
class Choice:
    """What a choice of kept layers needs: KiB in the plan, layers computed again."""

    kib: float
    again: int


def planned(sizes: Sequence[int], kept: Iterable[int]) -> Choice:
    """What the planner says of a chain of which only some layers are kept.

    sizes: of the layers' outputs, in KiB. kept: their numbers, from 0; the last layer
    is the output, and stays anyway. Raises ValueError for a layer that does not exist.
    """
    return _needed(*_chosen(sizes, kept))


def segmented(layers: int, count: int) -> Choice:
    """What the planner says of equal layers of 64 KiB in so many equal segments."""
    subject, _ = _chosen([SLOT] * layers, ())
    specs = every_spec(subject.graph, subject.variables)
    line = Line(subject.graph, subject.wanted, specs)
    return _needed(subject, even_segments(line, count))


def _needed(subject: Subject, keep: Keep) -> Choice:
    specs = every_spec(subject.graph, subject.variables)
    training = differentiate(subject.graph, subject.wanted, specs, keep)
    nbytes = planned_bytes(Settings())(training)
    return Choice(nbytes / KIB, len(training.clones))


def ran(sizes: Sequence[int], kept: Iterable[int]) -> tuple[Measured, Measured]:
    """A chain trained for real: with all layers kept, and with some of them."""
    subject, keep = _chosen(sizes, kept)
    parts = subject.graph, subject.variables, subject.wanted
    everything, some = raced(*parts, [Keep(), keep], Settings(), cpu())
    return everything, some


def _chosen(sizes: Sequence[int], kept: Iterable[int]) -> tuple[Subject, Keep]:
    subject = Subject.of(chain(sizes), {"data": shape_of(sizes)}, "chain")
    layers = [node for node in subject.graph if node.op is not None]
    stay = {*kept, len(layers) - 1}
    if odd := [number for number in stay if number not in range(len(layers))]:
        raise ValueError(
            f"there is no layer {odd[0]!r}; they are 0 to {len(layers) - 1}"
        )
    again = [node for number, node in enumerate(layers) if number not in stay]
    return subject, Keep(frozenset(again), name="chosen")


# -- a chain by its symbol -------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A step of an executor: KiB it held, products it ran, a print of its gradients."""

    kib: float
    products: int
    gradients: str


def trained(net: Any, sizes: Sequence[int]) -> Trained:
    """Bind a chain's symbol and take one step, as any program would.

    What the executor holds is what it asked the pool for; what it ran, the record says.
    """
    with knobs(MXNET_EXEC_BULK_EXEC_TRAIN=False), Record() as record:
        executor = net.simple_bind(cpu(), data=shape_of(sizes))
        numbers = np.random.default_rng(0)
        for array in executor.arg_arrays:
            array[:] = numbers.standard_normal(array.shape) / np.sqrt(array.shape[-1])
        executor.forward(is_train=True)
        executor.backward()
        engine.wait_all()
        bits = hashlib.sha256()
        for gradient in executor.grad_arrays:
            bits.update(gradient.asnumpy())
    mem, names = record.mem(), record.texts(record.ops()["name"])
    owners = np.array(record.texts(mem["name"]))
    in_use = np.isin(record.texts(mem["event"]), ("alloc", "hit"))
    held = mem["requested"][in_use & (owners == "arena")]
    products = sum(name == "FullyConnected" for name in names)
    return Trained(int(held.sum()) / KIB, products, bits.hexdigest())


# -- a chain on the tape ---------------------------------------------------------------


class Stack:
    """Layers that are called by their numbers and count how often they run.

    A layer is tanh of a product with a square matrix; its output has `SLOT` KiB.
    """

    def __init__(self, layers: int = 16) -> None:
        numbers = np.random.default_rng(0)
        scale = 1 / np.sqrt(SLOT)
        self.weights = [
            nd.array(scale * numbers.standard_normal((SLOT, SLOT)))
            for _ in range(layers)
        ]
        for weight in self.weights:
            weight.attach_grad()
        self.data = nd.array(numbers.standard_normal((BATCH, SLOT)))
        self.runs = 0

    def run(self, segment: Iterable[int], x: Any) -> Any:
        """The output of some layers, one after the other."""
        for number in segment:
            self.runs += 1
            x = nd.tanh(nd.dot(x, self.weights[number]))
        return x

    @property
    def gradients(self) -> list[Any]:
        """What was computed for the weights, as NumPy arrays."""
        return [weight.grad.asnumpy() for weight in self.weights]


#: Segments of the faded exercise, and how many slots its solution may need.
SEGMENTS = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15))
SLOTS = 15

Run = Callable[[Iterable[int], Any], Any]
Step = Callable[[Run, Any, Sequence[Sequence[int]]], Any]


def plainly(run: Run, x: Any, segments: Sequence[Sequence[int]]) -> None:
    """One step on the tape, which keeps the output of every layer."""
    with autograd.record():
        for segment in segments:
            x = run(segment, x)
    x.backward()


@dataclass(frozen=True)
class Used:
    """What a step on the tape used: slots at its peak, runs of layers, gradients."""

    slots: float
    runs: int
    gradients: list[Any]


def used(step: Step, segments: Sequence[Sequence[int]] = SEGMENTS) -> Used:
    """Take a step with a stack of 16 layers and look at the pool meanwhile.

    Without workers, so that memory comes back the moment it is let go.
    """
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        stack = Stack()
        before = pool_for(cpu()).stats().live_requested
        with Record() as record:
            step(stack.run, stack.data, segments)
        peak = record.memory_curve(cpu()).peak - before
    return Used(peak / KIB / SLOT, stack.runs, stack.gradients)


@check
def check_checkpointed(attempt: Step) -> Feedback:
    """The faded exercise: `attempt(run, x, segments)` takes a step with checkpoints.

    Its gradients are compared with the tape's to the bit, its memory is looked up in
    the pool, and every run of a layer is counted.
    """
    right, seen = used(plainly), used(attempt)
    layers = len(right.gradients)
    pairs = zip(right.gradients, seen.gradients, strict=True)
    same = [a.tobytes() == b.tobytes() for a, b in pairs]
    if not all(same):
        return _wrong_gradients(same)
    text = (
        f"the gradients of all {layers} weights to the bit, {seen.slots:.0f} slots "
        f"instead of {right.slots:.0f}, {seen.runs} runs of layers instead of {layers}"
    )
    if seen.runs > 2 * layers:
        return Feedback(
            False,
            f"{seen.runs} runs of layers",
            f"at most {2 * layers}: every layer once more, and none twice more",
            "where a segment begins again: at its own checkpoint, not at the data",
        )
    if seen.slots > SLOTS:
        return Feedback(
            False,
            f"{seen.slots:.0f} slots at the peak",
            f"at most {SLOTS}",
            "step 1: on a tape every layer's output is kept; the first time through, "
            "there must be none",
        )
    return Feedback(True, text)


def _wrong_gradients(same: Sequence[bool]) -> Feedback:
    seen = f"{sum(same)} of {len(same)} weights have the gradient that the tape gives"
    last = len(SEGMENTS[-1])
    if not any(same[-last:]):
        idea = "the first blank: the segment began with something that never entered it"
    elif all(same[-last:]):
        idea = (
            "the second blank: only behind the last segment the gradient is ones; the "
            "others get what the segment behind them has handed on"
        )
    else:
        idea = "which layers a segment runs"
    return Feedback(False, seen, "all of them, to the bit", idea)


# -- the choice ------------------------------------------------------------------------

#: Chains and the KiB that they may need. Equal layers: 2 √N of them. In the others a
#: narrow layer costs a quarter of a wide one.
TARGETS: tuple[tuple[str, list[int], int], ...] = (
    ("64 equal layers", [64] * 64, 1024),
    ("100 equal layers", [32] * 100, 640),
    ("48 layers, narrow and wide in turn", [16, 64] * 24, 450),
    ("48 layers, wide and narrow in turn", [64, 16] * 24, 450),
)


@check
def check_choice(attempt: Callable[[list[int]], Iterable[int]]) -> Feedback:
    """The free exercise: `attempt(sizes)` says which layers of a chain are kept.

    Each chain is trained for real, with the choice and with everything kept.
    """
    texts = []
    for name, sizes, target in TARGETS:
        answer = attempt(list(sizes))
        if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
            return Feedback(False, f"it returned {answer!r}", "the numbers of layers")
        kept = sorted({*answer})
        if odd := [k for k in kept if k not in range(len(sizes))]:
            return Feedback(
                False,
                f"{name}: it keeps layer {odd[0]!r}",
                f"whole numbers from 0 to {len(sizes) - 1}",
                "layers are counted from 0",
            )
        everything, some = ran(sizes, kept)
        again, held = some.runs - everything.runs, some.peak / KIB
        if held > target:
            seen = f"{name}: {held:.0f} KiB, with {len(kept)} layers kept"
            return Feedback(False, seen, f"at most {target} KiB", _why(sizes, kept))
        if not some.same or again > len(sizes):
            raise AssertionError(f"{name}: {some} is no way to train")
        texts.append(f"{held:.0f} KiB with {again} runs more")
    return Feedback(True, f"equal gradients, and {'; '.join(texts)}")


def _why(sizes: Sequence[int], kept: Sequence[int]) -> str:
    """What went wrong with a choice that needs too much."""
    count = len(sizes)
    if len(kept) <= 1:
        return (
            "keeping nothing: to compute the last layer again, all before it are there "
            "again at the same time"
        )
    if len(kept) >= count - 1:
        return "keeping everything: that is where we began"
    wide = sum(sizes[number] == max(sizes) for number in kept)
    if min(sizes) < max(sizes) and 2 * wide > len(kept):
        return (
            f"which layers are kept: {wide} of your {len(kept)} checkpoints are of the "
            "wide kind, and a narrow one lies next to each"
        )
    if len(kept) > 2 * np.sqrt(count):
        return "how many are kept: the checkpoints alone are more than √N"
    return (
        "how long segments are: while its gradient runs, all of a segment is there at "
        "once"
    )
