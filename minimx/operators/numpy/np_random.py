"""Data sheets of NumPy's random numbers.

A parameter of a distribution is a setting, or None and then an array among the inputs;
arrays stretch to one shape. `size` is the shape of the output, by default that of the
parameters. Where a number can be written as a smooth function of its parameters and of
a standard number, gradients flow to the parameters: the standard numbers are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import takewhile
from typing import Any, ClassVar

from minimx.core import shapes
from minimx.core.dtypes import INT64, resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.reduce import sum_to
from minimx.core.ops import GradContext, Kernel, Value, bind, lookup, register
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Draws, Gradients, computed_by, kernel_of


def _as_shape(size: Any) -> Shape | None:
    return (size,) if isinstance(size, int) else size


class Draw(Draws):
    """Numbers of one distribution."""

    all_inputs: ClassVar[tuple[str, ...]] = ("input1", "input2")
    #: The standard numbers are a hidden output.
    keeps_standard: ClassVar[bool] = False

    size: Any
    dtype: str

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the distribution's parameters: the settings before `size`."""
        return tuple(takewhile(lambda name: name != "size", self.settings))

    @property
    def arrays(self) -> tuple[str, ...]:
        """The parameters that are inputs."""
        return tuple(p for p in self.parameters if getattr(self, p) is None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One for each parameter that is not a setting."""
        return self.all_inputs[: len(self.arrays)]

    def wanted(self, common: Shape) -> Shape:
        """The shape of the output, from that of the parameters together."""
        size = _as_shape(self.size)
        if size is None:
            return common
        word = f"random.{self.name.removeprefix('_npi_')}"
        if shapes.broadcast(word, common, size) != size:
            raise ShapeError(
                f"{word}: size={size} has no room for parameters of shape {common}."
            )
        return size

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The numbers, and where gradients need them the standard numbers."""
        common: Shape = ()
        for spec in specs:
            common = shapes.broadcast(self.name, common, spec.shape)
        out = Spec.of(self.wanted(common), resolve(self.dtype))
        return (out, out) if self.keeps_standard and specs else (out,)

    def kernel(self, *specs: Spec) -> Kernel:
        """The generator's own loop, moved and stretched."""
        word = self.name.removeprefix("_npi_").removesuffix("_n")
        given = {name: getattr(self, name) for name in self.parameters}
        return kernel_of("np_random.draw", word, given)

    def cost(self, *specs: Spec) -> Cost:
        """Some ten operations for each number."""
        out = self.infer(*specs)[0]
        return Cost(10 * out.size, out.nbytes)

    def to_arrays(
        self, at: GradContext, rules: Mapping[str, Callable[[], Value]]
    ) -> list[Value | None]:
        """Gradients of the parameters that are arrays, in their shapes and types.

        rules: by parameter, what the gradient is in the output's shape and type.
        """
        return [
            _fitted(rules[name](), at, k) if at.wants[k] else None
            for k, name in enumerate(self.arrays)
        ]


def _fitted(value: Value, at: GradContext, k: int) -> Value:
    """A value of the output's shape and type in those of input k."""
    spec, out = at.ins[k], at.outs[0]
    if spec.dtype != out.dtype:
        value = bind(lookup("cast").of(dtype=spec.dtype.name), value)
    return sum_to(value, out.shape, spec.shape)


class OfEach(Draw):
    """`size` numbers of each distribution, not of all together."""

    def wanted(self, common: Shape) -> Shape:
        """`size`, then the shape of the parameters."""
        return (*(_as_shape(self.size) or ()), *common)


@with_settings
class _LocScale(Draw):
    """Numbers loc + scale · standard."""

    loc: float | None
    scale: float | None
    size: Any = None
    dtype: str = "float32"

    differentiable = True
    keeps_standard = True

    @property
    def saves(self) -> tuple[str, ...]:
        """The standard numbers, where the scale is an array."""
        return ("out1",) if "scale" in self.arrays else ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """1 for loc, the standard number for scale."""
        rules = {"loc": lambda: dout, "scale": lambda: dout * saved[0]}
        return self.to_arrays(at, rules)


@register("_npi_normal")
class NpNormal(_LocScale):
    """Mean `loc`, standard deviation `scale`. out: `size`."""


@register("_npi_logistic")
class NpLogistic(_LocScale):
    """The logistic distribution around `loc`, stretched by `scale`. out: `size`."""


@register("_npi_gumbel")
class NpGumbel(_LocScale):
    """The distribution of the largest of many numbers. out: `size`."""


@register("_npi_laplace")
class NpLaplace(_LocScale):
    """Two exponentials back to back, around `loc`. out: `size`."""


@register("_npi_normal_n")
class NpNormalN(OfEach, _LocScale):
    """As `_npi_normal`, `size` of each. loc, scale (n,), size=(m,); out (m, n)."""


@register("_npi_uniform")
class NpUniform(Draw):
    """Evenly in [low, high). out: `size`."""

    low: float | None
    high: float | None
    size: Any = None
    dtype: str = "float32"

    differentiable = True
    keeps_standard = True
    saves = ("out1",)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """High gets the standard number's share, low the rest."""
        share = dout * saved[0]
        rules = {"low": lambda: dout - share, "high": lambda: share}
        return self.to_arrays(at, rules)


@register("_npi_uniform_n")
class NpUniformN(OfEach, NpUniform):
    """As `_npi_uniform`, `size` of each. low, high (n,), size=(m,); out (m, n)."""


@with_settings
class _Scaled(Draw):
    """Numbers scale · standard."""

    scale: float | None = 1.0
    size: Any = None
    dtype: str = "float32"

    differentiable = True
    keeps_standard = True

    @property
    def saves(self) -> tuple[str, ...]:
        """The standard numbers, where the scale is an array."""
        return ("out1",) if self.arrays else ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The standard number."""
        return self.to_arrays(at, {"scale": lambda: dout * saved[0]})


@register("_npi_exponential")
class NpExponential(_Scaled):
    """Waiting times with mean `scale`. out: `size`."""


@register("_npi_rayleigh")
class NpRayleigh(_Scaled):
    """Lengths of vectors with two normal parts of deviation `scale`. out: `size`."""


@with_settings
class _Shaped(Draw):
    """Numbers y = f(standard) ^ (1 / a), moved by `shift`: y + shift is the power."""

    a: float | None = None
    size: Any = None
    dtype: str = "float32"

    differentiable = True
    shift: ClassVar[float] = 0.0

    @property
    def saves(self) -> tuple[str, ...]:
        """The numbers and the parameter, where it is an array."""
        return ("out", "input1") if self.arrays else ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """- power · log(power) / a."""
        if not at.ins:
            return []
        out, a = saved
        if at.ins[0].dtype != at.outs[0].dtype:
            a = bind(lookup("cast").of(dtype=at.outs[0].dtype.name), a)
        power = out + self.shift
        slope = power * bind(lookup("log").of(), power) / a
        return self.to_arrays(at, {"a": lambda: -(dout * slope)})


@register("_npi_weibull")
class NpWeibull(_Shaped):
    """Life times of exponent `a`: the a-th root of a standard one. out: `size`."""


@register("_npi_pareto")
class NpPareto(_Shaped):
    """Pareto's distribution of exponent `a`, moved to begin at 0. out: `size`."""

    shift = 1.0


@register("_npi_powerd")
class NpPower(_Shaped):
    """In [0, 1], with a density that grows like x^(a - 1). out: `size`."""


# -- without gradients -----------------------------------------------------------------


@register("_npi_gamma")
class NpGamma(Draw):
    """The gamma distribution of `shape` and `scale`; no gradient. out: `size`."""

    shape: float | None
    scale: float | None
    size: Any = None
    dtype: str = "float32"


@register("_npi_beta")
class NpBeta(Draw):
    """In [0, 1], of density x^(a - 1) · (1 - x)^(b - 1); no gradient. out: `size`."""

    a: float | None
    b: float | None
    size: Any = None
    dtype: str = "float32"


@register("_npi_chisquare")
class NpChiSquare(Draw):
    """Sums of `df` squared normal numbers; no gradient. out: `size`."""

    df: float | None
    size: Any = None
    dtype: str = "float32"


@register("_npi_f")
class NpF(Draw):
    """Fisher's F of `dfnum` and `dfden` degrees of freedom. out: `size`."""

    dfnum: float | None
    dfden: float | None
    size: Any = None
    dtype: str = "float32"


@register("_npi_poisson")
class NpPoisson(Draw):
    """How often something happens that happens `lam` times on average. out: `size`."""

    lam: float | None
    size: Any = None
    dtype: str = "float32"


@register("_npi_bernoulli")
class NpBernoulli(Draw):
    """1 with probability `prob`, or with the probability of which `logit` is the logit.

    out: `size`
    """

    prob: float | None = None
    logit: float | None = None
    size: Any = None
    dtype: str = "float32"
    is_logit: bool = False

    @property
    def arrays(self) -> tuple[str, ...]:
        """The one of the two that is asked for."""
        name = "logit" if self.is_logit else "prob"
        return (name,) if getattr(self, name) is None else ()

    def kernel(self, *specs: Spec) -> Kernel:
        """Uniform numbers, compared."""
        word = "bernoulli_logit" if self.is_logit else "bernoulli"
        given = {"p": self.logit if self.is_logit else self.prob}
        return kernel_of("np_random.draw", word, given)


@register("_npi_choice")
class NpChoice(Draws):
    """Numbers from 0 up to, without, `a`: each as likely, or as `p` says. out: `size`.

    p (a,), with weighted=True; replace=False: no number twice
    """

    a: int
    size: Any = None
    replace: bool = True
    weighted: bool = False
    all_inputs = ("p",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Probabilities, where there are some."""
        return self.all_inputs if self.weighted else ()

    def infer(self, *specs: Spec) -> Spec:
        """Places, as int64."""
        shape = _as_shape(self.size) or ()
        count = Spec.of(shape, INT64).size
        if self.a < 1 and count:
            raise OperatorError(f"choice: a={self.a}: there is nothing to choose from.")
        if not self.replace and count > self.a:
            raise OperatorError(
                f"choice: {count} different ones of {self.a} cannot be had; allow "
                "repetitions with replace=True."
            )
        if specs and specs[0].shape != (self.a,):
            raise ShapeError(
                f"choice: p {specs[0].shape} must hold one probability for each of "
                f"{self.a}."
            )
        return Spec.of(shape, INT64)

    kernel = computed_by("np_random.choice", "a", "replace")


@register("_npi_multinomial")
class NpMultinomial(Draws):
    """How often each of k outcomes comes in `n` trials. out (*size, k), int64.

    pvals: their probabilities, as a setting or as an array a (k,). If that holds
    negative numbers, or adds up to more than 1, there is an error where the counts are
    waited for; on CUDA devices all counts are -1.
    """

    n: int
    pvals: Any = None
    size: Any = None
    all_inputs = ("a",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Probabilities, unless they are a setting."""
        return self.all_inputs if self.pvals is None else ()

    def infer(self, *specs: Spec) -> Spec:
        """A row of counts for each experiment."""
        if specs and specs[0].ndim != 1:
            raise ShapeError(
                f"multinomial: pvals {specs[0].shape} must be one row of probabilities."
            )
        k = specs[0].shape[0] if specs else len(self.pvals)
        return Spec.of((*(_as_shape(self.size) or ()), k), INT64)

    kernel = computed_by("np_random.multinomial", "n", "pvals")
