"""Data sheets of normalization within samples: groups, instances, lengths, neighbours.

GroupNorm and InstanceNorm see data as (samples, groups, length) and normalize every
group of every sample by itself; an instance is a group of one channel.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.operators.norm import STEPS, check_parameters
from minimx.core.operators.pooling import Pooling
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE, SINGLE_IN_FLOAT16
from minimx.core.ops.checks import same_reals
from minimx.core.ops.deduction import first_is_out
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.layers.norm import _NormGradient
from minimx.operators.rules import Gradients, like_first, one_of, per_element, with_half


class Grouped(Op):
    """What GroupNorm and InstanceNorm share; the last outputs are mean and std."""

    eps: float

    inputs: ClassVar[Any] = ("data", "gamma", "beta")
    saves: Any = ("data", "gamma", "out1", "out2")
    deduce = first_is_out

    def groups(self, data: Spec) -> int:
        """How many groups a sample has."""
        raise OperatorError(f"{self.name} has no rule for its groups")

    def seen(self, data: Spec) -> Shape:
        """Data as (samples, groups, length)."""
        if data.ndim < 3:
            raise ShapeError(
                f"{self.name}: data {data.shape} must be (N, C, ...) with at least "
                "three axes. Add an axis with expand_dims, or take LayerNorm."
            )
        groups = self.groups(data)
        if groups < 1 or data.shape[1] % groups:
            raise ShapeError(
                f"{self.name}: {groups} groups do not divide the {data.shape[1]} "
                f"channels of data {data.shape}. Change one of the numbers."
            )
        return data.shape[0], groups, prod(data.shape[1:]) // groups

    def complete(self, data: Spec) -> dict[str, Shape]:
        """One number for each group."""
        return dict.fromkeys(self.inputs[1:], (self.seen(data)[1],))

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape; and what the gradient will ask for."""
        data, gamma, beta = specs
        samples, groups, _ = self.seen(data)
        named = ("gamma", gamma), ("beta", beta)
        check_parameters(self.name, data, (groups,), *named)
        stats = gamma.with_shape((samples, groups))
        return data, stats, stats

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        samples, groups, length = self.seen(specs[0])
        shape, eps = (samples * groups, length), self.eps
        normalize = find("norm.group_norm")

        def run(
            data: Any, gamma: Any, beta: Any, out: Any, mean: Any, std: Any
        ) -> None:
            if data.size:
                stats = mean.reshape(-1), std.reshape(-1)
                rows = data.reshape(shape), out.reshape(shape)
                normalize(rows[0], gamma, beta, eps, rows[1], *stats)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator for all three."""
        dout = dout[0] if self.visible > 1 else dout
        shape, seen = at.ins[0].shape, self.seen(at.ins[0])
        op = GroupNormGradient.of(shape=shape, seen=seen, eps=self.eps)
        return tuple(bind(op, dout, *saved))

    cost = per_element(STEPS, 2)


@register("GroupNorm")
class GroupNorm(Grouped):
    """Normalize every group of channels of every sample by its own mean and variance.

    data (N, C, ...); gamma, beta (num_groups,): one number for each group, as in MXNet
    1.9.1 (later versions and PyTorch have one for each channel)
    out: the shape of data, (data - mean) / sqrt(var + eps) * gamma + beta

    num_groups: must divide C. eps: added to the variance. output_mean_var: two more
    outputs, the means and sqrt(var + eps), both (N, num_groups).

    Raises ShapeError for data of less than three axes, and if num_groups does not
    divide the channels.
    """

    num_groups: int = 1
    eps: float = 1e-5
    output_mean_var: bool = False

    casting = SINGLE
    output_names = ("output", "mean", "std")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "visible", 3 if self.output_mean_var else 1)

    def groups(self, data: Spec) -> int:
        """As many as the setting says."""
        return self.num_groups


@register("InstanceNorm")
class InstanceNorm(Grouped):
    """Normalize every channel of every sample by its own mean and variance.

    data (N, C, ...); gamma, beta (C,): scale and shift of each channel
    out: the shape of data, (data - mean) / sqrt(var + eps) * gamma + beta

    eps: added to the variance. Raises ShapeError for data of less than three axes.
    """

    eps: float = 1e-3

    casting = SINGLE

    def groups(self, data: Spec) -> int:
        """One for each channel."""
        return data.shape[1]


@register("_backward_GroupNorm")
class GroupNormGradient(_NormGradient):
    """The gradients of data, gamma and beta through a normalization of groups.

    dout, data: `shape`, seen as `seen` (samples, groups, length); gamma (groups,);
    mean, std (samples, groups)
    """

    shape: Shape
    seen: Shape
    eps: float

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        samples, groups, length = self.seen
        shape, gradient = (samples * groups, length), find("norm.group_norm_gradient")

        def run(
            dout: Any, data: Any, gamma: Any, mean: Any, std: Any,
            ddata: Any, dgamma: Any, dbeta: Any,
        ) -> None:  # fmt: skip
            if not data.size:
                dgamma[...] = dbeta[...] = 0
                return
            rows = dout.reshape(shape), data.reshape(shape)
            stats = mean.reshape(-1), std.reshape(-1)
            gradient(*rows, gamma, *stats, ddata.reshape(shape), dgamma, dbeta)

        return with_half(run, specs)

    def composed(
        self, dout: Value, data: Value, gamma: Value, mean: Value, std: Value
    ) -> tuple[Value, ...]:
        """The same, made of operators; the statistics are taken again."""
        groups = self.seen[1]
        head, x = (reshaped(v, self.shape, self.seen) for v in (dout, data))
        average = lookup("mean").of(axis=2, keepdims=True)
        total = lookup("sum").of(axis=(0, 2))
        off = x - bind(average, x)
        scale = bind(lookup("rsqrt").of(), bind(average, off * off) + self.eps)
        x_hat = off * scale
        slope = head * reshaped(gamma, (groups,), (1, groups, 1))
        along = bind(average, slope * x_hat)
        ddata = (slope - bind(average, slope) - x_hat * along) * scale
        ddata = reshaped(ddata, self.seen, self.shape)
        return ddata, bind(total, head * x_hat), bind(total, head)


@register("LRN")
class LRN(Op):
    """Local response normalization: divide by the energy of neighbouring channels.

    data (N, C, H, W); out: the same shape,
        data / (knorm + alpha / nsize * sum of squares of nsize channels) ** beta

    nsize: how many channels count, the same number on either side: odd. Raises
    OperatorError for an even nsize, ShapeError unless data have four axes. From
    AlexNet.
    """

    alpha: float = 1e-4
    beta: float = 0.75
    knorm: float = 2.0
    nsize: int = 0

    casting = SINGLE_IN_FLOAT16
    saves = ("data",)
    deduce = first_is_out

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        if self.nsize < 1 or self.nsize % 2 == 0:
            raise OperatorError(
                f"LRN: nsize={self.nsize} must be odd and positive: as many channels "
                "on either side of each. Give nsize=5, for example."
            )
        if data.ndim != 4:
            raise ShapeError(
                f"LRN: data {data.shape} must be (N, C, H, W). Reshape it."
            )
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        samples, channels, *image = specs[0].shape
        shape, normalize = (samples, channels, prod(image)), find("norm.neighbours")
        numbers = self.nsize // 2, self.alpha / self.nsize, self.knorm, self.beta

        def run(data: Any, out: Any) -> None:
            normalize(data.reshape(shape), *numbers, out.reshape(shape))

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, data: Value) -> Gradients:
        """Through the number itself, and through what it adds to its neighbours."""
        samples, channels, *image = shape = at.ins[0].shape
        flat = (samples, 1, channels, prod(image))
        around = Pooling.of(
            kernel=(self.nsize, 1), pool_type="sum", pad=(self.nsize // 2, 0)
        )
        scale = self.alpha / self.nsize
        x, head = (reshaped(value, shape, flat) for value in (data, dout))
        energy = bind(around, x * x) * scale + self.knorm
        power = energy**-self.beta
        others = bind(around, head * x * power / energy)
        found = head * power - x * others * (2 * scale * self.beta)
        return (reshaped(found, flat, shape),)

    def cost(self, *specs: Spec) -> Cost:
        """A square and a sum for every channel of the window, and a power."""
        return Cost((2 * self.nsize + STEPS) * specs[0].size, 2 * specs[0].nbytes)


@register("L2Normalization")
class L2Normalization(Op):
    """Divide vectors by their length, sqrt(sum of squares + eps).

    data (N, C, ...); out: the same shape

    mode: what a vector is: 'instance', all of one sample; 'channel', the channels at
    one position; 'spatial', the positions of one channel. eps: keeps a vector of zeros
    from being divided by 0. Raises OperatorError for another mode, ShapeError for too
    few axes.
    """

    eps: float = 1e-10
    mode: str = "instance"

    casting = SINGLE
    saves = ("data", "out1")
    deduce = first_is_out

    def vectors(self, data: Spec) -> Shape:
        """Data as (groups, length, inner)."""
        one_of(self, "mode", "instance", "channel", "spatial")
        if data.ndim < (2 if self.mode == "instance" else 3):
            raise ShapeError(
                f"L2Normalization: data {data.shape} has too few axes for mode "
                f"{self.mode!r}."
            )
        samples, channels, *places = data.shape
        if self.mode == "channel":
            return samples, channels, prod(places)
        if self.mode == "spatial":
            return samples * channels, prod(places), 1
        return samples, prod(data.shape[1:]), 1

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The same shape, and the lengths."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        groups, _, inner = self.vectors(data)
        return data, data.with_shape((groups, inner))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        shape, eps = self.vectors(specs[0]), self.eps
        normalize = find("norm.l2_normalize")

        def run(data: Any, out: Any, norm: Any) -> None:
            normalize(data.reshape(shape), eps, out.reshape(shape), norm)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator, from the data and the lengths."""
        shape = at.ins[0].shape
        op = L2NormalizationGradient.of(
            shape=shape, vectors=self.vectors(at.ins[0]), eps=self.eps
        )
        return (bind(op, dout, *saved),)

    cost = per_element(3, 3)


@register("_backward_L2Normalization")
class L2NormalizationGradient(Op):
    """The gradient of L2Normalization, from its data and the lengths.

    dout, data: `shape`, seen as `vectors` (groups, length, inner)
    norm (groups, inner); out: the shape of data
    """

    shape: Shape
    vectors: Shape
    eps: float

    inputs = ("dout", "data", "norm")

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.norm`."""
        shape, gradient = self.vectors, find("norm.l2_gradient")

        def run(dout: Any, data: Any, norm: Any, out: Any) -> None:
            gradient(dout.reshape(shape), data.reshape(shape), norm, out.reshape(shape))

        return with_half(run, specs)

    def composed(self, dout: Value, data: Value, norm: Value) -> Value:
        """The same, made of operators; the lengths are taken again."""
        shape = self.shape
        dout, data = (reshaped(v, shape, self.vectors) for v in (dout, data))
        total = lookup("sum").of(axis=1, keepdims=True)
        scale = bind(lookup("rsqrt").of(), bind(total, data * data) + self.eps)
        y = data * scale
        return reshaped((dout - y * bind(total, dout * y)) * scale, self.vectors, shape)

    cost = per_element(4, 3)
