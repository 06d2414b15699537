"""What the documents say of sharing memory (notebook 06)."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, Final

import minimx as mx
from minimx_widgets.course.claims.claim import (
    GUIDE,
    TIPS,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.planning import planned
from minimx_widgets.training.networks import lenet

TARGETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "no optimization": {"MXNET_EXEC_ENABLE_INPLACE": False, "NNVM_EXEC_MATCH_RANGE": 0},
    "with in-place": {"NNVM_EXEC_MATCH_RANGE": 0},
    "with sharing": {"MXNET_EXEC_ENABLE_INPLACE": False},
    "with both": {},
}
KIB = 1024


def _net(activation: str = "relu") -> Any:
    """Six layers; the first three have an activation that may write in place."""
    x = mx.sym.var("data")
    for number, width in enumerate((256, 128, 64, 32, 16, 4)):
        x = mx.sym.FullyConnected(x, num_hidden=width)
        if number < 3:
            x = mx.sym.Activation(x, act_type=activation)
    return mx.sym.softmax(x)


def _plan(target: str) -> Any:
    with mx.knobs(**TARGETS[target]):
        return planned(_net(), data=(64, 256))


def totals() -> Numbers:
    """KiB of the plan of nine results, under each of the four targets."""
    return {
        "kib": {target: _plan(target).total // KIB for target in TARGETS},
        "readers": 0,
    }


@claim(
    "06",
    "MXNET_EXEC_ENABLE_INPLACE: “Whether to enable in-place optimization in symbolic "
    "execution”",
    V2,
    73,
    "planned",
    totals,
)
def in_place(kib: Mapping[str, int], readers: int) -> Decision:
    """A plan should need less memory with the optimization."""
    here = kib["with in-place"] < kib["no optimization"]
    return (
        weighed([here, readers > 0], "the framework"),
        f"in minimx it moves a plan from {kib['no optimization']} to "
        f"{kib['with in-place']} KiB, and from {kib['with sharing']} to "
        f"{kib['with both']} beside sharing. {readers or 'No'} MXNet from 0.9 to 2.0 "
        "reads it",
    )


def blocks() -> Numbers:
    """How many blocks the nine results have at match range 0, in-place on and off."""
    plans = [_plan("with in-place"), _plan("no optimization")]
    return {"with_in_place": len(plans[0].blocks), "without": len(plans[1].blocks)}


@claim(
    "06",
    "NNVM_EXEC_MATCH_RANGE: “Set this to 0 if you don't want to enable memory sharing "
    "between graph nodes”",
    V2,
    77,
    "planned",
    blocks,
)
def no_sharing(with_in_place: int, without: int) -> Decision:
    """At 0 each result should have a block of its own."""
    return (
        if_true(with_in_place == without, "holds", "depends on the other knob"),
        f"at 0 the nine results still share {with_in_place} blocks, because in-place "
        f"writing is not affected. With both off there are {without}",
    )


def _trained(knobs: Mapping[str, Any]) -> str:
    """A fingerprint of every bit of every weight after ten steps."""
    with mx.knobs(**knobs):
        mx.random.seed(6)
        net = lenet(28, 10)
        net.initialize(mx.init.Xavier())
        net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        loss_of: Callable[..., Any] = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        for _ in range(10):
            images = mx.nd.random.uniform(shape=(16, 1, 28, 28))
            labels = mx.nd.random.randint(0, 10, shape=(16,)).astype("float32")
            with mx.autograd.record():
                loss = loss_of(net(images), labels).mean()
            loss.backward()
            trainer.step(1)
        weights = hashlib.sha256()
        for parameter in net.collect_params().values():
            weights.update(parameter.data().asnumpy())
    return weights.hexdigest()


def outcomes() -> Numbers:
    """How many different results ten steps of training have under the four targets."""
    found = {_trained(knobs) for knobs in TARGETS.values()}
    return {"plans": len(TARGETS), "outcomes": len(found)}


@claim(
    "06",
    "“MXNet aggressively optimizes memory reuse and operator fusion. However, these "
    "optimizations may lead to hard-to-diagnose bugs”",
    GUIDE,
    16,
    "measured",
    outcomes,
    tolerance="none: equal to the last bit",
)
def hard_to_diagnose(plans: int, outcomes: int) -> Decision:
    """Training under another plan of memory should give other weights."""
    return (
        if_true(outcomes > 1),
        f"{plans} plans, ten steps of training each: {outcomes} "
        f"outcome{'s' * (outcomes > 1)}, to the last bit. What leads to such bugs is "
        "reuse without counting, as with <code>out=</code>",
    )


def batches(mebibytes: int = 64) -> Numbers:
    """The largest batch of LeNet whose results fit, by target."""
    found = {}
    for target, knobs in TARGETS.items():
        with mx.knobs(**knobs):

            def nbytes(batch: int) -> int:
                shape = (batch, 1, 28, 28)
                return int(planned(lenet(28, 10), training=True, data=shape).total)

            found[target] = bisect_right(range(1, 1024), mebibytes << 20, key=nbytes)
    return {"mebibytes": mebibytes, "largest": found}


@claim(
    "06",
    "“Use a large batch size. We often choose the largest one that fits into GPU "
    "memory”",
    TIPS,
    282,
    "planned",
    batches,
)
def largest_that_fits(mebibytes: int, largest: Mapping[str, int]) -> Decision:
    """There should be one largest batch for a memory."""
    apart, shared = largest["no optimization"], largest["with both"]
    return (
        if_true(len(set(largest.values())) == 1, "holds", "depends on the plan"),
        f"into {mebibytes} MiB fit the results of {apart} images if nothing is shared, "
        f"and of {shared} with both",
    )
