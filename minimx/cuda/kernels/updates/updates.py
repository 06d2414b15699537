"""How optimizers change weights, on CUDA: the rules of the CPU's file of this name.

A rule is a kernel `(out, weight, gradient, *states, n, numbers)`; `out` may be
`weight` itself.
"""

from __future__ import annotations

from typing import Any

from minimx.cuda.kernels import launching
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import sqrt


@launching.inner
def scaled(gradient: Any, rescale: Any, clip: Any) -> Any:
    """The gradient as the rules want it: rescaled, then clipped."""
    g = gradient * rescale
    return min(max(g, -clip), clip) if clip >= 0 else g


@launching.inner
def side(x: Any) -> Any:
    """The sign of a number."""
    return 1 if x > 0 else (-1 if x < 0 else x)


@launching.kernel
def sgd(out: Any, weight: Any, gradient: Any, n: int, numbers: Any) -> None:
    """W -= lr * (g + wd * w)."""
    lr, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        out[i] = w - lr * (scaled(gradient[i], rescale, clip) + wd * w)


@launching.kernel
def sgd_mom(
    out: Any, weight: Any, gradient: Any, mom: Any, n: int, numbers: Any
) -> None:
    """M = momentum * m - lr * (g + wd * w); w += m."""
    lr, momentum, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip) + wd * w
        m = momentum * mom[i] - lr * g
        mom[i] = m
        out[i] = w + m


@launching.kernel
def nag_mom(
    out: Any, weight: Any, gradient: Any, mom: Any, n: int, numbers: Any
) -> None:
    """Like sgd_mom, from where the momentum will have carried the weight to."""
    lr, momentum, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip)
        step = lr * (g + wd * w)
        m = momentum * mom[i]
        w += momentum * (m - step) - step
        out[i] = w
        mom[i] = m - lr * (g + wd * w)


@launching.kernel
def signsgd(out: Any, weight: Any, gradient: Any, n: int, numbers: Any) -> None:
    """W = (1 - lr * wd) * w - lr * sign(g)."""
    lr, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        g = scaled(gradient[i], rescale, clip)
        out[i] = (1 - lr * wd) * weight[i] - lr * side(g)


@launching.kernel
def signum(
    out: Any, weight: Any, gradient: Any, mom: Any, n: int, numbers: Any
) -> None:
    """M averages -(g + wd * w); w follows the sign of m."""
    lr, momentum, wd, rescale, clip, wd_lh = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip) + wd * w
        m = momentum * mom[i] - (1 - momentum) * g
        mom[i] = m
        out[i] = (1 - lr * wd_lh) * w + lr * side(m)


@launching.kernel
def adam(
    out: Any, weight: Any, gradient: Any, mean: Any, var: Any, n: int, numbers: Any
) -> None:
    """Running mean and square of the gradient; w -= lr * mean / (sqrt(var) + eps)."""
    lr, beta1, beta2, epsilon, wd, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, 1, clip)
        m = beta1 * mean[i] + (1 - beta1) * g
        v = beta2 * var[i] + (1 - beta2) * g * g
        mean[i], var[i] = m, v
        out[i] = w - lr * m / (sqrt(v) + epsilon)


@launching.kernel
def rmsprop(
    out: Any, weight: Any, gradient: Any, square: Any, n: int, numbers: Any
) -> None:
    """Square averages g * g; w -= lr * g / sqrt(square + epsilon)."""
    lr, gamma1, epsilon, wd, rescale, clip, clip_weights = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, 1, clip)
        s = gamma1 * square[i] + (1 - gamma1) * g * g
        square[i] = s
        out[i] = scaled(w - lr * g / sqrt(s + epsilon), 1, clip_weights)


@launching.kernel
def rmspropalex(
    out: Any, weight: Any, gradient: Any, square: Any, mean: Any, delta: Any, n: int,
    numbers: Any,
) -> None:  # fmt: skip
    """The gradient is divided by how far it spreads about its mean; with momentum."""
    lr, gamma1, gamma2, epsilon, wd, rescale, clip, clip_weights = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i] * rescale + wd * w, 1, clip)
        s = gamma1 * square[i] + (1 - gamma1) * g * g
        m = gamma1 * mean[i] + (1 - gamma1) * g
        d = gamma2 * delta[i] - lr * g / sqrt(s - m * m + epsilon)
        square[i], mean[i], delta[i] = s, m, d
        out[i] = scaled(w + d, 1, clip_weights)


@launching.kernel
def _preloaded_sgd(
    out: Any, weight: Any, gradient: Any, n: int, lrs: Any, wds: Any, which: int,
    numbers: Any,
) -> None:  # fmt: skip
    rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        out[i] = w - lrs[which] * (scaled(gradient[i], rescale, clip) + wds[which] * w)


@launching.kernel
def _preloaded_sgd_mom(
    out: Any, weight: Any, gradient: Any, mom: Any, n: int, lrs: Any, wds: Any,
    which: int, numbers: Any,
) -> None:  # fmt: skip
    momentum, rescale, clip = numbers
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w = weight[i]
        g = scaled(gradient[i], rescale, clip) + wds[which] * w
        m = momentum * mom[i] - lrs[which] * g
        mom[i] = m
        out[i] = w + m


def preloaded(
    weight: Any, gradient: Any, states: tuple[Any, ...], out: Any, rates: Any,
    which: int, numbers: tuple[float, ...],
) -> None:  # fmt: skip
    """Sgd or sgd_mom, with the rate and the decay at a place of two device arrays."""
    rule = _preloaded_sgd_mom if states else _preloaded_sgd
    arrays, settings = (out, weight, gradient, *states), map(out.dtype.type, numbers)
    launching.over(rule, out.size, arrays, *rates, which, tuple(settings))


@launching.kernel
def _lars(
    lrs: Any, weights: Any, gradients: Any, wds: Any, out: Any, n: int,
    eta: Any, eps: Any, rescale: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w, g = sqrt(weights[i]), sqrt(gradients[i])
        rate = lrs[i]
        if w > 0 and g > 0:
            rate = rate * eta * w / (g * rescale + wds[i] * w + eps)
        out[i] = rate


@runs("multi_lars", types=real)
def lars(
    lrs: Any, weights: Any, gradients: Any, wds: Any, eta: float, eps: float,
    rescale_grad: float, out: Any,
) -> None:  # fmt: skip
    """The rates of LARS, a number for each layer, from sums of squares."""
    numbers = map(out.dtype.type, (eta, eps, rescale_grad))
    launching.over(_lars, out.size, (lrs, weights, gradients, wds, out), *numbers)


def step(
    rule: Any, weight: Any, gradient: Any, states: tuple[Any, ...], out: Any,
    numbers: tuple[float, ...],
) -> None:  # fmt: skip
    """Apply a rule of this file to arrays of any shape; out may be `weight` itself."""
    arrays, settings = (out, weight, gradient, *states), map(out.dtype.type, numbers)
    launching.over(rule, out.size, arrays, tuple(settings))
