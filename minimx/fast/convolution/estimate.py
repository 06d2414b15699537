"""How long an algorithm of convolution should take: a model fitted to measurements.

Seconds are a sum of `features`, counts that follow from shapes alone, each times a
coefficient of the algorithm: what one unit of it took on the machine named in
`MACHINE`, two threads busy. Another machine has other seconds, but mostly the same
order. `python -m tests.benchmarks.convolution --fit` fits them anew.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Final

from minimx.core.kernels.convolution import DATA, WEIGHT, Algorithm, Geometry
from minimx.fast.convolution.algorithms import SIDE, TINY, Stack, Tiles

MACHINE: Final = "2 cores, AMD EPYC (Zen 4)"

#: Nanoseconds for one unit of each feature, by algorithm.
COEFFICIENTS: Final[dict[str, tuple[float, ...]]] = {
    "direct": (0.339, 0.0, 0.0, 5120.0),
    "im2col": (0.0274, 0.117, 1090.0, 3500.0),
    "mec": (0.0291, 0.109, 243.0, 7470.0),
    "lean": (0.0241, 0.297, 300.0, 4730.0),
    "winograd2": (0.0369, 0.709, 984.0, 10300.0),
    "winograd4": (0.0335, 0.746, 499.0, 10200.0),
    "fft": (0.12, 0.33, 0.0, 60_000.0),
    "onednn": (0.0105, 0.25, 0.0, 15_000.0),
    "sliced": (0.035, 0.5, 300.0, 60_000.0),
}


#: For a CUDA device of about 10 TFLOP/s, reasoned and not measured: nanoseconds for a
#: multiplication whose numbers come through the caches, for one whose numbers come from
#: shared memory, and for a launch.
THROUGH_CACHES, IN_TILES, LAUNCH = 1e-3, 2e-4, 5e3


def on_cuda(algorithm: Algorithm, at: Geometry) -> float:
    """The guess for a CUDA device, where tiles that hang over the edge cost as well."""
    way: Tiles | None = algorithm.way
    if way is None:
        return (at.products * THROUGH_CACHES + LAUNCH) * 1e-9
    whole: int = at.groups * way.depth
    for length in (way.rows, way.columns):
        whole *= -(-length // SIDE) * SIDE
    return (whole * IN_TILES + LAUNCH * (1 + (way.parts > 1))) * 1e-9


def seconds(algorithm: Algorithm, at: Geometry, itemsize: int) -> float:
    """The model's guess."""
    if algorithm.unfit:
        return 0.0
    if algorithm.dtype == "bfloat16":  # half the bytes, two products an instruction
        itemsize = 2
    weighed = zip(COEFFICIENTS[algorithm.name], features(algorithm, at), strict=True)
    return sum(a * b for a, b in weighed) * 1e-9 * itemsize / 4


def features(algorithm: Algorithm, at: Geometry) -> tuple[float, ...]:
    """Multiplications, elements copied or transformed, matrix products, and a one."""
    pixels, stops = at.height * at.width, at.out_h * at.out_w
    arrays = at.images * (at.channels * pixels + at.filters * stops)
    low, way = algorithm.lowering, algorithm.way
    if isinstance(way, Stack):
        inner = replace(algorithm, lowering=way.lowering, way=None)
        products, moved, calls, one = features(inner, way.part)
        return products, moved + arrays, calls, one
    if algorithm.name.startswith("winograd"):
        count = at.images * way.rows * way.cols
        product = at.filters * (at.channels // at.groups) * way.points
        moved = way.points * count * (at.channels + at.filters) + 2 * product
        bands = at.groups * -(-at.images * way.rows // way.band)
        return float(product * count), float(moved), bands * way.points, 1.0
    if algorithm.name == "fft":
        plane = way.height * way.width
        planes = at.images * (at.channels + at.filters) + at.weights / (
            at.kernel_h * at.kernel_w
        )
        mixed = plane / 2 * at.images * at.weights / (at.kernel_h * at.kernel_w)
        return 4 * mixed, planes * plane * log2(plane + 1), 0.0, 1.0
    if low is None:
        return float(at.products), float(arrays), 0.0, 1.0
    copied = at.images * at.channels * low.taps * at.kernel_w * stops
    if at.is_pointwise:
        copied = 0
    fetched = at.images * at.weights if stops <= TINY else 0
    band = at.channels // at.groups if algorithm.direction == DATA else at.out_h
    calls = at.images * at.groups * low.products * -(-band // low.band)
    moved = copied + arrays + fetched
    if low.cut:
        calls *= low.pieces
        moved += 2 * low.packed if algorithm.direction == WEIGHT else 0
    elif algorithm.direction == WEIGHT:
        moved += 2 * low.pieces * low.packed + at.images * low.turn
    return float(at.products), float(moved), float(calls), 1.0
