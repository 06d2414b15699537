"""Functions of `mx.nd` around operators: what those need is found out first."""

from __future__ import annotations

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.ops.registry import lookup

__all__ = ["histogram", "onehot_encode"]


def histogram(
    a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None
) -> list[NDArray]:
    """How many elements lie in each bin, and the edges of the bins.

    bins: how many, of equal width, or an array with their edges. range: where the
    first begins and the last ends; without it the smallest and the largest element of
    a, for which this waits.

    >>> import minimx as mx
    >>> counts, edges = mx.nd.histogram(mx.nd.array([0, 1, 1, 4]), bins=2)
    >>> counts.asnumpy().tolist(), edges.asnumpy().tolist()
    ([3, 1], [0.0, 2.0, 4.0])
    """
    if isinstance(bins, NDArray):
        return invoke(lookup("_histogram").of(), [a, bins])  # type: ignore[no-any-return]
    if range is None:
        numbers = a.asnumpy()
        low, high = (numbers.min(), numbers.max()) if a.size else (0, 1)
        # As in NumPy, one number alone stands in the middle of bins of width 1.
        range = (low - 0.5, high + 0.5) if low == high else (low, high)
    op = lookup("_histogram").of(bin_cnt=bins, range=tuple(map(float, range)))
    return invoke(op, [a])  # type: ignore[no-any-return]


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write a row with one 1 for each index over `out`. indices (n,), out (n, k)."""
    return invoke(lookup("_onehot_encode").of(), [indices, out], out)  # type: ignore[no-any-return]
