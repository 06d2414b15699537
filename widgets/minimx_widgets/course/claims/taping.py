"""What the troubleshooting guide says of memory in training (notebook 04)."""

from __future__ import annotations

from collections.abc import Sequence

from minimx_widgets.course.claims.claim import (
    GUIDE,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.taping import (
    bytes_kept,
    losses_kept,
    one_by_one,
    stale_gradient,
    step_bytes,
    unused_calls,
    watched,
)

PURE = frozenset({"copy", "_copy", "identity", "Cast", "cast"})


def unused() -> Numbers:
    """Calls recorded, the result of one of them never used, and those that ran."""
    issued, ran = unused_calls()
    return {"issued": issued, "ran": ran}


@claim(
    "04",
    "“The lazy evaluation engine executes nodes in the computation graph only when "
    "needed”",
    GUIDE,
    5,
    "measured",
    unused,
)
def recorded_only_when_needed(issued: int, ran: int) -> Decision:
    """A recorded call whose result is not used should not run."""
    return (
        if_true(ran < issued, "holds", "fails for what is recorded"),
        f"under record() {issued} calls were issued, and {ran} of them ran"
        + (", also the one whose result was not used" if ran == issued else ""),
    )


def stale() -> Numbers:
    """What a gradient keeps that a second loss does not reach, and who notices."""
    value, said = stale_gradient()
    return {"value": value, "said": said}


@claim(
    "04",
    "“these optimizations may lead to hard-to-diagnose bugs like GPU OOMs, stale "
    "gradients”",
    GUIDE,
    16,
    "measured",
    stale,
)
def stale_gradients(value: float, said: str) -> Decision:
    """A gradient should be stale because of an optimization."""
    noticed = f"gluon.Trainer notices: {said}" if said else "gluon.Trainer says nothing"
    return (
        if_true(value != 0, "holds even without any optimization", "fails"),
        f"a parameter that the second loss did not use kept {value:g} from the first: "
        f"backward() fills what it reaches and clears nothing. {noticed}",
    )


def collected(count: int = 5) -> Numbers:
    """Bytes of losses that are kept and not walked back, and of one tape."""
    return {"count": count, "losses": losses_kept(count), "tape": bytes_kept()}


@claim(
    "04",
    "“Why is my MXNet model crashing with OOM errors even with small batch sizes? … "
    "Likely due to memory fragmentation or symbolic graph expansion”",
    GUIDE,
    113,
    "measured",
    collected,
    last=115,
)
def likely_fragmentation(count: int, losses: int, tape: int) -> Decision:
    """Memory should grow for these two reasons only."""
    grows = losses == count * tape and count > 1
    return (
        if_true(not grows, "holds", "depends on a third thing"),
        f"{count} losses in a list, recorded and never walked back, keep {losses:,} "
        f"bytes: {losses / tape:g} × the tape of {tape:,}",
    )


def steps() -> Numbers:
    """Bytes between forward and backward, and at the peak: in three ways."""
    return {
        "calls": step_bytes(),
        "graph": step_bytes(static_alloc=False),
        "static": step_bytes(static_alloc=True, static_shape=True),
    }


@claim(
    "04",
    "“Static allocation enables kernel fusion and memory reuse: … "
    "net.hybridize(static_shape=True, static_alloc=True)”",
    GUIDE,
    91,
    "measured",
    steps,
    last=93,
)
def memory_reuse(
    calls: Sequence[int], graph: Sequence[int], static: Sequence[int]
) -> Decision:
    """A graph with static allocation should need less memory at every moment."""
    less = [graph[0] < calls[0], graph[1] < calls[1], static[1] < graph[1]]
    return (
        weighed(less, "when you look"),
        f"between forward and backward, {calls[0]:,} bytes as calls and {graph[0]:,} "
        "as one graph, whose memory is one piece for both halves. At the peak of a "
        f"step {calls[1]:,} and {graph[1]:,}: the graph writes gradients where they "
        f"are to stay. With static_alloc only {static[1]:,} are allocated again, "
        f"because the rest is never given back",
    )


def on_the_tape() -> Numbers:
    """The calls on the tape of a forward pass that keep something."""
    return {"calls": [name for name, _, _, size, _ in one_by_one(watched()) if size]}


@claim(
    "04",
    "“Memory spikes during forward() often point to tensor copy overheads or "
    "allocation mismatches”",
    GUIDE,
    78,
    "measured",
    on_the_tape,
)
def copies_in_forward(calls: Sequence[str]) -> Decision:
    """What forward() keeps should belong to copies."""
    copied = [name for name in calls if name in PURE]
    return (
        if_true(bool(copied), "holds", "fails here"),
        "what forward() leaves behind is the tape. What keeps something there is "
        f"{', '.join(calls)}; {len(copied) or 'none'} of them is a copy",
    )
