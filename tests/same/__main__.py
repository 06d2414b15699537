"""`python -m tests.same`: does the same network learn the same here and in PyTorch?

ResNet-20 on 28×28 images, and an LSTM as a language model on a text, begin with the
same weights and see the same batches, under minimx and under PyTorch, with three seeds.
What differs is rounding; PyTorch's BatchNorm divides the running variance by n - 1; and
where the learning rate falls, MXNet's momentum still holds steps of the old one. So the
first losses agree to some digits, and the scores as well as those of two seeds do. In a
deep network rounding grows quickly: after four steps of ResNet-20 PyTorch in float32 is
as far from PyTorch in float64, a thousandth, as from us.

Saves losses and scores where the course shows them (`results/` beside the programs, in
`minimx_widgets.course.same`); exit status 1 if a mean score differs by more than noise.
`--record` keeps PyTorch's first steps for `test_first_steps.py`. Takes about ten
minutes on two cores; `make same` fetches PyTorch first.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from minimx_widgets.course.same import tasks
from minimx_widgets.course.same.record import LIBRARIES, Comparison
from tests.benchmarks.measuring.machine import machine
from tests.benchmarks.peers import PEERS

HERE = Path(__file__).parent
RECORDED = HERE / "first_steps.json"
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


def compare(name: str, seeds: Sequence[int], peers: Path) -> Comparison:
    """Do a task with every seed under both; what is done is saved at once."""
    today = datetime.datetime.now().astimezone().date().isoformat()
    size = tasks.SIZES[name]
    found = Comparison(name, {"date": today} | machine(), asdict(size))
    for seed in seeds:
        task = tasks.make(name, seed, size)
        learnt = {library: run(library, name, task, peers) for library in LIBRARIES}
        found.runs.append({"seed": seed, **learnt})
        found.save()
    return found


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
        found = compare(name, options.seeds, options.peers_dir)
        print(found.table(), flush=True)
        far |= not found.agrees
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
