"""A hundred numbers for each cause: each case is ill, and cured by its remedy alone.

    python -m tests.widgets.failures.all_seeds             # all causes, 100 numbers
    python -m tests.widgets.failures.all_seeds 20 store    # 20 numbers of one cause

Prints a line for each cause, with its seconds, and every case that is not as it should
be. The tests try a few numbers only.
"""

from __future__ import annotations

import sys
import time

from minimx_widgets.failures import CAUSES, REMEDIES, draw, judged, tried, truth

#: What cures each failure. Not known to the lab, which runs the program instead.
CURES = {
    "async": {"data"},
    "stale": {"attach"},
    "added": {"zero", "write"},
    "empty": {"data", "eps"},
    "slope": {"eps"},
    "rate": {"rate"},
    "cast": {"cast"},
    "mixed": {"match"},
    "clip": {"unscale"},
    "device": {"pin"},
    "shapes": {"pad", "round"},
    "restart": {"states"},
    "unsummed": {"sum"},
    "seeds": {"seed", "broadcast"},
    "loop": {"once"},
    "store": {"device", "nccl"},
    "batch": {"larger"},
}


def ill_then_cured(fault: str, number: int) -> None:
    """Whether a case fails without a remedy and with a wrong one, and not with a right.

    Which remedies are tried depends on the number, so that many numbers try all.
    """
    case = draw(number, fault)
    assert not tried(case).healthy
    cures = sorted(CURES[fault])
    right = tried(case, [cures[number % len(cures)]])
    assert right.healthy, right
    wrong = [name for name in REMEDIES[case.program] if name not in CURES[fault]]
    assert not tried(case, [wrong[number * 5 % len(wrong)]]).healthy
    found = truth(case)
    assert judged(case, fault, found.layer, found.step).right


def main(numbers: int, faults: list[str]) -> int:
    """Try so many numbers of each cause; how many cases were not as they should be."""
    broken = 0
    for fault in faults:
        begun, wrong = time.perf_counter(), []
        for number in range(numbers):
            try:
                ill_then_cured(fault, number)
            except AssertionError as error:
                wrong.append((number, str(error).split("\n")[0]))
        took = time.perf_counter() - begun
        print(f"{fault}: {numbers - len(wrong)} of {numbers} in {took:.0f} s", *wrong)
        sys.stdout.flush()
        broken += len(wrong)
    return broken


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 100, given[1:] or list(CAUSES)) > 0)
