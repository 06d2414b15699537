"""What the documents say of graphs and of bulk execution (notebook 05)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minimx as mx
from minimx.gluon import HybridBlock
from minimx_widgets.course.bulking import pool_requests, pushed
from minimx_widgets.course.claims.claim import (
    GUIDE,
    V1,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.timing import now

LIMIT = "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN"
OPERATORS = 100


class Chain(HybridBlock):
    """A hundred operators, one after the other."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Fifty times 1.5 · tanh(x)."""
        for _ in range(OPERATORS // 2):
            x = 1.5 * F.tanh(x)
        return x


class Branches(HybridBlock):
    """Two branches of twenty operators, and their sum."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Tanh of tanh and so on, plus sin of sin and so on."""
        left = right = x
        for _ in range(20):
            left = F.tanh(left)
        for _ in range(20):
            right = F.sin(right)
        return left + right


def _chain(**flags: Any) -> Any:
    net = Chain()
    net.hybridize(**flags)
    return net


def _trains(net: Any, x: Any) -> Callable[[], None]:
    x.attach_grad()

    def work() -> None:
        with mx.autograd.record():
            net(x)

    return work


def predictions() -> Numbers:
    """Pushes of a prediction with bulk execution and without."""
    net, x = _chain(), mx.nd.ones((8, 8))
    whole = len(pushed(lambda: net(x)))
    with mx.knobs(MXNET_EXEC_BULK_EXEC_INFERENCE=0):
        return {"on": whole, "off": len(pushed(lambda: net(x)))}


@claim(
    "05",
    "“during inference MXNet executes the entire computation graph in bulk mode”",
    V2,
    160,
    "measured",
    predictions,
    tolerance="none: pushes are counted",
)
def entire_graph(on: int, off: int) -> Decision:
    """A prediction should be one operation for the engine."""
    return (
        if_true(on == 1 and off == OPERATORS),
        f"{OPERATORS} operators were {on} push{'es' * (on != 1)}; with the knob at 0 "
        f"they were {off}",
    )


def finish(limit: int) -> float:
    """Virtual µs until two branches are done on two workers."""
    net, x = Branches(), mx.nd.ones((64, 64))
    net.hybridize()
    work = _trains(net, x)
    knobs = {LIMIT: limit, "MXNET_CPU_WORKER_NTHREADS": 2}
    with mx.knobs(MINIMX_CLOCK="virtual", **knobs):
        work()  # writes the graph down
        mx.nd.waitall()
        start = now()
        work()
        mx.nd.waitall()
        return (now() - start) / 1e3


def limits(small: int = 20, large: int = 41) -> Numbers:
    """Virtual µs of two branches with two limits."""
    return {"limits": (small, large), "took": (finish(small), finish(large))}


@claim(
    "05",
    "“Setting this to a larger number may reduce the degree of parallelism for "
    "multi-GPU training”",
    V2,
    166,
    "virtual",
    limits,
    tolerance="a tenth of the time",
)
def less_parallel(limits: Sequence[int], took: Sequence[float]) -> Decision:
    """Two branches should take longer with the larger limit."""
    return (
        if_true(took[1] > 1.1 * took[0], "holds and is not only about GPUs", "fails"),
        f"two branches on two CPU workers: {took[0]:.0f} µs with limit {limits[0]}, "
        f"{took[1]:.0f} with {limits[1]}. It depends on where the cuts fall",
    )


def followed(common: int = 7) -> Numbers:
    """The limit of backward when only the common one is set."""
    with mx.knobs(**{LIMIT: common}):
        return {"common": common, "backward": mx.knobs.get(f"{LIMIT}_BWD")}


@claim(
    "05",
    "The limit of one direction is by default the common one: “Int "
    "(default=&lt;value of MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN&gt;)”",
    V1,
    101,
    "planned",
    followed,
)
def common_limit(common: int, backward: int) -> Decision:
    """The limit of backward should follow the common one."""
    return (
        if_true(backward == common),
        f"with the common limit at {common}, backward has {backward}",
    )


def entries(**others: int) -> Numbers:
    """Entries of a training pass and a prediction: by default, and with all three 0."""

    def seen() -> tuple[int, int]:
        net, x = _chain(), mx.nd.ones((8, 8))
        return len(pushed(_trains(net, x))), len(pushed(lambda: net(x)))

    by_default = seen()
    off = {
        "MXNET_EXEC_BULK_EXEC_INFERENCE": 0,
        "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": 0,
        "MXNET_EXEC_BULK_EXEC_TRAIN": 0,
    }
    with mx.knobs(**{**off, **others}):
        return {"by_default": by_default, "all_off": seen()}


@claim(
    "05",
    "“If you need profiling result of every operator, please set "
    "MXNET_EXEC_BULK_EXEC_INFERENCE, MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN and "
    "MXNET_EXEC_BULK_EXEC_TRAIN to 0”",
    V2,
    260,
    "measured",
    entries,
    tolerance="none: entries are counted",
)
def every_operator(by_default: Sequence[int], all_off: Sequence[int]) -> Decision:
    """With all three at 0 each operator should be an entry."""
    return (
        if_true(set(all_off) == {OPERATORS}),
        "{} and {} entries in training and prediction".format(*all_off)
        + " instead of {} and {}".format(*by_default),
    )


def static() -> Numbers:
    """What runs, and what is asked of the pool, without and with static allocation."""

    def ran(**flags: bool) -> list[str]:
        net, x = _chain(**flags), mx.nd.ones((128, 128))
        return pushed(lambda: net(x))

    def requests(**flags: bool) -> int:
        net, x = _chain(**flags), mx.nd.ones((8, 8))
        for _ in range(2):
            last = pool_requests(lambda: net(x))
        return last

    by_hand, x = Chain(), mx.nd.ones((8, 8))
    return {
        "without": ran(),
        "with_it": ran(static_alloc=True, static_shape=True),
        "requests": (
            pool_requests(lambda: by_hand(x)),
            requests(static_alloc=False),
            requests(static_alloc=True),
        ),
    }


@claim(
    "05",
    "“Static allocation enables kernel fusion and memory reuse”",
    GUIDE,
    91,
    "measured",
    static,
)
def fusion_and_reuse(
    without: Sequence[str], with_it: Sequence[str], requests: Sequence[int]
) -> Decision:
    """Without static allocation nothing should be fused, and no memory reused."""
    fused = [any("Fused" in name for name in ran) for ran in (without, with_it)]
    enables = [fused == [False, True], requests[1] == requests[0]]
    return (
        weighed(enables, "which of the two") if any(enables) else "fails for fusion",
        f"without it the chain was {len(without)} {without[0]} already. (MXNet 1.x and "
        "2.0 fuse on GPUs only, with static allocation or without.) Memory is reused "
        f"inside a call in any case: {requests[1]} requests instead of {requests[0]}. "
        f"What static allocation adds is reuse from call to call: {requests[2]} "
        f"instead of {requests[1]}",
    )
