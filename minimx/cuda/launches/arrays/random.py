"""Launches of random numbers, and of how likely numbers are.

Parameters that are settings are refused as on the CPU, when numbers are drawn; of those
in arrays nothing is known before: where they are wrong the numbers are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, NARROW
from minimx.core.errors import OperatorError
from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.arrays import distributions
from minimx.cuda.kernels.core import random
from minimx.cuda.kernels.numpy import np_random as np_draws
from minimx.cuda.launches import implements
from minimx.operators.kernels.numpy import np_random

#: MXNet's operators give an exponential distribution's rate, not its mean.
_RENAMED = {"exponential": "rate"}
_NAMES = (
    *("uniform", "normal", "gamma", "exponential", "poisson", "negative_binomial"),
    "generalized_negative_binomial",
)


@implements(*(f"_random_{name}" for name in (*_NAMES, "bernoulli", "randint")))
@implements(*(f"_random_{name}_like" for name in _NAMES))
def drawn(op: Any, *specs: Spec) -> Kernel | None:
    """Numbers of one distribution; an array only says how many."""
    out = op.infer(*specs)
    try:
        op.check()
    except OperatorError:
        return None if specs else op.kernel()
    kind = op.name.removeprefix("_random_").removesuffix("_like")
    given = [v for name, v in op.settings.items() if name not in ("shape", "dtype")]
    if kind == "randint":
        return _rounded(distributions.randint(*given), (), (out,))
    if kind in ("uniform", "normal"):
        launch: Kernel = getattr(random, kind)(*given)
    else:
        kind, given = _RENAMED.get(kind, kind), [*map(float, given)]
        launch = distributions.draw(kind, given, [], out.shape)
    return _rounded(lambda *arrays: launch(*arrays[-2:]), specs, (out,))


@implements(*(f"_sample_{name}" for name in _NAMES))
def sampled(op: Any, *specs: Spec) -> Kernel | None:
    """Several numbers for every set of parameters."""
    out, kind = op.infer(*specs), op.name.removeprefix("_sample_")
    ones = (1,) * (out.ndim - specs[0].ndim)
    shapes = [(*spec.shape, *ones) for spec in specs]
    kind = _RENAMED.get(kind, kind)
    launch = distributions.draw(kind, [None] * len(specs), shapes, out.shape)
    return _rounded(launch, specs, (out,))


@implements(
    *("_npi_normal", "_npi_logistic", "_npi_gumbel", "_npi_laplace", "_npi_normal_n"),
    *("_npi_uniform", "_npi_uniform_n", "_npi_exponential", "_npi_rayleigh"),
    *("_npi_weibull", "_npi_pareto", "_npi_powerd", "_npi_gamma", "_npi_beta"),
    *("_npi_chisquare", "_npi_f", "_npi_poisson", "_npi_bernoulli"),
)
def numpys(op: Any, *specs: Spec) -> Kernel | None:
    """Numbers, and the standard numbers where gradients need them."""
    outs = op.infer(*specs)
    kind = op.name.removeprefix("_npi_").removesuffix("_n")
    names: Sequence[str] = op.parameters
    if kind == "bernoulli":
        names = ("logit",) if op.is_logit else ("prob",)
        kind = "bernoulli_logit" if op.is_logit else "bernoulli"
    given = [getattr(op, name) for name in names]
    try:
        for name, value in zip(names, given, strict=True):
            if value is not None:
                rule = "p" if kind == "bernoulli" else name
                np_random.check(kind, rule, np.asarray(value, np.float64))
    except OperatorError:
        return None  # the CPU's kernel says it
    shapes = [spec.shape for spec in specs]
    return _rounded(distributions.draw(kind, given, shapes, outs[0].shape), specs, outs)


def _rounded(
    launch: Kernel, specs: Sequence[Spec], outs: Sequence[Spec]
) -> Kernel | None:
    """The launch; for two-byte numbers into float32, which is rounded at the end."""
    if NARROW & {spec.dtype for spec in specs} or outs[0].dtype.kind == "b":
        return None  # `half.in_single` widens the parameters
    if outs[0].dtype not in NARROW:
        return launch
    size = outs[0].size
    cast: Any = pointwise.converted(size, FLOAT32, outs[0].dtype)

    def run(*arrays: Any) -> None:
        *rest, generator = arrays
        with scratch.allocated(*[(size, FLOAT32)] * len(outs)) as buffers:
            launch(*rest[: len(specs)], *buffers, generator)
            for buffer, out in zip(buffers, rest[len(specs) :], strict=True):
                cast(buffer, out)

    return run


# -- choices ---------------------------------------------------------------------------


@implements("_sample_multinomial")
def classes(op: Any, data: Spec) -> Kernel | None:
    """A search in the running sums."""
    if data.dtype in NARROW or op.infer(data)[0].dtype in NARROW:
        return None
    return distributions.multinomial(prod(data.shape[:-1]), data.shape[-1])


@implements("_npi_choice")
def choice(op: Any, *specs: Spec) -> Kernel | None:
    """Numbers evenly, by running sums, or the first of a permutation."""
    if any(spec.dtype in NARROW for spec in specs):
        return None
    return distributions.choice(op.a, op.replace, bool(specs))


@implements("_npi_multinomial")
def counts(op: Any, *specs: Spec) -> Kernel | None:
    """Trials one by one, counted where they fall; probabilities are an array or not."""
    if op.pvals is not None:
        p = np.asarray(op.pvals, np.float64)
        if np.any(p < 0) or p.sum() > 1 + 1e-6:
            return None  # the CPU's kernel says it
    if any(spec.dtype in NARROW for spec in specs):
        return None
    k = op.infer(*specs).shape[-1]
    return np_draws.multinomial(op.n, k, op.pvals) if op.n > 0 else None


# -- densities -------------------------------------------------------------------------


@implements(
    *("_random_pdf_uniform", "_random_pdf_normal", "_random_pdf_gamma"),
    *("_random_pdf_exponential", "_random_pdf_poisson"),
    *("_random_pdf_negative_binomial", "_random_pdf_generalized_negative_binomial"),
)
def density(op: Any, *specs: Spec) -> Kernel | None:
    """The formula of the logarithm."""
    text = op.text if op.is_log else f"exp({op.text})"
    wide = [s.with_shape(shape) for s, shape in zip(specs, op.wide(specs), strict=True)]
    return pointwise.broadcast(Formula(text, op.operands), wide, op.infer(*specs))
