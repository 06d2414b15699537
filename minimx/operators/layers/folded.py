"""A convolution with a batch normalization folded into its weights, for prediction.

In prediction a batch normalization is out * scale + shift, with one scale and one shift
for each channel. Both can be moved into the convolution before it: weight * scale, and
bias * scale + shift. The image is then written once, instead of being written, read
again and written again. Where the weights are larger than the image, which is so in the
last layers of many networks, the image is scaled where it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.conv import Convolution
from minimx.core.operators.nn import ACTIVATIONS
from minimx.core.operators.norm import grouped
from minimx.core.ops import GradContext, Kernel, Types, Value, lookup, register
from minimx.core.ops.checks import expect
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, with_half

_NORM = ("gamma", "beta", "moving_mean", "moving_var")


@register("_sg_minimx_conv")
class FoldedConvolution(Convolution):
    """Convolution, BatchNorm in prediction and, with act_type, Activation in one.

    data, weight, bias: as in Convolution; gamma, beta, moving_mean, moving_var
    (num_filter,): as in BatchNorm; out: as in Convolution
    The backend MINIMX puts it in the place of the three.
    """

    eps: float = 1e-3
    fix_gamma: bool = True
    act_type: str | None = None
    training: bool = False

    state_inputs = ("moving_mean", "moving_var")
    saves: Any = ()
    differentiable = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.act_type not in (None, *ACTIVATIONS):
            raise OperatorError(
                f"_sg_minimx_conv: act_type={self.act_type!r} is none of "
                f"{', '.join(ACTIVATIONS)}."
            )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of the convolution, then those of the normalization."""
        return (*super().inputs, *_NORM)

    @property
    def plain(self) -> Convolution:
        """The convolution that does the work; it always has a bias."""
        words = Convolution.of(kernel=(1,), num_filter=1).settings
        settings = {word: self.settings[word] for word in words}
        return Convolution.of(**{**settings, "no_bias": False})

    def complete(self, data: Spec) -> dict[str, Shape]:
        """A number for each filter."""
        return super().complete(data) | dict.fromkeys(_NORM, (self.num_filter,))

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Those of the convolution; the normalization keeps its own."""
        count = len(ins) - len(_NORM)
        first, outs = super().deduce_types(ins[:count], outs)
        return [*first, *(t or first[0] for t in ins[count:])], outs

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the convolution."""
        if self.training:
            raise OperatorError(
                "_sg_minimx_conv was made for prediction, with the moving mean and "
                "variance; in training BatchNorm takes those of the batch. Train the "
                "network that was there before optimize_for."
            )
        data, weight, *rest = specs
        why = f"num_filter={self.num_filter}"
        for name, spec in zip(self.inputs[2:], rest, strict=True):
            expect(self.name, name, spec, (self.num_filter,), why)
        return self.plain.infer(data, weight, weight.with_shape((self.num_filter,)))

    def compute(self, *specs: Spec) -> Kernel:
        """Fold, convolve, bend."""
        run = self._run(*map(_widened, specs))
        return with_half(run, specs)

    def _run(self, *specs: Spec) -> Kernel:
        conv = self.plain
        data, weight = specs[:2]
        bias = weight.with_shape((self.num_filter,))
        convolve, out = conv.compute(data, weight, bias), conv.infer(data, weight, bias)
        count, _ = self._sizes(specs)
        bend = None
        if self.act_type is not None:
            bend = lookup(self.act_type).of().compute(out)
        eps, fixed, biased = self.eps, self.fix_gamma, not self.no_bias
        dtype, least = weight.dtype, (self.num_filter,) + (1,) * (weight.ndim - 1)
        image, apply = grouped(out, 1), find("norm.batch_apply")
        folds = count > self.num_filter

        def run(data: Any, weight: Any, *rest: Any) -> None:
            bias, rest = (rest[0], rest[1:]) if biased else (0, rest)
            gamma, beta, mean, variance, out, workspace = rest
            scale = 1 / np.sqrt(variance + variance.dtype.type(eps))
            if not fixed:
                scale *= gamma
            shift = np.asarray((bias - mean) * scale + beta, dtype)
            buffer = workspace[: count * dtype.itemsize].view(dtype)
            scratch = workspace[_lines(buffer.nbytes) :]
            more = [scratch] if scratch.size else []
            if folds:
                new = buffer[: weight.size].reshape(weight.shape)
                np.multiply(weight, scale.reshape(least), out=new)
                convolve(data, new, shift, out, *more)
            else:
                buffer.fill(0)
                convolve(data, weight, buffer, out, *more)
                whole = out.reshape(image)
                apply(whole, scale, shift, whole)
            if bend is not None:
                bend(out, out)

        return run

    def _sizes(self, specs: Sequence[Spec]) -> tuple[int, int]:
        """How many numbers are kept beside the image, and the bytes of workspace."""
        data, weight = map(_widened, specs[:2])
        bias = weight.with_shape((self.num_filter,))
        out = self.plain.infer(data, weight, bias)
        count = self.num_filter + (weight.size if weight.size <= out.size else 0)
        own = _lines(count * weight.dtype.itemsize)
        return count, own + self.plain.scratch(data)

    def scratch(self, *specs: Spec) -> int:
        """The folded parameters, and what the convolution asks for."""
        return self._sizes(specs)[1]

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """It is for prediction only."""
        raise OperatorError(
            "_sg_minimx_conv has no gradient: it was made for prediction. Train the "
            "network that was there before optimize_for."
        )

    def cost(self, *specs: Spec) -> Cost:
        """That of the convolution, and of folding the smaller of weight and image."""
        least = min(specs[1].size, self.infer(*specs).size)
        return self.work(specs[0]) + Cost(least, 2 * least * specs[1].dtype.itemsize)


def _lines(nbytes: int) -> int:
    """So many bytes, up to the next multiple of 64."""
    return -(-nbytes // 64) * 64


def _widened(spec: Spec) -> Spec:
    return spec.with_dtype(computing(spec.dtype))
