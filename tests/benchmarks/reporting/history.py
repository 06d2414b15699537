"""A case over the days: what its ratios were, and how long each contender took."""

from __future__ import annotations

from collections.abc import Sequence

from tests.benchmarks.cases import CASES
from tests.benchmarks.reporting.ratios import outcome_text, outcomes
from tests.benchmarks.reporting.results import Result
from tests.benchmarks.reporting.tables import cell, quiet


def history(results: Sequence[Result], name: str) -> str:
    """Lines for each day and machine that has the case, the oldest first."""
    case = next(case for case in CASES if case.name == name)
    lines = [case.title]
    for result in results:
        row = result.values.get(name)
        if not row:
            continue
        found = [outcome_text(one) for one in outcomes(result.values, case)]
        peers = [peer for peer in row if row[peer]]
        times = ", ".join(f"{p} {cell(result.values, case, p)}" for p in peers)
        busy = quiet(result.rounds, case)
        note = "" if busy == "?" else f"; rounds disturbed: {busy}"
        partial = "; partial" if name in result.unfinished else ""
        lines.append(f"{result.date}, {result.machine}{note}{partial}")
        lines += [f"    ratio  {text}" for text in found]
        lines.append(f"    {times}")
    if len(lines) == 1:
        lines.append("No result has it yet.")
    return "\n".join(lines)
