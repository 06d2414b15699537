"""How near operators come to what the machine can do: the data of a roofline plot.

    python -m tests.benchmarks roofline

Two numbers bound an operator that computes F operations and moves B bytes: the rate at
which the processor multiplies matrices, and the rate at which memory is read and
written. It takes at least max(F / rate of products, B / rate of memory). The share of
the *roof* that it attains is that time, divided by the time it took.

Bytes are the arrays', each once. The rate of memory is the higher of a copy and of an
array that is scaled in place, which moves just those bytes. A kernel that writes to
another array makes the processor read what it will write over, so half of the roof may
be all that an operator like `relu` can attain.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.kernels.cpu.blas import one_thread
from minimx.fast.onednn.library import loaded
from minimx.tools.progress import Bar
from tests.benchmarks.measuring.machine import Watch, machine
from tests.benchmarks.reporting.results import RESULTS, Result
from tests.benchmarks.roofline import operators
from tests.benchmarks.worker import measure

#: Of square matrices, and megabytes of an array that is copied or scaled.
SIDE, MOVED = 2048, 256


@dataclass(frozen=True)
class Peak:
    """What so many cores reach: operations and bytes a second."""

    flops: float
    bandwidth: float


@dataclass(frozen=True)
class Point:
    """An operator: operations and bytes of a call, and its seconds, round by round."""

    name: str
    flops: int
    nbytes: int
    seconds: list[float]

    @property
    def took(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.seconds)

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flops / self.nbytes

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.flops / self.took

    def share(self, peak: Peak) -> float:
        """Of the roof: the least time that it can take, by the time it took.

        >>> Point("add", 10, 120, [3.0]).share(Peak(100.0, 80.0))
        0.5
        """
        return max(self.flops / peak.flops, self.nbytes / peak.bandwidth) / self.took

    def bound(self, peak: Peak) -> str:
        """Which of the two bounds it: `memory` or `compute`."""
        memory = self.nbytes / peak.bandwidth > self.flops / peak.flops
        return "memory" if memory else "compute"


@dataclass(frozen=True)
class Roofline:
    """A measurement: on which machine, the peaks by number of cores, the operators."""

    conditions: dict[str, Any]
    peaks: dict[int, Peak]
    points: list[Point]

    @property
    def peak(self) -> Peak:
        """That of all cores."""
        return self.peaks[max(self.peaks)]


def products(cores: int, seconds: float, side: int = SIDE) -> float:
    """Operations a second of a product of matrices of float32."""
    a = np.full((side, side), 0.5, np.float32)
    out = np.empty_like(a)

    def run(count: int) -> None:
        for _ in range(count):
            np.matmul(a, a, out)

    if cores == 1:
        with one_thread:
            return 2 * side**3 / measure(run, seconds)
    return 2 * side**3 / measure(run, seconds)


def moves(cores: int, seconds: float, megabytes: int = MOVED) -> float:
    """Bytes read and written a second, with a part of the arrays for each core."""
    source = np.ones(megabytes << 18, np.float32)
    target = np.zeros_like(source)
    parts = [*zip(*(np.array_split(one, cores) for one in (target, source)))]  # noqa: B905
    ways = (
        lambda part: np.copyto(*part),
        lambda part: np.multiply(part[0], 1.0, out=part[0]),
    )
    with ThreadPoolExecutor(cores) as pool:

        def repeated(way: Callable[[Any], Any]) -> Callable[[int], None]:
            def run(count: int) -> None:
                for _ in range(count):
                    list(pool.map(way, parts))

            return run

        shortest = min(measure(repeated(way), seconds / 2) for way in ways)
        return 2 * source.nbytes / shortest


def peaks(seconds: float, size: float = 1.0) -> dict[int, Peak]:
    """The peaks of one core and of all."""
    side, megabytes = max(64, round(SIDE * size)), max(1, round(MOVED * size))
    return {
        cores: Peak(products(cores, seconds, side), moves(cores, seconds, megabytes))
        for cores in dict.fromkeys([1, machine()["cores"]])
    }


def higher(one: dict[int, Peak], other: dict[int, Peak]) -> dict[int, Peak]:
    """What was reached at one of two times."""
    return {
        cores: Peak(
            max(a.flops, other[cores].flops), max(a.bandwidth, other[cores].bandwidth)
        )
        for cores, a in one.items()
    }


def run(
    names: Sequence[str],
    rounds: int,
    seconds: float,
    size: float = 1.0,
    say: Callable[[str], None] = print,
) -> Roofline:
    """Measure the machine before and after each round of operators."""
    today = datetime.datetime.now().astimezone().date().isoformat()
    conditions = {"date": today, "rounds": rounds, "seconds": seconds} | machine()
    conditions["onednn"] = loaded() is not None
    watch = Watch([])
    best, done = peaks(seconds, size), 0
    points = {name: Point(name, 0, 0, []) for name in names}
    with Bar() as bar:
        for number in range(rounds):
            for name in names:
                bar.show(done, rounds * len(names), f"{name}, round {number + 1}")
                points[name] = _turn(points[name], seconds, size)
                done += 1
            best = higher(best, peaks(seconds, size))
    conditions["others"] = watch.others([])
    found = Roofline(conditions, best, [*points.values()])
    for point in found.points:
        share = point.share(found.peak)
        say(f"{point.name}: {point.took * 1e3:.3g} ms, {share:.0%} of the roof")
    return found


def _turn(point: Point, seconds: float, size: float) -> Point:
    """A round more of an operator; its arrays are dropped afterwards."""
    call = operators.OPERATORS[point.name](size)
    call()

    def repeated(count: int) -> None:
        for _ in range(count):
            call()
        nd.waitall()

    took = measure(repeated, seconds)
    cost = operators.cost(call)
    return Point(point.name, cost.flops, cost.bytes_moved, [*point.seconds, took])


# -- kept ------------------------------------------------------------------------------


def save(found: Roofline, folder: Path = RESULTS) -> Path:
    """As JSON, a file for each day and machine."""
    name = Result(found.conditions, {}).file(folder).name
    path = folder / f"roofline-{name}"
    text = json.dumps(asdict(found), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load(path: Path) -> Roofline:
    """What `save` saved."""
    content = json.loads(path.read_text(encoding="utf-8"))
    known = {int(cores): Peak(**one) for cores, one in content["peaks"].items()}
    points = [Point(**one) for one in content["points"]]
    return Roofline(content["conditions"], known, points)


def newest(folder: Path = RESULTS) -> Path | None:
    """The file of the newest measurement."""
    return max(folder.glob("roofline-*.json"), default=None)


def main(arguments: Sequence[str]) -> None:
    """Measure, print and keep."""
    top = argparse.ArgumentParser(prog="tests.benchmarks roofline", description=__doc__)
    names = [*operators.OPERATORS]
    top.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    top.add_argument("--rounds", type=int, default=3)
    top.add_argument("--seconds", type=float, default=0.3, help="for each operator")
    top.add_argument("--size", type=float, default=1.0, help="share of the full arrays")
    top.add_argument("--onednn", type=Path, help="compute with oneDNN of this prefix")
    top.add_argument("--no-save", action="store_true")
    options = top.parse_args(arguments)
    if options.onednn:  # it is looked for when the first operator needs it
        sys.path += map(str, options.onednn.glob("lib*/python*/site-packages"))
    found = run(options.only, options.rounds, options.seconds, options.size)
    for cores, peak in found.peaks.items():
        print(
            f"{cores} cores: {peak.flops / 1e9:.0f} GFLOP/s, "
            f"{peak.bandwidth / 1e9:.1f} GB/s"
        )
    if not options.no_save:
        print(f"Saved in {save(found).name}; `pages` draws it")
