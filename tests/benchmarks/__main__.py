"""`python -m tests.benchmarks`: time minimx against its peers, in one run.

Prints ratios, saves every time in `results/`, and with `--readme` puts the table into
the README. Peers that are not installed are left out, with a word about it; `make
bench-peers` fetches them. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import measure, peers, report
from tests.benchmarks.cases import CASES

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results"


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="make bench", description=__doc__)
    add = top.add_argument
    names = [peer.name for peer in peers.PEERS]
    add("--peers-dir", type=Path, default=ROOT / ".peers", help="where they live")
    add("--only", nargs="+", metavar="CASE", choices=[case.name for case in CASES])
    add("--peers", nargs="+", metavar="PEER", choices=names, default=names)
    add("--rounds", type=int, default=5, help="how often every peer takes its turn")
    add("--seconds", type=float, default=0.5, help="how long a turn lasts")
    add("--no-save", action="store_true", help="print, and keep nothing")
    add("--readme", action="store_true", help="put the table into the README")
    return top


def present(wanted: Sequence[str], folder: Path) -> list[peers.Peer]:
    """The peers that are wanted and installed."""
    found = []
    for peer in peers.PEERS:
        if peer.name in wanted:
            if peer.python(folder).exists():
                found.append(peer)
            else:
                print(f"{peer.name} is left out: no {peer.library} in {folder.name}/")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and report."""
    options = parser().parse_args(arguments)
    competitors = present(options.peers, options.peers_dir)
    cases = [case for case in CASES if not options.only or case.name in options.only]
    today = datetime.datetime.now().astimezone().date().isoformat()
    rounds = {"date": today, "rounds": options.rounds, "seconds": options.seconds}
    conditions = rounds | report.machine()
    times = measure.run(
        cases, competitors, options.peers_dir, options.rounds, options.seconds
    )
    names = [peer.name for peer in competitors]
    text = report.readme_text(times, names, conditions)
    print(f"\n{text}")
    if not options.no_save:
        report.save(RESULTS / f"{today}.json", times, conditions)
    if options.readme:
        report.put_into(ROOT / "README.md", text)


if __name__ == "__main__":
    main()
