"""Data sheets of pooling: a window of an image becomes one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.errors import OperatorError, ShapeError
from minimx.kernels import find
from minimx.kernels.half import in_single
from minimx.kernels.windows import Windows, tap_dtype
from minimx.ops.checks import same_reals
from minimx.ops.conv import per_axis
from minimx.ops.registry import Kernel, Op, Site, Value, bind, register
from minimx.ops.spec import Cost, Spec
from minimx.shapes import Shape

TYPES = ("max", "avg", "sum")
CONVENTIONS = ("valid", "full", "same")


@register("Pooling")
class Pooling(Op):
    """The largest, the mean or the sum of every window.

    data (N, C, H, W) or (N, C, W); out (N, C, H', W') or (N, C, W')
    global_pool: one window as large as the image; kernel is not needed then.
    pooling_convention: a last window that does not fit is left out ('valid'), may hang
    over the edge ('full'), or there are ceil(H / stride) of them ('same').
    count_include_pad: whether padding counts in a mean. A NaN never wins a maximum.
    """

    kernel: Shape = ()  # type: ignore[assignment]
    pool_type: str = "max"
    global_pool: bool = False
    cudnn_off: bool = False
    pooling_convention: str = "valid"
    stride: Shape = ()
    pad: Shape = ()
    p_value: int | None = None
    count_include_pad: bool = True
    layout: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("pool_type", TYPES), ("pooling_convention", CONVENTIONS)):
            if getattr(self, name) not in known:
                raise OperatorError(
                    f"Pooling: {name}={getattr(self, name)!r}: choose one of "
                    f"{', '.join(known)}."
                )
        object.__setattr__(self, "saves", ("out1",) if self.is_max else ())

    @property
    def is_max(self) -> bool:
        """Whether it remembers who won."""
        return self.pool_type == "max"

    def sizes(self, data: Spec) -> tuple[Shape, Shape, Shape, Shape]:
        """Kernel, stride, pad and stops along the image axes."""
        image = data.shape[2:]
        axes = len(image)
        if axes not in (1, 2) or self.layout not in (None, "NCHW", "NCW"):
            raise ShapeError(
                f"Pooling: data {data.shape} must be (N, C, W) or (N, C, H, W), with "
                "channels second. Reshape or transpose it."
            )
        if self.global_pool:
            return image, (1,) * axes, (0,) * axes, (1,) * axes
        if not self.kernel:
            raise OperatorError("Pooling needs kernel; or take global_pool=True.")
        kernel = per_axis(self.name, "kernel", self.kernel, axes, 1)
        stride = per_axis(self.name, "stride", self.stride, axes, 1)
        pad = per_axis(self.name, "pad", self.pad, axes, 0)
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
        room = length + 2 * pad - kernel
        if self.pooling_convention == "same":
            return -(-(length + 2 * pad) // stride)
        if room < 0:
            return 0
        rounded = (
            -(-room // stride) if self.pooling_convention == "full" else room // stride
        )
        return rounded + 1

    def windows(self, data: Spec) -> Windows:
        """The loop lengths, as the kernels want them."""
        kernel, stride, pad, stops = self.sizes(data)
        image = data.shape[2:]
        if len(image) == 1:  # one row
            image, kernel, stops = (1, *image), (1, *kernel), (1, *stops)
            stride, pad = (1, *stride), (0, *pad)
        lengths = (data.shape[0] * data.shape[1], *image, *stops, *kernel)
        flags = self.count_include_pad, self.pool_type == "avg"
        return Windows._make((*lengths, *stride, *pad, *flags))

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The image shrinks to the stops; a maximum also keeps who won."""
        (data,) = specs
        same_reals(self.name, ("data",), data)
        kernel, _, _, stops = self.sizes(data)
        out = data.with_shape((*data.shape[:2], *stops))
        if not self.is_max:
            return out
        return out, out.with_dtype(tap_dtype(kernel))

    def compute(self, *specs: Spec) -> Kernel:
        """See `minimx.kernels.cpu.pooling`."""
        at = self.windows(specs[0])
        run = find("pooling.max_pool" if self.is_max else "pooling.average_pool")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: Site, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Back to the winner, or shared out."""
        shape = at.ins[0].shape
        if self.is_max:
            return (bind(MaxSpread.of(pool=self, shape=shape), dout, *saved),)
        return (bind(AverageSpread.of(pool=self, shape=shape), dout),)

    def cost(self, *specs: Spec) -> Cost:
        """One operation for every tap of every stop."""
        return _cost(self, specs[0])


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

    inputs: Any = ("dout", "taps")
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
        """See `minimx.kernels.cpu.pooling`."""
        at = self.pool.windows(self.image(specs[0]))
        run = find("pooling.max_spread")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: Site, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Linear: fetch from where it was put."""
        op = MaxPick.of(pool=self.pool, shape=self.shape)
        return bind(op, dout, *saved), None


@register("_pick_Pooling")
class MaxPick(_Gradient):
    """Fetch the elements at the places of former maxima.

    dout: `shape`, that of the data; taps (N, C, H', W'); out: the shape of taps
    """

    pool: Any
    shape: Shape

    def infer(self, *specs: Spec) -> Spec:
        """One element for every stop."""
        return specs[0].with_shape(specs[1].shape)

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.kernels.cpu.pooling`."""
        at = self.pool.windows(specs[0])
        run = find("pooling.max_pick")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: Site, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Linear: put back to where it was fetched."""
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
        """See `minimx.kernels.cpu.pooling`."""
        at = self.pool.windows(self.image(specs[0]))
        run = find("pooling.average_spread")
        return _kernel(lambda *arrays: run(*arrays, at), specs)

    def grad(self, at: Site, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Linear: the pooling itself."""
        return (bind(self.pool, dout),)
