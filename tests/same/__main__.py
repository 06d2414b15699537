"""`python -m tests.same`: does the same network learn the same here and in PyTorch?

ResNet-20 on 28×28 images, and an LSTM as a language model on a text, begin with the
same weights and see the same batches, under minimx and under PyTorch, with three seeds.
What differs is rounding; PyTorch's BatchNorm divides the running variance by n - 1; and
where the learning rate falls, MXNet's momentum still holds steps of the old one. So the
first losses agree to some digits, and the scores as well as those of two seeds do. In a
deep network rounding grows quickly: after four steps of ResNet-20 PyTorch in float32 is
as far from PyTorch in float64, a thousandth, as from us.

Saves losses and scores in `results/`; exit status 1 if a mean score differs by more
than noise. `--record` keeps PyTorch's first steps for `test_first_steps.py`. Takes
about ten minutes on two cores; `make same` fetches PyTorch first.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import report
from tests.benchmarks.peers import PEERS
from tests.same import tasks

HERE = Path(__file__).parent
RECORDED = HERE / "first_steps.json"
LIBRARIES = ("minimx", "torch")
#: Times are not compared here, so threads that wait leave the cores to others.
WAITING = {"OMP_WAIT_POLICY": "PASSIVE"}


def run(library: str, name: str, task: tasks.Arrays, peers: Path) -> Any:
    """What a library learns of a task, in an interpreter of its own."""
    peer = next(peer for peer in PEERS if peer.name == library)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "task.npz")
        np.savez(path, **task)  # type: ignore[arg-type]
        done = subprocess.run(
            [peer.python(peers), HERE / "worker.py", library, name, path],
            env=peer.environment() | WAITING,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    learnt = json.loads(done.stdout)
    for key in ("losses", "scores"):
        learnt[key] = [float(f"{value:.7g}") for value in learnt[key]]
    return learnt


def last_scores(runs: Sequence[Mapping[str, Any]], library: str) -> list[float]:
    """The score after the last epoch, of every seed."""
    return [float(run[library]["scores"][-1]) for run in runs]


def noise(runs: Sequence[Mapping[str, Any]]) -> float:
    """Two standard errors of the difference of the mean scores; at least a thousandth.

    >>> one = {"minimx": {"scores": [0.5]}, "torch": {"scores": [0.4]}}
    >>> two = {"minimx": {"scores": [0.7]}, "torch": {"scores": [0.4]}}
    >>> round(noise([one, two]), 9)
    0.2
    """
    spread = [
        statistics.variance(last_scores(runs, library)) if len(runs) > 1 else 0.0
        for library in LIBRARIES
    ]
    return max(2 * math.sqrt(sum(spread) / len(runs)), 1e-3)


def difference(runs: Sequence[Mapping[str, Any]]) -> float:
    """By how much our mean score is above theirs."""
    ours, theirs = (statistics.mean(last_scores(runs, name)) for name in LIBRARIES)
    return ours - theirs


def table(name: str, runs: Sequence[Mapping[str, Any]]) -> str:
    """A line for each seed, and the verdict over all of them."""
    kind = "perplexity" if name == "lstm" else "accuracy"
    lines = []
    for one in runs:
        ours, theirs = (one[library]["scores"][-1] for library in LIBRARIES)
        far = first_steps_apart(one["minimx"]["losses"], one["torch"]["losses"])
        lines.append(
            f"{name}, seed {one['seed']}: {kind} {ours:.4f}, PyTorch {theirs:.4f}; "
            f"first losses within {far:.0e}"
        )
    verdict = f"mean {kind} {difference(runs):+.4f}, noise {noise(runs):.4f}"
    return "\n".join([*lines, f"{name}: {verdict}"])


def first_steps_apart(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The largest relative difference of the first four losses."""
    return float(np.max(np.abs(np.divide(ours[:4], theirs[:4]) - 1)))


def compare(name: str, seeds: Sequence[int], peers: Path) -> list[dict[str, Any]]:
    """Do a task with every seed under both; what is done is saved at once.

    An item holds the seed and, for each library, what it learnt.
    """
    today = datetime.datetime.now().astimezone().date().isoformat()
    path = HERE / "results" / f"{today}-{name}.json"
    size = tasks.SIZES[name]
    content = {"conditions": {"date": today} | report.machine(), "size": asdict(size)}
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        task = tasks.make(name, seed, size)
        learnt = {library: run(library, name, task, peers) for library in LIBRARIES}
        runs.append({"seed": seed, **learnt})
        text = json.dumps(content | {"runs": runs})
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return runs


def record(peers: Path) -> None:
    """Keep PyTorch's first steps, which the tests compare with."""
    answers = {
        name: run("torch", name, tasks.make(name, 0, size), peers)
        for name, size in tasks.SMALL.items()
    }
    RECORDED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, save, compare."""
    top = argparse.ArgumentParser(prog="make same", description=__doc__)
    top.add_argument("--peers-dir", type=Path, default=HERE.parents[1] / ".peers")
    top.add_argument("--only", choices=list(tasks.SIZES), nargs="+")
    top.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    top.add_argument("--record", action="store_true", help="PyTorch's first steps only")
    options = top.parse_args(arguments)
    if options.record:
        record(options.peers_dir)
        return 0
    far = False
    for name in options.only or list(tasks.SIZES):
        runs = compare(name, options.seeds, options.peers_dir)
        print(table(name, runs), flush=True)
        far |= abs(difference(runs)) > noise(runs)
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
