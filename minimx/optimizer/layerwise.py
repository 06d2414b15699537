"""Optimizers for large batches: every layer gets a step length of its own.

What they compare is the length of a layer's weight with that of its gradient (LARS) or
of the step that Adam would take (LAMB). Biases and the parameters of normalisation,
whose lengths say little, are left out by LARS.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.optimizer.adaptive import TwoAverages
from minimx.optimizer.base import Index, Optimizer, State, register, zeros_like


def _listed(*values: Any) -> tuple[list[Any], ...]:
    """Each value as a list: of one, if it is none yet."""
    return tuple(list(v) if isinstance(v, (list, tuple)) else [v] for v in values)


def _interleaved(*columns: Sequence[Any]) -> list[Any]:
    """The first of every column, then the second, …: how multi-tensor updates take it.

    >>> _interleaved(["w0", "w1"], ["g0", "g1"])
    ['w0', 'g0', 'w1', 'g1']
    """
    return [one for row in zip(*columns, strict=True) for one in row]


@register
class LARS(Optimizer):
    """Gradient descent with a trust ratio for each layer (You et al., 2017).

    lr of a layer = lr * eta * |weight| / (|g| + wd * |weight| + eps), then as SGD.
    momentum_correction: a momentum gathered at another learning rate is scaled to the
        present one (Goyal et al., 2017).
    """

    copy_is_last = True

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.eta = eta
        self.eps = eps
        self.momentum_correction = momentum_correction
        self._rate: float | None = None

    takes_lists = True

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Only weights decay unless this says otherwise, not even gammas."""
        names = self.idx2name.values()
        self.wd_mult = {n: 0.0 for n in names if not n.endswith("_weight")}
        self.wd_mult.update(args_wd_mult)

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum."""
        return zeros_like(weight) if self.momentum else None

    def _is_scaled(self, index: Index) -> bool:
        names: dict[Any, str] = self.idx2name
        return not names.get(index, str(index)).endswith(("gamma", "beta", "bias"))

    def _corrected_momentum(self) -> float:
        """The momentum, for what was gathered at the rate of the last update."""
        last, self._rate = self._rate, self.learning_rate
        if last and self.momentum_correction:
            return self.momentum * self._rate / last
        return self.momentum

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight, or several in one launch."""
        indices, *columns = _listed(index, weight, grad, state)
        self._update_count(indices)
        momentum = self._corrected_momentum()
        rates = zip(self._get_lrs(indices), self._get_wds(indices), strict=True)
        rows = list(zip(indices, *columns, rates, strict=True))
        for scaled in (True, False):
            group = [row[1:] for row in rows if self._is_scaled(row[0]) == scaled]
            if group:
                self._update_group(group, scaled, momentum)

    def _update_group(self, rows: list[Any], scaled: bool, momentum: float) -> None:
        """rows: (weight, gradient, state, (lr, wd)) of layers, all scaled or none."""
        weights, grads, states, rates = (list(c) for c in zip(*rows, strict=True))
        count, where = len(weights), weights[0].context
        lrs = nd.array([lr for lr, _ in rates], ctx=where)
        wds = nd.array([wd for _, wd in rates], ctx=where)
        if scaled:
            squares = nd.multi_sum_sq(*weights, num_arrays=count)
            steep = nd.multi_sum_sq(*grads, num_arrays=count)
            lrs = nd.multi_lars(
                lrs, squares, steep, wds, self.eta, self.eps, self.rescale_grad
            )
        settings = self._common(num_weights=count, out=weights)
        if self.momentum:
            arrays = _interleaved(weights, grads, states)
            settings["momentum"] = momentum
            nd.preloaded_multi_sgd_mom_update(*arrays, lrs, wds, **settings)
        else:
            arrays = _interleaved(weights, grads)
            nd.preloaded_multi_sgd_update(*arrays, lrs, wds, **settings)


@register
class LBSGD(Optimizer):
    """Gradient descent that gathers gradients to large batches, with a warm-up.

    batch_scale: how many gradients are averaged before a step is taken; the learning
        rate grows to so many times itself.
    warmup_strategy: how it grows over warmup_epochs, "linear", "power2" or "sqrt"; or
        "lars": a ratio of the lengths of weight and gradient for each layer instead.
    updates_per_epoch, begin_epoch: what an epoch is, and where the training begins.
    """

    STRATEGIES = ("linear", "power2", "sqrt", "lars")

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        if warmup_strategy not in self.STRATEGIES:
            raise ArgumentError(
                f"LBSGD: warmup_strategy {warmup_strategy!r} is not known; choose "
                f"{', '.join(self.STRATEGIES)}."
            )
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self._gathered: dict[Index, tuple[NDArray | None, int]] = {}

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum."""
        return zeros_like(weight) if self.momentum else None

    def _warmup(self, updates: int) -> float:
        """How many times its base value the learning rate is after so many updates."""
        total = self.warmup_epochs * self.updates_per_epoch
        if updates >= total:
            return float(self.batch_scale)
        if total <= 1:
            return 1.0
        part = updates / total
        curve = {"linear": part, "power2": part**2, "sqrt": sqrt(part)}
        return 1.0 + (self.batch_scale - 1) * curve[self.warmup_strategy]

    @staticmethod
    def _ratio(weight: NDArray, grad: NDArray, wd: float) -> float:
        """How much longer a layer's weight is than its gradient, from 0.01 to 100."""
        long, steep = ((x * x).sum().asscalar() for x in (weight, grad))
        ratio = sqrt(float(long) / (float(steep) + wd * float(long) + 1e-18))
        return min(max(ratio, 0.01), 100.0)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Gather the gradient of one weight; update it with every batch_scale-th."""
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        before, count = self._gathered.get(index, (None, self.init_updates))
        total, count = (grad if before is None else before + grad), count + 1
        if count % self.batch_scale:
            self._gathered[index] = (
                total if before is not None else grad.copy(),
                count,
            )
            return
        self._gathered[index] = (None, count)
        mean = total / self.batch_scale
        if self.warmup_strategy == "lars":
            lr *= self._ratio(weight, mean, wd)
        else:
            lr *= self._warmup(count)
        if state is None:
            self._run(nd.sgd_update, index, weight, mean, state, lr=lr)
        else:
            more = {"lr": lr, "momentum": self.momentum}
            self._run(nd.sgd_mom_update, index, weight, mean, state, **more)


@register
class LAMB(TwoAverages):
    """Adam with a trust ratio for each layer (You et al., 2019).

    m and v as in Adam, with g without decay; d = m / (sqrt(v) + epsilon) + wd * weight;
    weight -= lr * |weight| / |d| * d.
    lower_bound, upper_bound: between which |weight| counts; None: no bound.
    bias_correction: m and v are corrected for their start at 0.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(beta1, beta2, epsilon, learning_rate=learning_rate, **kwargs)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    takes_lists = True

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update one weight, or several in one launch."""
        indices, weights, grads = _listed(index, weight, grad)
        states = [state] if not isinstance(index, (list, tuple)) else list(state)
        self._update_count(indices)
        means, variances = zip(*states, strict=True)
        nd._internal._multi_lamb_update(
            *_interleaved(weights, grads, means, variances),
            learning_rates=tuple(self._get_lrs(indices)),
            wds=tuple(self._get_wds(indices)),
            step_count=tuple(self._index_update_count[i] for i in indices),
            num_tensors=len(weights),
            **self._betas,
            lower_bound=self.lower_bound or -1.0,
            upper_bound=self.upper_bound or -1.0,
            bias_correction=self.bias_correction,
            out=weights,
            **self._common(),
        )
