"""What calibration sees of a network on real numbers, and the ranges that follow.

collector = LayerOutputMinMaxCollector("int8", ["conv0_output"])
executor.set_monitor_callback(collector.collect, monitor_all=True)
... run some batches ...
collector.min_max_dict       # {"conv0_output": (-1.5, 2.0)}
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core.errors import ArgumentError

#: Counts, ends of bins, smallest and largest number, and the end of the last bin.
Histogram = tuple[Any, Any, Any, Any, Any]
Table = dict[str, tuple[Any, Any]]

#: How many bins a histogram has at first, and at most.
BINS, MOST_BINS = 8001, 1_000_001
#: How many levels there are for numbers of both signs; for numbers without negative
#: ones MXNet takes twice as many and one more.
LEVELS = 255


class _Collector:
    """Looks at the values of some layers, by the names that monitors see."""

    def __init__(self, include_layer: Collection[str] | None, logger: Any) -> None:
        self.include_layer = include_layer
        self.logger = logger

    def wants(self, name: str) -> bool:
        """Whether a value is to be looked at; all are if there is no list."""
        return self.include_layer is None or name in self.include_layer

    def log(self, text: str, *args: Any) -> None:
        """Tell the logger, if there is one."""
        if self.logger:
            self.logger.debug(text, *args)


class LayerHistogramCollector(_Collector):
    """Collects a histogram for each layer, for entropy calibration: `hist_dict`.

    num_bins: an odd number; include_layer: names of layers, None for all.
    """

    def __init__(
        self,
        num_bins: int = BINS,
        include_layer: Collection[str] | None = None,
        logger: Any = None,
    ) -> None:
        super().__init__(include_layer, logger)
        if num_bins < 1 or num_bins % 2 == 0:
            raise ArgumentError(
                f"num_bins={num_bins}: give an odd number, so that 0 is in the middle."
            )
        self.num_bins = num_bins
        self.hist_dict: dict[str, Histogram] = {}

    def collect(self, name: str, arr: Any) -> None:
        """Add the values of an array, which a monitor calls by that name."""
        if not self.wants(name):
            return
        values = arr.asnumpy()
        self.log("Collecting layer %s histogram of shape %s", name, values.shape)
        low, high = values.min(), values.max()
        end = max(abs(low), abs(high))
        before = self.hist_dict.get(name)
        if before is None:
            counts, edges = np.histogram(values, self.num_bins, (-end, end))
            self.hist_dict[name] = counts, edges, low, high, end
        else:
            self.hist_dict[name] = combine_histogram(before, values, low, high, end)


class LayerOutputMinMaxCollector(_Collector):
    """Collects the smallest and largest value of each layer: `min_max_dict`.

    quantized_dtype: what they will be used for; nothing depends on it. include_layer:
    names of layers, None for all.
    """

    def __init__(
        self,
        quantized_dtype: str,
        include_layer: Collection[str] | None = None,
        logger: Any = None,
    ) -> None:
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict: Table = {}

    def collect(self, name: str, arr: Any) -> None:
        """Look at the values of an array, which a monitor calls by that name."""
        if not self.wants(name):
            return
        low, high = arr.min().asscalar(), arr.max().asscalar()
        old = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(old[0], low), max(old[1], high)
        self.log("Collecting layer %s min_range=%f, max_range=%f", name, low, high)


def combine_histogram(
    old_hist: Histogram, arr: Any, new_min: Any, new_max: Any, new_th: Any
) -> Histogram:
    """A histogram with the values of another array, which lie from -new_th to new_th.

    old_hist: counts of n bins, their n + 1 ends, smallest and largest value, and the
    last end. arr: numbers. If they go beyond the last end, bins of the same width are
    added on both sides; where those would be too many, wider bins take the counts.
    """
    counts, edges, low, high, end = old_hist
    bounds = min(low, new_min), max(high, new_max)
    if new_th <= end:
        more, _ = np.histogram(arr, len(counts), (-end, end))
        return counts + more, edges, *bounds, end
    if not end:  # nothing but zeros until now, which are in the middle
        found, edges = np.histogram(arr, len(counts), (-new_th, new_th))
        found[len(counts) // 2] += counts.sum()
        return found, edges, *bounds, new_th
    step = 2 * end / len(counts)
    added = int((new_th - end) // step + 1)
    if len(counts) + 2 * added > MOST_BINS:  # the first numbers were tiny beside these
        found, ends = np.histogram(arr, BINS, (-new_th, new_th))
        middles = (edges[:-1] + edges[1:]) / 2
        found = found + np.histogram(middles, ends, weights=counts)[0]
        return found, ends, *bounds, new_th
    new_end = end + added * step
    found, edges = np.histogram(arr, len(counts) + 2 * added, (-new_end, new_end))
    found[added : added + len(counts)] += counts
    return found, edges, *bounds, new_end


def optimal_thresholds(
    histograms: dict[str, Histogram],
    dtype: str,
    levels: int = LEVELS,
    logger: Any = None,
) -> Table:
    """The range of each layer that loses least; see `operators/quantized/entropy.py`.

    dtype: 'int8', 'uint8' or 'auto'; layers without negative numbers begin at 0 unless
    it is 'int8'. levels: see `LEVELS`. The histograms are taken out of the dict one by
    one, to free their memory.
    """
    found: Table = {}
    for name in [*histograms]:
        counts, edges, low, high, _ = histograms.pop(name)
        unsigned = low >= 0 and dtype in ("auto", "uint8")
        find: Any = nd.contrib
        best, distance = find.calibrate_entropy(
            nd.array(counts, dtype="float32"),
            nd.array(edges, dtype="float32"),
            num_quantized_bins=2 * levels + 1 if unsigned else levels,
        )
        threshold = best.asscalar()
        found[name] = (0 if unsigned else -threshold), threshold
        if logger:
            logger.debug(
                "layer=%s, min_val=%f, max_val=%f, th=%f, divergence=%f",
                name, low, high, threshold, distance.asscalar(),
            )  # fmt: skip
    return found
