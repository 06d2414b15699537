"""Stochastic gradient descent and its relatives, from the plainest on.

In every formula, g is the gradient after rescaling and clipping, plus `wd * weight`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.optimizer.base import Index, Optimizer, State, register, zeros_like


@register
class SGD(Optimizer):
    """weight -= lr * g; with momentum: m = momentum * m - lr * g; weight += m.

    Up to MXNET_OPTIMIZER_AGGREGATION_SIZE weights are updated in one launch.

    lazy_update: for sparse gradients; dense ones are always updated in full.
    """

    copy_is_last = True

    def __init__(
        self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update

    takes_lists = True

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum; for lazy updates, stored as the weight is."""
        stype = weight.stype if self.lazy_update else "default"
        return zeros_like(weight, stype) if self.momentum else None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight, or several in one launch."""
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        lrs, wds = self._get_lrs(index), self._get_wds(index)
        common = self._common()
        if len(index) > 1:
            self._update_many(weight, grad, state, lrs, wds, common)
        else:
            common |= {"lr": lrs[0], "wd": wds[0], "lazy_update": self.lazy_update}
            common["out"] = weight[0]
            if self.momentum:
                arrays = weight[0], grad[0], state[0]
                nd.sgd_mom_update(*arrays, momentum=self.momentum, **common)
            else:
                nd.sgd_update(weight[0], grad[0], **common)

    def _update_many(
        self,
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        states: Sequence[State],
        lrs: list[float],
        wds: list[float],
        common: dict[str, Any],
    ) -> None:
        settings = {
            "lrs": tuple(lrs),
            "wds": tuple(wds),
            "num_weights": len(weights),
            "out": list(weights),
            **common,
        }
        columns: tuple[Sequence[Any], ...] = (weights, grads)
        update = nd.multi_sgd_update
        if self.momentum:
            columns, update = (weights, grads, states), nd.multi_sgd_mom_update
            settings["momentum"] = self.momentum
        update(*[one for row in zip(*columns, strict=True) for one in row], **settings)


@register
class NAG(SGD):
    """Nesterov's momentum: the gradient counts twice, once in the look-ahead.

    m = momentum * m - lr * g; weight += momentum * m - lr * g.
    """

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum, **kwargs)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        if not self.momentum:
            super().update(index, weight, grad, state)
            return
        self._update_count(index)
        update = nd.nag_mom_update
        self._run(update, index, weight, grad, state, momentum=self.momentum)


@register
class Signum(Optimizer):
    """Steps of the same length in every direction: only the sign counts.

    m = momentum * m - (1 - momentum) * g; weight = (1 - lr * wd_lh) * weight
    + lr * sign(m). Without momentum: weight -= lr * sign(g).

    wd_lh: weight decay that is not scaled with the gradient (Loshchilov and Hutter).
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum."""
        return zeros_like(weight) if self.momentum else None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        self._update_count(index)
        if state is None:
            self._run(nd.signsgd_update, index, weight, grad, state)
        else:
            more = {"momentum": self.momentum, "wd_lh": self.wd_lh}
            self._run(nd.signum_update, index, weight, grad, state, **more)


@register
class SGLD(Optimizer):
    """Gradient descent with noise, which samples from the posterior (Welling and Teh).

    weight -= lr/2 * g + a normal number of deviation sqrt(lr).
    """

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        lr, wd = self._begin(index)
        noise = nd.random.normal(
            0, lr**0.5, shape=weight.shape, dtype=weight.dtype, ctx=weight.context
        )
        weight[:] = weight - lr / 2 * (self._prepared(grad) + wd * weight) + noise


@register
class DCASGD(Optimizer):
    """Gradient descent that makes up for late gradients (Zheng et al., 2016).

    m = momentum * m - lr * (g + lamda * grad² * (weight - weight_before)); weight += m,
    where weight_before is the weight at this worker's last update.
    """

    def __init__(
        self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum, and the weight before."""
        return (zeros_like(weight) if self.momentum else None, weight.copy())

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        lr, wd = self._begin(index)
        grad = self._prepared(grad)
        mom, before = state
        late = self.lamda * grad * grad * (weight - before)
        step = -lr * (grad + wd * weight + late)
        if mom is not None:
            mom[:] = self.momentum * mom + step
            step = mom
        before[:] = weight
        weight[:] = weight + step


@register
class ccSGD(SGD):  # noqa: N801 (MXNet's name)
    """SGD, under the name that it once had in C++."""


@register
class Test(Optimizer):
    """Add the gradient to the weight; the state is the weight. For tests."""

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Zeros in the shape of the weight."""
        return zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight."""
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight
