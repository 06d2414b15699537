"""Data sheets of gathering and scattering by arrays of indices."""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ShapeError
from minimx.core.operators.indexing import (
    AdvancedIndex,
    BackwardAdvancedIndex,
    BackwardTake,
    Embedding,
    OneHot,
    Pick,
    PutAlongAxis,
    Take,
    TakeAlongAxis,
)
from minimx.core.operators.shape import Move
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Value, bind, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, computed_by, given_shape

__all__ = [
    "AdvancedIndex", "BackwardAdvancedIndex", "BackwardGatherNd", "BackwardTake",
    "BatchTake", "Embedding", "GatherNd", "OneHot", "Pick", "PutAlongAxis", "ScatterNd",
    "Take", "TakeAlongAxis",
]  # fmt: skip


@register("batch_take")
class BatchTake(Move):
    """Pick one element of each row.

    a (n, k), indices (n,): a column number for each row, cut off at the ends; out (n,):
    out[i] = a[i, indices[i]]. `pick` does the same along any axis. Raises ShapeError
    for other shapes.
    """

    inputs = ("a", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """One element for each index."""
        a, indices = specs
        if a.ndim != 2 or indices.shape != a.shape[:1]:
            raise ShapeError(
                f"batch_take: a {a.shape} must have two axes, and indices "
                f"{indices.shape} one number for each of its rows."
            )
        return a.with_shape(indices.shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """A gather along the rows."""
        return Pick.of(axis=1).kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To the element that was picked."""
        rows, length = at.ins[0].shape
        put = PutAlongAxis.of(axis=1, length=length)
        column = reshaped(dout, (rows,), (rows, 1))
        return (bind(put, column, reshaped(saved[0], (rows,), (rows, 1))), None)


@register("gather_nd")
class GatherNd(Move):
    """Pick elements or slices of data by their coordinates.

    data (3, 4, 5), indices (2, 7): each of the 7 columns names a slice of shape (5,),
    so out (7, 5): out[j] = data[indices[0, j], indices[1, j]]. In general indices are
    (m, *columns) with m <= data.ndim, and out (*columns, *data.shape[m:]). A negative
    index counts from the end; one that is too large is an error where the numbers are
    waited for. The gradient of what was picked several times adds up. Raises ShapeError
    if m is too large.
    """

    np_shape: bool = False
    inputs = ("data", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the columns, then what a place leaves of data."""
        data, indices = specs
        m = indices.shape[0]
        if m > data.ndim:
            raise ShapeError(
                f"gather_nd: indices {indices.shape} give {m} coordinates, data "
                f"{data.shape} has {data.ndim} axes."
            )
        least = () if self.np_shape else (1,)
        return data.with_shape((*indices.shape[1:], *data.shape[m:]) or least)

    kernel = computed_by("indexing.gather_nd")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """What was gathered several times adds up."""
        return (bind(BackwardGatherNd.of(shape=at.ins[0].shape), dout, *saved), None)


def _gather_like(at: GradContext) -> GatherNd:
    """The gather whose result has the shape of the first input."""
    return GatherNd.of(np_shape=not at.ins[0].shape)


@register("_backward_gather_nd")
class BackwardGatherNd(Move):
    """The gradient of `gather_nd`. data, indices: as for scatter_nd; out: `shape`."""

    shape: Shape
    inputs = ("data", "indices")
    saves = ("indices",)

    infer = given_shape

    kernel = computed_by("indexing.scatter_nd_sum")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Gather again."""
        return (bind(_gather_like(at), dout, *saved), None)


@register("scatter_nd")
class ScatterNd(Move):
    """Zeros with the elements of data at given coordinates.

    data (7, 5), indices (2, 7), shape=(3, 4, 5); out: `shape`, with out[indices[0, j],
    indices[1, j]] = data[j] and 0 elsewhere. Where several columns name one position
    the last one stays; `_backward_gather_nd` adds them up. Raises ShapeError if data
    are not (*columns, *shape[m:]) for indices (m, *columns).
    """

    shape: Shape
    inputs = ("data", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """The wanted shape; data must fit the places."""
        data, indices = specs
        expected = (*indices.shape[1:], *self.shape[indices.shape[0] :])
        if data.shape != expected:
            raise ShapeError(
                f"scatter_nd: indices {indices.shape} into shape {self.shape} want "
                f"data of shape {expected}; it has {data.shape}."
            )
        return data.with_shape(self.shape)

    kernel = computed_by("indexing.scatter_nd")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """From where it went to."""
        return (bind(_gather_like(at), dout, *saved), None)
