"""Optimizers that give every weight its own step length, in historical order.

In every formula, g is the gradient after rescaling and clipping, plus `wd * weight`
unless the text says otherwise; t counts the updates of the weight, from 1.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.optimizer.base import Index, Optimizer, State, register


def _zeros_like(weight: NDArray, stype: str = "default") -> NDArray:
    return nd.zeros(weight.shape, weight.context, weight.dtype, stype)


@register
class AdaGrad(Optimizer):
    """Step lengths shrink with all squared gradients so far (Duchi et al., 2011).

    h += g²; weight -= lr * (g / sqrt(h + eps) + wd * weight), with g without decay.
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The sum of squared gradients, stored as the weight is."""
        return _zeros_like(weight, weight.stype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight; with a row_sparse gradient, only its rows."""
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        if grad.stype == "row_sparse":
            settings = self._common(lr=lr, wd=wd, epsilon=self.float_stable_eps)
            nd.sparse.adagrad_update(weight, grad, state, out=weight, **settings)
            return
        grad = self._prepared(grad)
        state[:] = state + grad * grad
        step = grad / (state + self.float_stable_eps).sqrt()
        weight[:] = weight - lr * (step + wd * weight)


@register
class RMSProp(Optimizer):
    """Step lengths follow a moving average of squared gradients (Tieleman, 2012).

    n = gamma1 * n + (1 - gamma1) * g²; weight -= lr * g / sqrt(n + epsilon).
    centered: subtract the square of the average gradient, and use momentum `gamma2`
        (Graves, 2013).
    clip_weights: cut the weights to [-clip_weights, clip_weights] afterwards.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The average of g²; centered: also of g, and the last step."""
        count = 3 if self.centered else 1
        return tuple(_zeros_like(weight) for _ in range(count))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        settings = self._common(
            lr=self._get_lr(index),
            wd=self._get_wd(index),
            gamma1=self.gamma1,
            epsilon=self.epsilon,
            clip_weights=-1.0 if self.clip_weights is None else self.clip_weights,
            out=weight,
        )
        if self.centered:
            n, g, delta = state
            settings["gamma2"] = self.gamma2
            nd.rmspropalex_update(weight, grad, n, g, delta, **settings)
        else:
            nd.rmsprop_update(weight, grad, *state, **settings)


@register
class AdaDelta(Optimizer):
    """RMSProp with a step length learnt from past steps (Zeiler, 2012).

    n = rho * n + (1 - rho) * g²; d = sqrt((s + epsilon) / (n + epsilon)) * g;
    s = rho * s + (1 - rho) * d²; weight -= d + wd * weight, with g without decay.
    """

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The averages of g² and d²."""
        return (_zeros_like(weight), _zeros_like(weight))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        wd, rho, eps = self._get_wd(index), self.rho, self.epsilon
        grad = self._prepared(grad)
        mean_g, mean_d = state
        mean_g[:] = rho * mean_g + (1.0 - rho) * grad * grad
        step = (mean_d + eps).sqrt() / (mean_g + eps).sqrt() * grad
        mean_d[:] = rho * mean_d + (1.0 - rho) * step * step
        weight[:] = weight - step - wd * weight


@register
class Ftrl(Optimizer):
    """Follow the regularised leader: weights that do not help stay 0 (McMahan, 2013).

    lamda1: how strongly weights are held at 0. beta: evens out the first steps.
    """

    def __init__(
        self,
        lamda1: float = 0.01,
        learning_rate: float = 0.1,
        beta: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lamda1 = lamda1
        self.beta = beta

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The state z of the leader, and the sum of squared gradients."""
        stype = weight.stype
        return (_zeros_like(weight, stype), _zeros_like(weight, stype))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        z, n = state
        nd.ftrl_update(
            weight,
            grad,
            z,
            n,
            lr=self._get_lr(index),
            wd=self._get_wd(index),
            lamda1=self.lamda1,
            beta=self.beta,
            out=weight,
            **self._common(),
        )


@register
class FTML(Optimizer):
    """Follow the moving leader: Adam as a sequence of problems (Zheng and Kwok, 2017).

    v = beta2 * v + (1 - beta2) * g²;
    d = (1 - beta1^t) / lr * (sqrt(v / (1 - beta2^t)) + epsilon);
    z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) * weight; weight = -z / d.
    """

    def __init__(
        self,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The states d, v and z."""
        return tuple(_zeros_like(weight) for _ in range(3))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        d, v, z = state
        nd.ftml_update(
            weight,
            grad,
            d,
            v,
            z,
            lr=self._get_lr(index),
            wd=self._get_wd(index),
            t=self._index_update_count[index],
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            rescale_grad=self.rescale_grad,
            clip_grad=-1.0 if self.clip_gradient is None else self.clip_gradient,
            out=weight,
        )


@register
class Adam(Optimizer):
    """Momentum and RMSProp together, corrected for their start at 0 (Kingma, 2014).

    m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g²;
    weight -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon).
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The averages m and v; for lazy updates, stored as the weight is."""
        stype = weight.stype if self.lazy_update else "default"
        return (_zeros_like(weight, stype), _zeros_like(weight, stype))

    def _corrected_lr(self, index: Any) -> float:
        """The learning rate, corrected for averages that started at 0."""
        t = self._index_update_count[index]
        first, second = 1.0 - self.beta1**t, 1.0 - self.beta2**t
        return self._get_lr(index) * sqrt(second) / first

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        mean, variance = state
        nd.adam_update(
            weight,
            grad,
            mean,
            variance,
            lr=self._corrected_lr(index),
            wd=self._get_wd(index),
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            lazy_update=self.lazy_update,
            out=weight,
            **self._common(),
        )


@register
class Adamax(Optimizer):
    """Adam with the largest gradient in place of the average square (Kingma, 2014).

    m = beta1 * m + (1 - beta1) * g; u = max(beta2 * u, |g|);
    weight -= lr / (1 - beta1^t) * m / u.
    """

    def __init__(
        self,
        learning_rate: float = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The average m and the maximum u."""
        return (_zeros_like(weight), _zeros_like(weight))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        t = self._index_update_count[index]
        lr = self._get_lr(index) / (1.0 - self.beta1**t)
        grad = self._clipped(grad * self.rescale_grad + self._get_wd(index) * weight)
        mean, largest = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * grad
        largest[:] = nd.broadcast_maximum(self.beta2 * largest, grad.abs())
        weight[:] = weight - lr * mean / (largest + 1e-8)


@register
class Nadam(Optimizer):
    """Adam with Nesterov's look-ahead (Dozat, 2016)."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The averages m and v."""
        return (_zeros_like(weight), _zeros_like(weight))

    def _momentum(self, t: int) -> float:
        return float(self.beta1 * (1.0 - 0.5 * 0.96 ** (t * self.schedule_decay)))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        t = self._index_update_count[index]
        grad = self._clipped(grad * self.rescale_grad + self._get_wd(index) * weight)
        now, ahead = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= now
        schedule_ahead = self.m_schedule * ahead
        mean, var = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * grad
        var[:] = self.beta2 * var + (1.0 - self.beta2) * grad * grad
        grad_part = grad / (1.0 - self.m_schedule)
        mean_part = mean / (1.0 - schedule_ahead)
        var_part = var / (1.0 - self.beta2**t)
        step = (1.0 - now) * grad_part + ahead * mean_part
        weight[:] = weight - self._get_lr(index) * step / (
            var_part.sqrt() + self.epsilon
        )


@register
class AdamW(Adam):
    """Adam whose weight decay does not pass through the averages (Loshchilov, 2017).

    As Adam, with g without decay; then weight -= lr * wd * weight_before.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        correct_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = self._prepared(grad)
        mean, var = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * grad
        var[:] = self.beta2 * var + (1.0 - self.beta2) * grad * grad
        rate = self._corrected_lr(index) if self.correct_bias else lr
        step = rate * mean / (var.sqrt() + self.epsilon)
        weight[:] = weight - step - lr * wd * weight
