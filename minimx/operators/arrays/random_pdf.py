"""Data sheets of probability densities: how likely a number is under a distribution.

    random_pdf_normal(sample, mu, sigma)      sample (2, 3, 7), mu and sigma (2, 3)

Every distribution, an element of the parameters, is asked about a row of numbers. With
is_log the answer is the logarithm. Each density is one formula, the logarithm, and so
is each of its slopes; counts (Poisson and the like) have one by the parameters only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.kernels import pointwise
from minimx.core.kernels.formula import Formula
from minimx.core.operators.pointwise import OPERATORS, same_dtype
from minimx.core.operators.reduce import Sum
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients


@with_settings
class Density(Op):
    """A density that is one formula of a number x and the parameters."""

    is_log: bool = False

    casting = WIDEST
    #: The logarithm of the density, and its slopes; None: a count has none.
    text: ClassVar[str] = ""
    slopes: ClassVar[tuple[str | None, ...]] = ()

    @property
    def saves(self) -> tuple[str, ...]:
        """What the slopes speak of, and the density where that was asked for."""
        known = zip(self.inputs, self.operands, strict=True)
        named = [
            Formula(text, self.operands).names
            for text in self.slopes
            if text is not None
        ]
        used = {name for names in named for name in names}
        found = tuple(word for word, operand in known if operand in used)
        return (*found, *(() if self.is_log else ("out",)))

    @property
    def operands(self) -> tuple[str, ...]:
        """The names in the formulas: x for the number, then the parameters."""
        return ("x", *self.inputs[1:])

    def wide(self, specs: Sequence[Spec]) -> list[Shape]:
        """The shapes of the inputs, with an axis of length 1 for each of a row."""
        sample, *parameters = specs
        ones = (1,) * (sample.ndim - parameters[0].ndim)
        return [sample.shape, *(spec.shape + ones for spec in parameters)]

    def infer(self, *specs: Spec) -> Spec:
        """The spec of the sample, which begins with the shape of the parameters."""
        sample, *parameters = specs
        same_dtype(self.name, specs)
        for spec in parameters:
            begin = sample.shape[: spec.ndim]
            if spec.shape != parameters[0].shape or begin != spec.shape:
                raise ShapeError(
                    f"{self.name}: the parameters {spec.shape} must have one shape, "
                    f"with which the shape of the sample {sample.shape} begins."
                )
        return sample

    def kernel(self, *specs: Spec) -> Kernel:
        """Generated from the formula."""
        text = self.text if self.is_log else f"exp({self.text})"
        out = self.infer(*specs)
        wide = self.wide(specs)
        inner = pointwise.kernel(
            Formula(text, self.operands),
            wide,
            [spec.dtype for spec in specs],
            out.shape,
            out.dtype,
        )

        def run(*arrays: Any) -> None:
            *ins, target = arrays
            pairs = zip(ins, wide, strict=True)
            inner(*(x.reshape(shape) for x, shape in pairs), target)

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The slopes of the logarithm, times the density where that was asked for."""
        known = dict(zip(self.saves, saved, strict=True))
        if not self.is_log:
            dout = dout * known["out"]
        places = zip(self.inputs, self.operands, at.ins, self.wide(at.ins), strict=True)
        values = {
            operand: reshaped(known[name], spec.shape, shape)
            for name, operand, spec, shape in places
            if name in known
        }
        grads: list[Value | None] = []
        for text, spec, wanted in zip(self.slopes, at.ins, at.wants, strict=True):
            if not wanted:
                grads.append(None)
            elif text is None:
                grads.append(bind(lookup("zeros_like").of(), dout))
            else:
                slope = Formula(text, self.operands).evaluate(OPERATORS, values)
                grads.append(_rows(dout * slope, at.ins[0], spec))
        return grads

    def cost(self, *specs: Spec) -> Cost:
        """One operation for each operator and function of the formula."""
        sample = specs[0]
        steps = Formula(self.text, self.operands).steps
        return Cost(sample.size * steps, 2 * sample.nbytes)


def _rows(value: Value, sample: Spec, parameter: Spec) -> Value:
    """Add up the rows of numbers that one parameter was asked about."""
    if parameter.ndim == sample.ndim:
        return value
    axes = tuple(range(parameter.ndim, sample.ndim))
    total = bind(Sum.of(axis=axes), value)
    return reshaped(total, parameter.shape or (1,), parameter.shape)


@register("_random_pdf_uniform", "random_pdf_uniform")
class PDFUniform(Density):
    """The density of the uniform distribution, 1 / (high - low), at any number.

    sample (n, m): m numbers for each pair of parameters; low, high (n,); out (n, m).
    Numbers outside [low, high) get the same density, as in MXNet. is_log: its
    logarithm. Gradients flow to the parameters.
    """

    inputs = ("sample", "low", "high")
    text = "0 * x - log(high - low)"
    slopes = (None, "1 / (high - low)", "1 / (low - high)")


@register("_random_pdf_normal", "random_pdf_normal")
class PDFNormal(Density):
    """The density of the normal distribution.

    sample (n, m): m numbers for each pair of parameters; mu, sigma (n,): means and
    standard deviations; out (n, m): exp(-(x - mu)² / (2 sigma²)) / (sqrt(2 pi) sigma),
    or with is_log its logarithm.
    """

    inputs = ("sample", "mu", "sigma")
    text = (
        "-0.5 * (x - mu) * (x - mu) / (sigma * sigma) - log(2.5066282746310002 * sigma)"
    )
    slopes = (
        "(mu - x) / (sigma * sigma)",
        "(x - mu) / (sigma * sigma)",
        "((x - mu) * (x - mu) / (sigma * sigma) - 1) / sigma",
    )


@register("_random_pdf_gamma", "random_pdf_gamma")
class PDFGamma(Density):
    """The density of the gamma distribution of shape alpha and rate beta.

    sample (n, m): m numbers for each pair of parameters; alpha, beta (n,); out (n, m):
    beta**alpha * x**(alpha - 1) * exp(-beta * x) / gamma(alpha), or with is_log its
    logarithm. As in MXNet beta is a rate here, while it is a scale where numbers are
    drawn.
    """

    inputs = ("sample", "alpha", "beta")
    text = "alpha * log(beta) + (alpha - 1) * log(x) - beta * x - gammaln(alpha)"
    slopes = (
        "(alpha - 1) / x - beta",
        "log(beta) + log(x) - digamma(alpha)",
        "alpha / beta - x",
    )


@register("_random_pdf_exponential", "random_pdf_exponential")
class PDFExponential(Density):
    """The density of the exponential distribution of rate lam.

    sample (n, m): m numbers for each rate; lam (n,); out (n, m): lam * exp(-lam * x),
    or with is_log its logarithm.
    """

    inputs = ("sample", "lam")
    text = "log(lam) - lam * x"
    slopes = ("0 * x - lam", "1 / lam - x")


@register("_random_pdf_poisson", "random_pdf_poisson")
class PDFPoisson(Density):
    """The probability of counts under Poisson's distribution.

    sample (n, m): m counts for each mean; lam (n,); out (n, m): lam**x * exp(-lam) /
    x!, or with is_log its logarithm. Gradients flow to lam; that of the counts is 0.
    """

    inputs = ("sample", "lam")
    text = "x * log(lam) - gammaln(x + 1) - lam"
    slopes = (None, "x / lam - 1")


@register("_random_pdf_negative_binomial", "random_pdf_negative_binomial")
class PDFNegativeBinomial(Density):
    """Failures before the k-th success. sample (n, m) of counts, k, p (n,); out (n, m).

    gamma(x + k) / (x! gamma(k)) * p**k * (1 - p)**x
    """

    inputs = ("sample", "k", "p")
    text = "gammaln(x + k) - gammaln(x + 1) - gammaln(k) + k * log(p) + x * log(1 - p)"
    slopes = (None, "digamma(x + k) - digamma(k) + log(p)", "k / p - x / (1 - p)")


# With the number of successes 1 / alpha, and their probability 1 / (mu alpha + 1).
_BY_K = "(digamma(x + 1 / alpha) - digamma(1 / alpha) - log(mu * alpha + 1))"
_BY_P = "((mu * alpha + 1) / alpha - x * (mu * alpha + 1) / (mu * alpha))"


@register(
    "_random_pdf_generalized_negative_binomial",
    "random_pdf_generalized_negative_binomial",
)
class PDFGeneralizedNegativeBinomial(Density):
    """Counts of mean mu that spread by alpha. sample, out (n, m); mu, alpha (n,).

    The negative binomial distribution with k = 1 / alpha and p = 1 / (mu * alpha + 1).
    """

    inputs = ("sample", "mu", "alpha")
    text = (
        "gammaln(x + 1 / alpha) - gammaln(x + 1) - gammaln(1 / alpha) "
        "- log(mu * alpha + 1) / alpha + x * log(mu * alpha / (mu * alpha + 1))"
    )
    slopes = (
        None,
        f"-alpha * {_BY_P} / ((mu * alpha + 1) * (mu * alpha + 1))",
        f"-{_BY_K} / (alpha * alpha) - mu * {_BY_P} / "
        "((mu * alpha + 1) * (mu * alpha + 1))",
    )


@register("_random_pdf_dirichlet", "random_pdf_dirichlet")
class PDFDirichlet(Op):
    """Dirichlet's distribution of shares that add up to 1.

    sample (n, m, k): each of m rows k shares; alpha (n, k); out (n, m)
    gamma(sum(alpha)) / prod(gamma(alpha)) * prod(x**(alpha - 1))
    """

    is_log: bool = False
    casting = WIDEST
    inputs = ("sample", "alpha")

    @property
    def saves(self) -> tuple[str, ...]:
        """Everything, as the slopes need it."""
        return ("sample", "alpha", *(() if self.is_log else ("out",)))

    def infer(self, *specs: Spec) -> Spec:
        """A number for each row of shares."""
        sample, alpha = specs
        same_dtype(self.name, specs)
        begin = sample.shape[: alpha.ndim - 1]
        if alpha.ndim < 1 or (*begin, *sample.shape[-1:]) != alpha.shape:
            raise ShapeError(
                f"{self.name}: alpha {alpha.shape} and the sample {sample.shape} must "
                "agree in their last axis, the shares, and begin alike."
            )
        return sample.with_shape(sample.shape[:-1] or (1,))

    def wide(self, specs: Sequence[Spec]) -> Shape:
        """The shape of alpha with an axis of length 1 for each of a row."""
        sample, alpha = specs
        ones = (1,) * (sample.ndim - alpha.ndim)
        return (*alpha.shape[:-1], *ones, alpha.shape[-1])

    def kernel(self, *specs: Spec) -> Kernel:
        """Logarithms of the gamma function, then sums."""
        alpha, wide, log = specs[1], self.wide(specs), self.is_log
        totals = alpha.with_shape(alpha.shape[:-1] or (1,))
        every, one = (
            pointwise.kernel(
                Formula("gammaln(x)", ("x",)), [s.shape], [s.dtype], s.shape, s.dtype
            )
            for s in (alpha, totals)
        )

        def run(x: Any, a: Any, out: Any) -> None:
            total = a.sum(-1).reshape(totals.shape)
            parts, whole = np.empty_like(a), np.empty_like(total)
            every(a, parts)
            one(total, whole)
            constant = whole - parts.sum(-1).reshape(totals.shape)
            powers = ((a.reshape(wide) - 1) * np.log(x)).sum(-1).reshape(out.shape)
            found = powers + constant.reshape(wide[:-1] or (1,))
            np.copyto(out, found if log else np.exp(found), casting="same_kind")

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """(alpha - 1) / x, and digamma(sum(alpha)) - digamma(alpha) + log(x)."""
        sample, alpha, *out = saved
        if out:
            dout = dout * out[0]
        data, parameter = at.ins
        wide = self.wide(at.ins)
        shares = reshaped(alpha, parameter.shape, wide)
        dout = reshaped(dout, at.outs[0].shape, (*data.shape[:-1], 1))
        dsample = dout * ((shares - 1) / sample) if at.wants[0] else None
        if not at.wants[1]:
            return dsample, None
        digamma = lookup("digamma").of()
        total = bind(Sum.of(axis=-1, keepdims=True), shares)
        slope = bind(lookup("log").of(), sample) - bind(digamma, shares)
        slope = dout * (slope + bind(digamma, total))
        axes = tuple(range(parameter.ndim - 1, data.ndim - 1))
        if axes:
            slope = bind(Sum.of(axis=axes), slope)
        return dsample, slope
