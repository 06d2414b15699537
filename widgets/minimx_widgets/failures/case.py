"""A case of the failure lab: what is wrong with a program, to be found by evidence.

    draw(7)                        # the case of a number, the same everywhere
    draw(number_of("monday"))      # one case for all who have the same word
    series("monday", 5)            # five numbers of cases with different causes

Pure descriptions; nothing runs here.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from minimx.core.errors import ArgumentError, did_you_mean
from minimx_widgets.failures.causes import CAUSES, JOB, Cause
from minimx_widgets.failures.jobs.facts import JobFacts
from minimx_widgets.failures.program import Facts

#: Numbers of cases that a word stands for, or that are drawn, are below this.
NUMBERS = 10_000


@dataclass(frozen=True)
class Case:
    """A sealed case: a number that can be shared, and what is behind it."""

    number: int
    facts: Facts | JobFacts

    @property
    def program(self) -> str:
        """Which of the two programs is on trial: "training" or "job"."""
        return CAUSES[self.facts.fault].program

    def __repr__(self) -> str:
        return f"Case({self.number})"


def known(fault: str) -> Cause:
    """The cause of a name. Raises `ArgumentError` for a cause that is none."""
    if fault not in CAUSES:
        near = did_you_mean(fault, CAUSES)
        raise ArgumentError(f"there is no cause {fault!r}.{near} {', '.join(CAUSES)}.")
    return CAUSES[fault]


def draw(number: int, fault: str | None = None) -> Case:
    """The case of a number: its cause, sizes and places. The same everywhere.

    fault: a cause by name, to practise with; otherwise the number decides.
    Raises `ArgumentError` for a cause that is none.
    """
    dice = random.Random(f"case {number}")
    chosen = dice.choice(list(CAUSES))
    cause = known(chosen if fault is None else fault)
    facts = _job(cause.name, dice) if cause.program == JOB else _training(cause, dice)
    return Case(number, facts)


def number_of(word: str) -> int:
    """The number of the case that a word stands for, below 10,000; the same everywhere.

    Case and spaces do not count. Raises `ArgumentError` for a word without a letter.

    >>> number_of("Monday 2026") == number_of(" monday  2026 ")
    True
    """
    plain = " ".join(word.lower().split())
    if not plain:
        raise ArgumentError(
            "an empty word stands for no case. Give the word that your class has "
            'agreed on, such as FailureLab("monday").'
        )
    digest = hashlib.sha256(plain.encode()).digest()
    return int.from_bytes(digest[:8], "big") % NUMBERS


def series(word: str, count: int) -> list[int]:
    """Numbers of cases with different causes, for a class that has agreed on a word.

    count: at most as many as there are causes; `ArgumentError` otherwise. The first is
    `number_of(word)`.
    """
    if not 0 < count <= len(CAUSES):
        raise ArgumentError(
            f"count={count}: the causes of a series differ, and there are "
            f"{len(CAUSES)}."
        )
    found: dict[str, int] = {}
    number = number_of(word)
    while len(found) < count:
        found.setdefault(draw(number).facts.fault, number)
        number = (number + 1) % NUMBERS
    return list(found.values())


def _training(cause: Cause, dice: random.Random) -> Facts:
    fault = cause.name
    depth = dice.randint(3, 5)
    root, gate = dice.sample(range(1, depth), 2)
    every = dice.randint(3, 5)
    # Bad data come in a step whose loss is not read at once.
    at = every * dice.randint(1, 2) + dice.randrange(every - 1)
    # Loss scaling skips steps that are not finite, and so hides such faults.
    precision = {"cast": "float16", "mixed": "float16", "clip": "amp"}.get(fault, "")
    if fault == "stale":
        precision = dice.choice(["float32", "amp"])
    return Facts(
        fault=fault,
        depth=depth,
        width=dice.choice([8, 12, 16, 24]),
        batch=dice.choice([8, 16, 24, 32]),
        steps=4 * every,
        root=root,
        gate=gate,
        at=at,
        every=every,
        rate=dice.choice([0.02, 0.03, 0.05]),
        sharp=float(dice.randint(14, 40)) if fault == "cast" else 1.0,
        precision=precision or "float32",
        seed=dice.randrange(10**6),
    )


def _job(fault: str, dice: random.Random) -> JobFacts:
    layers, steps = dice.randint(3, 4), dice.choice([7, 8, 9])
    return JobFacts(
        fault=fault,
        layers=layers,
        # Powers of two: all shapes of a batch then round up to one size of blocks.
        width=dice.choice([256, 512]),
        batch=dice.choice([64, 128]),
        steps=steps,
        place=dice.randrange(1, layers),
        times=dice.randint(130, 170),
        saved=dice.randint(2, steps // 2 - 1),
        rate=dice.choice([0.001, 0.0015]),
        seed=dice.randrange(10**6),
    )
