"""Notebook 12: how fast a network works by batch size, and how fast it is fed.

    virtual_speeds   images per second of a real network, on the virtual clock
    Feeding          readers, decoding threads, buffers and a network in one pipeline
    Feeding.run      the engine at work on it: images per second, and the record

In the pipeline every operation takes as long as it is set to, and all else is the
engine's: a buffer is a var that the decoders write and the network reads, so a decoder
waits until the network is done with what the buffer held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimx import gluon, nd, random
from minimx.commands.bench.fit import ENOUGH, Saturation, saturation
from minimx.core import engine
from minimx.core.device import Device, cpu, gpu
from minimx.core.drivers import driver_for
from minimx.core.engine.var import Var
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost
from minimx.core.record import Record
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code
from minimx_widgets.course.timing import now

#: The network's stage in a record, and the others.
NETWORK, DECODE, READ = "network", "decode", "read"
BATCHES, WARM = 10, 4  # fed in a run, and those of them that fill the pipeline
DECODE_MS = 4.0  # of a thread for an image: four threads decode a thousand a second

#: The free exercise: networks by the channels of their layers, on 32 × 32 images.
NETS = ((32, 64), (16, 16, 16, 16, 16, 16), (64, 64, 32))
GIVEN = (1, 2, 4, 8, 16)  # the batch sizes whose speeds an attempt is given
TOLERANCE = 0.1

SENTENCE = (
    "Every batch pays the same for its launches, however many images are in it, so a "
    "larger batch spreads this over more images until the images themselves take "
    "nearly all the time."
)

HINTS = (
    "From images per second back to seconds: what is the time of a batch of b images "
    "that come at s images per second? Over b that time is a straight line.",
    "The line has a beginning t0 and a slope t1. The peak is 1 / t1, and the speed at "
    "b is b / (t0 + b t1). Set it equal to 90 % of the peak, and solve for b. No batch "
    "that was measured needs to reach it.",
    "A worked solution of a similar problem: the batch that reaches <i>half</i> "
    "of the peak. "
    + code(
        """
        def half(speeds):
            batches = np.array(list(speeds))
            seconds = batches / np.array(list(speeds.values()))
            t1, t0 = np.polyfit(batches, seconds, 1)
            return round(t0 / t1)  # b / (t0 + b t1) = 1 / (2 t1)
        """
    ),
)


def small(channels: Sequence[int], device: Device) -> gluon.HybridBlock:
    """Convolutions of 3 × 3 with so many channels, then ten classes."""
    net = gluon.nn.HybridSequential()
    for count in channels:
        net.add(gluon.nn.Conv2D(count, 3, padding=1, activation="relu"))
    net.add(gluon.nn.GlobalAvgPool2D(), gluon.nn.Dense(10))
    random.seed(0)
    net.initialize(ctx=device)
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def virtual_speeds(
    net: gluon.Block, batches: Sequence[int], device: Device, side: int = 32
) -> dict[int, float]:
    """Images per second by batch size, on the virtual clock: exact on any machine."""
    speeds = {}
    with knobs(MINIMX_CLOCK="virtual"):
        for batch in batches:
            x = nd.ones((batch, 3, side, side), ctx=device)
            for _ in range(2):  # memory is planned and allocated in the first
                engine.wait_all()
                start = now()
                net(x).wait_to_read()
            speeds[batch] = batch / (now() - start) * 1e9
    return speeds


@dataclass(frozen=True)
class Fed:
    """What came of a pipeline.

    images_per_second: once the pipeline was full. busy: the share of that time in which
    the network worked. record: of the whole run.
    """

    images_per_second: float
    busy: float
    record: Record

    def __repr__(self) -> str:
        return f"{self.images_per_second:,.0f} images/s, network busy {self.busy:.0%}"


@dataclass(frozen=True)
class Feeding:
    """A pipeline: a disk reads, threads decode into buffers, a network takes batches.

    batch_ms: that the network takes for a batch. decode_ms: that a thread takes for an
    image. read_ms: that the disk takes for an image, 0 for a disk that never matters.
    buffers: batches that have a place in memory, the one at work included. uneven: by
    how much decoding differs from batch to batch, as a share; its mean stays.
    """

    batch: int
    batch_ms: float
    threads: int = 4
    buffers: int = 2
    decode_ms: float = DECODE_MS
    read_ms: float = 0.0
    uneven: float = 0.0

    def with_(self, **changes: Any) -> Feeding:
        """The same with something else."""
        return replace(self, **changes)

    def run(self, batches: int = BATCHES) -> Fed:
        """Feed so many batches on the virtual clock."""
        how: dict[str, Any] = {
            "MINIMX_CLOCK": "virtual",
            "MXNET_ENGINE_TYPE": None,
            "MXNET_CPU_WORKER_NTHREADS": self.threads,
            "MXNET_GPU_WORKER_NTHREADS": 1,
        }
        with knobs(**how), Record() as record:
            self._push(batches)
            engine.wait_all()
        ops = record.ops()
        network = np.array([n == NETWORK for n in record.texts(ops["name"])], bool)
        ends = np.sort(ops["t_end"][network])[WARM - 1 :]
        took = (ops["t_end"] - ops["t_start"])[network][WARM:].sum()
        span = int(ends[-1] - ends[0])
        return Fed((len(ends) - 1) * self.batch / span * 1e9, took / span, record)

    def _push(self, batches: int) -> None:
        """Ask for everything at once; the buffers decide when it can be done."""
        disk, network = Var(), Var()
        slots = [[Var() for _ in range(self.batch)] for _ in range(self.buffers)]
        for number, decode_ms in enumerate(self._decode_times(batches)):
            buffer = slots[number % self.buffers]
            for slot in buffer:
                if self.read_ms:
                    _push(READ, cpu(1), [], [disk, slot], self.read_ms)
                _push(DECODE, cpu(0), [], [slot], decode_ms)
            _push(NETWORK, gpu(0), buffer, [network], self.batch_ms)

    def _decode_times(self, batches: int) -> Iterator[float]:
        """Of an image, for each batch: the same numbers in every run."""
        rng = np.random.default_rng(12)
        factors = 1 + self.uneven * rng.uniform(-1, 1, batches)
        yield from self.decode_ms * factors / factors.mean()


def _push(
    name: str, device: Device, reads: list[Var], writes: list[Var], milliseconds: float
) -> None:
    """Push an operation that does nothing and takes a while on the virtual clock."""
    costs = driver_for(device).costs
    busy = max(0.0, milliseconds / 1e3 - costs.launch_ns / 1e9)
    cost = Cost(round(busy * costs.flops), 0)
    engine.push(lambda: None, device, reads, writes, name, cost=cost)


def threads_needed(feeding: Feeding, share: float = 0.99) -> int:
    """The least number of threads with which the network is busy for such a share."""
    count = 1
    while feeding.with_(threads=count).run().busy < share:
        count += 1
    return count


#: The faded exercise: pipelines whose batches are a multiple of their threads.
PIPELINES = (
    Feeding(32, 40.0, threads=2),
    Feeding(32, 40.0, threads=8),
    Feeding(48, 30.0, threads=6),
    Feeding(48, 60.0, threads=4, decode_ms=2.0),
    Feeding(32, 40.0, threads=4, buffers=1),
    Feeding(48, 30.0, threads=12, buffers=1),
)


@check
def check_speed(attempt: Callable[..., float]) -> Feedback:
    """The faded exercise: `attempt(feeding)` gives the images per second of a pipeline.

    It is compared with the engine's on the virtual clock, within 2 %.
    """
    for feeding in PIPELINES:
        try:
            answer = attempt(feeding)
        except TypeError as error:
            if "ellipsis" not in str(error):
                raise
            return Feedback(False, "a `...` is still there", "numbers for both of them")
        if not isinstance(answer, float | int):
            return Feedback(False, f"it returned {answer!r}", "images per second")
        ran = feeding.run()
        if not math.isclose(answer, ran.images_per_second, rel_tol=0.02):
            return _wrong_speed(feeding, answer, ran)
    return Feedback(True, f"within 2 % of the engine for {len(PIPELINES)} pipelines")


def _wrong_speed(feeding: Feeding, answer: float, ran: Fed) -> Feedback:
    """Name the misconception behind a wrong speed of a pipeline."""
    decode = feeding.batch * feeding.decode_ms / feeding.threads
    slower, both = max(decode, feeding.batch_ms), decode + feeding.batch_ms
    quicker = min(decode, feeding.batch_ms)
    thread = feeding.batch * feeding.decode_ms
    wrong = {
        slower: "one buffer: no thread decodes into it while the network reads it, so "
        "both times add up",
        both: "two buffers: one is filled while the other is worked on, so the times "
        "do not add up",
        quicker: "a chain of stages is as fast as its slowest one",
        max(thread, feeding.batch_ms): "the threads share the images of a batch",
        thread + feeding.batch_ms: "the threads share the images of a batch",
    }
    idea = "the units: milliseconds go in, images per second come out"
    for milliseconds, text in wrong.items():
        if math.isclose(answer, feeding.batch / milliseconds * 1e3, rel_tol=0.02):
            idea = text
            break
    buffers = "1 buffer" if feeding.buffers == 1 else f"{feeding.buffers} buffers"
    seen = (
        f"{answer:,.4g} images/s for batches of {feeding.batch} in "
        f"{feeding.batch_ms:g} ms, {feeding.threads} threads at "
        f"{feeding.decode_ms:g} ms, {buffers}"
    )
    return Feedback(False, seen, f"{ran.images_per_second:,.0f} images/s", idea)


@check
def check_enough(attempt: Callable[[dict[int, float]], int]) -> Feedback:
    """The free exercise: `attempt(speeds)` gives the batch that reaches 90 % of peak.

    It sees the speeds of a network at a few small batches; whether it is right is seen
    at the batch that it names, on the virtual clock.
    """
    texts = []
    for channels in NETS:
        device = gpu(0)
        net = small(channels, device)
        law = _law(virtual_speeds(net, (*GIVEN, 32, 64), device))
        given = virtual_speeds(net, GIVEN, device)
        answer = attempt(dict(given))
        if isinstance(answer, np.integer | np.floating):
            answer = answer.item()
        if isinstance(answer, bool) or not isinstance(answer, float | int):
            return Feedback(False, f"it returned {answer!r}", "a batch size, a number")
        if not abs(answer - law.enough) <= max(1, TOLERANCE * law.enough):
            return _wrong_batch(channels, answer, law, given)
        batch = round(answer)
        share = virtual_speeds(net, (batch,), device)[batch] / law.peak
        texts.append(f"batch {batch} reaches {share:.1%}")
    return Feedback(True, f"{', '.join(texts)} of its network's peak")


def _law(speeds: Mapping[int, float]) -> Saturation:
    law = saturation(speeds)
    assert law is not None  # a batch takes time, and a larger one takes more
    return law


def _wrong_batch(
    channels: Sequence[int], answer: float, law: Saturation, given: Mapping[int, float]
) -> Feedback:
    """Name the misconception behind a wrong batch."""
    ratio = law.t0 / law.t1
    last = max(given)
    near = {
        ratio: "b = t0 / t1 reaches half of the peak, not 90 % of it",
        9 / ratio: "t0 and t1 are exchanged: which of them is the slope?",
        ratio / 9: "b = t0 / t1 / 9 reaches a tenth of the peak, not 90 % of it",
        law.peak: "a batch size is wanted, not images per second",
        ENOUGH * law.peak: "a batch size is wanted, not images per second",
    }
    idea = "the time of a batch, b / speed, is a straight line over b; its slope is t1"
    if answer in given and answer >= last / 2:
        idea = (
            f"the peak, 1 / t1, is what no batch exceeds; batch {last} is only the "
            "largest that you were given"
        )
    else:
        for batch, text in near.items():
            if abs(answer - batch) <= max(0.5, 0.05 * batch):
                idea = text
                break
    seen = f"batch {answer:,.4g} for the network of {', '.join(map(str, channels))}"
    if 1 <= answer < law.enough * 100:
        seen += (
            f" channels, which reaches {law.speed(answer) / law.peak:.0%} of the peak"
        )
    wanted = f"the smallest batch at {ENOUGH:.0%} of {law.peak:,.0f} images/s, within "
    wanted += f"{TOLERANCE:.0%}"
    return Feedback(False, seen, wanted, idea)
