"""Random numbers of distributions whose parameters are numbers or arrays.

A kernel is `(*arrays, out[, standard], generator)`: `standard` is for distributions
that gradients flow through, the numbers before the parameters had their say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.kernels.cpu import random

Launch = Callable[..., None]


def _moved(standard: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * standard


def _between(standard: Any, low: Any, high: Any) -> Any:
    return low + (high - low) * standard


#: How standard numbers are drawn, and what the parameters do to them.
STANDARD: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "normal": (lambda g, shape: g.standard_normal(shape), _moved),
    "logistic": (lambda g, shape: g.logistic(size=shape), _moved),
    "gumbel": (lambda g, shape: g.gumbel(size=shape), _moved),
    "laplace": (lambda g, shape: g.laplace(size=shape), _moved),
    "uniform": (lambda g, shape: g.random(shape), _between),
    "exponential": (
        lambda g, shape: g.standard_exponential(shape), lambda x, scale: scale * x
    ),
    "rayleigh": (lambda g, shape: g.rayleigh(size=shape), lambda x, scale: scale * x),
    "weibull": (
        lambda g, shape: g.standard_exponential(shape), lambda x, a: x ** (1 / a)
    ),
    "pareto": (
        lambda g, shape: g.standard_exponential(shape), lambda x, a: np.expm1(x / a)
    ),
    "powerd": (lambda g, shape: 1 - g.random(shape), lambda x, a: x ** (1 / a)),
    "bernoulli": (lambda g, shape: g.random(shape), lambda x, p: x < p),
    "bernoulli_logit": (
        lambda g, shape: g.random(shape), lambda x, p: x * (1 + np.exp(-p)) < 1
    ),
}  # fmt: skip

#: What a parameter must be, by its name; those of some distributions stand apart.
RULES = {
    **dict.fromkeys(("a", "b", "shape", "df", "dfnum", "dfden"), "positive"),
    **dict.fromkeys(("scale", "lam"), "not negative"),
    "gamma.scale": "positive",
    "exponential.scale": "positive",
    "bernoulli.p": "between 0 and 1",
}
WRONG: dict[str, Callable[[Any], Any]] = {
    "positive": lambda x: x <= 0,
    "not negative": lambda x: x < 0,
    "between 0 and 1": lambda x: (x < 0) | (x > 1),
}


def check(word: str, name: str, value: Any) -> None:
    """Refuse parameters that the distribution does not have."""
    rule = RULES.get(f"{word}.{name}", RULES.get(name))
    if rule is not None and value.size and np.any(wrong := WRONG[rule](value)):
        worst = float(value[wrong].flat[0])
        raise OperatorError(f"random.{word}: {name}={worst:.6g} must be {rule}.")


def draw(word: str, given: dict[str, Any]) -> Launch:
    """The kernel of a distribution; `given`: its parameters, None where an array is."""
    missing = [name for name, value in given.items() if value is None]

    def launch(*arrays: Any) -> None:
        *rest, generator = arrays
        parameters = {**given, **dict(zip(missing, rest, strict=False))}
        out, *more = rest[len(missing) :]
        values = [np.asarray(value, np.float64) for value in parameters.values()]
        for name, value in zip(parameters, values, strict=True):
            check(word, name, value)
        if not missing and word in ("normal", "uniform"):
            plain = getattr(random, word)(*given.values())
            plain(out, generator)  # in the type of out
            return
        if word not in STANDARD:
            numbers = getattr(generator, word)(*values, out.shape)
        else:
            standard, formula = STANDARD[word]
            kept = standard(generator, out.shape)
            numbers = formula(kept, *values)
            for place in more:
                np.copyto(place, kept, casting="unsafe")
        np.copyto(out, numbers, casting="unsafe")

    return launch


def choice(count: int, replace: bool) -> Launch:
    """([p, ]out, generator): places from 0 to count - 1."""

    def launch(*arrays: Any) -> None:
        *p, out, generator = arrays
        weights = None
        if p:
            weights = p[0].astype(np.float64)
            total = weights.sum()
            if np.any(weights < 0) or not np.isclose(total, 1, atol=1e-2):
                raise OperatorError(
                    f"choice: the probabilities p must not be negative and must add up "
                    f"to 1; they add up to {total:.6g}."
                )
            weights /= total
        found = generator.choice(count, out.shape, replace, weights)
        np.copyto(out, found, casting="unsafe")

    return launch


def multinomial(n: int, pvals: Any) -> Launch:
    """([p, ]out, generator): counts of outcomes in n trials, a row each."""

    def launch(*arrays: Any) -> None:
        *p, out, generator = arrays
        weights = np.asarray(p[0] if p else pvals, np.float64)
        if np.any(weights < 0) or weights.sum() > 1 + 1e-6:
            raise OperatorError(
                "multinomial: the probabilities must not be negative and must not add "
                f"up to more than 1; they add up to {weights.sum():.6g}."
            )
        # The last outcome gets what the others leave, as in NumPy.
        weights = weights / max(1.0, weights.sum())
        if out.size:
            np.copyto(out, generator.multinomial(n, weights, out.shape[:-1]))

    return launch
