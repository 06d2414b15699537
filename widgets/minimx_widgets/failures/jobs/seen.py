"""What instruments saw of a job, as lines and rows of text."""

from __future__ import annotations

import math
from typing import Any

from minimx_widgets.failures.jobs.facts import JobOutcome

Evidence = dict[str, Any]


def _shown(kind: str, lines: list[str], heads: list[str], body: list[Any]) -> Evidence:
    texts = [[str(cell) for cell in row] for row in body]
    return {"kind": kind, "lines": lines, "heads": heads, "body": texts}


def layers(seen: JobOutcome) -> Evidence:
    """How long a step takes, and where each layer computes."""
    body = [
        (layer, device, many, f"{ns / 1e3:,.1f}")
        for (layer, device), (many, ns) in seen.computed.items()
    ]
    lines = [_ended(seen)]
    if seen.steps:
        last = seen.steps[-1]
        lines = [
            f"A step takes {last['us']:,.1f} µs on the virtual clock, for "
            f"{last['images']:.0f} images of both nodes.",
            f"The GPUs do nothing for {last['idle']:.0f} % of it.",
        ]
    return _shown("layers", lines, ["layer", "device", "operations", "µs"], body)


def copies(seen: JobOutcome) -> Evidence:
    """What crossed between devices in the last step."""
    body = [
        (phase, source, target, key or "none", many, f"{nbytes / 1024:,.1f}")
        for (phase, source, target, key), (many, nbytes) in seen.copies.items()
    ]
    many = sum(count for count, _ in seen.copies.values())
    text = f"{many} copies between devices in a step, {seen.kib:,.1f} KiB in all."
    heads = ["phase", "from", "to", "key in the store", "copies", "KiB"]
    body = body or [("any", "none", "none", "none", 0, "0.0")]
    return _shown("copies", [text if seen.steps else _ended(seen)], heads, body)


def memory(seen: JobOutcome) -> Evidence:
    """What the pools of the GPUs requested and hold, by step."""
    body = [
        (
            step,
            f"{row['mallocs']:.0f}",
            f"{row['used'] / 1024:,.0f}",
            f"{row['reserved'] / 1024:,.0f}",
        )
        for step, row in enumerate(seen.steps)
    ]
    text = (
        f"In the last third of the run drivers gave {seen.late_mallocs} new blocks. "
        "KiB are those of both GPUs after a step."
    )
    heads = ["step", "blocks from drivers", "KiB in use", "KiB reserved"]
    return _shown("memory", [text if seen.steps else _ended(seen)], heads, body)


def graph(seen: JobOutcome) -> Evidence:
    """The operators of each layer's exported graph."""
    body = [
        (layer, sum(ops.values()), ", ".join(f"{k} × {op}" for op, k in ops.items()))
        for layer, ops in seen.operators.items()
    ]
    total = operators(seen)
    text = f"The exported graphs of the layers have {total:.0f} operators."
    heads = ["layer", "operators", "which"]
    return _shown("graph", [text if body else _ended(seen)], heads, body)


def nodes(seen: JobOutcome) -> Evidence:
    """How far the weights of the nodes are apart."""
    body = [("before", f"{seen.apart:.3g}")]
    body += [
        (f"after step {step}", f"{row['apart']:.3g}")
        for step, row in enumerate(seen.steps)
    ]
    text = (
        f"After {equal_steps(seen):.0f} of {len(seen.steps)} steps the nodes have "
        "equal weights."
    )
    heads = ["when", "largest difference of a weight"]
    return _shown("nodes", [text], heads, body)


def restart(seen: JobOutcome) -> Evidence:
    """The losses beside those of a run that never stopped."""
    body = [
        (step, f"{loss:.6g}", f"{other:.6g}", "yes" if _equal(loss, other) else "no")
        for (step, loss), other in zip(
            seen.losses.items(), seen.unbroken.values(), strict=False
        )
    ]
    text = (
        f"{equal_losses(seen):.0f} of {len(seen.losses)} losses are those of the same "
        "job without the restart."
    )
    heads = ["step", "loss", "without the restart", "equal"]
    return _shown("restart", [text if body else _ended(seen)], heads, body)


def _ended(seen: JobOutcome) -> str:
    return f"An error ended the run in step {seen.ended}."


# -- the numbers that may be predicted -------------------------------------------------


def idle(seen: JobOutcome) -> float:
    """Percent of the last step in which the GPUs do nothing; 0 if no step ended."""
    return seen.steps[-1]["idle"] if seen.steps else 0.0


def kib(seen: JobOutcome) -> float:
    """KiB between devices in the last step."""
    return seen.kib


def late_blocks(seen: JobOutcome) -> float:
    """Blocks that drivers gave in the last third of the run."""
    return float(seen.late_mallocs)


def operators(seen: JobOutcome) -> float:
    """Operators of all exported graphs."""
    return float(sum(sum(ops.values()) for ops in seen.operators.values()))


def equal_steps(seen: JobOutcome) -> float:
    """Steps after which the nodes have equal weights."""
    return float(sum(row["apart"] <= EQUAL for row in seen.steps))


def equal_losses(seen: JobOutcome) -> float:
    """Losses that are those of the run without the restart."""
    pairs = zip(seen.losses.values(), seen.unbroken.values(), strict=False)
    return float(sum(_equal(one, other) for one, other in pairs))


#: Weights that differ by no more count as equal: rounding in another order.
EQUAL = 1e-6


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6)
