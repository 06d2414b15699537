"""What a run found: a table with ratios, a JSON file, a part of the README."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.cases import CASES, TARGETS, Case, Target
from tests.benchmarks.measure import Times, human, typical

BEGIN, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"


def ratio(times: Times, target: Target) -> float | None:
    """How many times as long as the peer we took; None if one of them was not there."""
    ours = times.get(target.case, {}).get(target.ours)
    theirs = times.get(target.against or target.case, {}).get(target.theirs)
    return typical(ours) / typical(theirs) if ours and theirs else None


def misses(times: Times, targets: Iterable[Target] = TARGETS) -> list[Target]:
    """The targets that were measured and not met."""
    found = ((target, ratio(times, target)) for target in targets)
    return [target for target, value in found if value and value > target.ratio]


def table(times: Times, peers: Sequence[str]) -> str:
    """A Markdown table: a line per case, a column per peer, ratios against MXNet."""
    head = ["case", *peers, "ratio (target)"]
    lines = [head, ["---"] + ["---:"] * len(peers) + ["---"]]
    for case in CASES:
        if case.name in times:
            row = times[case.name]
            cells = [human(typical(row[p])) if row.get(p) else "–" for p in peers]
            lines.append([case.title, *cells, "; ".join(ratios(times, case)) or "–"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ratios(times: Times, case: Case) -> list[str]:
    """Every ratio of a case: those with a target, else against MXNet where it ran."""
    aimed = [target for target in TARGETS if target.case == case.name]
    plain = [
        Target(case.name, f"minimx{engine}", f"mxnet{engine}", float("inf"))
        for engine in (" naive", "")
    ]
    said = []
    for target in aimed or plain:
        value = ratio(times, target)
        if value is not None:
            name = "naive " if target.ours.endswith("naive") else ""
            missed = value > target.ratio
            aim = f" (≤ {target.ratio})" if target in aimed else ""
            said.append(f"{name}{value:.2f}{aim}{' **missed**' if missed else ''}")
    return said


def machine() -> dict[str, Any]:
    """What the numbers depend on, without naming the machine."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        models = [line.split(":", 1)[1] for line in lines if "model name" in line]
        cpu = models[0].strip() if models else cpu
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def save(path: Path, times: Times, conditions: dict[str, Any]) -> None:
    """Every time of every round, and the conditions, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"conditions": conditions, "seconds": times}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> tuple[Times, dict[str, Any]]:
    """What `save` saved."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content["seconds"], content["conditions"]


def put_into(readme: Path, text: str) -> None:
    """Replace what stands between the two markers of a Markdown file."""
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def readme_text(times: Times, peers: Sequence[str], conditions: dict[str, Any]) -> str:
    """The table, and what it was measured on and with."""
    where = (
        f"{conditions['date']}: {conditions['cores']} cores of {conditions['cpu']}, "
        f"Python {conditions['python']}, load {conditions['load']} at the start; "
        f"medians of {conditions['rounds']} interleaved rounds, by `make bench`."
    )
    missed = misses(times)
    verdict = (
        "Missed: " + ", ".join(f"{t.case} ({t.ours})" for t in missed)
        if missed
        else "Every target was met"
    )
    return f"{table(times, peers)}\n\n{where} {verdict}."
