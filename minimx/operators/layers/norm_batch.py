"""Data sheets of batch normalization under further names."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.operators.norm import BatchNorm, BatchNormAgain
from minimx.core.ops import GradContext, Kernel, Value, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.spec import Spec
from minimx.operators.rules import Gradients


@register("_contrib_SyncBatchNorm")
class SyncBatchNorm(BatchNorm):
    """Batch normalization over the batch of one device; as BatchNorm with axis=1.

    data (N, C, ...); gamma, beta, moving_mean, moving_var (C,); out: as data
    ndev, key: in MXNet, how many devices share their statistics, and under which name.
    A call sees one device, so they change nothing here; join what the devices hold if
    statistics over all of them are wanted.
    With output_mean_var also the means and variances (C,) that were used.
    """

    ndev: int = 1
    key: str = ""

    casting = SINGLE

    @property
    def saves(self) -> tuple[str, ...]:
        """1 / sqrt(variance + eps) comes after the variance."""
        return tuple("out3" if name == "out2" else name for name in super().saves)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One more output than BatchNorm has."""
        found = super().infer(*specs)
        return *found, found[-1]

    def kernel(self, *specs: Spec) -> Kernel:
        """That of BatchNorm, and the variances."""
        normalize, eps = super().kernel(*specs), self.eps

        def run(*arrays: Any) -> None:
            *most, variance, invstd = arrays
            normalize(*most, invstd)
            variance[...] = 1 / np.square(invstd) - eps

        return run


@register("_contrib_BatchNormWithReLU")
class BatchNormWithReLU(BatchNorm):
    """BatchNorm, and 0 where it is negative.

    data (N, C, ...), channels along `axis`; gamma, beta, moving_mean, moving_var (C,)
    out: the shape of data; min_calib_range and max_calib_range belong to quantization
    """

    min_calib_range: float | None = None
    max_calib_range: float | None = None

    @property
    def saves(self) -> tuple[str, ...]:
        """Also the output, which tells where it is positive."""
        return (*super().saves, "out")

    def kernel(self, *specs: Spec) -> Kernel:
        """That of BatchNorm, cut off at 0."""
        normalize = super().kernel(*specs)

        def run(*arrays: Any) -> None:
            normalize(*arrays)
            out = arrays[5]
            np.maximum(out, 0, out=out)

        return run

    def again(self, *specs: Spec) -> Any:
        """That of BatchNorm, cut off at 0."""
        if not self.batch or super().recompute(*specs) is None:
            return super().recompute(*specs)
        op = BatchNormAgain.of(fix_gamma=self.fix_gamma, axis=self.axis, relu=True)
        return op, ("data", "gamma", "beta", "out1", "out2")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """That of BatchNorm, where something came out."""
        *saved_, out = saved
        first = dout[0] if self.output_mean_var else dout
        first = first * (out > 0)
        head = (first, *dout[1:]) if self.output_mean_var else first
        return super().grad(at, head, *saved_)
