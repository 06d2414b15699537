"""Normalisation layers: shift and scale numbers to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT16, resolve
from minimx.gluon.block import HybridBlock

__all__ = [
    "BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm",
    "SyncBatchNorm",
]  # fmt: skip


def _vector(
    block: HybridBlock,
    name: str,
    init: Any,
    length: int,
    learnt: bool,
    differentiable: bool = True,
) -> Any:
    """A parameter of one number for each channel or group; fixed unless it is learnt.

    differentiable: whether a program may change its mind about that.
    """
    return block.params.get(
        name,
        grad_req="write" if learnt else "null",
        shape=(length,),
        init=init,
        allow_deferred_init=True,
        differentiable=differentiable,
    )


class BatchNorm(HybridBlock):
    """Normalise each channel over the batch, then scale by gamma and shift by beta.

    In training mode the statistics are those of the batch, and running averages are
    kept: running = momentum * running + (1 - momentum) * batch. In prediction mode, or
    with `use_global_stats`, the running averages are used.

    axis: the axis of channels. center, scale: whether beta and gamma are learnt.
    gamma, beta, running_mean, running_var (in_channels,), in float32 if x is float16;
    in_channels: 0 to infer it from the first batch.
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._axis = axis
        self._kwargs: dict[str, Any] = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }

        def vector(name: str, init: Any, learnt: bool) -> Any:
            return _vector(self, name, init, in_channels, learnt, learnt)

        self.gamma = vector("gamma", gamma_initializer, scale)
        self.beta = vector("beta", beta_initializer, center)
        self.running_mean = vector("running_mean", running_mean_initializer, False)
        self.running_var = vector("running_var", running_variance_initializer, False)

    def cast(self, dtype: Any) -> None:
        """Convert; statistics in float16 would be too coarse and stay float32."""
        super().cast(np.float32 if resolve(dtype) == FLOAT16 else dtype)

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        """Same shape as x."""
        normalise = self._operator(F)
        return normalise(
            x, gamma, beta, running_mean, running_var, **self._kwargs, name="fwd"
        )

    def _operator(self, F: Any) -> Any:
        return F.BatchNorm

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self._kwargs.items())
        channels = self.gamma.shape[0] or None
        return f"{type(self).__name__}({settings}, in_channels={channels})"


class BatchNormReLU(BatchNorm):
    """`BatchNorm`, and 0 where that is negative, in one operator."""

    def _operator(self, F: Any) -> Any:
        return F.contrib.BatchNormWithReLU


class SyncBatchNorm(BatchNorm):
    """`BatchNorm` whose statistics several devices share.

    num_devices: how many do; here each call normalizes what its device holds.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1, momentum, epsilon, center, scale, use_global_stats, beta_initializer,
            gamma_initializer, running_mean_initializer, running_variance_initializer,
            in_channels, **kwargs,
        )  # fmt: skip
        del self._kwargs["axis"]
        self._kwargs |= {"ndev": num_devices or 1, "key": self.prefix}

    def _operator(self, F: Any) -> Any:
        return F.contrib.SyncBatchNorm


class _Affine(HybridBlock):
    """A learnt scale and shift, each one number for every group; settings in repr."""

    def __init__(
        self,
        settings: dict[str, Any],
        length: int,
        beta_initializer: Any,
        gamma_initializer: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._settings = settings
        self.gamma = _vector(
            self, "gamma", gamma_initializer, length, settings["scale"]
        )
        self.beta = _vector(self, "beta", beta_initializer, length, settings["center"])

    def _words(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._settings.items())

    def __repr__(self) -> str:
        channels = self.gamma.shape[0]
        return f"{type(self).__name__}({self._words()}, in_channels={channels})"


class LayerNorm(_Affine):
    """Normalise each sample along one axis, then scale by gamma and shift by beta.

    gamma, beta (in_channels,), the length of that axis; 0 to infer it from the first
    batch. center, scale: whether beta and gamma are learnt (Ba et al., 2016).
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        settings = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        super().__init__(
            settings, in_channels, beta_initializer, gamma_initializer,
            prefix=prefix, params=params,
        )  # fmt: skip
        self._axis, self._epsilon = axis, epsilon

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Same shape as data."""
        return F.LayerNorm(data, gamma, beta, axis=self._axis, eps=self._epsilon)


class GroupNorm(_Affine):
    """Normalise each group of channels of each sample, then scale and shift it.

    num_groups divides the channels; gamma and beta hold one number for each group.
    center, scale: whether beta and gamma are learnt.
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        settings = {"eps": epsilon, "num_groups": num_groups}
        settings |= {"center": center, "scale": scale}
        super().__init__(
            settings, num_groups, beta_initializer, gamma_initializer,
            prefix=prefix, params=params,
        )  # fmt: skip
        self._num_groups, self._epsilon = num_groups, epsilon

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Same shape as data."""
        return F.GroupNorm(
            data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._words()})"


class InstanceNorm(_Affine):
    """Normalise each channel of each sample, then shift it, and scale it if asked to.

    axis: the axis of channels. center, scale: whether beta and gamma are learnt.
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        settings = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        super().__init__(
            settings, in_channels, beta_initializer, gamma_initializer, **kwargs
        )
        self._axis, self._epsilon = axis, epsilon

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """Same shape as x."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, eps=self._epsilon, name="fwd")
        turned = F.swapaxes(x, 1, self._axis)
        out = F.InstanceNorm(turned, gamma, beta, eps=self._epsilon)
        return F.swapaxes(out, 1, self._axis)
