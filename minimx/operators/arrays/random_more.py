"""Data sheets of random numbers that are like an array, and of rarer distributions."""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.dtypes import INT64
from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.operators.random import Random
from minimx.core.ops import Kernel, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.arrays.random import Sample
from minimx.operators.rules import computed_by, like_first


class Like(Random):
    """As many numbers as `data` has, in its shape and element type."""

    inputs: ClassVar[Any] = ("data",)

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """The loop of the same distribution; data is not read."""
        word = self.name.removeprefix("_random_").removesuffix("_like")
        made: Kernel = find(f"random.{word}")(**self.settings)
        return lambda data, out, generator: made(out, generator)


@register("_random_uniform_like")
class UniformLike(Like):
    """Draw evenly from [low, high), as many numbers as data has elements.

    data: any shape, which is not read; out: its shape and element type.
    """

    low: float = 0.0
    high: float = 1.0


@register("_random_normal_like")
class NormalLike(Like):
    """Draw from a normal distribution, as many numbers as data has elements.

    data: any shape, which is not read; out: its shape and element type. loc: the mean;
    scale: the standard deviation.
    """

    loc: float = 0.0
    scale: float = 1.0


@register("_random_gamma_like")
class GammaLike(Like):
    """Draw from a gamma distribution, as many numbers as data has elements.

    data: any shape, which is not read; out: its shape and element type. alpha: the
    shape, beta: the scale of the distribution, whose mean is alpha * beta.
    """

    alpha: float = 1.0
    beta: float = 1.0


@register("_random_exponential_like")
class ExponentialLike(Like):
    """Draw from an exponential distribution, as many numbers as data has elements.

    data: any shape, which is not read; out: its shape and element type. lam: the rate;
    the mean is 1 / lam.
    """

    lam: float = 1.0


@register("_random_poisson_like")
class PoissonLike(Like):
    """Draw counts from a Poisson distribution, as many as data has elements.

    data: any shape, which is not read; out: its shape and element type. lam: the mean.
    """

    lam: float = 1.0


@register("_random_negative_binomial_like")
class NegativeBinomialLike(Like):
    """Draw counts of failures before k successes, as many as data has elements.

    data: any shape, which is not read; out: its shape and element type. p: the
    probability of a success.
    """

    k: int = 1
    p: float = 1.0


@register("_random_generalized_negative_binomial_like")
class GeneralizedNegativeBinomialLike(Like):
    """Draw counts of mean mu that spread by alpha, as many as data has elements.

    data: any shape, which is not read; out: its shape and element type. The variance is
    mu + alpha * mu².
    """

    mu: float = 1.0
    alpha: float = 1.0


@register("_sample_negative_binomial", "sample_negative_binomial")
class SampleNegativeBinomial(Sample):
    """Draw counts of failures before k successes, for every pair of elements.

    k, p (n, ...), one shape: numbers of successes and their probability; out (n, ...,
    *shape), of type `dtype`: for each pair as many counts as `shape` says, one without
    it. Raises ShapeError if the shapes of the parameters differ.
    """

    inputs = ("k", "p")


@register(
    "_sample_generalized_negative_binomial", "sample_generalized_negative_binomial"
)
class SampleGeneralizedNegativeBinomial(Sample):
    """Draw counts of mean mu that spread by alpha, for every pair of elements.

    mu, alpha (n, ...), one shape; the variances are mu + alpha * mu². out (n, ...,
    *shape), of type `dtype`: for each pair as many counts as `shape` says, one without
    it. Raises ShapeError if the shapes of the parameters differ.
    """

    inputs = ("mu", "alpha")


@register("_sample_unique_zipfian")
class SampleUniqueZipfian(Random):
    """Rows of different numbers below range_max, small ones oftener than large ones.

    shape (n, m); outs (n, m) int64, and how often was drawn until there were m (n,).
    Number k comes with probability log((k + 2) / (k + 1)) / log(range_max + 1).
    """

    range_max: int
    shape: Shape = (1,)

    visible = 2

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:  # type: ignore[override]
        """The numbers, and a count for each row."""
        shape = self.shape if len(self.shape) == 2 else (1, *self.shape)
        if len(shape) != 2 or shape[1] > self.range_max:
            raise OperatorError(
                f"_sample_unique_zipfian: shape {self.shape} must be rows of at most "
                f"range_max={self.range_max} numbers; there are no more different ones."
            )
        return Spec.of(shape, INT64), Spec.of((shape[0],), INT64)

    kernel = computed_by("random.unique_zipfian", "range_max")
