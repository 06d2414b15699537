"""Where to cut off real numbers before they become integers of eight bits.

A far outlier makes the levels of all other numbers coarse, so it may be better cut off.
Entropy calibration looks at a histogram and tries one threshold after the other: p is
the histogram with what lies beyond the threshold moved to its ends; q is p after it was
cut into as many levels as there are integers, each spread evenly over its bins that
are not empty. The threshold with the least Kullback-Leibler divergence of q from p
wins.

The method is that of NVIDIA's TensorRT (S. Migacz, GTC 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32
from minimx.core.errors import DTypeError, OperatorError, ShapeError
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.registry import Kernel, Types, register
from minimx.core.ops.spec import Cost, Spec
from minimx.operators.layers.quantize import Quantization
from minimx.operators.quantized.base import RANGE

#: What an empty bin gets before distributions are compared.
_SMALL = 1e-4


def smoothed(counts: Any) -> Any | None:
    """A distribution without zeros: they take a little from all others.

    None where there are too many zeros for that, or nothing but zeros.
    """
    full = counts != 0
    there = np.count_nonzero(full)
    taken = _SMALL * (counts.size - there) / there if there else 1.0
    found = np.where(full, counts - taken, _SMALL)
    return found if taken < 1 and found.min() > 0 else None


def quantized(counts: Any, full: Any, levels: int) -> Any:
    """Counts after they were joined to so many levels, and spread out again.

    counts: of each bin, without what was cut off. full: which bins are not empty, with
    what was cut off. The last level has the bins that are left over.
    """
    width = counts.size // levels
    starts = np.arange(levels) * width
    sums = np.add.reduceat(counts, starts)
    there = np.add.reduceat((counts != 0).astype(np.int64), starts)
    means = np.divide(sums, there, out=np.zeros(levels), where=there > 0)
    return np.where(
        full, means[np.minimum(np.arange(counts.size) // width, levels - 1)], 0
    )


def divergence(hist: Any, half: int, levels: int) -> float:
    """How far the levels are from the histogram, with a threshold `half` bins away.

    hist: counts, an odd number of them, 0 in the middle one. Infinite where the two
    cannot be compared.
    """
    middle = hist.size // 2
    start, stop = middle - half, middle + half + 1
    counts = hist[start:stop].copy()
    counts[0] = 0
    cut = counts.copy()
    cut[0] = hist[: start + 1].sum()
    cut[-1] += hist[stop:].sum()
    p, q = smoothed(cut), smoothed(quantized(counts, cut != 0, levels))
    if p is None or q is None:
        return np.inf
    p /= p.sum()
    q /= q.sum()
    return float((p * np.log(p / q)).sum())


def threshold(hist: Any, edges: Any, levels: int) -> tuple[float, float]:
    """The best threshold, and its divergence; the smallest of several that are alike.

    hist: counts of an odd number of bins; edges: their ends, one more, from -t to t.
    levels: how many integers there are.
    """
    middle, least = hist.size // 2, levels // 2
    counts = np.floor(hist).astype(np.float64)
    tried = [divergence(counts, half, levels) for half in range(least, middle + 1)]
    best = int(np.argmin(tried))
    return float(edges[middle + best + least + 1]), tried[best]


@register("_contrib_calibrate_entropy")
class CalibrateEntropy(Quantization):
    """The threshold at which numbers are best cut off, by the histogram of them.

    hist (n,), counts of an odd number of bins; hist_edges (n + 1,), from -t to t; both
    float32; outs: the threshold and its divergence (1,) each, float32

    num_quantized_bins: how many integers there are; 255 for int8. The histogram needs
    more bins than that. No gradient. Raises DTypeError, ShapeError, OperatorError.
    """

    num_quantized_bins: int = 255

    casting = SINGLE
    inputs = ("hist", "hist_edges")
    visible = 2
    output_names = ("threshold", "divergence")

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """All are of float32."""
        return [FLOAT32, FLOAT32], [FLOAT32, FLOAT32]

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Two numbers."""
        hist, edges = specs
        if hist.dtype != FLOAT32 or edges.dtype != FLOAT32:
            raise DTypeError(
                f"{self.name}: hist is {hist.dtype.name} and hist_edges "
                f"{edges.dtype.name}; both are to be float32. Convert with astype()."
            )
        if hist.ndim != 1 or hist.size % 2 == 0 or edges.shape != (hist.size + 1,):
            raise ShapeError(
                f"{self.name}: hist {hist.shape} must be a line of an odd number of "
                f"bins, and hist_edges {edges.shape} have one element more."
            )
        levels = self.num_quantized_bins
        if not 0 < levels <= hist.size:
            raise OperatorError(
                f"{self.name}: num_quantized_bins={levels}, and hist has {hist.size} "
                "bins. Take a finer histogram."
            )
        return RANGE, RANGE

    def kernel(self, *specs: Spec) -> Kernel:
        """All thresholds, one after the other."""
        levels = self.num_quantized_bins

        def run(hist: Any, edges: Any, *outs: Any) -> None:
            outs[0][0], outs[1][0] = threshold(hist, edges, levels)

        return run

    def cost(self, *specs: Spec) -> Cost:
        """Some operations for every bin and every threshold."""
        return Cost(10 * specs[0].size ** 2 // 4, specs[0].nbytes + specs[1].nbytes)
