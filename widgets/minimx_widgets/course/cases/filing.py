"""Notebook 15, case files: what each cause would show, and who finds it for few points.

The programs are those of `FailureLab`. `expected` runs a case once with each cause that
is suspected, so that a probe can be chosen before it is paid for. `check_best_probe`
and `check_detective` are the exercises.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import Shown, code, table
from minimx_widgets.failures import CAUSES, JOB, PROBES, draw, judged, truth
from minimx_widgets.failures.case import Case
from minimx_widgets.failures.jobs.facts import JobFacts, JobOutcome
from minimx_widgets.failures.probes import WRONG
from minimx_widgets.failures.program import Facts
from minimx_widgets.failures.trial import illness, run

#: The case whose sizes the predictions use.
NUMBER: Final = 3


# -- what the cards ask --------------------------------------------------------------


def training(fault: str, **changes: Any) -> Facts:
    """The facts of a training with this fault, with some of them changed."""
    facts = draw(NUMBER, fault).facts
    assert isinstance(facts, Facts)
    return replace(facts, **changes)


def job(fault: str, **changes: Any) -> JobFacts:
    """The facts of a small job with this fault, with some of them changed."""
    facts = draw(NUMBER, fault).facts
    assert isinstance(facts, JobFacts)
    small: dict[str, Any] = {"layers": 3, "width": 64, "batch": 32, "steps": 8}
    small |= {"place": 1, "saved": 3}
    return replace(facts, **{**small, **changes})


def heard(at: float, every: float) -> float:
    """In which step a program hears of an operation that failed in step `at`.

    every: after how many steps losses are read.
    """
    steps = 4 * int(every)
    facts = training("async", at=int(at), every=int(every), steps=steps)
    ended = run(Case(NUMBER, facts)).ended
    assert ended is not None
    return float(ended)


def finite(steps: float, at: float) -> float:
    """In how many steps all numbers are finite, after one bad sample in step `at`."""
    facts = training("empty", at=int(at), steps=int(steps))
    return PROBES["training"]["map"].number(run(Case(NUMBER, facts), watch=True))


def operators(layers: float, times: float) -> float:
    """How many operators the graphs of a job with a loop have."""
    facts = job("loop", layers=int(layers), times=int(times), steps=2, saved=0)
    return PROBES[JOB]["graph"].number(run(Case(NUMBER, facts)))


def kept(steps: float, saved: float) -> float:
    """How many losses of a job are as if it had never stopped, without its momentum."""
    facts = job("restart", steps=int(steps), saved=int(saved))
    return PROBES[JOB]["restart"].number(run(Case(NUMBER, facts), compared=True))


# -- hypotheses ------------------------------------------------------------------------


def hypotheses(program: str) -> Shown:
    """The causes of a program, what one would see of each, and by which probe."""
    rows = [
        (one.name, one.text, one.sign.rstrip("."), one.probe)
        for one in CAUSES.values()
        if one.program == program
    ]
    return table(("cause", "what is wrong", "if it is so", "probe"), rows)


def prices(program: str) -> dict[str, int]:
    """Points of each probe of a program."""
    return {name: probe.cost for name, probe in PROBES[program].items()}


def expected(
    case: Case, causes: Sequence[str], probes: Sequence[str]
) -> dict[str, dict[str, float]]:
    """By probe and cause, the number that a case would show if that were its cause.

    The case itself is not looked at but for its sizes: the program runs with them once
    for each cause.
    """
    found: dict[str, dict[str, float]] = {name: {} for name in probes}
    for cause in causes:
        seen = run(Case(case.number, replace(case.facts, fault=cause)))
        for name in probes:
            number = PROBES[case.program][name].number(seen)
            found[name][cause] = float(f"{number:.3g}")
    return found


def as_table(found: Mapping[str, Mapping[str, float]]) -> Shown:
    """What `expected` found: a row for each cause, a column for each probe."""
    causes = list(next(iter(found.values())))
    rows = [(cause, *(f"{found[name][cause]:g}" for name in found)) for cause in causes]
    return table(("if the cause is", *found), rows)


# -- the faded exercise ----------------------------------------------------------------

Numbers = Mapping[str, Mapping[str, float]]
Choice = Callable[[Numbers, Mapping[str, int]], Any]

SENTENCE: Final = (
    "A probe decides between causes only if they predict different numbers for it, so "
    "the prediction comes first, and a number that every cause explains is paid for "
    "and says nothing."
)


def best(expected: Numbers, costs: Mapping[str, int]) -> str | None:
    """The cheapest probe that shows another number for each cause; None for none."""
    telling = [
        name
        for name, numbers in expected.items()
        if len(set(numbers.values())) == len(numbers)
    ]
    return min(telling, key=lambda name: costs[name], default=None)


def _by(keep: Callable[[Any], bool], pick: Callable[..., Any]) -> Choice:
    def choose(expected: Numbers, costs: Mapping[str, int]) -> Any:
        kept = [name for name, numbers in expected.items() if keep(numbers)]
        return pick(kept, key=lambda name: costs[name], default=None)

    return choose


def _all_differ(numbers: Any) -> bool:
    return len(set(numbers.values())) == len(numbers)


_WRONG: Final[tuple[tuple[Choice, str], ...]] = (
    (
        _by(lambda numbers: len(set(numbers.values())) > 1, min),
        "two causes with the same number cannot be told apart, even if a third differs",
    ),
    (_by(lambda numbers: True, min), "a probe that is cheap, and tells nothing"),
    (_by(_all_differ, max), "of probes that tell the same, which one costs less?"),
    (
        lambda expected, costs: next(filter(_all_differ_in(expected), expected), None),
        "not the first one that tells the causes apart: the cheapest",
    ),
    (
        lambda expected, costs: min(
            filter(_all_differ_in(expected), expected), default=None
        ),
        "the order of names says nothing about points",
    ),
)


def _all_differ_in(expected: Numbers) -> Callable[[str], bool]:
    return lambda name: _all_differ(expected[name])


def _tables() -> list[tuple[dict[str, dict[str, float]], dict[str, int]]]:
    """Expected numbers and points, the plainest first."""
    found: list[tuple[dict[str, dict[str, float]], dict[str, int]]] = [
        ({"graph": {"loop": 23, "store": 8}}, {"graph": 1}),
        (
            {"graph": {"loop": 8, "store": 8}, "copies": {"loop": 512, "store": 900}},
            {"graph": 1, "copies": 2},
        ),
        ({"graph": {"loop": 8, "store": 8}}, {"graph": 1}),
        (
            {
                "layers": {"batch": 40, "store": 20, "loop": 30},
                "copies": {"batch": 5, "store": 90, "loop": 7},
                "graph": {"batch": 8, "store": 8, "loop": 23},
            },
            {"layers": 3, "copies": 2, "graph": 1},
        ),
    ]
    chance = random.Random(15)
    for _ in range(100):
        causes = [f"cause {k}" for k in range(chance.randint(2, 4))]
        probes = chance.sample("abcdef", chance.randint(1, 4))
        numbers = {
            probe: {cause: float(chance.randint(1, 6)) for cause in causes}
            for probe in probes
        }
        prices = dict(zip(probes, chance.sample(range(1, 9), len(probes)), strict=True))
        found.append((numbers, prices))
    return found


@check
def check_best_probe(attempt: Choice) -> Feedback:
    """The faded exercise: the cheapest probe that tells all causes apart."""
    tables = _tables()
    answers = [attempt(numbers, costs) for numbers, costs in tables]
    if any(answer is ... for answer in answers):
        return Feedback(False, "a `...` is still there", "the name of a probe, or None")
    for (numbers, costs), answer in zip(tables, answers, strict=True):
        wanted = best(numbers, costs)
        if answer != wanted:
            ideas = [
                idea
                for wrong, idea in _WRONG
                if [wrong(*one) for one in tables] == answers
            ]
            return Feedback(
                False,
                f"for {numbers} at {costs} points: {answer!r}",
                repr(wanted),
                ideas[0] if ideas else "how many different numbers a probe shows",
            )
    return Feedback(True, f"the cheapest probe that decides, in {len(tables)} tables")


# -- the free exercise -----------------------------------------------------------------

#: Points a case, on average, that a detective may pay.
TARGET: Final = 3.0
#: The number of the sealed cases: jobs of one size, each with another cause.
SEALED: Final = 52

HINTS: Final = (
    "Start with the symptom. Print it for a few cases: it rules out most causes, and "
    "costs nothing. Which causes are left for “images a millisecond”?",
    "Take the cheap probe first that decides for one of those that are left, and stop "
    "as soon as one cause is left: a probe that only confirms costs as much as one "
    "that decides.",
    "A worked solution of a similar problem: two causes, and two numbers that "
    "differ. "
    + code(
        """
        def detective(desk):
            if "weights of the nodes" in desk.symptom:
                before = desk.probe("nodes")[0]          # the first row of the table
                far = float(before["largest difference of a weight"])
                return desk.answer("seeds" if far > 0 else "unsummed")
        """
    ),
)


class Desk:
    """A sealed case, for a function: its symptom, its probes, an answer.

    symptom: text. cost: points so far. solved: whether the cause was named.
    """

    def __init__(self, case: Case) -> None:
        self._case, self._probes = case, set[str]()
        self.symptom = _symptom(case)
        self.cost, self.solved = 0, False

    def probe(self, name: str) -> list[dict[str, str]]:
        """The rows of a probe's table. Costs points the first time.

        KeyError for a probe that a job does not have.
        """
        one = PROBES[JOB][name]
        if name not in self._probes:
            self._probes.add(name)
            self.cost += one.cost
        shown = one.look(_outcome(self._case, bool(one.wants)))
        return [dict(zip(shown["heads"], row, strict=True)) for row in shown["body"]]

    def answer(
        self, cause: str, layer: str | None = None, step: int | None = None
    ) -> bool:
        """Whether this is the cause, and the layer and step that it asks for.

        A wrong answer costs points. `ArgumentError` for a cause that is none.
        """
        right = judged(self._case, cause, layer, step).right
        self.solved = self.solved or right
        self.cost += 0 if right else WRONG
        return right


@functools.cache
def _outcome(case: Case, compared: bool) -> JobOutcome:
    found = run(case, compared=compared) if compared else run(case)
    assert isinstance(found, JobOutcome)
    found.record = None  # a record is large
    return found


@functools.cache
def _healthy(size: JobFacts) -> JobOutcome:
    found = run(Case(SEALED, size), (), healthy=True)
    assert isinstance(found, JobOutcome)
    return found


def _symptom(case: Case) -> str:
    assert isinstance(case.facts, JobFacts)
    size = replace(case.facts, fault="loop")  # a healthy job of a size has no fault
    return illness(_outcome(case, False), _healthy(size))


def sealed() -> list[Case]:
    """The cases of the exercise, one for each cause of a job, in any order."""
    causes = [one.name for one in CAUSES.values() if one.program == JOB]
    random.Random(15).shuffle(causes)
    return [draw(SEALED, name) for name in causes]


@check
def check_detective(attempt: Callable[[Desk], Any]) -> Feedback:
    """The free exercise: a function that names the cause of every job, cheaply."""
    desks, cases = [], sealed()
    for number, case in enumerate(cases, 1):
        desk = Desk(case)
        attempt(desk)
        desks.append(desk)
        if not desk.solved:
            right = truth(case)
            return Feedback(
                False,
                f"case {number} of {len(cases)} is not solved ({desk.symptom}); "
                f"{desk.cost} points were paid",
                "a right answer in every case",
                CAUSES[right.cause].look,
            )
    mean = sum(desk.cost for desk in desks) / len(desks)
    if mean > TARGET:
        dearest = max(desks, key=lambda desk: desk.cost)
        return Feedback(
            False,
            f"all {len(desks)} cases are solved, for {mean:.2f} points a case",
            f"at most {TARGET:g}",
            f"the case that cost {dearest.cost} points ({dearest.symptom}): which "
            "probe decided nothing there?",
        )
    return Feedback(
        True, f"all {len(desks)} cases are solved, for {mean:.2f} points a case"
    )
