"""`python -m tests.same.narrow`: LeNet in float32, float16 and bfloat16, three seeds.

And an autoencoder whose gradients float16 loses unless the loss is scaled. Saves what
the course shows; exit status 1 if mixed precision costs accuracy, or if nothing is lost
without scaling. Takes about two minutes on two cores.
"""

from __future__ import annotations

import datetime
import statistics
import sys
from collections.abc import Sequence

from minimx_widgets.course.same.narrow import ALLOWED, KINDS, Types, faint, lenet
from tests.benchmarks.measuring.machine import machine

#: Name of a case: type, and whether losses are scaled.
CASES = {
    "float32": ("float32", False),
    "float16, not scaled": ("float16", False),
    "float16": ("float16", True),
    "bfloat16": ("bfloat16", False),
}


def compare(seeds: Sequence[int]) -> Types:
    """Train everything."""
    today = datetime.datetime.now().astimezone().date().isoformat()
    accuracy = {kind: [lenet(kind, seed) for seed in seeds] for kind in KINDS}
    learnt = {
        case: [faint(*how, seed=seed) for seed in seeds] for case, how in CASES.items()
    }
    return Types(
        {"date": today} | machine(),
        accuracy,
        {case: [statistics.mean(one.losses[-10:]) for one in many]
         for case, many in learnt.items()},
        {case: [max(one.flushed) for one in many] for case, many in learnt.items()},
    )  # fmt: skip


def failures(found: Types) -> list[str]:
    """What should not be."""
    last = {case: statistics.mean(losses) for case, losses in found.last.items()}
    wrong = [
        f"{kind}: {100 * found.gained(kind):+.2f} points against float32"
        for kind in KINDS
        if abs(found.gained(kind)) > ALLOWED
    ]
    if last["float16, not scaled"] < 1.05 * last["float32"]:
        wrong.append("float16 learns without scaling")
    if abs(last["float16"] / last["float32"] - 1) > 0.03:
        wrong.append("float16 does not learn with scaling")
    return wrong


def main() -> int:
    """Train, save, compare."""
    found = compare([0, 1, 2])
    print(found.save(), found.table(), found.faint_table(), sep="\n")
    wrong = failures(found)
    print(*wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
