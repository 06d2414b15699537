"""Data sheets of convolution: the operator and its two gradients.

A convolution is linear in the data and in the weight. So are its gradients, and the
gradients of those are convolutions and gradients of convolutions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from minimx.errors import OperatorError, ShapeError
from minimx.kernels import find, threads
from minimx.kernels.convolution import (
    DATA,
    FORWARD,
    WEIGHT,
    Algorithm,
    Geometry,
    choose,
)
from minimx.kernels.half import computing, in_single
from minimx.knobs import knobs
from minimx.ops.checks import expect, same_reals
from minimx.ops.registry import Kernel, Op, Site, Value, bind, register
from minimx.ops.spec import Cost, Spec
from minimx.shapes import Shape, window


def per_axis(op: str, name: str, given: Shape, axes: int, default: int) -> Shape:
    """One number for each image axis; `()` means the default for all of them."""
    if not given:
        return (default,) * axes
    if len(given) != axes:
        raise OperatorError(
            f"{op}: {name}={given} has {len(given)} numbers, but data has {axes} image "
            f"axes. Give one number for each."
        )
    return given


@register("Convolution")
class Convolution(Op):
    """Slide `num_filter` windows over an image; take a dot product at every stop.

    data (N, C, H, W), weight (num_filter, C / num_group, *kernel), bias (num_filter,)
    out (N, num_filter, H', W'), with H' = window(H, kernel, stride, pad, dilate)
    In one dimension data is (N, C, W), and `kernel` and its companions have one number.

    workspace: the scratch memory that it may use, in MiB. cudnn_tune and cudnn_off
    choose among NVIDIA's algorithms; `minimx.kernels.convolution.choose` among ours.
    """

    kernel: Shape = field()  # type: ignore[assignment]
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()
    num_filter: int = field(kw_only=True)
    num_group: int = 1
    workspace: int = 1024  # type: ignore[assignment]
    no_bias: bool = False
    cudnn_tune: str | None = None
    cudnn_off: bool = False
    layout: str | None = None

    all_inputs = ("data", "weight", "bias")
    saves = ("data", "weight")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Bias only where there is one."""
        return self.all_inputs[:2] if self.no_bias else self.all_inputs

    def geometry(self, data: Spec) -> Geometry:
        """The loop lengths for this data; refuses what does not fit."""
        self._check(data)
        channels, *image = data.shape[1:]
        axes = len(image)
        kernel = per_axis(self.name, "kernel", self.kernel, axes, 1)
        stride = per_axis(self.name, "stride", self.stride, axes, 1)
        dilate = per_axis(self.name, "dilate", self.dilate, axes, 1)
        pad = per_axis(self.name, "pad", self.pad, axes, 0)
        stops = [*map(window, image, kernel, stride, pad, dilate)]
        if min(stops) < 1:
            raise ShapeError(
                f"Convolution: a window of {kernel}, dilated by {dilate}, is larger "
                f"than the image of data {data.shape} with pad {pad}. Take a smaller "
                "kernel, or pad more."
            )
        if axes == 1:  # one row
            image, stops = [1, *image], [1, *stops]
            kernel, stride, dilate = ((1, *k) for k in (kernel, stride, dilate))
            pad = (0, *pad)
        sizes = (data.shape[0], channels, *image, self.num_filter)
        steps = (*kernel, *stride, *dilate, *pad)
        return Geometry._make((*sizes, *steps, self.num_group, *stops))

    def _check(self, data: Spec) -> None:
        if data.ndim not in (3, 4):
            raise ShapeError(
                f"Convolution: data {data.shape} is neither (N, C, W) nor "
                "(N, C, H, W). Add the missing axes with expand_dims."
            )
        if self.layout not in (None, "NCHW", "NCW"):
            raise OperatorError(
                f"Convolution: layout={self.layout!r}; here channels come second, "
                "'NCHW' or 'NCW'. Transpose data."
            )
        if self.num_filter < 1 or self.num_group < 1:
            raise OperatorError(
                f"Convolution: num_filter={self.num_filter} and "
                f"num_group={self.num_group} must be at least 1."
            )
        for what, count in (
            (f"{data.shape[1]} channels of data {data.shape}", data.shape[1]),
            (f"{self.num_filter} filters", self.num_filter),
        ):
            if count % self.num_group:
                raise ShapeError(
                    f"Convolution: num_group={self.num_group} does not divide the "
                    f"{what}. Change one or the other."
                )

    def complete(self, data: Spec) -> dict[str, Shape]:
        """What the parameters must look like for this data."""
        channels = data.shape[1] // self.num_group
        shapes: dict[str, Shape] = {"weight": (self.num_filter, channels, *self.kernel)}
        return shapes if self.no_bias else {**shapes, "bias": (self.num_filter,)}

    def infer(self, *specs: Spec) -> Spec:
        """The image shrinks to the stops of the window, channels become filters."""
        data = specs[0]
        same_reals(self.name, self.inputs, *specs)
        at = self.geometry(data)
        why = f"data {data.shape} with kernel={self.kernel}"
        for name, spec in zip(self.inputs[1:], specs[1:], strict=True):
            expect(self.name, name, spec, self.complete(data)[name], why)
        stops = (at.out_h, at.out_w)[-(data.ndim - 2) :]
        return data.with_shape((data.shape[0], self.num_filter, *stops))

    def algorithm(self, direction: str, data: Spec) -> Algorithm:
        """The algorithm for one direction of this convolution."""
        itemsize = computing(data.dtype).itemsize
        limit = self.workspace << 20
        sharing = 0 if knobs.get("MXNET_ENFORCE_DETERMINISM") else threads.count()
        return choose(direction, self.geometry(data), itemsize, limit, sharing)

    def compute(self, *specs: Spec) -> Kernel:
        """See `minimx.kernels.cpu.conv`."""
        at, algorithm = self.geometry(specs[0]), self.algorithm(FORWARD, specs[0])
        run = find("conv.forward")(algorithm, at)
        images, filters = _images(at), _filters(at)
        outs = (at.images, at.filters, at.out_h, at.out_w)
        biased = not self.no_bias

        def kernel(data: Any, weight: Any, *rest: Any) -> None:
            bias, out, *workspace = rest if biased else (None, *rest)
            data, weight = data.reshape(images), weight.reshape(filters)
            run(data, weight, bias, out.reshape(outs), *workspace)

        return _precise(kernel, specs)

    def scratch(self, *specs: Spec) -> int:
        """What the algorithm asks for."""
        return self.algorithm(FORWARD, specs[0]).workspace

    def grad(
        self, at: Site, dout: Any, data: Value, weight: Value
    ) -> Sequence[Value | None]:
        """One operator for the data, one for weight and bias."""
        shape = at.ins[0].shape
        ddata = None
        if at.wants[0]:
            ddata = bind(ConvolutionData.of(conv=self, shape=shape), dout, weight)
        if not any(at.wants[1:]):
            return ddata, *(None for _ in at.ins[1:])
        found = bind(ConvolutionWeight.of(conv=self), dout, data)
        return (ddata, found) if self.no_bias else (ddata, *found)

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every tap of every stop."""
        return _cost(self.geometry(specs[0]), specs[0].dtype.itemsize)


@register("_backward_Convolution_data")
class ConvolutionData(Op):
    """The gradient of a convolution's data.

    dout (N, num_filter, H', W'), weight as in Convolution; out: `shape`, that of data.
    """

    conv: Any
    shape: Shape

    inputs = ("dout", "weight")
    saves = ("dout", "weight")

    def _data(self, dout: Spec) -> Spec:
        return dout.with_shape(self.shape)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the data."""
        return self._data(specs[0])

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.kernels.cpu.conv`."""
        data = self._data(specs[0])
        at, algorithm = self.conv.geometry(data), self.conv.algorithm(DATA, data)
        run = find("conv.data_gradient")(algorithm, at)
        images, filters = _images(at), _filters(at)
        outs = (at.images, at.filters, at.out_h, at.out_w)

        def kernel(dout: Any, weight: Any, ddata: Any, *workspace: Any) -> None:
            dout, weight = dout.reshape(outs), weight.reshape(filters)
            run(dout, weight, ddata.reshape(images), *workspace)

        return _precise(kernel, specs)

    def workspace(self, *specs: Spec) -> int:
        """What the algorithm asks for."""
        algorithm: Algorithm = self.conv.algorithm(DATA, self._data(specs[0]))
        return algorithm.workspace

    def grad(
        self, at: Site, dout: Any, head: Value, weight: Value
    ) -> Sequence[Value | None]:
        """Linear in both inputs: a convolution, and the gradient of a weight."""
        plain = _without_bias(self.conv)
        dhead = bind(plain, dout, weight) if at.wants[0] else None
        dweight = None
        if at.wants[1]:
            dweight = bind(ConvolutionWeight.of(conv=plain), head, dout)
        return dhead, dweight

    def cost(self, *specs: Spec) -> Cost:
        """As much as the convolution itself."""
        data = self._data(specs[0])
        return _cost(self.conv.geometry(data), data.dtype.itemsize)


@register("_backward_Convolution_weight")
class ConvolutionWeight(Op):
    """The gradients of a convolution's weight and bias.

    dout (N, num_filter, H', W'), data as in Convolution
    out: dweight, and dbias (num_filter,) unless the convolution has none
    """

    conv: Any

    inputs = ("dout", "data")
    saves = ("dout", "data")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "visible", 1 if self.conv.no_bias else 2)

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The shapes of the parameters."""
        data = specs[1]
        shapes = self.conv.complete(data)
        outs = tuple(data.with_shape(shape) for shape in shapes.values())
        return outs if len(outs) > 1 else outs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.kernels.cpu.conv`."""
        data = specs[1]
        at, algorithm = self.conv.geometry(data), self.conv.algorithm(WEIGHT, data)
        run = find("conv.weight_gradient")(algorithm, at)
        images, filters = _images(at), _filters(at)
        outs = (at.images, at.filters, at.out_h, at.out_w)
        biased = not self.conv.no_bias

        def kernel(dout: Any, data: Any, dweight: Any, *rest: Any) -> None:
            dbias, *workspace = rest if biased else (None, *rest)
            dout, data = dout.reshape(outs), data.reshape(images)
            run(dout, data, dweight.reshape(filters), dbias, *workspace)

        return _precise(kernel, specs)

    def workspace(self, *specs: Spec) -> int:
        """What the algorithm asks for."""
        algorithm: Algorithm = self.conv.algorithm(WEIGHT, specs[1])
        return algorithm.workspace

    def grad(
        self, at: Site, dout: Any, head: Value, data: Value
    ) -> Sequence[Value | None]:
        """Linear in both inputs; the bias's part is the bias of the convolution."""
        conv = self.conv
        dweight, *dbias = (dout,) if conv.no_bias else dout
        dhead = bind(conv, data, dweight, *dbias) if at.wants[0] else None
        ddata = None
        if at.wants[1]:
            op = ConvolutionData.of(conv=conv, shape=at.ins[1].shape)
            ddata = bind(op, head, dweight)
        return dhead, ddata

    def cost(self, *specs: Spec) -> Cost:
        """As much as the convolution itself."""
        return _cost(self.conv.geometry(specs[1]), specs[1].dtype.itemsize)


def _without_bias(conv: Convolution) -> Convolution:
    return Convolution.of(**{**conv.settings, "no_bias": True})


def _images(at: Geometry) -> Shape:
    return (at.images, at.channels, at.height, at.width)


def _filters(at: Geometry) -> Shape:
    return (at.filters, at.channels // at.groups, at.kernel_h, at.kernel_w)


def _precise(kernel: Kernel, specs: tuple[Spec, ...]) -> Kernel:
    """The kernel itself, or in single precision for half-precision arrays."""
    if computing(specs[0].dtype) is specs[0].dtype:
        return kernel
    return in_single(kernel, len(specs))


def _cost(at: Geometry, itemsize: int) -> Cost:
    out = at.images * at.filters * at.out_h * at.out_w
    products = out * (at.weights // at.filters)
    data = at.images * at.channels * at.height * at.width
    return Cost(2 * products, (out + data + at.weights) * itemsize)
