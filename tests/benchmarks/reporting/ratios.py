"""Values beside each other: medians of ratios, their spread, and what targets say.

A ratio is made within a round, from values that were measured within seconds of each
other; its median over the rounds is what counts, and the quartiles are its spread.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.benchmarks.cases import CASES, TARGETS, Case, Target

#: {case: {contender: [value of round 0, 1, …]}}; seconds, or bytes of memory
Values = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Outcome:
    """What a target came to.

    value: the median; low, high: the quartiles. peer: the contender that was compared
    with, "" for a target without one. missing: those that should have been compared
    with as well, but were not there.
    """

    target: Target
    value: float
    low: float
    high: float
    rounds: int
    peer: str = ""
    missing: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the median reaches the target."""
        limit = self.target.limit
        return self.value >= limit if self.target.rate else self.value <= limit


def typical(values: Sequence[float]) -> float:
    """The median of the rounds."""
    return statistics.median(values)


def outcome(values: Values, target: Target) -> Outcome | None:
    """What a target came to; None if one of the two sides was not measured.

    Of several contenders the fastest counts, by the medians of all rounds.
    """
    ours = values.get(target.case, {}).get(target.ours)
    if not ours:
        return None
    if not target.theirs:
        return _outcome(target, ours)
    row = values.get(target.against or target.case, {})
    there = {name: row[name] for name in target.theirs if row.get(name)}
    if not there:
        return None
    peer = min(there, key=lambda name: typical(there[name]))
    pairs = [*zip(ours, there[peer], strict=False)]
    ratios = [b / a if target.rate else a / b for a, b in pairs]
    missing = tuple(name for name in target.theirs if name not in there)
    return _outcome(target, ratios, peer, missing)


def _outcome(
    target: Target,
    found: Sequence[float],
    peer: str = "",
    missing: tuple[str, ...] = (),
) -> Outcome:
    low = high = found[0]
    if len(found) > 1:
        low, _, high = statistics.quantiles(found, n=4, method="inclusive")
    median = typical(found)
    return Outcome(target, median, low, high, len(found), peer, missing)


def outcomes(values: Values, case: Case) -> list[Outcome]:
    """Every ratio of a case: those with a target, else against MXNet where it ran."""
    aimed = [target for target in TARGETS if target.case == case.name]
    plain = [
        Target(case.name, f"minimx{engine}", (f"mxnet{engine}",), math.inf)
        for engine in (" naive", "")
    ]
    found = (outcome(values, target) for target in aimed or plain)
    return [one for one in found if one is not None]


def misses(values: Values, cases: Iterable[Case] = CASES) -> list[Outcome]:
    """The targets that were measured and not met."""
    return [one for case in cases for one in outcomes(values, case) if not one.met]


# -- as text ---------------------------------------------------------------------------


def human(seconds: float) -> str:
    """A time with three digits and a unit.

    >>> human(1.2345e-5), human(0.02), human(2.5)
    ('12.3 µs', '20.0 ms', '2.50 s')
    """
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        value = seconds * factor
        if value < 999.5 or unit == "s":
            return f"{three(value)} {unit}"
    raise AssertionError


def three(value: float) -> str:
    """A number with three digits, and all before its point.

    >>> three(1.2345), three(12.345), three(1234.5)
    ('1.23', '12.3', '1234')
    """
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def amount(case: Case, value: float) -> str:
    """A value of a case: its time, the rate of its images, or its memory.

    >>> amount(Case("x", "x", images=8), 0.5), amount(Case("x", "x"), 0.5)
    ('16.0 img/s', '500 ms')
    >>> amount(Case("x", "x", kind="memory"), 3 << 20)
    '3.00 MiB'
    """
    if case.kind == "memory":
        giga = value >= 1 << 30
        return (
            f"{three(value / (1 << (30 if giga else 20)))} {'GiB' if giga else 'MiB'}"
        )
    return f"{three(case.images / value)} img/s" if case.images else human(value)


#: How our contenders are called beside a number.
SHORT = {
    "minimx": "",
    "minimx naive": "naive ",
    "minimx onednn": "oneDNN ",
    "minimx compiled": "compiled ",
    "minimx compiled naive": "compiled naive ",
}
_CASES = {case.name: case for case in CASES}


def limit_text(target: Target) -> str:
    """What a target demands: `≤ 0.3`, `rate ≥ 1.15`, `≤ 15.0 s`.

    >>> limit_text(Target("import", "minimx", ("mxnet",), 0.3))
    '≤ 0.3'
    """
    sign = "rate ≥" if target.rate else "≤"
    if not target.theirs:
        return f"{sign} {amount(_CASES[target.case], target.limit)}"
    return f"{sign} {target.limit:.3g}"


def target_text(target: Target) -> str:
    """A target in words, without its case.

    >>> target_text(Target("mlp", "minimx naive", ("torch", "mxnet"), 1.0))
    'naive: ≤ 1 × the faster of torch and mxnet'
    >>> target_text(Target("curve_graph", "minimx", ("minimx",), 0.6, against="curve"))
    '≤ 0.6 × 5 pointwise operators, 1M elements'
    """
    short = SHORT.get(target.ours, target.ours).strip()
    text = f"{short}: {limit_text(target)}" if short else limit_text(target)
    if target.against:
        return f"{text} × {_CASES[target.against].title}"
    if len(target.theirs) > 1:
        *first, last = target.theirs
        word = "faster" if len(target.theirs) == 2 else "fastest"
        return f"{text} × the {word} of {', '.join(first)} and {last}"
    return f"{text} × {target.theirs[0]}" if target.theirs else text


def value_text(one: Outcome) -> str:
    """The median and the quartiles."""
    case = _CASES[one.target.case]
    numbers = (one.value, one.low, one.high)
    if one.target.theirs:
        value, low, high = (f"{x:.2f}" for x in numbers)
    else:
        value, low, high = (amount(case, x) for x in numbers)
    return f"{value} [{low}–{high}]" if one.rounds > 1 else value


def outcome_text(one: Outcome) -> str:
    """A ratio with its spread, and the target if there is one."""
    target = one.target
    text = SHORT.get(target.ours, f"{target.ours} ") + value_text(one)
    if one.peer in ("torch", "numpy", "onednn alone") or len(target.theirs) > 1:
        text += f" of {one.peer}"
    if math.isinf(target.limit):
        return text
    without = f", without {' and '.join(one.missing)}" if one.missing else ""
    return f"{text} ({limit_text(target)}{without}){'' if one.met else ' **missed**'}"
