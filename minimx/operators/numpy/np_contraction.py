"""Data sheets of sums over products of elements: einsum and its relatives.

The gradient of an einsum is an einsum: for one operand, the gradient of the output
takes that operand's place. Labels that only this operand has were summed away, so its
gradient is the same all along them; labels that it has twice meant a diagonal, where
its gradient lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from string import ascii_letters
from typing import Any

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.reduce import sum_to
from minimx.core.operators.shape import Move
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import TARGET_IN_FLOAT16, WIDEST
from minimx.core.ops.devices import Multiplies
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.numpy.np_shape import NumpyBroadcastTo
from minimx.operators.rules import Gradients, computed_by, given_shape, kernel_of


class Labels:
    """The subscripts of an einsum, with letters in place of every ellipsis.

    >>> Labels("...ij, jk", (3, 2)).text
    'Zij,jk->Zik'
    """

    def __init__(self, subscripts: str, ndims: Sequence[int]) -> None:
        left, arrow, right = subscripts.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(ndims):
            raise OperatorError(
                f"einsum: {subscripts!r} names {len(terms)} operands, {len(ndims)} "
                "were given."
            )
        self.asked = subscripts
        used = {letter for letter in subscripts if letter.isalpha()}
        self.spare = [
            letter for letter in reversed(ascii_letters) if letter not in used
        ]
        self.wide = ""  # the letters that stand for the longest ellipsis
        lengths = [self._ellipsis(t, n) for t, n in zip(terms, ndims, strict=True)]
        width = max(lengths, default=0)
        self.wide = "".join(sorted(self.spare[:width]))
        pairs = zip(terms, lengths, strict=True)
        self.ins = [t.replace("...", self.wide[width - n :]) for t, n in pairs]
        self.out = self._output(terms, right if arrow else None)
        self.text = ",".join(self.ins) + "->" + self.out

    def _ellipsis(self, term: str, ndim: int) -> int:
        """How many axes the ellipsis of a term stands for."""
        letters = term.replace("...", "", 1)
        length = ndim - len(letters)
        if letters and not letters.isalpha():
            raise OperatorError(
                f"einsum: {self.asked!r}: axes are letters, with ... for the rest."
            )
        if length < 0 or (length and "..." not in term):
            raise ShapeError(
                f"einsum: {self.asked!r}: {term!r} names {len(letters)} axes, the "
                f"operand has {ndim}."
            )
        return length

    def _output(self, terms: list[str], right: str | None) -> str:
        letters = "".join(terms).replace(".", "")
        if right is None:
            once = sorted(x for x in set(letters) if letters.count(x) == 1)
            return self.wide + "".join(once)
        out = right.replace("...", self.wide, 1)
        if len(set(out)) != len(out) or not set(out) <= set("".join(self.ins)):
            raise OperatorError(
                f"einsum: {self.asked!r}: every axis of the output must be one of an "
                "operand's, and stand there once."
            )
        return out

    def lengths(self, shapes: Sequence[Shape]) -> dict[str, int]:
        """How long each label is; an axis of length 1 stretches."""
        found: dict[str, int] = {}
        for term, shape in zip(self.ins, shapes, strict=True):
            for letter, n in zip(term, shape, strict=True):
                before = found.get(letter, 1)
                if n != before and 1 not in (n, before):
                    raise ShapeError(
                        f"einsum: {self.asked!r}: an axis is {before} long in one "
                        f"operand and {n} in another; shapes are {tuple(shapes)}."
                    )
                found[letter] = n if before == 1 else before
        return found


@cache
def labels(subscripts: str, ndims: tuple[int, ...]) -> Labels:
    """The labels of a call, read once."""
    return Labels(subscripts, ndims)


@register("_npi_einsum")
class Einsum(Multiplies, Op):
    """Sums of products, by Einstein's rule: axes missing in the output are summed over.

    data (n, k), (k, m), subscripts="ij,jk->ik"; out (n, m). Without an arrow the output
    has the labels that stand once, in the order of the alphabet; "..." stands for all
    axes that are not named. optimize: several operands are multiplied pair by pair, in
    an order that saves work, by BLAS where it can.
    """

    subscripts: str = ""
    optimize: int = 0
    casting = TARGET_IN_FLOAT16
    variadic = True

    def read(self, specs: Sequence[Spec]) -> Labels:
        """The labels for operands of these shapes."""
        return labels(self.subscripts, tuple(spec.ndim for spec in specs))

    def infer(self, *specs: Spec) -> Spec:
        """The lengths of the output's labels."""
        same_dtype("einsum", specs)
        read = self.read(specs)
        lengths = read.lengths([spec.shape for spec in specs])
        return specs[0].with_shape(tuple(lengths[letter] for letter in read.out))

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's, with BLAS for products of two operands."""
        shapes = [spec.shape for spec in specs]
        read = self.read(specs)
        plain = bool(self.optimize) or len(specs) == 2
        return kernel_of("np_contraction.einsum", read.text, shapes, plain)

    @property
    def saves(self) -> tuple[str, ...]:
        """All operands: a product needs the others."""
        count = self.subscripts.partition("->")[0].count(",") + 1
        return tuple(f"data{k}" for k in range(count)) if count > 1 else ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One einsum for each operand."""
        read = self.read(at.ins)
        lengths = read.lengths([spec.shape for spec in at.ins])
        return [
            self._part(k, read, lengths, at, dout, saved) if wanted else None
            for k, wanted in enumerate(at.wants)
        ]

    def _part(
        self,
        k: int,
        read: Labels,
        lengths: dict[str, int],
        at: GradContext,
        dout: Value,
        saved: tuple[Value, ...],
    ) -> Value:
        """The gradient of operand k."""
        others = [j for j in range(len(read.ins)) if j != k]
        terms = [read.out, *(read.ins[j] for j in others)]
        shapes = [at.outs[0].shape, *(at.ins[j].shape for j in others)]
        unique = "".join(dict.fromkeys(read.ins[k]))
        kept = "".join(letter for letter in unique if letter in set("".join(terms)))
        text = ",".join(terms) + "->" + kept
        factors = (dout, *(saved[j] for j in others))
        found = bind(Einsum.of(subscripts=text, optimize=self.optimize), *factors)
        # Labels that no other operand has, or has with length 1, are stretched.
        seen = labels(text, tuple(map(len, shapes))).lengths(shapes)
        column = tuple(seen.get(letter, 1) for letter in unique)
        full = tuple(lengths[letter] for letter in unique)
        wide = reshaped(found, tuple(seen[letter] for letter in kept), column)
        if column != full:
            wide = bind(NumpyBroadcastTo.of(shape=full), wide)
        own = dict(zip(read.ins[k], at.ins[k].shape, strict=True))
        wide = sum_to(wide, full, tuple(own[letter] for letter in unique))
        if len(unique) == len(read.ins[k]):
            return wide
        return bind(PlaceDiagonals.of(labels=read.ins[k], shape=at.ins[k].shape), wide)


@register("_place_diagonals")
class PlaceDiagonals(Move):
    """Zeros of `shape`, with data where axes of one label have one index.

    data (n,), labels="ii", shape=(n, n); out (n, n), data on its diagonal
    """

    labels: str
    shape: Shape

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then NumPy's view of the diagonal."""
        unique = "".join(dict.fromkeys(self.labels))
        return kernel_of("np_contraction.place", f"{self.labels}->{unique}")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The diagonal."""
        unique = "".join(dict.fromkeys(self.labels))
        return (bind(Einsum.of(subscripts=f"{self.labels}->{unique}"), dout),)


# -- tensordot -------------------------------------------------------------------------


class _TensorDot(Multiplies, Op):
    """Sum over some axes of a and as many of b."""

    inputs = ("a", "b")
    saves = ("a", "b")

    def pairs(self, a: Spec, b: Spec) -> tuple[Shape, Shape]:
        """The axes of a and those of b, in pairs."""
        raise OperatorError(f"{self.name} does not say what it sums over")

    def einsum(self, a: Spec, b: Spec) -> Einsum:
        """The same in Einstein's words."""
        left = list(ascii_letters[: a.ndim])
        right = list(ascii_letters[a.ndim : a.ndim + b.ndim])
        mine, its = self.pairs(a, b)
        for one, two in zip(mine, its, strict=True):
            right[two] = left[one]
        out = [x for k, x in enumerate(left) if k not in mine]
        out += [x for k, x in enumerate(right) if k not in its]
        text = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
        return Einsum.of(subscripts=text)

    def infer(self, *specs: Spec) -> Spec:
        """The other axes of a, then those of b."""
        a, b = specs
        same_dtype("tensordot", specs)
        mine, its = self.pairs(a, b)
        if [a.shape[k] for k in mine] != [b.shape[k] for k in its]:
            raise ShapeError(
                f"tensordot: axes {mine} of shape {a.shape} and {its} of {b.shape} are "
                "not equally long."
            )
        head = tuple(n for k, n in enumerate(a.shape) if k not in mine)
        tail = tuple(n for k, n in enumerate(b.shape) if k not in its)
        return a.with_shape((*head, *tail))

    def kernel(self, *specs: Spec) -> Kernel:
        """One product of matrices."""
        return kernel_of("np_contraction.tensordot", *self.pairs(*specs))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """As for the einsum."""
        return self.einsum(*at.ins).grad(at, dout, *saved)

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every term of every sum."""
        out = self.infer(*specs)
        terms = prod(specs[0].shape[k] for k in self.pairs(*specs)[0])
        moved = sum(spec.nbytes for spec in specs) + out.nbytes
        return Cost(2 * out.size * terms, moved)


@register("_npi_tensordot")
class TensorDot(_TensorDot):
    """Sum over pairs of axes. a (2, 3, 4), b (4, 3), axes (2, 1), (0, 1); out (2,)."""

    a_axes_summed: Shape
    b_axes_summed: Shape

    casting = WIDEST

    def pairs(self, a: Spec, b: Spec) -> tuple[Shape, Shape]:
        """The settings, counted from the front."""
        mine = tuple(normalize_axis("tensordot", k, a.ndim) for k in self.a_axes_summed)
        its = tuple(normalize_axis("tensordot", k, b.ndim) for k in self.b_axes_summed)
        if len(mine) != len(its) or len(set(mine)) != len(mine):
            raise ShapeError(
                f"tensordot: axes {self.a_axes_summed} and {self.b_axes_summed} must "
                "be different axes, equally many of each array."
            )
        return mine, its


@register("_npi_tensordot_int_axes")
class TensorDotInt(_TensorDot):
    """Sum over the last axes of a and the first of b. a (2, 3), b (3, 4), axes=1."""

    axes: int

    casting = WIDEST

    def pairs(self, a: Spec, b: Spec) -> tuple[Shape, Shape]:
        """The last axes of a with the first of b."""
        n = self.axes
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"tensordot: axes={n}: shapes {a.shape} and {b.shape} do not have so "
                "many axes to sum over."
            )
        return tuple(range(a.ndim - n, a.ndim)), tuple(range(n))


@register("_np_dot")
class NumpyDot(_TensorDot):
    """Sum over the last axis of a and the second-to-last, or only, one of b.

    a (..., k), b (..., k, n); out (..., ..., n). Arrays without axes scale the other.
    """

    casting = TARGET_IN_FLOAT16

    def pairs(self, a: Spec, b: Spec) -> tuple[Shape, Shape]:
        """One pair; none where an array has no axes."""
        if not a.ndim or not b.ndim:
            return (), ()
        return (a.ndim - 1,), (max(0, b.ndim - 2),)


@register("_npi_matmul")
class MatMul(_TensorDot):
    """Matrix products of stacks, which stretch to one. a (..., m, k), b (..., k, n).

    out (..., m, n); a vector is a row on the left, a column on the right, and its axis
    is dropped again
    """

    casting = TARGET_IN_FLOAT16

    def einsum(self, a: Spec, b: Spec) -> Einsum:
        """The matrices' labels, with an ellipsis for the stacks."""
        if not a.ndim or not b.ndim:
            raise ShapeError("matmul: an array without axes does not take part; use *.")
        left, right = "...ij" if a.ndim > 1 else "j", "...jk" if b.ndim > 1 else "j"
        out = ("i" if a.ndim > 1 else "") + ("k" if b.ndim > 1 else "")
        return Einsum.of(subscripts=f"{left},{right}->...{out}")

    def infer(self, *specs: Spec) -> Spec:
        """The stack, then the rows of a and the columns of b."""
        a, b = specs
        op = self.einsum(a, b)
        k, other = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
        if k != other:
            raise ShapeError(
                f"matmul: the sum runs over {k} elements of {a.shape}, but over "
                f"{other} of {b.shape}. Transpose one of them."
            )
        return op.infer(a, b)

    kernel = computed_by("np_contraction.matmul")

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every term of every sum."""
        out = self.infer(*specs)
        moved = sum(spec.nbytes for spec in specs) + out.nbytes
        return Cost(2 * out.size * specs[0].shape[-1], moved)
