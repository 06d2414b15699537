"""The exercises of notebook 16: a pool that wastes little, and one that beats Round."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from minimx.core.errors import PolicyError
from minimx.policies import check as keeps_the_rules
from minimx.policies import score
from minimx.policies.asking import Asked, within
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

#: What the free exercise has to fall below. Round has 2.140, and 1.862 the first block
#: that fits, which the notebook itself writes as an example.
TARGET: Final = 1.84
Idle = Mapping[int, int]
Size = Callable[[int, Idle], Any]

SENTENCE = (
    "A block is never split and waits for its own size, so a policy that gives every "
    "request its own size seldom uses a block again, and one that takes any idle block "
    "wastes what the request does not need."
)

HINTS = (
    "Look at your row of the table. Is the ratio large where batches are ragged, or in "
    "the adversarial traces? The first is waste: blocks much larger than requests, or "
    "many blocks that no request uses. The second is calls: the device is asked again "
    "and again.",
    "A new block costs a driver call and stays reserved. An idle block that is too "
    "large costs nothing that is not reserved already. So how much waste is too much?",
    "A worked solution of a similar problem: large blocks for all requests that "
    "have about the same size, and the smallest idle block otherwise. "
    + code(
        """
        def size(self, nbytes, idle):
            if nbytes > 1 << 20:                     # large ones: by whole MiB
                return -(-nbytes >> 20) << 20
            return min((b for b in idle if nbytes <= b < 2 * nbytes), default=nbytes)
        """
    ),
)


def right(nbytes: int, idle: Idle) -> int:
    """The smallest idle block that has the bytes and at most twice as many; else new.

    >>> right(1000, {900: 1, 1500: 2, 2000: 1}), right(1000, {3000: 1})
    (1500, 1000)
    """
    return min((one for one in idle if nbytes <= one <= 2 * nbytes), default=nbytes)


_WRONG: tuple[tuple[Size, str], ...] = (
    (
        lambda n, idle: min((b for b in idle if n <= b), default=n),
        "the limit: a block of more than twice the bytes wastes more than half",
    ),
    (
        lambda n, idle: min((b for b in idle if n < b <= 2 * n), default=n),
        "a block of exactly the bytes fits as well",
    ),
    (
        lambda n, idle: min((b for b in idle if n <= b < 2 * n), default=n),
        "at most twice: a block of exactly twice the bytes is allowed",
    ),
    (
        lambda n, idle: max((b for b in idle if n <= b <= 2 * n), default=n),
        "which one: of those that fit, the smallest wastes least",
    ),
    (
        lambda n, idle: next((b for b in idle if n <= b <= 2 * n), n),
        "which one: not the first that fits, the smallest",
    ),
    (
        lambda n, idle: min((b for b in idle if n <= b <= 2 * n), default=2 * n),
        "a new block: exactly what was requested, not twice as much",
    ),
    (
        lambda n, idle: min((b for b in idle if b <= 2 * n), default=n),
        "a block that is too small serves no request",
    ),
    (lambda n, idle: n, "idle blocks: is one of them large enough?"),
)


def _cases() -> list[tuple[int, dict[int, int]]]:
    """Requests and idle blocks, the plainest first."""
    chance = random.Random(16)
    found: list[tuple[int, dict[int, int]]] = [
        (1000, {}),
        (1000, {1000: 1}),
        (1000, {1000: 1, 1500: 1}),
        (1000, {1500: 2}),
        (1000, {2000: 1}),
        (1000, {2001: 1}),
        (1000, {900: 1}),
        (1000, {1900: 1, 1200: 3, 1500: 1}),
    ]
    for _ in range(200):
        near = chance.randint(100, 10_000)
        sizes = [
            chance.randint(near // 2, 3 * near) for _ in range(chance.randint(0, 6))
        ]
        found.append((near, dict.fromkeys(sizes, 1)))
    return found


@check
def check_twice(attempt: Any) -> Feedback:
    """The faded exercise: a class whose `size` takes the smallest block that fits."""
    if not isinstance(attempt, type):
        return Feedback(False, f"{attempt!r} is no class", "the class itself")
    ask = Asked(attempt(), "size")
    cases = _cases()
    answers = within(5, lambda: [ask(n, dict(idle)) for n, idle in cases])
    if any(answer is ... for answer in answers):
        return Feedback(False, "a `...` is still there", "a number of bytes")
    for (nbytes, idle), answer in zip(cases, answers, strict=True):
        wanted = right(nbytes, idle)
        if answer != wanted:
            return Feedback(
                False,
                ask.shown((nbytes, idle), answer),
                f"{wanted:,} bytes",
                next(
                    _ideas(cases, answers), "print what `size` gets, and what it gives"
                ),
            )
    return Feedback(True, f"the block that wastes least, in {len(cases)} cases")


def _ideas(cases: list[Any], answers: list[Any]) -> Iterator[str]:
    for formula, idea in _WRONG:
        if [formula(*case) for case in cases] == answers:
            yield idea


@check
def check_better(attempt: Any, target: float = TARGET) -> Feedback:
    """The free exercise: a pool that keeps the rules and scores below the target."""
    if not isinstance(attempt, type):
        return Feedback(False, f"{attempt!r} is no class", "the class itself")
    try:
        keeps_the_rules(attempt)
        found = score(attempt)
    except PolicyError as lesson:
        first, *more = str(lesson).split("\n")
        return Feedback(False, first, " ".join(line.strip() for line in more))
    if found.score < target:
        return Feedback(
            True, f"a score of {found.score:.3f}, Round {found.of('Round'):.3f}"
        )
    worst = max(found.ratios[found.name], key=found.ratios[found.name].__getitem__)
    ideas = {
        "training": "training: the same sizes come in every step; are they used again?",
        "ragged batches": "ragged batches: which idle blocks does your policy refuse?",
        "adversarial": "adversarial: sizes grow by a little; how often is a block new?",
    }
    return Feedback(
        False,
        f"a score of {found.score:.3f}; worst in {worst}, "
        f"{found.ratios[found.name][worst]:.3f} times the bound",
        f"less than {target:g}",
        ideas[worst],
    )
