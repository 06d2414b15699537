"""The book's page of benchmarks and the README's table, from the saved results.

python -m tests.benchmarks pages
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks.cases import CASES, GROUPS, Case
from tests.benchmarks.peers import PEERS
from tests.benchmarks.reporting import gpu, tables
from tests.benchmarks.reporting.ratios import three
from tests.benchmarks.reporting.results import RESULTS, Latest, every, latest
from tests.benchmarks.roofline import measuring, picture

ROOT = Path(__file__).parents[3]
README, PAGE = ROOT / "README.md", ROOT / "book" / "benchmarks.md"
PICTURE = ROOT / "book" / "pictures" / "roofline.svg"
NOTES = RESULTS / "notes.toml"
BEGIN, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"

HEAD = """# Benchmarks

<!-- Written by `python -m tests.benchmarks pages` from tests/benchmarks/results. -->

How fast is minimx beside MXNet 1.9.1, PyTorch and NumPy? This page has what was
measured, on which machine and when. It names every target that is missed.

- **Contenders take turns.** Each is a process of its own. A round has a turn of each,
  and begins with another one than the round before. A value is the median over the
  rounds.
- **Ratios are made within a round.** Their median is compared with the target; the
  quartiles stand in brackets. A ratio below 1 says that minimx takes less time, or
  less memory. Where a target says *rate*, images a second are compared, and above 1
  is faster.
- **The faster counts.** Where a target names several contenders, the ratio is to the
  one with the smallest median.
- **The machine is watched.** A round is disturbed if others used 5 % of the
  processors or more. *disturbed* counts such rounds. Results from before this was
  watched have `?` there.

*naive* is the engine `NaiveEngine`; without that word it is
`ThreadedEnginePerDevice`. *minimx* computes with numba and BLAS, *minimx onednn* with
oneDNN as well. *minimx compiled* runs the build of `minimx compile --cython` in place
of plain Python. *onednn alone* computes the convolutions of ResNet-50 and nothing else,
in layouts of its own choice.
"""

COMMANDS = """## Measure it yourself

    make bench-peers                             # MXNet 1.9.1 and PyTorch, once
    make bench FLAGS=--pages                     # every case, an hour; and this page
    make bench FLAGS="--group networks"          # the six networks alone, 3 rounds
    make bench FLAGS="--only chain lstm"         # some cases
    python -m tests.benchmarks history chain     # a case over the days
    python -m tests.benchmarks roofline          # operators beside the machine
    python -m tests.benchmarks.threads           # workers and threads of two cores
    python -m tests.benchmarks.fused_chain       # five operators as one loop
    make bench-cuda                              # on a machine with an NVIDIA GPU
    python -m tests.benchmarks pages             # this page again, from the results

Do it on a machine that does nothing else. An interrupted run keeps what it has
measured. Results are JSON files in `tests/benchmarks/results`, one for each day and
machine.
"""

ROOFLINE = """## Operators beside the machine

![Operations a second of each operator over its operations for each byte, below the
roof that the machine's memory and products make; the table below has the same
numbers](pictures/roofline.svg)

Two rates bound an operator: how fast the machine reads and writes memory, and how fast
it multiplies matrices. Together they make the *roof*. An operator with few operations
for each byte is below the sloping part: memory bounds it. The share is the least time
that the roof allows, divided by the time it took.

Operations are those of the plain sums. Winograd's convolution does with fewer, so it
may be above the roof.

The rate of memory is that of an array which is scaled in place. A kernel that writes to
another array makes the processor read what it will write over. So an operator like
`relu` may reach about half of the roof, and no more.
"""


def notes(path: Path = NOTES) -> dict[str, str]:
    """Why targets are missed, by case. ValueError for a case that does not exist."""
    found: dict[str, str] = tomllib.loads(path.read_text("utf-8"))["notes"]
    if unknown := set(found) - {case.name for case in CASES}:
        raise ValueError(f"{path.name} has notes on {sorted(unknown)}: no such cases.")
    return found


def results(at: Latest) -> Iterator[str]:
    """The tables of a machine, a group after the other."""
    yield f"## {at.machine}"
    yield " ".join(filter(None, [tables.where(at), tables.disturbed_text(at.rounds)]))
    order = [peer.name for peer in PEERS]
    for group, text in GROUPS.items():
        cases = [case for case in CASES if case.group == group]
        yield f"### {text[0].upper()}{text[1:]}"
        if not any(case.name in at.values for case in cases):
            yield "Not measured yet."
            continue
        peers = tables.contenders(at.values, cases, order)
        yield tables.table(
            at.values,
            peers,
            cases,
            [
                ("disturbed", lambda case: tables.quiet(at.rounds, case)),
                ("day", lambda case: at.dates[case.name] + _partial(at, case)),
            ],
        )
        left = [case.title for case in cases if case.name not in at.values]
        if left:
            yield f"Not measured yet: {'; '.join(left)}."
        for case in cases:
            for why in at.failures.get(case.name, {}).values():
                yield f"Failed in {case.title}: {why}"


def _partial(at: Latest, case: Case) -> str:
    return " (partial)" if case.name in at.unfinished else ""


def missed(found: Sequence[Latest], why: dict[str, str]) -> Iterator[str]:
    """Every target on every machine; then each miss with the note on it."""
    yield "## Targets"
    yield tables.targets(found)
    title = {case.name: case.title for case in CASES}
    for at in found:
        yield f"### Missed on {at.machine}"
        lines = []
        for name, text in tables.missed_by_case(at.values).items():
            lines.append(f"- {title[name]}: {text}, {at.dates[name]}.")
            lines.append("  " + " ".join(why.get(name, "No note on it yet.").split()))
        yield "\n".join(lines) or "None."


def roofline(data: Path | None) -> Iterator[str]:
    """The picture's text and table; data: the newest measurement."""
    if data is None:
        return
    found = measuring.load(data)
    yield ROOFLINE.strip()
    said, lines = found.conditions, []
    for cores, peak in sorted(found.peaks.items()):
        word = f"{cores} core{'s' if cores > 1 else ''}"
        flops, moved = three(peak.flops / 1e9), three(peak.bandwidth / 1e9)
        lines.append(f"- {word}: {flops} GFLOP/s, {moved} GB/s")
    library = "with oneDNN" if said["onednn"] else "with numba and BLAS"
    words = [f"{said['cores']} cores of {said['cpu']}", library]
    busy = (
        "" if said["others"] is None else f" Others used {said['others']:.0%} of them."
    )
    yield f"{said['date']}: {', '.join(words)}, {said['rounds']} rounds.{busy}"
    yield "\n".join(lines)
    rows = [["operator", "operations / byte", "time", "GFLOP/s", "GB/s", "bound by"]]
    rows[0].append("share of the roof")
    rows.append(["---", *["---:"] * 4, "---", "---:"])
    for point in sorted(found.points, key=lambda p: -p.share(found.peak)):
        rates = (point.rate / 1e9, point.nbytes / point.took / 1e9)
        time = f"{three(point.took * 1e3)} ms"
        cells = [f"{point.intensity:.3g}", time, *map(three, rates)]
        share = f"{point.share(found.peak):.0%}"
        rows.append([point.name, *cells, point.bound(found.peak), share])
    yield tables.markdown(rows)
    if silent := [point.name for point in found.points if not point.flops]:
        yield f"Not in the picture, since they compute nothing: {', '.join(silent)}."


def page(found: Sequence[Latest], data: Path | None, why: dict[str, str]) -> str:
    """The book's page. found: by machine, the newest first."""
    parts = [HEAD.strip(), *missed(found, why)]
    parts += [text for at in found[:1] for text in results(at)]
    parts += [*roofline(data), *gpu.section(gpu.newest()), COMMANDS.strip()]
    return "\n\n".join(parts) + "\n"


def with_table(readme: str, text: str) -> str:
    """A Markdown text with another text between its two markers."""
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def main(arguments: Sequence[str]) -> None:
    """Write the page, the picture and the README's table."""
    argparse.ArgumentParser(prog="tests.benchmarks pages").parse_args(arguments)
    found, data = latest(every()), measuring.newest()
    PAGE.write_text(page(found, data, notes()), encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    README.write_text(with_table(readme, tables.readme(found)), encoding="utf-8")
    written = [README, PAGE]
    if data is not None:
        PICTURE.write_bytes(picture.draw(measuring.load(data), picture.digest(data)))
        written.append(PICTURE)
    print("Wrote", *(path.relative_to(ROOT) for path in written))
