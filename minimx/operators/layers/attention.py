"""Data sheets of multi-head attention on projections that lie interleaved.

A projection is (length, batch, heads * parts * width): for each head its queries, keys
and values stand side by side, so that one matrix product makes them all. Scores are
(batch * heads, length of queries, length of keys).

    scores = interleaved_matmul_selfatt_qk(qkv, heads=8)
    out = interleaved_matmul_selfatt_valatt(qkv, softmax(scores), heads=8)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.operators.matmul import BatchDot
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.shape import BackwardBasicIndex, BasicIndex, Transpose
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients


@with_settings
class Heads(Op):
    """What the four operators share."""

    heads: int = 1

    casting = WIDEST
    #: How many projections lie interleaved in each input; 0: scores.
    parts: ClassVar[tuple[int, ...]] = (3,)
    #: For each factor of the product: which input, and which of its projections.
    factors: ClassVar[tuple[tuple[int, int], tuple[int, int]]] = ((0, 0), (0, 1))

    def split(self, spec: Spec, parts: int) -> Shape:
        """(length, batch, heads, parts, width) of a projection."""
        if spec.ndim != 3 or self.heads < 1 or spec.shape[2] % (self.heads * parts):
            raise ShapeError(
                f"{self.name}: {spec.shape} must be (length, batch, heads * {parts} * "
                f"width) with heads={self.heads}."
            )
        length, batch, features = spec.shape
        width = features // (self.heads * parts)
        return (length, batch, self.heads, parts, width)

    def _part(
        self, spec: Spec, which: tuple[int, int]
    ) -> tuple[Shape, tuple[Any, ...], Shape, Shape]:
        """Of one projection: the split shape, its index there, and its two shapes.

        They are (batch, heads, length, width) and (batch * heads, length, width).
        """
        split = self.split(spec, self.parts[which[0]])
        length, batch, heads, _, width = split
        key = (*((0, n, 1) for n in split[:3]), which[1], (0, width, 1))
        return split, key, (batch, heads, length, width), (batch * heads, length, width)

    def take(self, value: Value, spec: Spec, which: tuple[int, int]) -> Value:
        """One projection as a stack of matrices (batch * heads, length, width)."""
        if not self.parts[which[0]]:
            return value
        split, key, shape, stack = self._part(spec, which)
        one = bind(BasicIndex.of(key=key), reshaped(value, spec.shape, split))
        turned = bind(Transpose.of(axes=(1, 2, 0, 3)), one)
        return reshaped(turned, shape, stack)

    def put(self, value: Value, spec: Spec, which: tuple[int, int]) -> Value:
        """The gradient of `take`."""
        if not self.parts[which[0]]:
            return value
        split, key, shape, stack = self._part(spec, which)
        turned = bind(Transpose.of(axes=(2, 0, 1, 3)), reshaped(value, stack, shape))
        place = BackwardBasicIndex.of(key=key, shape=split)
        return reshaped(bind(place, turned), split, spec.shape)

    def views(self, specs: Sequence[Spec], arrays: Sequence[Any]) -> list[Any]:
        """Both factors as NumPy arrays (batch, heads, length, ...)."""
        found = []
        for source, part in self.factors:
            x, parts = arrays[source], self.parts[source]
            if parts:
                split = self.split(specs[source], parts)
                x = x.reshape(split)[..., part, :].transpose(1, 2, 0, 3)
            else:
                x = x.reshape(-1, self.heads, *x.shape[1:])
            found.append(x)
        return found

    def collected(
        self, at: GradContext, grads: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """Gradients of the factors as gradients of the inputs."""
        found: list[Value | None] = [None] * len(at.ins)
        for which, grad in zip(self.factors, grads, strict=True):
            source = which[0]
            if not at.wants[source]:
                continue
            placed = self.put(grad, at.ins[source], which)
            before = found[source]
            found[source] = placed if before is None else before + placed
        return found


class Scores(Heads):
    """Queries times keys, divided by the square root of their width."""

    def infer(self, *specs: Spec) -> Spec:
        """A matrix of scores for every head of every element of the batch."""
        same_dtype(self.name, specs)
        (one, _), (two, _) = self.factors
        queries = self.split(specs[one], self.parts[one])
        keys = self.split(specs[two], self.parts[two])
        if queries[1:3] != keys[1:3] or queries[4] != keys[4]:
            raise ShapeError(
                f"{self.name}: queries {specs[one].shape} and keys {specs[two].shape} "
                "must agree in batch and width."
            )
        shape = (queries[1] * queries[2], queries[0], keys[0])
        return specs[0].with_shape(shape)

    def scale(self, specs: Sequence[Spec]) -> float:
        """One over the square root of the width."""
        source = self.factors[0][0]
        return 1 / sqrt(self.split(specs[source], self.parts[source])[4])

    def kernel(self, *specs: Spec) -> Kernel:
        """A product for every head."""
        scale = self.scale(specs)

        def run(*arrays: Any) -> None:
            *ins, out = arrays
            queries, keys = self.views(specs, ins)
            found = np.matmul(queries, keys.swapaxes(-1, -2)) * scale
            np.copyto(out, found.reshape(out.shape), casting="same_kind")

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Products with the other factor."""
        values = dict(zip(self.inputs, saved, strict=True))
        queries, keys = (
            self.take(values[self.inputs[w[0]]], at.ins[w[0]], w) for w in self.factors
        )
        dout = dout * self.scale(at.ins)
        dqueries = bind(BatchDot.of(), dout, keys)
        dkeys = bind(BatchDot.of(transpose_a=True), dout, queries)
        return self.collected(at, (dqueries, dkeys))

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every term."""
        out = self.infer(*specs)
        width = round(self.scale(specs) ** -2)
        return Cost(2 * out.size * width, sum(s.nbytes for s in specs) + out.nbytes)


class Weighted(Heads):
    """Attention times values, put together again."""

    def infer(self, *specs: Spec) -> Spec:
        """(length of queries, batch, heads * width)."""
        same_dtype(self.name, specs)
        projected, attention = specs
        keys, batch, heads, _, width = self.split(projected, self.parts[0])
        if attention.ndim != 3 or attention.shape[::2] != (batch * heads, keys):
            raise ShapeError(
                f"{self.name}: attention {attention.shape} must be (batch * heads, "
                f"length, {keys}) with batch * heads = {batch * heads}."
            )
        return projected.with_shape((attention.shape[1], batch, heads * width))

    def kernel(self, *specs: Spec) -> Kernel:
        """A product for every head."""

        def run(*arrays: Any) -> None:
            *ins, out = arrays
            attention, values = self.views(specs, ins)
            found = np.matmul(attention, values).transpose(2, 0, 1, 3)
            np.copyto(out, found.reshape(out.shape))

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Products with the other factor."""
        projected, attention = saved
        _, batch, heads, _, width = self.split(at.ins[0], self.parts[0])
        length = at.outs[0].shape[0]
        dout = reshaped(dout, at.outs[0].shape, (length, batch, heads, width))
        dout = bind(lookup("transpose").of(axes=(1, 2, 0, 3)), dout)
        shape = (batch, heads, length, width)
        dout = reshaped(dout, shape, (batch * heads, length, width))
        values = self.take(projected, at.ins[0], self.factors[1])
        dattention = bind(BatchDot.of(transpose_b=True), dout, values)
        dvalues = bind(BatchDot.of(transpose_a=True), attention, dout)
        return self.collected(at, (dattention, dvalues))

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every term."""
        out = self.infer(*specs)
        moved = sum(s.nbytes for s in specs) + out.nbytes
        return Cost(2 * out.size * specs[1].shape[2], moved)


@register("_contrib_interleaved_matmul_selfatt_qk")
class SelfAttentionScores(Scores):
    """Attention scores of a sequence with itself, all heads at once.

    queries_keys_values (l, n, heads * 3 * width): for each head its queries, keys and
    values side by side; l is the length, n the batch. out (n * heads, l, l): queries ·
    keysᵀ / sqrt(width), one matrix for every head of every sample. Raises ShapeError if
    the last axis is no multiple of 3 * heads.
    """

    inputs = saves = ("queries_keys_values",)


@register("_contrib_interleaved_matmul_selfatt_valatt")
class SelfAttentionValues(Weighted):
    """Values of a sequence weighted by attention to itself.

    queries_keys_values (l, n, heads * 3 * width), as for
    `interleaved_matmul_selfatt_qk`; attention (n * heads, l, l), mostly a softmax of
    its scores; out (l, n, heads * width): attention · values, the heads side by side.
    Raises ShapeError for shapes that do not fit.
    """

    inputs = saves = ("queries_keys_values", "attention")
    parts = (3, 0)
    factors = ((1, 0), (0, 2))


@register("_contrib_interleaved_matmul_encdec_qk")
class CrossAttentionScores(Scores):
    """Scores of one sequence with another.

    queries (l, n, heads * width), keys_values (m, n, heads * 2 * width)
    out (n * heads, l, m): queries · keysᵀ / sqrt(width)
    """

    inputs = saves = ("queries", "keys_values")
    parts = (1, 2)
    factors = ((0, 0), (1, 0))


@register("_contrib_interleaved_matmul_encdec_valatt")
class CrossAttentionValues(Weighted):
    """Values of another sequence weighted by attention.

    keys_values (m, n, heads * 2 * width), attention (n * heads, l, m)
    out (l, n, heads * width)
    """

    heads: int = 1
    casting = WIDEST
    inputs = saves = ("keys_values", "attention")
    parts = (2, 0)
    factors = ((1, 0), (0, 1))
