"""Convolution: algorithms agree, fit their workspace, do not depend on threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.kernels import find
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm, Geometry
from minimx.core.knobs import knobs
from minimx.core.shapes import window
from minimx.fast.convolution import transforms
from minimx.fast.convolution.algorithms import (
    CACHE,
    NAMES,
    PIECES,
    SUMS,
    Stack,
    algorithms,
    known,
)

DIRECTIONS = (FORWARD, DATA, WEIGHT)


@st.composite
def geometries(draw: Any) -> Geometry:
    def pair(low: int, high: int) -> tuple[int, int]:
        return draw(st.integers(low, high)), draw(st.integers(low, high))

    groups = draw(st.integers(1, 3))
    kernel, stride, dilate, pad = pair(1, 4), pair(1, 3), pair(1, 2), pair(0, 2)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilate, strict=True)]
    image = [
        max(1, span - 2 * p) + draw(st.integers(0, 9))
        for span, p in zip(spans, pad, strict=True)
    ]
    stops = map(window, image, kernel, stride, pad, dilate)
    channels, filters = (
        groups * draw(st.integers(1, 4)),
        groups * draw(st.integers(1, 5)),
    )
    sizes = (draw(st.integers(1, 5)), channels, *image, filters)
    return Geometry._make((*sizes, *kernel, *stride, *dilate, *pad, groups, *stops))


def numbered(direction: str, at: Geometry, itemsize: int) -> dict[int, Algorithm]:
    return {one.number: one for one in algorithms(direction, at, itemsize, 2)}


@st.composite
def tiled(draw: Any) -> Geometry:
    """Windows of 3×3 that visit every pixel."""
    groups, counts = draw(st.integers(1, 2)), st.integers(1, 3)
    image = [draw(st.integers(3, 14)) for _ in range(2)]
    pad = [draw(st.integers(0, 4)) for _ in range(2)]
    stops = [n + 2 * p - 2 for n, p in zip(image, pad, strict=True)]
    channels, filters = groups * draw(counts), groups * draw(counts)
    sizes = (draw(counts), channels, *image, filters)
    return Geometry._make((*sizes, 3, 3, 1, 1, 1, 1, *pad, groups, *stops))


class Arrays:
    """Random arrays for one convolution, and the three kernels on them."""

    def __init__(self, at: Geometry, dtype: str = "float64") -> None:
        rng = np.random.default_rng(0)
        self.at, self.dtype = at, np.dtype(dtype)
        self.images = (at.images, at.channels, at.height, at.width)
        self.outs = (at.images, at.filters, at.out_h, at.out_w)
        channels = at.channels // at.groups
        self.filters = (at.filters, channels, at.kernel_h, at.kernel_w)
        self.data = rng.standard_normal(self.images).astype(dtype)
        self.weight = rng.standard_normal(self.filters).astype(dtype)
        self.bias = rng.standard_normal(at.filters).astype(dtype)
        self.dout = rng.standard_normal(self.outs).astype(dtype)

    def _empty(self, shape: Any) -> Any:
        return np.full(shape, np.nan, self.dtype)

    def run(self, direction: str, number: int) -> list[Any]:
        """The outputs; the workspace is as large as declared, and full of NaN."""
        algorithm = numbered(direction, self.at, self.dtype.itemsize)[number]
        return self.run_algorithm(direction, algorithm)

    def run_algorithm(self, direction: str, algorithm: Algorithm) -> list[Any]:
        """The same for an algorithm."""
        scratch = [np.full(algorithm.workspace, 255, np.uint8)]
        scratch = scratch if algorithm.workspace else []
        if direction == FORWARD:
            outs = [self._empty(self.outs)]
            run = find("conv.forward")(algorithm, self.at)
            run(self.data, self.weight, self.bias, *outs, *scratch)
        elif direction == DATA:
            outs = [self._empty(self.images)]
            run = find("conv.data_gradient")(algorithm, self.at)
            run(self.dout, self.weight, *outs, *scratch)
        else:
            outs = [self._empty(self.filters), self._empty(self.at.filters)]
            run = find("conv.weight_gradient")(algorithm, self.at)
            run(self.dout, self.data, *outs, *scratch)
        return outs


def bounds(at: Geometry) -> dict[str, float]:
    """How many products, none larger than 25, are summed up for one number.

    Numbers drawn from a normal distribution stay below 5.
    """
    window = at.kernel_h * at.kernel_w
    return {
        FORWARD: 25.0 * (at.channels // at.groups * window + 1),
        DATA: 25.0 * at.filters // at.groups * window,
        WEIGHT: 25.0 * at.images * at.out_h * at.out_w,
    }


@given(geometries(), st.sampled_from(("float64", "float32")))
@settings(max_examples=120, deadline=None)
def test_algorithms_agree_within_the_errors_they_declare(
    at: Geometry, dtype: str
) -> None:
    arrays, exact = Arrays(at, dtype), Arrays(at)
    unit = float(np.finfo(dtype).eps)
    for direction in DIRECTIONS:
        expected = exact.run(direction, 0)
        width = arrays.dtype.itemsize
        for number, algorithm in numbered(direction, at, width).items():
            bound = algorithm.error * unit * bounds(at)[direction] * 4
            for got, wanted in zip(
                arrays.run(direction, number), expected, strict=True
            ):
                np.testing.assert_allclose(got, wanted, rtol=0, atol=bound)


@given(tiled())
@settings(max_examples=60, deadline=None)
def test_transforms_hold_for_any_padding_and_any_rest(at: Geometry) -> None:
    arrays = Arrays(at)
    for direction in DIRECTIONS:
        expected = arrays.run(direction, 0)
        assert {4, 5, 6} <= set(numbered(direction, at, 8))
        for number in (4, 5, 6):
            for got, wanted in zip(
                arrays.run(direction, number), expected, strict=True
            ):
                np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_errors_grow_as_declared() -> None:
    """F(2×2) rounds about like a plain sum, F(4×4) some ten times worse."""
    single, double = Arrays(WIDE, "float32"), Arrays(WIDE)
    for direction in DIRECTIONS:
        wanted = double.run(direction, 2)[0]  # with half of the digits to spare

        def worst(
            number: int, direction: str = direction, wanted: Any = wanted
        ) -> float:
            return float(np.abs(single.run(direction, number)[0] - wanted).max())

        assert worst(4) < worst(5)
        assert worst(4) < 10 * worst(2)


def test_tiles_are_for_windows_of_three_that_visit_every_pixel() -> None:
    for at in (LENET, STRIDED, POINTWISE):
        every = {one.name: one for one in known(FORWARD, at, 4)}
        assert "3×3" in every["winograd2"].unfit
        assert "winograd2" not in {one.name for one in algorithms(FORWARD, at, 4)}


def test_sliced_adds_in_float16() -> None:
    at = WIDE._replace(images=4)
    arrays = Arrays(at, "float16")
    for direction in DIRECTIONS:
        (sliced,) = [
            one
            for one in algorithms(direction, at, 4, 2, narrow="float16")
            if one.reduced_precision
        ]
        mec = numbered(direction, at, 4)[2]
        outs = arrays.run_algorithm(direction, sliced)
        exact = Arrays(at).run(direction, 0)
        for got, wanted in zip(outs, exact, strict=True):
            assert got.dtype == np.float16
            scale = np.abs(wanted).max()
            worst = np.abs(got - wanted).max() / scale
            assert 2.0**-12 < worst < 2.0**-6
        if direction == WEIGHT:
            assert sliced.workspace < mec.workspace


LENET = Geometry(24, 4, 12, 12, 6, 5, 5, 1, 1, 1, 1, 0, 0, 1, 8, 8)
STRIDED = Geometry(3, 6, 30, 30, 8, 3, 3, 2, 2, 1, 1, 1, 1, 2, 15, 15)
WIDE = Geometry(2, 64, 64, 64, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 64, 64)  # several bands
POINTWISE = Geometry(4, 16, 14, 14, 8, 1, 1, 1, 1, 1, 1, 0, 0, 1, 14, 14)
# Fewer stops than filters and channels: these are cut, and the last piece is shorter.
SMALL = Geometry(1, 90, 7, 7, 150, 3, 3, 1, 1, 1, 1, 1, 1, 1, 7, 7)
GROUPED = Geometry(1, 120, 9, 8, 140, 3, 3, 2, 1, 1, 1, 1, 1, 2, 5, 8)
FLAT = Geometry(1, 130, 5, 6, 50, 1, 1, 1, 1, 1, 1, 0, 0, 1, 5, 6)


# Batches of images that have so few stops that they are stacked.
TINY = Geometry(16, 40, 2, 2, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1, 2, 2)
ONE = Geometry(8, 12, 4, 3, 6, 3, 1, 3, 2, 1, 1, 0, 0, 2, 1, 2)
LOOSE = Geometry(5, 4, 5, 4, 6, 2, 2, 3, 2, 1, 1, 0, 1, 1, 2, 3)  # a row is not reached


@pytest.mark.parametrize("at", [TINY, ONE, LOOSE])
def test_tiny_images_are_one_tall_image(at: Geometry) -> None:
    arrays = Arrays(at)
    for direction in DIRECTIONS:
        way = numbered(direction, at, 8)[1].way
        assert isinstance(way, Stack)
        assert way.part.images == 1
        pairs = zip(arrays.run(direction, 1), arrays.run(direction, 0), strict=True)
        for got, wanted in pairs:
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("at", [LENET, STRIDED, WIDE, POINTWISE, SMALL, TINY])
@pytest.mark.parametrize("number", (0, 1, 2, 4, 5, 6))
def test_bits_do_not_depend_on_the_number_of_threads(at: Geometry, number: int) -> None:
    arrays = Arrays(at, "float32")
    for direction in DIRECTIONS:
        results = []
        if number not in numbered(direction, at, 4):
            continue
        for threads in (1, 2, 2):
            with knobs(OMP_NUM_THREADS=threads):
                results.append(arrays.run(direction, number))
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("at", [SMALL, GROUPED, FLAT])
@pytest.mark.parametrize("room", (CACHE, 1))
def test_small_images_are_cut_by_filters_and_channels(
    at: Geometry, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little room, too: in bands, whose parts of the gradient are added up."""
    for name, value in (("CACHE", room), ("STOPS", 20), ("ROWS", 8), ("COLUMNS", 32)):
        monkeypatch.setattr(f"minimx.fast.convolution.algorithms.{name}", value)
    monkeypatch.setattr(transforms, "SHARED_CACHE", room)
    arrays = Arrays(at)
    for direction in (FORWARD, WEIGHT):
        low = numbered(direction, at, 8)[1].lowering
        assert low is not None
        assert low.cut > 0
        assert low.pieces > 1
        assert (low.band < at.out_h) == (room == 1)
        pairs = zip(arrays.run(direction, 1), arrays.run(direction, 0), strict=True)
        for got, wanted in pairs:
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


def test_the_last_stage_of_resnet_copies_each_window_once() -> None:
    """And no sum is kept beside the gradient of its nine megabytes."""
    last = Geometry(1, 512, 7, 7, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 7, 7)
    for direction in (FORWARD, WEIGHT):
        im2col = algorithms(direction, last, 4)[1]
        assert im2col.lowering is not None
        assert im2col.lowering.pieces > 1
        assert im2col.workspace == 4 * 512 * 9 * 49


@pytest.mark.parametrize("at", [WIDE, STRIDED])
def test_single_precision_agrees_with_double(at: Geometry) -> None:
    single, double = Arrays(at, "float32"), Arrays(at)
    for direction in DIRECTIONS:
        for number in range(3):
            pairs = zip(
                single.run(direction, number), double.run(direction, 0), strict=True
            )
            for a, b in pairs:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())


def test_lean_adds_up_the_same_gradient() -> None:
    case = Arrays(LENET, "float32")
    for got, expected in zip(case.run(WEIGHT, 3), case.run(WEIGHT, 2), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


# -- what there is ---------------------------------------------------------------------


@given(geometries(), st.sampled_from(DIRECTIONS), st.sampled_from((4, 8)))
def test_algorithms_are_numbered(at: Geometry, direction: str, itemsize: int) -> None:
    every = list(known(direction, at, itemsize))
    assert [a.number for a in every][:3] == [0, 1, 2]
    assert all(a.name == NAMES[a.number] and a.direction == direction for a in every)
    uncertain = {a.name for a in every if not a.deterministic}
    assert uncertain <= {"onednn"}  # and lean, which depends on threads
    assert every[0].workspace == 0
    for algorithm in every[1:3]:
        low = algorithm.lowering or algorithm.way.lowering
        assert low.taps * low.products == at.kernel_h
        assert 1 <= low.pieces <= PIECES


@given(geometries(), st.integers(1, 8))
def test_lean_takes_no_more_memory_than_mec(at: Geometry, threads: int) -> None:
    by_name = {one.name: one for one in algorithms(WEIGHT, at, 4, threads)}
    lean, mec = by_name["lean"], by_name["mec"]
    assert (lean.number, lean.deterministic) == (3, False)
    assert lean.workspace <= mec.workspace
    assert "lean" not in {one.name for one in algorithms(FORWARD, at, 4, threads)}


def test_mec_takes_less_memory_than_im2col() -> None:
    by_number = numbered(FORWARD, LENET, 4)
    assert 2 * by_number[2].workspace < by_number[1].workspace


def test_running_sums_of_a_large_weight_stay_within_their_share() -> None:
    large = Geometry(64, 512, 7, 7, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 7, 7)
    im2col, mec = algorithms(WEIGHT, large, 4)[1:3]
    assert mec.lowering is not None
    assert 2 <= mec.lowering.pieces < PIECES
    assert mec.lowering.pieces * large.weights * 4 <= SUMS
    # where there are channels for all, im2col has no sums beside the gradient
    assert im2col.lowering is not None
    assert im2col.lowering.pieces == PIECES
    assert im2col.workspace < large.weights * 4
