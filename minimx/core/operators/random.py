"""Data sheets of random numbers.

Their kernels draw from the device's own stream, so two calls give different numbers,
and `mx.random.seed` makes a program repeat them.

MXNet 1.9.1: src/operator/random/sample_op.cc. The numbers are others than MXNet's for
the same seed.
"""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.ops.registry import Kernel, Op, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape


class Random(Op):
    """Numbers of one distribution; the settings are its parameters, shape and dtype."""

    inputs = ()
    needs_rng = True
    deterministic = False
    differentiable = False

    shape: Shape = (1,)
    dtype: str = "float32"

    def infer(self, *specs: Spec) -> Spec:
        """As the settings say."""
        return Spec.of(self.shape, resolve(self.dtype))

    def check(self) -> None:
        """Refuse parameters that the distribution does not have."""

    def require(self, fits: bool, what: str) -> None:
        """Raise OperatorError unless `fits`; what: what follows the operator's name."""
        if not fits:
            raise OperatorError(f"{self.name}: {what}.")

    def kernel(self, *specs: Spec) -> Kernel:
        """The generator's own loop, moved and stretched.

        Parameters that do not fit are refused when the numbers are drawn, as in MXNet:
        the call returns, and the error comes where its numbers are waited for.
        """
        try:
            self.check()
        except OperatorError as problem:
            return _refusing(str(problem))
        parameters = {
            name: value
            for name, value in self.settings.items()
            if name not in ("shape", "dtype")
        }
        word = self.name.removeprefix("_random_")
        made: Kernel = find(f"random.{word}")(**parameters)
        return made

    def cost(self, *specs: Spec) -> Cost:
        """Some ten operations for each number."""
        out = Spec.of(self.shape, resolve(self.dtype))
        return Cost(10 * out.size, out.nbytes)


def _refusing(why: str) -> Kernel:
    def kernel(*arrays: Any) -> None:
        raise OperatorError(why)

    return kernel


@register("_random_uniform", "random_uniform", "uniform")
class Uniform(Random):
    """Random numbers, evenly in [low, high). out: `shape`, of `dtype` (a float type).

    Raises OperatorError, where the numbers are waited for, if low is more than high.
    """

    low: float = 0.0
    high: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """The bounds are in order."""
        fits = self.low <= self.high
        self.require(fits, f"low={self.low} must not be more than high={self.high}")


@register("_random_normal", "random_normal", "normal")
class Normal(Random):
    """Random numbers of a normal distribution. out: `shape`, of `dtype` (a float type).

    loc: the mean; scale: the standard deviation. Raises OperatorError, where the
    numbers are waited for, if scale is negative.
    """

    loc: float = 0.0
    scale: float = 1.0
    shape: Shape = (1,)
    dtype: str = "float32"

    def check(self) -> None:
        """The deviation is not negative."""
        self.require(self.scale >= 0, f"scale={self.scale} must not be negative")
