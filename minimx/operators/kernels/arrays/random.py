"""Random numbers of further distributions, drawn by NumPy's generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.kernels.cpu.random import Launch, _affine


def exponential(lam: float) -> Launch:
    """Mean 1 / lam."""
    return _affine("standard_exponential", 1 / lam, 0)


def _drawn(draw: Callable[[Any, Any], Any]) -> Launch:
    """(out, generator): what `draw` gives for the generator and the shape of out."""

    def launch(out: Any, generator: Any) -> None:
        np.copyto(out, draw(generator, out.shape), casting="unsafe")

    return launch


def gamma(alpha: float, beta: float) -> Launch:
    """Shape `alpha`, scale `beta`: mean alpha * beta."""
    return _drawn(lambda generator, shape: generator.gamma(alpha, beta, shape))


def poisson(lam: float) -> Launch:
    """How often an event happens that happens `lam` times on average."""
    return _drawn(lambda generator, shape: generator.poisson(lam, shape))


def negative_binomial(k: float, p: float) -> Launch:
    """Failures before the k-th success of a trial that succeeds with probability p."""
    return _drawn(lambda generator, shape: generator.negative_binomial(k, p, shape))


def generalized_negative_binomial(mu: float, alpha: float) -> Launch:
    """Poisson with a mean that is itself gamma distributed: mean mu, spread alpha."""

    def draw(generator: Any, shape: Any) -> Any:
        means = generator.gamma(1 / alpha, mu * alpha, shape) if alpha > 0 else mu
        return generator.poisson(means, shape)

    return _drawn(draw)


def _spread_poisson(mu: Any, alpha: Any, shape: Any, generator: Any) -> Any:
    """Poisson numbers with gamma distributed means; without a spread, with mean mu."""
    safe = np.where(alpha > 0, alpha, 1.0)
    means = generator.gamma(1 / safe, mu * safe, shape)
    return generator.poisson(np.where(alpha > 0, means, mu))


def unique_zipfian(range_max: int) -> Launch:
    """(out, tries, generator): different numbers in each row, and how many it took."""
    scale = np.log(range_max + 1)

    def launch(out: Any, tries: Any, generator: Any) -> None:
        for row, line in enumerate(out):
            seen: dict[int, None] = {}
            count = 0
            while len(seen) < line.size:
                drawn = np.exp(generator.random(line.size) * scale) - 1
                for number in np.minimum(drawn.astype(np.int64), range_max - 1):
                    seen.setdefault(int(number))
                    count += 1
                    if len(seen) == line.size:
                        break
            line[:] = list(seen)
            tries[row] = count

    return launch


def randint(low: int, high: int) -> Launch:
    """Whole numbers evenly in [low, high)."""
    return _drawn(lambda generator, shape: generator.integers(low, high, shape))


def bernoulli(prob: float) -> Launch:
    """1 with probability `prob`, else 0."""
    return _drawn(lambda generator, shape: generator.random(shape) < prob)


def sample(method: str, per: int) -> Launch:
    """(*parameters, out, generator): `per` numbers for every set of parameters."""

    def launch(*arrays: Any) -> None:
        *parameters, out, generator = arrays
        columns = [p.reshape(-1, 1).astype(np.float64) for p in parameters]
        if method == "exponential":  # MXNet gives the rate, NumPy wants the mean
            columns = [1 / columns[0]]
        shape = (columns[0].size, per)
        if method == "generalized_negative_binomial":
            mean, alpha = columns
            drawn = _spread_poisson(mean, alpha, shape, generator)
        elif method == "uniform":  # bounds may be exchanged, which NumPy refuses
            low, high = columns
            drawn = low + (high - low) * generator.random(shape)
        else:
            drawn = getattr(generator, method)(*columns, shape)
        np.copyto(out, drawn.reshape(out.shape), casting="unsafe")

    return launch


def multinomial(data: Any, *rest: Any) -> None:
    """Data (..., k) probabilities; out (..., n): numbers of classes.

    rest: out, and the logarithms of the probabilities if they are asked for, and the
    generator. A class is where the running sum of the probabilities passes a random
    number.
    """
    *outs, generator = rest
    k = data.shape[-1]
    ends = np.cumsum(data.reshape(-1, k), axis=1, dtype=np.float64)
    drawn = generator.random((ends.shape[0], outs[0].size // ends.shape[0]))
    drawn *= ends[:, -1:]  # probabilities need not add up to 1 to the last digit
    classes = np.empty(drawn.shape, np.int64)
    for row, numbers in enumerate(drawn):
        classes[row] = np.searchsorted(ends[row], numbers, side="right")
    np.minimum(classes, k - 1, out=classes)
    np.copyto(outs[0], classes.reshape(outs[0].shape), casting="unsafe")
    if len(outs) > 1:
        chosen = np.take_along_axis(data.reshape(-1, k), classes, 1)
        np.copyto(outs[1], np.log(chosen).reshape(outs[1].shape), casting="unsafe")


def shuffle(data: Any, out: Any, generator: Any) -> None:
    """The rows in a random order."""
    np.copyto(out, data[generator.permutation(data.shape[0])])
