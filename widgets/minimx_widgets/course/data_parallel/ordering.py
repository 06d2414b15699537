"""The exercise: in which order gradients travel, and how long the next step waits.

The learner gives each layer a priority. The simulator of the p3 store sends by it; then
a real store on simulated GPUs sums by it, and its record says what was sent first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from minimx import kvstore, nd
from minimx.core import engine
from minimx.core.device import gpu
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost
from minimx.core.record import Record
from minimx.kvstore.simulation import Cluster, Prediction, simulate
from minimx_widgets.course.data_parallel.workloads import (
    LANGUAGE_MODEL,
    language_model,
)
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

WORKERS: Final = 4
#: Milliseconds that a step may wait for communication; the best order waits 17.1.
TARGET: Final = 17.5
#: Larger slices than MXNet's 40,000 elements: fewer events, and the same order.
SLICE: Final = 100_000
NAMES: Final = tuple(name for name, *_ in LANGUAGE_MODEL)
SIZES: Final = {name: elements for name, elements, _ in LANGUAGE_MODEL}
#: The arrays of the real store are smaller by this factor.
SMALLER: Final = 100

HINTS: Final = (
    "The backward pass ends with <code>embedding</code>. What does the next forward "
    "pass need first? And last?",
    "The sizes do not matter. What matters is how soon the result is needed. Number "
    "the layers in the order in which the forward pass needs them. In a kvstore the "
    "<i>larger</i> priority goes first.",
    "A worked solution of a similar problem: parcels for a van that stops at A, "
    "B and C. What leaves the van first is loaded last."
    + code("priorities = {stop: -number for number, stop in enumerate('ABC')}"),
)


def step(priorities: Mapping[str, int] | None = None) -> Prediction:
    """A step of the language model on four machines with 25 Gbit/s."""
    return simulate(
        language_model(),
        Cluster.ethernet(25),
        "p3",
        WORKERS,
        priorities=priorities,
        slice_threshold=SLICE,
    )


def stall(priorities: Mapping[str, int] | None = None) -> float:
    """Milliseconds for which workers wait. None: the Trainer's own priorities."""
    return step(priorities).exposed_seconds * 1e3


def sent(priorities: Mapping[str, int]) -> tuple[list[str], dict[str, Any]]:
    """Sum gradients on two simulated GPUs by a real store, all ready at once.

    Returns the layers in the order in which their gradients were sent, and the sum of
    each as `gpu(1)` gets it. A gradient is 1/100 as long as its layer.
    """
    draw = np.random.default_rng(13)
    with knobs(
        MINIMX_SIM_GPUS=2,
        MINIMX_CLOCK="virtual",
        MXNET_ENGINE_TYPE=None,
        MXNET_GPU_COPY_NTHREADS=1,
    ):
        store = kvstore.create("local")
        gradients = {}
        for name in NAMES:
            numbers = draw.normal(size=(2, SIZES[name] // SMALLER)).astype("float32")
            gradients[name] = [nd.array(x, ctx=gpu(k)) for k, x in enumerate(numbers)]
            store.init(name, nd.zeros(numbers[0].shape))
        engine.wait_all()
        with Record() as record:
            _backward([one for pair in gradients.values() for one in pair])
            for name in reversed(NAMES):  # as the backward pass ends
                store.pushpull(name, gradients[name], priority=priorities[name])
            engine.wait_all()
        sums = {name: pair[1].asnumpy() for name, pair in gradients.items()}
        gradients.clear()
        del store
    return _by_start(record), sums


def _backward(gradients: list[Any]) -> None:
    """An operation that writes all gradients, so that all are ready at one time."""
    writes = [one.chunk for one in reversed(gradients)]
    engine.push(lambda: None, gpu(0), [], writes, "backward", cost=Cost(10**10, 0))


def _by_start(record: Record) -> list[str]:
    """The layers by when their first copy began; sizes tell them apart."""
    sizes = {4 * (SIZES[name] // SMALLER): name for name in NAMES}
    starts: dict[str, int] = {}
    table = record.comm()
    for nbytes, at in zip(table["nbytes"].tolist(), table["t0"].tolist(), strict=True):
        starts.setdefault(sizes[nbytes], at)
        starts[sizes[nbytes]] = min(starts[sizes[nbytes]], at)
    return sorted(starts, key=lambda name: starts[name])


@check
def check_order(attempt: Mapping[str, int]) -> Feedback:
    """The free exercise: layer -> priority, so that a step waits at most TARGET ms."""
    if not isinstance(attempt, Mapping):
        return Feedback(
            False, f"{type(attempt).__name__}", "a dictionary, layer: priority"
        )
    if set(attempt) != set(NAMES):
        odd = sorted(map(str, set(attempt) ^ set(NAMES)))
        return Feedback(
            False, f"missing or unknown: {', '.join(odd)}", "a priority for each layer"
        )
    if not all(
        isinstance(one, int) and not isinstance(one, bool) for one in attempt.values()
    ):
        return Feedback(False, "a priority that is no whole number", "whole numbers")
    waits = stall(attempt)
    if waits > TARGET:
        return Feedback(
            False,
            f"each step waits {waits:.1f} ms",
            f"at most {TARGET:g} ms",
            _idea(attempt),
        )
    return _on_a_real_store(attempt, waits)


def _on_a_real_store(attempt: Mapping[str, int], waits: float) -> Feedback:
    """Whether the same numbers come out as without priorities, to the bit."""
    order, sums = sent(attempt)
    _, plain = sent(dict.fromkeys(NAMES, 0))
    changed = [name for name in NAMES if not np.array_equal(sums[name], plain[name])]
    if changed:
        return Feedback(False, f"sums of {', '.join(changed)} differ", "equal sums")
    return Feedback(
        True,
        f"each step waits {waits:.1f} ms (modelled). A real store on two simulated "
        f"GPUs sent {order[0]} first and {order[-1]} last, and all sums are the same "
        "to the bit as without priorities",
    )


def _idea(attempt: Mapping[str, int]) -> str:
    if len(set(attempt.values())) == 1:
        return (
            "equal priorities: then what is ready first goes first, and the backward "
            "pass ends with the first layer"
        )
    turned = {name: -priority for name, priority in attempt.items()}
    if stall(turned) <= TARGET:
        return "the sign: in a kvstore the larger number goes first"
    order = sorted(NAMES, key=lambda name: -attempt[name])
    by_size = sorted(NAMES, key=lambda name: SIZES[name])
    if order == by_size:
        return "small is not urgent: which layer does the next forward pass need first?"
    if order == by_size[::-1]:
        return "large is not urgent: which layer does the next forward pass need first?"
    return "the order in which the next forward pass needs the layers"
