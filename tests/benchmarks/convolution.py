"""`python -m tests.benchmarks.convolution`: every algorithm on ResNet-50's 3×3 layers.

Rates are multiplications and additions of the plain sum per second, divided by what
NumPy's product of two square matrices reaches with as many multiplications, in the
same rounds; so Winograd may be above 1. All on one thread, in seconds of the processor
(so that others who work beside this do not count), minima over rounds. `--fit` measures
many shapes instead, on all threads and by the wall clock, and prints the coefficients
of `minimx.fast.convolution.estimate`.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from minimx.core.kernels import find
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm, Geometry
from minimx.core.kernels.cpu.blas import one_thread
from minimx.core.knobs import knobs
from minimx.core.shapes import window
from minimx.fast.convolution import tuner
from minimx.fast.convolution.algorithms import NAMES, algorithms
from minimx.fast.convolution.estimate import features
from tests.benchmarks.measuring.machine import machine

RESULTS = Path(__file__).parent / "results"
DIRECTIONS = (FORWARD, DATA, WEIGHT)
KERNELS = {FORWARD: "forward", DATA: "data_gradient", WEIGHT: "weight_gradient"}
#: Channels and edge of the images of ResNet-50's four stages.
LAYERS = ((64, 56), (128, 28), (256, 14), (512, 7))
Runner = Callable[[], object]


def square(images: int, channels: int, edge: int, **other: int) -> Geometry:
    """A convolution that keeps the image, unless `other` says something else."""
    kernel, stride = other.get("kernel", 3), other.get("stride", 1)
    filters, pad = other.get("filters", channels), kernel // 2
    stop = window(edge, kernel, stride, pad, 1)
    sizes = images, channels, edge, edge, filters, kernel, kernel, stride, stride
    return Geometry(*sizes, 1, 1, pad, pad, other.get("groups", 1), stop, stop)


def runner(algorithm: Algorithm, at: Geometry) -> Runner:
    """A call of its kernel on arrays of its own."""
    arrays = tuner._arrays(algorithm, at, np.dtype(np.float32))
    run = find(f"conv.{KERNELS[algorithm.direction]}")(algorithm, at)
    return lambda: run(*arrays)


def shortest(
    runs: dict[str, Runner], rounds: int, clock: Callable[[], float] = perf_counter
) -> dict[str, float]:
    """Seconds of each, the least of all rounds; the first does not count."""
    times = dict.fromkeys(runs, np.inf)
    for turn, (name, run) in itertools.product(range(rounds + 1), runs.items()):
        if turn > 2 and times[name] > 5 * min(times.values()):
            continue
        begin = clock()
        run()
        if turn:
            times[name] = min(times[name], clock() - begin)
    return times


def product(matrix: Any, target: Any) -> None:
    """The square of a matrix, on one thread."""
    with one_thread:
        np.matmul(matrix, matrix, target)


def layers(rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each layer, batch and direction: products per second of each."""
    for batch, (channels, edge) in itertools.product((1, 16), LAYERS):
        at = square(batch, channels, edge)
        side = round(at.products ** (1 / 3))
        left = np.full((side, side), 0.5, np.float32)
        target = np.empty_like(left)
        for direction in DIRECTIONS:
            runs = {
                one.name: runner(one, at)
                for one in algorithms(direction, at, 4, 2)
                if one.workspace < tuner.MOST
            }
            runs["product"] = partial(product, left, target)
            with knobs(OMP_NUM_THREADS=1):
                times = shortest(runs, rounds, process_time)
            rate = side**3 / times.pop("product")
            yield {
                "layer": f"{channels} channels, {edge}×{edge}",
                "batch": batch,
                "direction": direction,
                "GFLOP/s of the product": round(2e-9 * rate, 1),
                "shares": {
                    n: round(at.products / t / rate, 3) for n, t in times.items()
                },
            }


def samples() -> Iterator[Geometry]:
    """Shapes of common networks, from LeNet to VGG."""
    for batch, (channels, edge) in itertools.product((1, 8, 32), LAYERS):
        yield square(batch, channels, edge)
        yield square(batch, channels, edge, kernel=1, filters=2 * channels)
        yield square(batch, channels, edge, stride=2, filters=2 * channels)
    for batch, kernel in itertools.product((1, 16), (3, 5, 7, 11)):
        yield square(batch, 3, 32, kernel=kernel, filters=16)
        yield square(batch, 16, 32, kernel=kernel)
        yield square(batch, 8, 64, kernel=kernel, filters=8)
        yield square(batch, 32, 16, kernel=kernel)
    for batch in (1, 16):
        yield square(batch, 3, 112, kernel=7, stride=2, filters=64)
        yield square(batch, 64, 28, groups=64)
        yield square(batch, 32, 28, groups=4)
        yield square(batch, 4, 8)
        yield square(batch, 1, 28, kernel=5, filters=8)


def measured(rounds: int) -> dict[str, list[tuple[tuple[float, ...], float]]]:
    """Features and seconds of every algorithm on every sample."""
    found: dict[str, list[tuple[tuple[float, ...], float]]] = {}
    for at, direction in itertools.product(samples(), DIRECTIONS):
        every = [
            one
            for one in algorithms(direction, at, 4, 2)
            if one.workspace < 1 << 28 and (one.number or at.products < 1e8)
        ]
        times = shortest({one.name: runner(one, at) for one in every}, rounds)
        for one in every:
            found.setdefault(one.name, []).append((features(one, at), times[one.name]))
    return found


def fitted(points: list[tuple[tuple[float, ...], float]]) -> list[float]:
    """Coefficients in nanoseconds, none negative; every sample counts alike."""
    matrix = np.array([[1e-9 * f / t for f in counts] for counts, t in points])
    found = np.zeros(matrix.shape[1])
    scale = np.maximum((matrix**2).sum(0), 1e-30)
    for _ in range(5000):
        for k in range(found.size):
            rest = 1.0 - matrix @ found + matrix[:, k] * found[k]
            found[k] = max(0.0, matrix[:, k] @ rest / scale[k])
    return [float(f"{x:.3g}") for x in found]


def main() -> None:
    """Measure and report."""
    top = argparse.ArgumentParser(description=__doc__)
    top.add_argument("--rounds", type=int, default=7)
    top.add_argument("--fit", action="store_true")
    top.add_argument("--no-save", action="store_true")
    options = top.parse_args()
    if options.fit:
        for name, points in measured(options.rounds).items():
            print(f'    "{name}": {tuple(fitted(points))},', flush=True)
        return
    rows = []
    for row in layers(options.rounds):
        rows.append(row)
        shares = ", ".join(f"{n} {s:.2f}" for n, s in row["shares"].items())
        words = f"{row['layer']}, batch {row['batch']}, {row['direction']}: {shares}"
        print(words, flush=True)
    if not options.no_save:
        today = datetime.datetime.now().astimezone().date().isoformat()
        said = {"date": today, **machine(), "algorithms": NAMES, "rows": rows}
        path = RESULTS / "convolution.json"
        path.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
