"""Optimizers that give every weight its own step length, in historical order.

In every formula, g is the gradient after rescaling and clipping, plus `wd * weight`
unless the text says otherwise; t counts the updates of the weight, from 1.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.optimizer.base import Index, Optimizer, State, register, zeros_like

__all__ = [
    "AdaDelta", "AdaGrad", "Adam", "AdamW", "Adamax", "FTML", "Ftrl", "Nadam",
    "RMSProp",
]  # fmt: skip


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
        return zeros_like(weight, weight.stype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight; with a row_sparse gradient, only its rows."""
        lr, wd = self._begin(index)
        if grad.stype == "row_sparse":
            more = {"lr": lr, "epsilon": self.float_stable_eps}
            self._run(nd.sparse.adagrad_update, index, weight, grad, state, **more)
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
        return tuple(zeros_like(weight) for _ in range(count))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        clip = -1.0 if self.clip_weights is None else self.clip_weights
        more = {"gamma1": self.gamma1, "epsilon": self.epsilon, "clip_weights": clip}
        if self.centered:
            more["gamma2"] = self.gamma2
            self._run(nd.rmspropalex_update, index, weight, grad, state, **more)
        else:
            self._run(nd.rmsprop_update, index, weight, grad, state, **more)


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
        return (zeros_like(weight), zeros_like(weight))

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
        return (zeros_like(weight, stype), zeros_like(weight, stype))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        more = {"lamda1": self.lamda1, "beta": self.beta}
        self._run(nd.ftrl_update, index, weight, grad, state, **more)


class TwoAverages(Optimizer):
    """The base of those that average gradients (beta1) and their squares (beta2).

    Both averages start at 0; after t updates 1 - beta^t is what they lack.
    """

    def __init__(
        self, beta1: float, beta2: float, epsilon: float, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The averages m and v."""
        return (zeros_like(weight), zeros_like(weight))

    @property
    def _betas(self) -> dict[str, float]:
        """The settings that update operators have by these names."""
        return {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}

    def _average(self, state: Any, grad: NDArray) -> tuple[NDArray, NDArray]:
        """Take a gradient into the averages, in place; both of them."""
        mean, var = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * grad
        var[:] = self.beta2 * var + (1.0 - self.beta2) * grad * grad
        return mean, var


@register
class FTML(TwoAverages):
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
        super().__init__(beta1, beta2, epsilon, **kwargs)

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The states d, v and z."""
        return tuple(zeros_like(weight) for _ in range(3))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        settings = self._common(lr=self._get_lr(index), wd=self._get_wd(index))
        settings["clip_grad"] = settings.pop("clip_gradient")
        settings |= {"t": self._index_update_count[index], **self._betas}
        nd.ftml_update(weight, grad, *state, out=weight, **settings)


@register
class Adam(TwoAverages):
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
        super().__init__(beta1, beta2, epsilon, learning_rate=learning_rate, **kwargs)
        self.lazy_update = lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The averages m and v; for lazy updates, stored as the weight is."""
        stype = weight.stype if self.lazy_update else "default"
        return (zeros_like(weight, stype), zeros_like(weight, stype))

    def _corrected_lr(self, index: Any) -> float:
        """The learning rate, corrected for averages that started at 0."""
        t = self._index_update_count[index]
        first, second = 1.0 - self.beta1**t, 1.0 - self.beta2**t
        return self._get_lr(index) * sqrt(second) / first

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        more = {"lr": self._corrected_lr(index), "lazy_update": self.lazy_update}
        self._run(nd.adam_update, index, weight, grad, state, **more, **self._betas)


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
        return (zeros_like(weight), zeros_like(weight))

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
class Nadam(TwoAverages):
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
        super().__init__(beta1, beta2, epsilon, learning_rate=learning_rate, **kwargs)
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

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
        mean, var = self._average(state, grad)
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
        lr, wd = self._begin(index)
        mean, var = self._average(state, self._prepared(grad))
        rate = self._corrected_lr(index) if self.correct_bias else lr
        step = rate * mean / (var.sqrt() + self.epsilon)
        weight[:] = weight - step - lr * wd * weight
