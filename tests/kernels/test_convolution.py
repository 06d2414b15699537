"""Convolution: algorithms agree, fit their workspace, do not depend on threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.kernels import find
from minimx.kernels.convolution import (
    DATA,
    FORWARD,
    PIECES,
    SUMS,
    WEIGHT,
    Geometry,
    algorithms,
    choose,
)
from minimx.knobs import knobs
from minimx.shapes import window

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
        algorithm = algorithms(direction, self.at, self.dtype.itemsize, 2)[number]
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


@given(geometries())
@settings(max_examples=150, deadline=None)
def test_algorithms_agree(at: Geometry) -> None:
    arrays = Arrays(at)
    for direction in DIRECTIONS:
        direct, im2col, mec = (arrays.run(direction, number) for number in range(3))
        for a, b, c in zip(direct, im2col, mec, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(c, a, rtol=1e-10, atol=1e-10)


LENET = Geometry(24, 4, 12, 12, 6, 5, 5, 1, 1, 1, 1, 0, 0, 1, 8, 8)
STRIDED = Geometry(3, 6, 30, 30, 8, 3, 3, 2, 2, 1, 1, 1, 1, 2, 15, 15)
WIDE = Geometry(2, 64, 64, 64, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 64, 64)  # several bands
POINTWISE = Geometry(4, 16, 14, 14, 8, 1, 1, 1, 1, 1, 1, 0, 0, 1, 14, 14)


@pytest.mark.parametrize("at", [LENET, STRIDED, WIDE, POINTWISE])
@pytest.mark.parametrize("number", range(3))
def test_bits_do_not_depend_on_the_number_of_threads(at: Geometry, number: int) -> None:
    arrays = Arrays(at, "float32")
    for direction in DIRECTIONS:
        results = []
        for threads in (1, 2, 2):
            with knobs(OMP_NUM_THREADS=threads):
                results.append(arrays.run(direction, number))
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert a.tobytes() == b.tobytes()


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


# -- the policy ------------------------------------------------------------------------


@given(geometries(), st.sampled_from(DIRECTIONS), st.sampled_from((4, 8)))
def test_algorithms_are_numbered_and_deterministic(
    at: Geometry, direction: str, itemsize: int
) -> None:
    known = algorithms(direction, at, itemsize)
    assert [a.number for a in known] == [0, 1, 2]
    assert [a.name for a in known] == ["direct", "im2col", "mec"]
    assert all(a.deterministic and a.direction == direction for a in known)
    assert known[0].workspace == 0
    for algorithm in known[1:]:
        low = algorithm.lowering
        assert low is not None
        assert low.taps * low.products == at.kernel_h
        assert 1 <= low.pieces <= PIECES


@given(geometries(), st.sampled_from(DIRECTIONS), st.integers(0, 1 << 22))
def test_the_choice_fits_the_limit(at: Geometry, direction: str, limit: int) -> None:
    chosen = choose(direction, at, 4, limit)
    assert chosen.workspace <= limit
    assert chosen in algorithms(direction, at, 4)


@given(geometries(), st.integers(1, 8))
def test_lean_takes_no_more_memory_than_mec(at: Geometry, threads: int) -> None:
    *_, mec, lean = algorithms(WEIGHT, at, 4, threads)
    assert (lean.number, lean.name, lean.deterministic) == (3, "lean", False)
    assert lean.workspace <= mec.workspace
    assert len(algorithms(FORWARD, at, 4, threads)) == 3


def test_lean_is_chosen_only_where_mec_does_not_fit_and_threads_may_matter() -> None:
    *_, mec, lean = algorithms(WEIGHT, LENET, 4, 2)
    assert choose(WEIGHT, LENET, 4, mec.workspace, 2).name == "mec"
    assert choose(WEIGHT, LENET, 4, mec.workspace - 1, 2).name == "lean"
    assert choose(WEIGHT, LENET, 4, mec.workspace - 1).name == "direct"
    assert choose(WEIGHT, LENET, 4, lean.workspace - 1, 2).name == "direct"


def test_mec_takes_less_memory_than_im2col() -> None:
    _, im2col, mec = algorithms(FORWARD, LENET, 4)
    assert 2 * mec.workspace < im2col.workspace


def test_running_sums_of_a_large_weight_stay_within_their_share() -> None:
    large = Geometry(64, 512, 7, 7, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 7, 7)
    for algorithm in algorithms(WEIGHT, large, 4)[1:]:
        assert algorithm.lowering is not None
        assert 2 <= algorithm.lowering.pieces < PIECES
        assert algorithm.lowering.pieces * large.weights * 4 <= SUMS


def test_the_choice_is_mec_where_it_fits_and_direct_where_nothing_does() -> None:
    assert choose(FORWARD, LENET, 4).name == "mec"
    assert choose(FORWARD, LENET, 4, limit=0).name == "direct"
    assert choose(FORWARD, POINTWISE, 4, limit=0).workspace == 0
