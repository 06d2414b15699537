"""`python -m tests.benchmarks`: measure minimx against its peers, in one run.

    python -m tests.benchmarks                     every case
    python -m tests.benchmarks --group resnet      the cases of a group
    python -m tests.benchmarks --only chain lstm   some cases
    python -m tests.benchmarks history chain       a case over the days
    python -m tests.benchmarks roofline            operators beside the machine
    python -m tests.benchmarks pages               the tables of README and book again

Prints ratios and saves every value in `results/`, with how busy others kept the
machine. Contenders that are not installed are left out, with a word about it; `make
bench-peers` fetches them. Ctrl-C ends a run, and what was measured is kept. Run it on a
machine that does nothing else.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import peers
from tests.benchmarks.cases import CASES, GROUPS, LONG, chosen
from tests.benchmarks.measuring import rounds
from tests.benchmarks.measuring.machine import machine
from tests.benchmarks.reporting import page, tables
from tests.benchmarks.reporting.history import history
from tests.benchmarks.reporting.results import RESULTS, Latest, Result, every, save
from tests.benchmarks.roofline import measuring as roofline

ROOT = Path(__file__).parents[2]


def parser() -> argparse.ArgumentParser:
    """The options of a run."""
    top = argparse.ArgumentParser(
        prog="make bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = top.add_argument
    names = [peer.name for peer in peers.PEERS]
    groups = "; ".join(f"{name}: {text}" for name, text in GROUPS.items())
    few = ", ".join(f"{most} rounds of {name}" for name, most in LONG.items())
    cases = [case.name for case in CASES]
    add("--only", nargs="+", metavar="CASE", choices=cases, default=[])
    add(
        *("--group", "-g"),
        nargs="+",
        metavar="GROUP",
        choices=list(GROUPS),
        default=[],
        help=f"{groups}. Without this all, with at most {few}.",
    )
    add("--list", action="store_true", help="print the cases, and measure nothing")
    add("--peers", nargs="+", metavar="PEER", choices=names, default=names)
    add("--peers-dir", type=Path, default=ROOT / ".peers", help="where they live")
    prefix = ROOT / ".venv" / "onednn"
    add("--onednn", type=Path, default=prefix, help="where oneDNN was installed")
    add("--rounds", type=int, default=5, help="how often each contender has its turn")
    add("--seconds", type=float, default=0.5, help="how long a turn lasts")
    add("--no-save", action="store_true", help="print, and keep nothing")
    add("--pages", action="store_true", help="write README's table and the book's page")
    return top


def write_graphs(folder: Path) -> None:
    """The network that MXNet's zoo lacks, as a graph that MXNet reads."""
    from minimx.gluon.model_zoo.vision.inception_bn import inception_bn_symbol

    internals = inception_bn_symbol().get_internals()
    internals["fc1_output"].save(str(folder / "inceptionbn.json"))


def measured(options: argparse.Namespace) -> Result:
    """Measure what the options ask for."""
    found = peers.present(options.peers, options.peers_dir, options.onednn)
    cases = chosen(options.only, options.group)
    today = datetime.datetime.now().astimezone().date().isoformat()
    way = {"date": today, "rounds": options.rounds, "seconds": options.seconds}
    conditions = way | machine()
    conditions["libraries"] = peers.versions(found, options.peers_dir)
    with tempfile.TemporaryDirectory() as graphs:
        if any("inceptionbn" in case.name for case in cases):
            write_graphs(Path(graphs))
        os.environ["BENCH_GRAPHS"] = graphs
        done = rounds.run(
            cases, found, options.peers_dir, options.rounds, options.seconds
        )
    return Result(conditions, **vars(done))


def report(result: Result) -> str:
    """The table of a run, the machine, and what went wrong."""
    order = [peer.name for peer in peers.PEERS]
    names = tables.contenders(result.values, CASES, order)
    at = Latest(result.machine, rounds=result.rounds, conditions=result.conditions)
    at.dates = dict.fromkeys(result.values, result.date)
    parts = [
        tables.table(
            result.values,
            names,
            more=[("disturbed", lambda case: tables.quiet(result.rounds, case))],
        ),
        tables.where(at),
        tables.disturbed_text(result.rounds),
    ]
    if result.unfinished:
        parts.append(f"Partial; not finished: {', '.join(result.unfinished)}.")
    for case, row in result.failures.items():
        parts += [f"{case}: {why}" for why in row.values()]
    return "\n\n".join(filter(None, parts))


def show_history(arguments: Sequence[str]) -> None:
    """Print a case over the days."""
    top = argparse.ArgumentParser(prog="tests.benchmarks history")
    top.add_argument("case", choices=[case.name for case in CASES], metavar="CASE")
    print(history(every(), top.parse_args(arguments).case))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report, or what the first word says; 1 for a run that is partial."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    commands = {"history": show_history, "roofline": roofline.main, "pages": page.main}
    if words and words[0] in commands:
        commands[words[0]](words[1:])
        return 0
    options = parser().parse_args(words)
    if options.list:
        for case in chosen(options.only, options.group or list(GROUPS)):
            print(f"{case.group:10} {case.name:24} {case.title}")
        return 0
    result = measured(options)
    print(f"\n{report(result)}")
    if not options.no_save and any(result.values.values()):
        print(f"\nSaved in {save(result, RESULTS)}")
        if options.pages:
            page.main([])
    return int(bool(result.unfinished or result.failures))


if __name__ == "__main__":
    sys.exit(main())
