"""Data sheets of pooling: a window of an image becomes one number.

The kernels want channels second. Where they come last, data are copied, and gradients
transposed.

MXNet 1.9.1: src/operator/nn/pooling.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing, in_single
from minimx.core.kernels.windows import Windows, tap_dtype
from minimx.core.operators.conv import LAYOUTS, per_axis
from minimx.core.ops.casting import EITHER
from minimx.core.ops.checks import same_reals
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Op,
    Value,
    bind,
    lookup,
    register,
)
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape

TYPES = ("max", "avg", "sum", "lp")
CONVENTIONS = ("valid", "full", "same")
LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


@register("Pooling", "Pooling_v1")
class Pooling(Op):
    """The largest, the mean, the sum or a norm of every window.

    data (N, C, H, W), of a float type, out (N, C, H', W') of that type, with
    H' = (H + 2 pad - kernel) // stride + 1, rounded up for 'full'; also lines (N, C, W)
    and volumes (N, C, D, H, W). layout: NCW, NCHW, NCDHW, or with channels last NWC,
    NHWC, NDHWC.

    kernel, stride, pad: one number for each image axis; () means stride 1, pad 0.
    pool_type: 'max', 'avg', 'sum' or 'lp'. A NaN never wins a maximum.
    global_pool: one window as large as the image; kernel is not needed then.
    pooling_convention: a last window that does not fit is left out ('valid'), may hang
    over the edge ('full'), or there are ceil(W / stride) of them ('same': lines only).
    count_include_pad: whether padding counts in a mean. cudnn_off changes nothing.
    p_value: 1, 2 or 3, for pool_type 'lp': the p-th root of the sum of p-th powers.

    Raises OperatorError for other settings, ShapeError for a window that does not fit,
    DTypeError for integers.
    """

    kernel: Shape = ()  # type: ignore[assignment]
    pool_type: str = "max"
    global_pool: bool = False
    cudnn_off: bool = False
    pooling_convention: str = "valid"
    stride: Shape = ()
    pad: Shape = ()
    p_value: int | None = None
    count_include_pad: bool | None = None
    layout: str | None = None

    casting = EITHER

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("pool_type", TYPES), ("pooling_convention", CONVENTIONS)):
            if getattr(self, name) not in known:
                raise OperatorError(
                    f"Pooling: {name}={getattr(self, name)!r}: choose one of "
                    f"{', '.join(known)}."
                )
        if self.pool_type == "lp" and self.p_value not in (1, 2, 3):
            raise OperatorError(
                f"Pooling: pool_type='lp' needs p_value=1, 2 or 3, not {self.p_value}."
            )
        saves = {"max": ("out1",), "lp": ("data", "out")}.get(self.pool_type, ())
        if self.pool_type == "lp" and self.p_value == 1:
            saves = ()
        object.__setattr__(self, "saves", saves)

    @property
    def is_max(self) -> bool:
        """Whether it keeps a second output: which tap of each window was largest."""
        return self.pool_type == "max"

    @property
    def is_last(self) -> bool:
        """Whether channels come last."""
        return self.layout in LAST.values()

    def channels_second(self, data: Spec) -> Spec:
        """The spec of data with channels as the second axis."""
        axes = data.ndim - 2
        if axes not in LAYOUTS or self.layout not in (None, LAYOUTS[axes], LAST[axes]):
            raise ShapeError(
                f"Pooling: data {data.shape} with layout={self.layout}: data must be "
                "(N, C, W), (N, C, H, W) or (N, C, D, H, W), and layout, if it is "
                "given, one for as many axes. Reshape or transpose data."
            )
        if not self.is_last:
            return data
        return data.with_shape((data.shape[0], data.shape[-1], *data.shape[1:-1]))

    def sizes(self, data: Spec) -> tuple[Shape, Shape, Shape, Shape]:
        """Kernel, stride, pad and stops along the image axes; channels are second."""
        image = data.shape[2:]
        axes = len(image)
        if self.global_pool:
            return image, (1,) * axes, (0,) * axes, (1,) * axes
        if not self.kernel:
            raise OperatorError("Pooling needs kernel; or take global_pool=True.")
        kernel = per_axis(self.name, "kernel", self.kernel, axes, 1)
        stride = per_axis(self.name, "stride", self.stride, axes, 1)
        if self.pooling_convention == "same" and (axes > 1 or any(self.pad)):
            raise OperatorError(
                "Pooling: pooling_convention='same' is for data (N, C, W) without pad; "
                f"data are {data.shape}, and pad={self.pad}. Take 'full'."
            )
        given = self.pad if any(self.pad) else ()
        pad = per_axis(self.name, "pad", given, axes, 0)
        stops = tuple(map(self._stops, image, kernel, stride, pad))
        fits = all(p < k for p, k in zip(pad, kernel, strict=True))
        if min(stops) < 1 or not fits:
            raise ShapeError(
                f"Pooling: a window of {kernel} with pad {pad} does not fit data "
                f"{data.shape}: it must not be larger than the padded image, nor the "
                "padding as large as the window."
            )
        return kernel, stride, pad, stops

    def _stops(self, length: int, kernel: int, stride: int, pad: int) -> int:
        left = length + 2 * pad - kernel
        if left < 0:
            return 0
        if self.pooling_convention == "same":
            return -(-length // stride)
        rounded = (
            -(-left // stride) if self.pooling_convention == "full" else left // stride
        )
        return rounded + 1

    def windows(self, data: Spec) -> Windows:
        """The loop lengths, as the kernels want them."""
        kernel, stride, pad, stops = self.sizes(data)
        image = data.shape[2:]
        missing = 3 - len(image)  # a line is a volume of one row
        ones, zeros = (1,) * missing, (0,) * missing
        lengths = (*ones, *image, *ones, *stops, *ones, *kernel, *ones, *stride)
        planes = data.shape[0] * data.shape[1]
        flags = self.count_include_pad is not False, self.pool_type == "avg"
        return Windows._make((planes, *lengths, *zeros, *pad, *flags))

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The image shrinks to the stops; a maximum also keeps the tap that won."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        seen = self.channels_second(data)
        kernel, _, _, stops = self.sizes(seen)
        out = data.with_shape((*seen.shape[:2], *stops))
        if not self.is_max:
            return self._as_given(out)
        return self._as_given(out), out.with_dtype(tap_dtype(kernel))

    def _as_given(self, out: Spec) -> Spec:
        if not self.is_last:
            return out
        samples, channels, *stops = out.shape
        return out.with_shape((samples, *stops, channels))

    def compute(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.pooling`."""
        seen = self.channels_second(specs[0])
        at, p = self.windows(seen), self.p_value or 1
        pools = {"max": "max_pool", "lp": "power_pool"}
        run = find(f"pooling.{pools.get(self.pool_type, 'average_pool')}")

        def kernel(data: Any, *outs: Any) -> None:
            if self.pool_type == "lp":
                powers = outs[1].view(data.dtype) if p > 1 else None
                run(data, outs[0], powers, p, at)
            else:
                run(data, *outs, at)

        if self.is_last:
            kernel = _copying(kernel, seen.shape, self.is_max)
        return _kernel(kernel, specs)

    def scratch(self, *specs: Spec) -> int:
        """Bytes for powers, and for data and output with channels second."""
        itemsize = computing(specs[0].dtype).itemsize
        size = specs[0].size if (self.p_value or 1) > 1 else 0
        if self.is_last:
            outs = self.infer(*specs)
            size += specs[0].size + (outs[0] if isinstance(outs, tuple) else outs).size
        return size * itemsize

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: dout goes to the element that won (max), or to all of a window (sum).

        For avg it is dout / (elements that count), for lp dout (data / out)ᵖ⁻¹.
        """
        if self.is_last:
            return (self._grad_of_last(at, dout, *saved),)
        shape = at.ins[0].shape
        if self.is_max:
            return (bind(MaxSpread.of(pool=self, shape=shape), dout, *saved),)
        if not saved:
            return (bind(AverageSpread.of(pool=self, shape=shape), dout),)
        data, out = saved
        share = dout / out if self.p_value == 2 else dout / (out * out)
        back = bind(AverageSpread.of(pool=self, shape=shape), share)
        return (back * (data if self.p_value == 2 else data * data),)

    def _grad_of_last(self, at: GradContext, dout: Any, *saved: Value) -> Value:
        """The same with channels second, between two transpositions."""
        axes = range(at.ins[0].ndim)
        forth = lookup("transpose").of(axes=(0, axes[-1], *axes[1:-1]))
        back = lookup("transpose").of(axes=(0, *axes[2:], 1))
        pool = Pooling.of(**{**self.settings, "layout": None})
        ins = tuple(self.channels_second(spec) for spec in at.ins)
        kept = saved if self.is_max else [bind(forth, value) for value in saved]
        site = GradContext(ins, at.outs, at.wants)
        (found,) = pool.grad(site, bind(forth, dout), *kept)
        return bind(back, found)

    def cost(self, *specs: Spec) -> Cost:
        """One operation for every tap of every stop."""
        return _cost(self, self.channels_second(specs[0]))


def _copying(run: Kernel, shape: Shape, is_max: bool) -> Kernel:
    """The kernel for channels on the second axis, for data with them on the last."""

    def kernel(data: Any, out: Any, *rest: Any) -> None:
        *taps, workspace = rest
        free = workspace.view(data.dtype)
        seen, free = free[: data.size].reshape(shape), free[data.size :]
        result, free = free[: out.size], free[out.size :]
        np.copyto(seen, np.moveaxis(data, -1, 1))
        extra = taps if is_max else [free.view(np.uint8)]
        stops = np.moveaxis(out, -1, 1)
        result = result.reshape(stops.shape)
        run(seen, result, *extra[: 1 if is_max or free.size else 0])
        np.copyto(stops, result)

    return kernel


def _kernel(run: Kernel, specs: tuple[Spec, ...]) -> Kernel:
    half = specs[0].dtype.itemsize == 2
    return in_single(run, len(specs)) if half else run


def _cost(pool: Pooling, data: Spec) -> Cost:
    kernel, _, _, stops = pool.sizes(data)
    taps = data.shape[0] * data.shape[1]
    moved = data.nbytes + taps * data.dtype.itemsize
    for length, count in zip(kernel, stops, strict=True):
        taps *= length * count
    return Cost(taps, moved)


class _Gradient(Op):
    """A linear map between images and stops; `shape` is that of the image."""

    inputs: ClassVar[Any] = ("dout", "taps")
    saves: Any = ("taps",)

    pool: Any
    shape: Shape

    def image(self, spec: Spec) -> Spec:
        """The spec of the image."""
        return spec.with_shape(self.shape)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the image."""
        return self.image(specs[0])

    def cost(self, *specs: Spec) -> Cost:
        """As much as the pooling itself."""
        return _cost(self.pool, self.image(specs[0]))


@register("_backward_Pooling")
class MaxSpread(_Gradient):
    """The gradient of the largest: it goes to who won. out: `shape`, that of the data.

    dout, taps (N, C, H', W'): the gradient, and the number of the tap that had won
    """

    pool: Any
    shape: Shape

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.pooling`."""
        at = self.pool.windows(self.image(specs[0]))
        run = find("pooling.max_spread")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: d dout = the element of g where the maximum was: `MaxPick`.

        g is the gradient of the output, which is linear in dout.
        """
        op = MaxPick.of(pool=self.pool, shape=self.shape)
        return bind(op, dout, *saved), None


@register("_pick_Pooling")
class MaxPick(_Gradient):
    """Fetch the elements at the positions of former maxima.

    dout: `shape`, that of the data; taps (N, C, H', W'); out: the shape of taps
    """

    pool: Any
    shape: Shape

    def infer(self, *specs: Spec) -> Spec:
        """One element for every stop."""
        return specs[0].with_shape(specs[1].shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.pooling`."""
        at = self.pool.windows(specs[0])
        run = find("pooling.max_pick")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: d dout = g where the maximum was, zeros elsewhere: `MaxSpread`."""
        op = MaxSpread.of(pool=self.pool, shape=self.shape)
        return bind(op, dout, *saved), None


@register("_backward_Pooling_avg")
class AverageSpread(_Gradient):
    """The gradient of a mean or a sum: every tap gets the same share.

    dout (N, C, H', W'); out: `shape`, that of the data
    """

    pool: Any
    shape: Shape

    inputs = ("dout",)
    saves = ()

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.pooling`."""
        at = self.pool.windows(self.image(specs[0]))
        run = find("pooling.average_spread")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: d dout = pool(g): the mean or sum of the window, as this is linear."""
        return (bind(self.pool, dout),)
