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
    """Evenly in [low, high), in the shape of data."""

    low: float = 0.0
    high: float = 1.0


@register("_random_normal_like")
class NormalLike(Like):
    """Mean `loc`, standard deviation `scale`, in the shape of data."""

    loc: float = 0.0
    scale: float = 1.0


@register("_random_gamma_like")
class GammaLike(Like):
    """The gamma distribution of shape `alpha`, scale `beta`, in the shape of data."""

    alpha: float = 1.0
    beta: float = 1.0


@register("_random_exponential_like")
class ExponentialLike(Like):
    """Times between events that happen `lam` times per unit, in the shape of data."""

    lam: float = 1.0


@register("_random_poisson_like")
class PoissonLike(Like):
    """Counts of events that happen `lam` times on average, in the shape of data."""

    lam: float = 1.0


@register("_random_negative_binomial_like")
class NegativeBinomialLike(Like):
    """Failures before `k` successes of probability `p`, in the shape of data."""

    k: int = 1
    p: float = 1.0


@register("_random_generalized_negative_binomial_like")
class GeneralizedNegativeBinomialLike(Like):
    """Counts of mean `mu` that spread by `alpha`, in the shape of data."""

    mu: float = 1.0
    alpha: float = 1.0


@register("_sample_negative_binomial", "sample_negative_binomial")
class SampleNegativeBinomial(Sample):
    """Failures before `k` successes of probability `p`. k, p (n,); out (n, *shape)."""

    inputs = ("k", "p")


@register(
    "_sample_generalized_negative_binomial", "sample_generalized_negative_binomial"
)
class SampleGeneralizedNegativeBinomial(Sample):
    """Counts of means `mu` that spread by `alpha`. mu, alpha (n,); out (n, *shape)."""

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
