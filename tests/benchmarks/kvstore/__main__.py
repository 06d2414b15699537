"""`python -m tests.benchmarks.kvstore`: how fast stores are, how true the simulator is.

Prints tables: steps simulated and measured; sums over ranks against MPI's; a local sum
against the machine's memory and against MXNet, where it is installed; thousands of
simulated workers. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from minimx.kvstore.simulation import Cluster, Layer, Workload, ranks, simulate
from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.cases import chosen
from tests.benchmarks.kvstore import calibration
from tests.benchmarks.measuring.machine import machine
from tests.benchmarks.measuring.rounds import run
from tests.benchmarks.peers import present
from tests.benchmarks.reporting.tables import table

ALLREDUCE = Path(__file__).with_name("allreduce.py")
ELEMENTS = 25_000_000
#: 8 arrays of 4M floats are read, and one is written.
REDUCED = 9 * 4 * 4_000_000
#: Of the simulator's own speed.
WORKLOAD = Workload(
    tuple(Layer(f"layer{k}", 40_000 * (k % 9 + 1), 1e-3, 2e-3) for k in range(160))
)


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="tests.benchmarks.kvstore", description=__doc__)
    parts = ("steps", "sums", "local", "simulator")
    top.add_argument("--only", nargs="+", choices=parts, default=parts)
    top.add_argument("--rounds", type=int, default=3, help="of steps, and of jobs")
    top.add_argument("--peers-dir", type=Path, default=benchmarks.ROOT / ".peers")
    return top


def sums(rounds: int) -> list[str]:
    """Sums over 2 and 4 ranks: medians, and the store's share of MPI's bandwidth."""
    lines = ["| ranks | Allreduce | pushpull | share of its bandwidth (≥ 70 %) |"]
    lines.append("| ---: | ---: | ---: | ---: |")
    for count in (2, 4):
        text = calibration.launched(ALLREDUCE, count, str(ELEMENTS), str(3 * rounds))
        found = json.loads(text)
        raw, store = (statistics.median(found[name]) for name in ("raw", "store"))
        lines.append(
            f"| {count} | {raw * 1e3:.0f} ms | {store * 1e3:.0f} ms "
            f"| {raw / store:.0%} |"
        )
    return lines


def local(rounds: int, folder: Path) -> list[str]:
    """A sum of eight arrays on the host, with and without MXNet beside it."""
    peers = present(["minimx", "mxnet"], folder, folder)
    cases = chosen(groups=["stores"])
    bound = 0.0
    for _ in range(rounds):
        bound = max(bound, ranks.adding(1), 2 * ranks.adding(2))
    times = run(cases, peers, folder, 2 * rounds + 1, 0.3).values
    took = min(times["kv_push"]["minimx"])
    return [
        f"memory {bound / 1e9:.1f} GB/s; push {REDUCED / took / 1e9:.1f} GB/s: "
        f"{REDUCED / took / bound:.0%} (≥ 70 %)",
        table(times, [peer.name for peer in peers]),
    ]


def simulator() -> list[str]:
    """How long 4,096 workers take to be simulated, by store."""
    lines = []
    for store in ("device", "dist_sync", "dist_async", "p3", "ring", "tree"):
        start = time.perf_counter()
        simulate(WORKLOAD, Cluster.cloud(), store, 4096)
        lines.append(f"| {store} | {time.perf_counter() - start:.2f} s |")
    head = f"| store, {len(WORKLOAD.layers)} layers | 4,096 workers (≤ 10 s) |"
    return [head, "| --- | ---: |", *lines]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is wanted, and print it."""
    options = parser().parse_args(arguments)
    print(json.dumps(machine()))
    parts = {
        "steps": lambda: calibration.run(options.rounds),
        "sums": lambda: sums(options.rounds),
        "local": lambda: local(options.rounds, options.peers_dir),
        "simulator": simulator,
    }
    for name in options.only:
        print("", f"## {name}", *parts[name](), sep="\n", flush=True)


if __name__ == "__main__":
    main()
