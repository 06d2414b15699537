"""The faded exercise: bytes into the busiest place, as a formula and as planned."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from minimx.kvstore.planners import flat, ring
from minimx.kvstore.planners.steps import Plan, traffic
from minimx_widgets.course.parts.checks import Feedback, check

Formula = Callable[[str, int, int], float]
#: Kinds of plans, and how their first lines read.
KINDS: Final = ("host", "device", "ring")


def plan(kind: str, devices: int, rows: int) -> Plan:
    """The plan of a kind, by the real planner."""
    if kind == "ring":
        return ring.on_ring(range(devices), rows)
    return flat.on_host(devices) if kind == "host" else flat.on_device(devices, 0)


def into_busiest(kind: str, devices: int, nbytes: int) -> int:
    """The bytes that come into the place that gets most, there and back.

    nbytes: of the array, a multiple of `devices`.

    >>> into_busiest("device", 3, 600), into_busiest("ring", 3, 600)
    (1200, 800)
    """
    made = plan(kind, devices, rows=devices)
    into: Counter[int] = Counter()
    steps = (*made.reduce, *made.broadcast)
    for (_, target), moved in traffic(steps, devices, nbytes).items():
        into[target] += moved
    return max(into.values())


def right(kind: str, devices: int, nbytes: int) -> float:
    """The answer as a formula."""
    if kind == "ring":
        return 2 * (devices - 1) * nbytes / devices
    return devices * nbytes if kind == "host" else (devices - 1) * nbytes


_WRONG: tuple[tuple[Formula, str], ...] = (
    (
        lambda kind, n, b: n * b if kind != "ring" else right("ring", n, b),
        "`device`: the home has its own gradient already, which is not sent",
    ),
    (
        lambda kind, n, b: (n - 1) * b / n if kind == "ring" else right(kind, n, b),
        "the ring's second half: after the sums, the results go round as well",
    ),
    (
        lambda kind, n, b: 2 * b if kind == "ring" else right(kind, n, b),
        "the ring: a device sends n - 1 pieces in each half, not n",
    ),
    (
        lambda kind, n, b: 2 * (n - 1) * b if kind == "ring" else right(kind, n, b),
        "the ring: what travels is a piece, 1 / n of the array",
    ),
    (
        lambda kind, n, b: right(kind, n, b) * (1 if kind == "ring" else 2),
        "the direction: what goes out again uses the other direction of the link",
    ),
)


@check
def check_busiest(attempt: Formula) -> Feedback:
    """`attempt(kind, devices, nbytes)`: compared with the planners, for 30 cases."""
    rng = random.Random(13)
    cases = [
        (kind, n, n * rng.randint(1, 10**6))
        for kind in KINDS
        for n in rng.sample(range(2, 33), 10)
    ]
    answers: list[Any] = [attempt(*case) for case in cases]
    if any(answer is ... for answer in answers):
        return Feedback(False, "a `...` is still there", "bytes for each of the kinds")
    for case, seen in zip(cases, answers, strict=True):
        if isinstance(seen, bool) or not isinstance(seen, int | float):
            return Feedback(False, f"it returned {seen!r}", "bytes, a number")
        wanted = into_busiest(*case)
        if abs(seen - wanted) > 1e-6 * wanted:
            kind, devices, nbytes = case
            return Feedback(
                False,
                f"{seen:,.0f} bytes for {kind!r}, {devices} devices, an array of "
                f"{nbytes:,} bytes",
                f"{wanted:,} bytes, as planned",
                _idea(cases, answers),
            )
    return Feedback(True, f"as the planners say, for {len(cases)} cases")


def _idea(cases: list[tuple[str, int, int]], answers: list[float]) -> str:
    for formula, idea in _WRONG:
        given = (formula(*case) for case in cases)
        if all(abs(a - b) < 1 for a, b in zip(given, answers, strict=True)):
            return idea
    return "who sends to whom: print `plan(kind, 3, 3).reduce` and count"
