"""Data sheets of further distributions, by settings or one for each element."""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.dtypes import resolve
from minimx.core.errors import ShapeError
from minimx.core.operators.random import Normal, Random, Uniform
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import EITHER
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Draws, Gradients, computed_by, kernel_of, like_first

__all__ = [
    "Bernoulli", "Exponential", "Gamma", "GeneralizedNegativeBinomial",
    "NegativeBinomial", "Normal", "Poisson", "RandInt", "Random", "Sample",
    "SampleExponential", "SampleGamma", "SampleMultinomial", "SampleNormal",
    "SamplePoisson", "SampleUniform", "Shuffle", "Uniform",
]  # fmt: skip


@register("_random_gamma", "random_gamma")
class Gamma(Random):
    """Draw from the gamma distribution of shape `alpha` and scale `beta`.

    out: `shape`, of type `dtype`. The mean is alpha * beta, the variance alpha * beta².
    Both parameters must be positive; if not, OperatorError is raised where the numbers
    are waited for, as in MXNet.
    """

    alpha: float = 1.0
    beta: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """Both are positive."""
        fits = self.alpha > 0 and self.beta > 0
        self.require(fits, f"alpha={self.alpha} and beta={self.beta} must be positive")


@register("_random_exponential", "random_exponential")
class Exponential(Random):
    """Draw times between events that happen `lam` times per unit of time.

    out: `shape`, of type `dtype`. The mean is 1 / lam. lam must be positive; if not,
    OperatorError is raised where the numbers are waited for, as in MXNet.
    """

    lam: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """The rate is positive."""
        self.require(self.lam > 0, f"lam={self.lam} must be positive")


@register("_random_poisson", "random_poisson")
class Poisson(Random):
    """Draw counts of events that happen `lam` times on average.

    out: `shape`, of type `dtype`: whole numbers, float32 by default as in MXNet. lam
    must not be negative; if it is, OperatorError is raised where the numbers are waited
    for.
    """

    lam: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """The mean is not negative."""
        self.require(self.lam >= 0, f"lam={self.lam} must not be negative")


@register("_random_negative_binomial", "random_negative_binomial")
class NegativeBinomial(Random):
    """Draw counts of failures before `k` successes of probability `p` each.

    out: `shape`, of type `dtype`: whole numbers, float32 by default. The mean is k * (1
    - p) / p. k must be positive and p in (0, 1]; if not, OperatorError is raised where
    the numbers are waited for.
    """

    k: int = 1
    p: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """A number of successes and a probability."""
        fits = self.k > 0 and 0 < self.p <= 1
        self.require(fits, f"k={self.k} must be positive, p={self.p} in (0, 1]")


@register(
    "_random_generalized_negative_binomial", "random_generalized_negative_binomial"
)
class GeneralizedNegativeBinomial(Random):
    """Draw counts of mean `mu` that spread more than Poisson's by `alpha`.

    out: `shape`, of type `dtype`: whole numbers, float32 by default. The variance is mu
    + alpha * mu²; alpha=0 is Poisson's distribution. Neither may be negative; if one
    is, OperatorError is raised where the numbers are waited for.
    """

    mu: float = 1.0
    alpha: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """Neither is negative."""
        fits = self.mu >= 0 and self.alpha >= 0
        self.require(fits, f"mu={self.mu}, alpha={self.alpha} must not be negative")


@register("_random_randint", "random_randint", "_npi_random_randint")
class RandInt(Random):
    """Draw whole numbers evenly from low to high - 1.

    out: `shape`, of type `dtype`, int32 by default. low must be less than high; if not,
    OperatorError is raised where the numbers are waited for.
    """

    low: int
    high: int
    shape: Shape = (1,)
    dtype: str = "int32"

    def check(self) -> None:
        """There is a number between."""
        fits = self.low < self.high
        self.require(fits, f"low={self.low} must be less than high={self.high}")


@register("_random_bernoulli")
class Bernoulli(Random):
    """Draw 1 with probability `prob`, else 0.

    out: `shape`, of type `dtype`. prob must lie from 0 to 1; if not, OperatorError is
    raised where the numbers are waited for.
    """

    prob: float = 0.5
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """A probability."""
        self.require(0 <= self.prob <= 1, f"prob={self.prob} must be from 0 to 1")


@with_settings
class Sample(Draws):
    """Numbers of distributions whose parameters are arrays."""

    shape: Shape = ()
    dtype: str = "float32"

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the parameters, then `shape`."""
        for spec in specs:
            if spec.shape != specs[0].shape:
                raise ShapeError(
                    f"{self.name}: the parameters have shapes "
                    f"{' and '.join(str(s.shape) for s in specs)}; they must agree."
                )
        return Spec.of((*specs[0].shape, *self.shape), resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """A row of numbers for every set of parameters."""
        word = self.name.removeprefix("_sample_")
        return kernel_of("random.sample", word, prod(self.shape))


@register("_sample_uniform", "sample_uniform")
class SampleUniform(Sample):
    """Draw evenly from [low, high), for every pair of elements by itself.

    low, high (n, ...), one shape: the bounds; out (n, ..., *shape), of type `dtype`:
    for each pair as many numbers as `shape` says, one without it. Raises ShapeError if
    the shapes of the parameters differ.
    """

    inputs = ("low", "high")


@register("_sample_normal", "sample_normal")
class SampleNormal(Sample):
    """Draw from a normal distribution for every pair of elements.

    mu, sigma (n, ...), one shape: means and standard deviations; out (n, ..., *shape),
    of type `dtype`: for each pair as many numbers as `shape` says, one without it.
    Raises ShapeError if the shapes of the parameters differ.
    """

    inputs = ("mu", "sigma")


@register("_sample_gamma", "sample_gamma")
class SampleGamma(Sample):
    """Draw from a gamma distribution for every pair of elements.

    alpha, beta (n, ...), one shape: shapes and scales, positive; the means are alpha *
    beta. out (n, ..., *shape), of type `dtype`: for each pair as many numbers as
    `shape` says, one without it. Raises ShapeError if the shapes of the parameters
    differ.
    """

    inputs = ("alpha", "beta")


@register("_sample_exponential", "sample_exponential")
class SampleExponential(Sample):
    """Draw from an exponential distribution for every element.

    lam (n, ...): rates, so the means are 1 / lam; out (n, ..., *shape), of type
    `dtype`: for each rate as many numbers as `shape` says, one without it.
    """

    inputs = ("lam",)


@register("_sample_poisson", "sample_poisson")
class SamplePoisson(Sample):
    """Draw from a Poisson distribution for every element.

    lam (n, ...): means; out (n, ..., *shape), of type `dtype`: for each mean as many
    counts as `shape` says, one without it.
    """

    inputs = ("lam",)


@register("_sample_multinomial", "sample_multinomial", "multinomial")
class SampleMultinomial(Op):
    """Draw numbers of classes with given probabilities.

    data (n, k), or (k,) for one distribution: each row the probabilities of k classes,
    which need not add up to 1 to the last digit
    out (n, *shape), of type `dtype`: for each row as many numbers as `shape` says, one
    without it

    get_prob: a second output of the type of data, the logarithm of the probability of
    each class that was drawn; gradients flow from it to that probability, as REINFORCE
    needs.
    """

    shape: Shape = ()
    get_prob: bool = False
    dtype: str = "int32"

    needs_rng = True
    deterministic = False

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        """With `get_prob`."""
        return self.get_prob

    @property
    def saves(self) -> tuple[str, ...]:
        """What was chosen, and how likely it was."""
        return ("out", "out1") if self.get_prob else ()

    @property
    def visible(self) -> int:  # type: ignore[override]
        """Two with `get_prob`."""
        return 2 if self.get_prob else 1

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The rows of data, then `shape`."""
        (data,) = specs
        shape = (*data.shape[:-1], *self.shape) or (1,)
        classes = Spec.of(shape, resolve(self.dtype))
        return (classes, data.with_shape(shape)) if self.get_prob else (classes,)

    kernel = computed_by("random.multinomial")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """1 / p to the probability of what was chosen, as often as it was."""
        data, chosen = at.ins[0], at.outs[0].shape
        classes, likelihood = saved
        rows = prod(data.shape[:-1])
        flat = rows, prod(chosen) // max(1, rows)
        slope = dout[1] / bind(lookup("exp").of(), likelihood)
        put = lookup("_put_along_axis").of(axis=1, length=data.shape[-1])
        found = bind(
            put, reshaped(slope, chosen, flat), reshaped(classes, chosen, flat)
        )
        return (reshaped(found, (rows, data.shape[-1]), data.shape),)


@register("shuffle", "_shuffle", "random_shuffle", "_npi_shuffle")
class Shuffle(Draws):
    """Put the rows of data into a random order.

    data: any shape; out: the same shape and type. The elements of a row, all that have
    one index along the first axis, stay together. No gradient flows through.
    """

    casting = EITHER

    infer = like_first

    kernel = computed_by("random.shuffle")
