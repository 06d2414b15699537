"""Notebook 08: a program whose tensors have another size in every batch, and its pools.

The traces are made by a seeded generator, so their numbers are the same everywhere. The
pools are those of `minimx.core.storage`, over the simulated GPU or over the driver that
only counts (`minimx.core.replay`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from minimx import nd
from minimx.core.device import gpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.storage import Policy, Pool, Stats
from minimx.core.storage.policy import from_knobs, knob_names, round_power2
from minimx.gluon import nn
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

MIB = 1 << 20
#: One time step of one buffer: 64 KiB, as float32.
WIDTH = 16_384
BUFFERS = 8

SENTENCE = (
    "The pool gives an idle block only to a request of the same rounded size. So when "
    "the sizes keep changing its idle blocks fit no request, and it asks the driver "
    "for more, although most of the memory that it holds is unused."
)

HINTS = (
    "Open the pool map above and turn one control at a time. Which of the two targets "
    "does <i>Naive</i> miss, and how many size classes has it? Which one does "
    "<i>Unpooled</i> miss?",
    "Round has one dial. Below 2**cutoff each size goes up to a power of two: few "
    "classes, and up to half of a block is waste. Above it sizes go up in steps of "
    "2**cutoff: little waste, and a class for every step. So the cutoff should lie "
    "above the sizes that vary, and below the large one that does not.",
    "A worked solution of a similar problem, in which sizes vary from 1 to 8 MiB "
    "and one buffer always has 33 MiB: "
    + code(
        """
        # cutoff 20: eight classes from 1 to 8 MiB      -> too many calls
        # cutoff 26: 1, 2, 4, 8 MiB, but 33 becomes 64  -> too much memory
        choice = {"type": "Round", "cutoff": 23}  # 1, 2, 4, 8, and 33 becomes 40
        """
    ),
)


def lengths(batches: int = 200, seed: int = 0) -> list[int]:
    """How many time steps each batch has: evenly from 10 to 100.

    >>> lengths()[:5], max(lengths())
    ([59, 63, 15, 43, 75], 100)
    """
    chance = random.Random(seed)
    return [chance.randint(10, 100) for _ in range(batches)]


@contextmanager
def fresh_gpu(memory: str = "512MiB", **settings: Any) -> Iterator[None]:
    """A simulated GPU whose pool has allocated nothing yet, under some knobs.

    Operations run one after the other, so that arrays live as long as their names.
    """
    with (
        knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_SIM_GPU_MEMORY="1MiB"),
        knobs(**settings),
        knobs(MINIMX_SIM_GPU_MEMORY=memory),
    ):
        yield


def run(steps: Iterable[int]) -> Record:
    """One batch after the other, each with eight buffers of its length, recorded."""
    with Record() as record:
        for length in steps:
            buffers = [nd.zeros((length, WIDTH), ctx=gpu()) for _ in range(BUFFERS)]
            del buffers
    return record


def sentences() -> Any:
    """A network that takes sequences of any length: three layers, applied to each step.

    The input has the shape (batch, steps, 64).
    """
    net = nn.HybridSequential(prefix="reader_")
    with net.name_scope():
        for width in (256, 256):
            net.add(nn.Dense(width, activation="relu", flatten=False))
        net.add(nn.Dense(16, flatten=False))
    net.initialize(ctx=gpu())
    return net


def read(net: Any, steps: Iterable[int], batch: int = 64) -> Record:
    """Send one batch of sequences after the other through a network, recorded."""
    with Record() as record:
        for length in steps:
            net(nd.ones((batch, length, 64), ctx=gpu()))
    return record


# -- the faded exercise: how Round rounds --------------------------------------------

Rounding = Callable[..., Any]
# (requested bytes, cutoff, what to look at again)
ROUNDED = (
    (3 * MIB, 24, "the smallest power of two that holds the request"),
    (4 * MIB, 24, "a request that is a power of two already fits exactly"),
    (100, 24, "no block is smaller than a page"),
    (16 * MIB, 24, "2**cutoff itself is not above the cutoff"),
    (17 * MIB, 24, "above the cutoff: the next multiple of 2**cutoff, upwards"),
    (32 * MIB, 24, "a request that is a multiple already fits exactly"),
    (100 * MIB, 28, "the cutoff is a parameter, and below it there are powers of two"),
)


@check
def check_rounding(attempt: Rounding) -> Feedback:
    """The faded exercise: `attempt(nbytes, page, cutoff)` rounds as Round does.

    Compared with the pool's own policy, for some characteristic sizes and 500 random
    ones.
    """
    if not callable(attempt):
        return Feedback(False, f"{attempt!r} is not a function", "a function (nbytes)")
    chance = random.Random(8)
    some = [
        (chance.randrange(1, 1 << chance.randint(1, 30)), chance.choice((20, 24, 28)))
        for _ in range(500)
    ]
    always = "it holds the request, and is as small as the rule allows"
    for nbytes, cutoff, idea in (*ROUNDED, *((n, c, always) for n, c in some)):
        wanted = round_power2(4096, cutoff).rounding(nbytes)
        answer = attempt(nbytes, 4096, cutoff)
        if answer is Ellipsis or answer is None:
            return Feedback(False, f"it returned {answer!r}", "a number of bytes")
        if answer != wanted:
            return _wrong_size(nbytes, cutoff, answer, wanted, idea)
    return Feedback(True, f"the pool says the same of {len(ROUNDED) + 500} requests")


def _wrong_size(
    nbytes: int, cutoff: int, answer: Any, wanted: int, idea: str
) -> Feedback:
    text = f"{answer:,} bytes for a request of {nbytes:,} with cutoff {cutoff}"
    if answer < nbytes:
        idea = "a block must hold the request: round up, not down"
    elif nbytes > 1 << cutoff and answer == -(-nbytes // (2 * MIB)) * 2 * MIB:
        idea = (
            "this is Naive's rule. The 2.0 document promises it above the cutoff, but "
            "MXNet takes multiples of 2**cutoff"
        )
    elif nbytes > 1 << cutoff and answer == 1 << (nbytes - 1).bit_length():
        idea = "above the cutoff there are no powers of two any more"
    return Feedback(False, text, f"{wanted:,} bytes", idea)


# -- the free exercise: choose a policy for a trace ----------------------------------

MOST_RESERVED, MOST_CALLS = 430 * MIB, 8
CARD = 2 << 30
FIELDS = ("type", "page", "reserve", "large", "cutoff")


def demand(steps: int = 200, seed: int = 8) -> Iterator[list[int]]:
    """What each step of the exercise asks for, in bytes: two sizes vary, one stays."""
    chance = random.Random(seed)
    for _ in range(steps):
        varying = [chance.randint(64, 1024) * (MIB // 16) for _ in range(2)]
        yield [*varying, 130 * MIB]


def serve(policy: Policy, recorder: Record | None = None) -> Stats:
    """The counters of a pool after the whole demand, on 2 GiB that are only counted."""
    bus = SimpleNamespace(recorder=recorder)
    pool = Pool(CountingDriver(gpu(), CARD), policy, bus=bus)
    owner = Owner("layer", "net", "forward", "activation")
    weights = Owner("table", "net", "forward", "workspace")
    for sizes in demand():
        owners = (owner, owner, weights)
        blocks = [pool.alloc(n, who) for n, who in zip(sizes, owners, strict=True)]
        for block in blocks:
            block.free()
    return pool.stats()


def trace() -> Record:
    """The demand of the exercise as a record, served by the default policy."""
    record = Record()
    record.conditions.devices = {"gpu(0)": CARD}
    moments = iter(range(10**9))
    record.clock = lambda: 1000 * next(moments)
    serve(from_knobs("gpu", lambda name: knobs.declared[name].default), record)
    return record


@check
def check_choice(attempt: Any) -> Feedback:
    """The free exercise: settings of a pool, or a `Policy`, that meet both targets.

    A dictionary such as {"type": "Round", "cutoff": 24}; page, large and reserve may be
    set as well, and knobs may be called by their full names.
    """
    policy = attempt if isinstance(attempt, Policy) else _chosen(attempt)
    stats = serve(policy)
    text = (
        f"{stats.peak_reserved / MIB:,.0f} MiB reserved, {stats.n_malloc} driver calls"
    )
    if stats.peak_reserved <= MOST_RESERVED and stats.n_malloc <= MOST_CALLS:
        return Feedback(True, text)
    wanted = f"at most {MOST_RESERVED / MIB:.0f} MiB, and at most {MOST_CALLS} calls"
    return Feedback(False, text, wanted, _why(policy, stats))


def _chosen(attempt: Any) -> Policy:
    """The policy that a dictionary describes."""
    if not isinstance(attempt, Mapping):
        raise TypeError(
            f'{attempt!r} is neither {{"type": …, "cutoff": …}} nor a Policy'
        )
    names = dict(zip(FIELDS, knob_names("gpu"), strict=True))
    values = {knob.name: knob.default for knob in knobs.declared.values()}
    for field, value in attempt.items():
        knob = knobs.declared[knobs.resolve(names.get(str(field), str(field)))]
        values[knob.name] = knob.check(value)
    return from_knobs("gpu", values.__getitem__)


def _why(policy: Policy, stats: Stats) -> str:
    """The idea behind a choice that misses a target."""
    if not policy.keeps:
        return (
            "nothing is kept, so every request is a driver call. Such calls wait for "
            "the whole GPU; pools were made to avoid them"
        )
    large = policy.rounding(130 * MIB)
    if policy.name == "Naive" and stats.n_malloc > MOST_CALLS:
        return (
            "rounding to pages and slabs wastes little of each block, but every new "
            "size opens a class that no other request can use: what is saved inside "
            "the blocks is stranded between them"
        )
    if stats.n_malloc > MOST_CALLS:
        return (
            "the varying sizes still have many classes. Below the cutoff they would "
            "share a few powers of two"
        )
    if large > 1.6 * 130 * MIB:
        return (
            f"the buffer of 130 MiB takes {large / MIB:.0f}. A cutoff above it makes "
            "it a power of two, too: the waste lies inside the block now"
        )
    return "both targets at once: count the classes, and what each block wastes"
