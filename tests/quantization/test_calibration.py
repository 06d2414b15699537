"""Histograms, and the threshold at which numbers are best cut off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.contrib import quantization as q
from minimx.operators.quantized.entropy import divergence, quantized, threshold

contrib: Any = mx.nd.contrib


def histogram(values: Any, bins: int) -> tuple[Any, Any]:
    end = np.abs(values).max()
    return np.histogram(values, bins, (-end, end))


def plain_divergence(hist: Any, half: int, levels: int) -> float:
    """The same, bin by bin."""
    middle = len(hist) // 2
    start, stop = middle - half, middle + half + 1
    inside = [0, *hist[start + 1 : stop]]
    p = [sum(hist[: start + 1]), *hist[start + 1 : stop - 1]]
    p.append(hist[stop - 1] + sum(hist[stop:]))
    width = len(inside) // levels
    q_values = [0.0] * len(inside)
    for k in range(levels):
        end = len(inside) if k == levels - 1 else (k + 1) * width
        part = inside[k * width : end]
        filled = sum(count != 0 for count in part)
        for place in range(k * width, end):
            if p[place] and filled:
                q_values[place] = sum(part) / filled
    both = []
    for counts in (p, q_values):
        zeros = sum(count == 0 for count in counts)
        there = len(counts) - zeros
        if not there or 1e-4 * zeros / there >= 1:
            return np.inf
        less = 1e-4 * zeros / there
        found = [count - less if count else 1e-4 for count in counts]
        if min(found) <= 0:
            return np.inf
        both.append(np.array(found) / sum(found))
    return float((both[0] * np.log(both[0] / both[1])).sum())


counts = st.lists(st.sampled_from([0, 0, 1, 2, 5, 40]), min_size=9, max_size=41).filter(
    lambda numbers: len(numbers) % 2 == 1
)


@given(counts, st.integers(3, 9))
@settings(max_examples=80, deadline=None)
def test_the_divergence_is_the_one_bin_by_bin(hist: list[int], levels: int) -> None:
    for half in range(levels // 2, len(hist) // 2 + 1):
        found = divergence(np.array(hist, float), half, levels)
        np.testing.assert_allclose(
            found, plain_divergence(hist, half, levels), rtol=1e-9
        )


@given(counts, st.integers(3, 9))
@settings(max_examples=80, deadline=None)
def test_no_other_threshold_has_less(hist: list[int], levels: int) -> None:
    edges = np.linspace(-1, 1, len(hist) + 1)
    best, distance = threshold(np.array(hist, float), edges, levels)
    halves = range(levels // 2, len(hist) // 2 + 1)
    every = {half: plain_divergence(hist, half, levels) for half in halves}
    assert distance == pytest.approx(min(every.values()), rel=1e-9, abs=1e-12)
    place = int(np.flatnonzero(edges == best)[0]) - 1 - len(hist) // 2
    assert every[place] == pytest.approx(distance, rel=1e-9, abs=1e-12)
    assert 0 < best <= 1


@given(counts, st.integers(3, 9))
@settings(max_examples=60, deadline=None)
def test_levels_keep_the_sum(hist: list[int], levels: int) -> None:
    numbers = np.array(hist, float)
    if levels <= len(hist):
        spread = quantized(numbers, numbers != 0, levels)
        assert spread.sum() == pytest.approx(numbers.sum())
        assert ((spread == 0) == (numbers == 0)).all()


@given(counts, st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_a_threshold_has_the_unit_of_the_numbers(hist: list[int], unit: float) -> None:
    edges = np.linspace(-1, 1, len(hist) + 1)
    numbers = np.array(hist, float)
    one, first = threshold(numbers, edges, 5)
    other, second = threshold(numbers, edges * unit, 5)
    assert other == pytest.approx(one * unit)
    assert first == second


def test_an_outlier_is_cut_off_and_plain_numbers_are_not() -> None:
    rng = np.random.default_rng(0)
    flat = rng.uniform(-1, 1, 100_000)
    outlier = np.append(rng.normal(0, 0.1, 100_000), 9.0)
    ends = []
    for values in (flat, outlier):
        hist, edges = histogram(values, 2001)
        best, distance = contrib.calibrate_entropy(
            mx.nd.array(hist), mx.nd.array(edges), num_quantized_bins=255
        )
        ends.append(best.asscalar())
        assert 0 <= distance.asscalar() < 1
    assert ends[0] > 0.95
    assert 0.2 < ends[1] < 3


@pytest.mark.parametrize(
    ("bins", "edges", "levels", "error", "match"),
    [
        (8, 9, 3, mx.errors.ShapeError, "an odd number"),
        (9, 9, 3, mx.errors.ShapeError, "one element more"),
        (9, 10, 11, mx.errors.OperatorError, "Take a finer histogram"),
        (9, 10, 0, mx.errors.OperatorError, "Take a finer histogram"),
    ],
)
def test_bad_histograms(
    bins: int, edges: int, levels: int, error: Any, match: str
) -> None:
    with pytest.raises(error, match=match):
        contrib.calibrate_entropy(
            mx.nd.ones(bins), mx.nd.ones(edges), num_quantized_bins=levels
        ).wait_to_read()


arrays = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=20)


@given(st.lists(arrays, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_histogram_counts_every_number_once(batches: list[list[float]]) -> None:
    collector = q._LayerHistogramCollector(num_bins=21)
    for batch in batches:
        collector.collect("x", mx.nd.array(batch))
    counts, edges, low, high, end = collector.hist_dict["x"]
    numbers = np.concatenate([np.array(batch, "float32") for batch in batches])
    assert counts.sum() == numbers.size
    assert len(counts) % 2 == 1 and len(edges) == len(counts) + 1
    assert (low, high) == (numbers.min(), numbers.max())
    assert end >= np.abs(numbers).max()


def test_bins_keep_their_width_when_more_are_added() -> None:
    first = np.array([-1.0, 0.0, 1.0], "float32")
    old = (*np.histogram(first, 5, (-1, 1)), -1.0, 1.0, 1.0)
    counts, edges, low, high, end = q.combine_histogram(old, np.array([3.0]), 3, 3, 3)
    np.testing.assert_allclose(np.diff(edges), 0.4, rtol=1e-6)
    assert (low, high, counts.sum()) == (-1, 3, 4)
    assert end >= 3
    assert counts[edges[1:] > 2.6][-2:].sum() == 1
    same = q.combine_histogram(old, np.array([0.5]), 0.5, 0.5, 0.5)
    assert len(same[0]) == 5 and same[0].sum() == 4


def test_layers_that_are_not_listed_are_not_looked_at() -> None:
    ends = q._LayerOutputMinMaxCollector("int8", include_layer=["a"])
    lines = q._LayerHistogramCollector(include_layer=["a"])
    for collector in (ends, lines):
        collector.collect("a", mx.nd.array([1.0, -2.0]))
        collector.collect("a", mx.nd.array([3.0, 0.0]))
        collector.collect("b", mx.nd.array([9.0]))
    assert ends.min_max_dict == {"a": (-2.0, 3.0)}
    assert [*lines.hist_dict] == ["a"]
    with pytest.raises(mx.MXNetError, match="give an odd number"):
        q._LayerHistogramCollector(num_bins=10)
