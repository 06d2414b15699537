"""What a run found as Markdown: a line for each case, a column for each contender."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.benchmarks.cases import CASES, GROUPS, MAIN, TARGETS, Case
from tests.benchmarks.measuring.machine import DISTURBED, disturbed
from tests.benchmarks.reporting.ratios import (
    Outcome,
    Values,
    amount,
    misses,
    outcome,
    outcome_text,
    outcomes,
    target_text,
    typical,
    value_text,
)
from tests.benchmarks.reporting.results import Latest, Rounds

#: The contenders of the README, under the engine that programs get.
README = ("minimx", "minimx onednn", "mxnet", "torch", "numpy")


def cell(values: Values, case: Case, peer: str) -> str:
    """The median of a contender, or a dash."""
    found = values.get(case.name, {}).get(peer)
    return amount(case, typical(found)) if found else "–"


def ratios(values: Values, case: Case) -> str:
    """All outcomes of a case in a cell."""
    return "; ".join(map(outcome_text, outcomes(values, case))) or "–"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Rows as a table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table(
    values: Values,
    peers: Sequence[str],
    cases: Sequence[Case] = CASES,
    more: Sequence[tuple[str, Callable[[Case], str]]] = (),
) -> str:
    """The cases that were measured; more: further columns, by their heads."""
    head = ["case", *peers, "ratio (target)", *(name for name, _ in more)]
    lines = [head, ["---"] + ["---:"] * len(peers) + ["---"] * (1 + len(more))]
    for case in cases:
        if case.name in values:
            cells = [cell(values, case, peer) for peer in peers]
            last = [text(case) for _, text in more]
            lines.append([case.title, *cells, ratios(values, case), *last])
    return markdown(lines)


def contenders(
    values: Values, cases: Sequence[Case], order: Sequence[str]
) -> list[str]:
    """Those of `order` that have a value in one of the cases."""
    return [p for p in order if any(values.get(c.name, {}).get(p) for c in cases)]


def quiet(rounds: Rounds, case: Case) -> str:
    """How many rounds of a case were disturbed: `0 of 5`; `?` if it is not known."""
    watched = [one["others"] for one in rounds.get(case.name, ())]
    if not watched or None in watched:
        return "?"
    return f"{sum(map(disturbed, watched))} of {len(watched)}"


def disturbed_text(rounds: Rounds) -> str:
    """How quiet the machine was, in a sentence; "" if it was not watched."""
    watched = [one["others"] for each in rounds.values() for one in each]
    known = [share for share in watched if share is not None]
    if not known:
        return ""
    number = sum(map(disturbed, known))
    return (
        f"In {number} of {len(known)} rounds others used {DISTURBED:.0%} of the "
        f"processors or more; at most it was {max(known):.0%}."
    )


def targets(found: Sequence[Latest]) -> str:
    """A row for each target, a column for each machine; the rows of a group that has
    not been measured anywhere are one.
    """
    lines = [["case", "target", *(f"{at.machine}, {at.days}" for at in found)]]
    lines.append(["---"] * len(lines[0]))
    for group, text in GROUPS.items():
        cases = {case.name: case for case in CASES if case.group == group}
        aimed = [target for target in TARGETS if target.case in cases]
        rows = [[outcome(at.values, target) for at in found] for target in aimed]
        if not any(one for row in rows for one in row):
            dashes = ["not measured yet"] * len(found)
            number = f"{len(aimed)} target{'s' if len(aimed) > 1 else ''}"
            lines.append([text, number, *dashes])
            continue
        for target, row in zip(aimed, rows, strict=True):
            title = cases[target.case].title
            lines.append([title, target_text(target), *map(_judged, row)])
    return markdown(lines)


def _judged(one: Outcome | None) -> str:
    if one is None:
        return "not measured yet"
    of = f" of {one.peer}" if len(one.target.theirs) > 1 else ""
    without = f", without {' and '.join(one.missing)}" if one.missing else ""
    return f"{value_text(one)}{of}{without}, {'met' if one.met else '**missed**'}"


def missed_by_case(values: Values, cases: Sequence[Case] = CASES) -> dict[str, str]:
    """By case, the misses in a line, without the mark."""
    found: dict[str, list[str]] = {}
    for one in misses(values, cases):
        text = outcome_text(one).removesuffix(" **missed**")
        found.setdefault(one.target.case, []).append(text)
    return {name: "; ".join(texts) for name, texts in found.items()}


def where(at: Latest) -> str:
    """The machine, the day and the way, in a sentence."""
    said = at.conditions
    libraries = {"mxnet": "MXNet", "torch": "PyTorch", "numpy": "NumPy"}
    known = said.get("libraries", {})
    beside = [f"Python {said['python']}"]
    beside += [
        f"{name} {known[key]}" for key, name in libraries.items() if key in known
    ]
    lengths = [len(each) for each in at.rounds.values() if each] or [said["rounds"]]
    few, many = min(lengths), max(lengths)
    rounds = f"{few} to {many}" if few < many else f"{many}"
    return (
        f"{at.days}: {at.machine}, {', '.join(beside)}, "
        f"load {said['load']} at the start. Medians of {rounds} interleaved "
        "rounds with their quartiles, by `make bench`."
    )


def readme(found: Sequence[Latest]) -> str:
    """The README's table of one machine, and what is missed on others."""
    cases = [case for case in CASES if case.group in MAIN]
    at = found[0].of(case.name for case in cases)
    title = {case.name: case.title for case in cases}
    busy = disturbed_text(at.rounds)
    parts = [
        table(at.values, contenders(at.values, cases, README), cases),
        f"{where(at)} Misses hold for this machine. {busy}".strip(),
    ]
    left = [case.title for case in cases if case.name not in at.values]
    if left:
        parts.append(f"Not measured there yet: {'; '.join(left)}.")
    for each in found[1:]:
        missed = missed_by_case(each.values, cases)
        said = [f"- {title[name]}: {text}" for name, text in missed.items()]
        head = "Missed" if said else "None missed"
        parts.append(f"{head} on {each.machine} ({each.days}){':' if said else '.'}")
        parts += ["\n".join(said)] if said else []
    return "\n\n".join(parts)
