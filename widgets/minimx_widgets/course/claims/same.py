"""What users reported of two libraries that learn differently."""

from __future__ import annotations

from minimx_widgets.course.claims.claim import (
    Decision,
    Document,
    Numbers,
    claim,
    if_true,
    report,
    weighed,
)
from minimx_widgets.course.same import recorded
from minimx_widgets.course.same.record import apart

REPORTED = 4.0  # points between Caffe's 97 % and MXNet's 93 %
ROUNDING = 1e-4


def seeds(epoch: int = 3) -> Numbers:
    """Points between two libraries after an epoch: of one seed, and of the means."""
    found = recorded("resnet")
    ours, theirs = (found.runs[0][name]["scores"] for name in ("minimx", "torch"))
    return {
        "one": abs(ours[epoch - 1] - theirs[epoch - 1]) * 100,
        "means": abs(found.difference) * 100,
        "noise": found.noise * 100,
    }


@claim(
    "same",
    "Caffe 97 %, MXNet 93 %, “the same training examples and the same parameter "
    "setting”",
    report("report mxnet#7592", "0.x"),
    0,
    "measured",
    seeds,
    tolerance="the noise of three seeds",
)
def other_accuracy(one: float, means: float, noise: float) -> Decision:
    """One run of each should tell which library learns better."""
    return (
        if_true(means > noise, "holds", "depends on what a second run says"),
        f"one run of each; our ResNet of seed 0 is {one:.1f} points away from itself "
        f"in another library, and the means of three seeds are {means:.1f} away, with "
        f"a noise of ±{noise:.1f}",
    )


def lstm_steps(count: int = 32) -> Numbers:
    """How far the losses of two libraries are apart after some steps of an LSTM."""
    found = recorded("lstm")
    far = apart(found.losses("minimx", 0), found.losses("torch", 0))
    return {"steps": count, "far": max(far[:count])}


@claim(
    "same",
    "“The precision of PyTorch is less than MXNet”: 0.98714 and 0.99168, with an LSTM",
    report("report pytorch#3066", "0.x"),
    0,
    "measured",
    lstm_steps,
    tolerance="losses within 0.0001 of each other are rounding",
)
def less_precise(steps: int, far: float) -> Decision:
    """The libraries themselves should make the difference."""
    return (
        if_true(far > ROUNDING, "holds", "depends on the programs"),
        f"an LSTM hardly multiplies rounding: ours are {far:.0e} apart after {steps} "
        "steps, if initialization, epsilon and batches are the same. There the second "
        "cause is worth looking for",
    )


def both_networks() -> Numbers:
    """Whether both networks agree in both libraries, and in words by how much."""
    found = [recorded(name) for name in ("lstm", "resnet")]
    return {
        "agree": [one.agrees for one in found],
        "words": [one.verdict() for one in found],
    }


@claim(
    "same",
    "minimx learns what PyTorch learns, by <code>make same</code>",
    Document("minimx", "", "minimx"),
    0,
    "measured",
    both_networks,
    tolerance="the noise of three seeds",
)
def learns_the_same(agree: list[bool], words: list[str]) -> Decision:
    """The means of three seeds should differ by less than the seeds do."""
    return weighed(agree, "the network"), "; ".join(words)
