"""Data sheets of convolution: the operator and its two gradients.

A convolution is linear in the data and in the weight. So are its gradients, and the
gradients of those are convolutions and gradients of convolutions again.

The kernels know images. A line is an image of one row; a volume is a stack of slices,
see `minimx.operators.kernels.layers.volumes`.

MXNet 1.9.1: src/operator/nn/convolution.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod
from typing import Any

from minimx.core.dtypes import NARROW, DType
from minimx.core.errors import OperatorError, ShapeError, did_you_mean
from minimx.core.extensions import provided
from minimx.core.kernels import find
from minimx.core.kernels.convolution import (
    DATA,
    FORWARD,
    MODES,
    WEIGHT,
    Algorithm,
    Depth,
    Geometry,
)
from minimx.core.kernels.half import computing, in_single
from minimx.core.ops import deduction
from minimx.core.ops.casting import TARGET
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.devices import Multiplies
from minimx.core.ops.registry import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, window

_KERNELS = {FORWARD: "forward", DATA: "data_gradient", WEIGHT: "weight_gradient"}
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def per_axis(op: str, name: str, given: Shape, axes: int, default: int) -> Shape:
    """One number for each image axis; `()` means the default for all of them.

    op, name: of the operator and the setting, for the error. axes: 1 to 3. default:
    also the least number that makes sense. Raises OperatorError.
    """
    if not given:
        return (default,) * axes
    if len(given) != axes:
        raise OperatorError(
            f"{op}: {name}={given} has {len(given)} numbers, but data has {axes} image "
            f"axes. Give one number for each."
        )
    if min(given) < default:
        raise OperatorError(
            f"{op}: {name}={given}: no number may be below {default}. "
            "Give larger ones, or leave the setting away."
        )
    return given


def channels_second(op: str, layout: str | None, axes: int) -> None:
    """Refuse layouts other than that in which channels are the second axis.

    op: the operator's name, for the error. layout: None or the setting. axes: how many
    image axes there are, 1 to 3. Raises OperatorError.
    """
    if layout not in (None, LAYOUTS[axes]):
        raise OperatorError(
            f"{op}: layout={layout!r}; here channels come second, "
            f"{LAYOUTS[axes]!r}. Transpose data and weight."
        )


@register("Convolution", "Convolution_v1")
class Convolution(Multiplies, Op):
    """Slide `num_filter` windows over an image; take a dot product at every stop.

    data (N, C, H, W), weight (num_filter, C / num_group, *kernel), bias (num_filter,),
    all of one float type; out (N, num_filter, H', W') of that type, with
    H' = (H + 2 pad - dilate (kernel - 1) - 1) // stride + 1, and so W'
    Along a line data is (N, C, W), in a volume (N, C, D, H, W).

    kernel, stride, dilate, pad: one number for each image axis; () means stride 1,
    dilate 1, pad 0. num_group: channels and filters are cut to so many groups, and a
    filter sees the channels of its group only. no_bias: there is no input bias.
    layout: None, or the one in which channels are second: NCW, NCHW, NCDHW.
    workspace: the scratch memory that it may use, in MiB. cudnn_tune: how algorithms
    are chosen; without it MXNET_CUDNN_AUTOTUNE_DEFAULT decides: 'off' guesses,
    'limited_workspace' measures those that fit, 'fastest' all. cudnn_off: only those
    that need no transform and no library. See `minimx.fast.convolution.choosing`.

    Raises ShapeError if shapes do not fit each other or the window does not fit the
    image, OperatorError for settings that make no sense, DTypeError for mixed types.
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

    casting = TARGET
    all_inputs = ("data", "weight", "bias")
    saves = ("data", "weight")
    deduce = deduction.image_of_out
    choices = {"cudnn_tune": MODES}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.kernel:
            raise OperatorError(
                "Convolution: kernel=() is no window. Give its size along each axis, "
                "such as kernel=(3, 3)."
            )
        if self.cudnn_tune not in (None, *MODES):
            raise OperatorError(
                f"Convolution: cudnn_tune={self.cudnn_tune!r} is none of "
                f"{', '.join(MODES)}.{did_you_mean(self.cudnn_tune, MODES)}"
            )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Bias only where there is one."""
        return self.all_inputs[:2] if self.no_bias else self.all_inputs

    def lengths(self, data: Spec) -> tuple[Shape, ...]:
        """Image, kernel, stride, dilate, pad, stops; refuses what does not fit."""
        self._check(data)
        image = data.shape[2:]
        axes = len(image)
        kernel = per_axis(self.name, "kernel", self.kernel, axes, 1)
        stride = per_axis(self.name, "stride", self.stride, axes, 1)
        dilate = per_axis(self.name, "dilate", self.dilate, axes, 1)
        pad = per_axis(self.name, "pad", self.pad, axes, 0)
        stops = tuple(map(window, image, kernel, stride, pad, dilate))
        if min(stops) < 1:
            raise ShapeError(
                f"Convolution: a window of {kernel}, dilated by {dilate}, is larger "
                f"than the image of data {data.shape} with pad {pad}. Take a smaller "
                "kernel, or pad more."
            )
        return image, kernel, stride, dilate, pad, stops

    def geometry(self, data: Spec) -> Geometry:
        """The loop lengths over images; for a volume, over the slices of one sample."""
        image, kernel, stride, dilate, pad, stops = self.lengths(data)
        images, channels = data.shape[:2]
        if len(image) == 1:  # one row
            image, stops, kernel = (1, *image), (1, *stops), (1, *kernel)
            stride, dilate, pad = (1, *stride), (1, *dilate), (0, *pad)
        elif len(image) == 3:  # what a window covers of other slices is more channels
            images, channels = stops[0], channels * kernel[0]
            image, kernel, stride = image[1:], kernel[1:], stride[1:]
            dilate, pad, stops = dilate[1:], pad[1:], stops[1:]
        sizes = (images, channels, *image, self.num_filter)
        steps = (*kernel, *stride, *dilate, *pad)
        return Geometry._make((*sizes, *steps, self.num_group, *stops))

    def depth(self, data: Spec) -> Depth | None:
        """For a volume, the lengths along its first axis."""
        if data.ndim != 5:
            return None
        return Depth(*(lengths[0] for lengths in self.lengths(data)))

    def _check(self, data: Spec) -> None:
        if data.ndim not in (3, 4, 5):
            raise ShapeError(
                f"Convolution: data {data.shape} is none of (N, C, W), (N, C, H, W) "
                "and (N, C, D, H, W). Add the missing axes with expand_dims."
            )
        channels_second(self.name, self.layout, data.ndim - 2)
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
        stops = self.lengths(data)[-1]
        why = f"data {data.shape} with kernel={self.kernel}"
        for name, spec in zip(self.inputs[1:], specs[1:], strict=True):
            expect(self.name, name, spec, self.complete(data)[name], why)
        return data.with_shape((data.shape[0], self.num_filter, *stops))

    def question(self, direction: str, data: Spec) -> tuple[Any, Geometry, DType]:
        """What the choice of an algorithm depends on, with the present knobs.

        direction: FORWARD, DATA or WEIGHT. Returns the rules, the geometry of the
        convolution (for a volume, of one slice) and the type it computes in.
        """
        depth, name = self.depth(data), data.dtype.name
        rules = provided("convolution tuner").rules_now(
            direction,
            limit=(self.workspace << 20) - self._slices(direction, data),
            tune=self.cudnn_tune,
            off=self.cudnn_off,
            narrow=name if depth is None and data.dtype in NARROW else "",
            gpu=self.kind == "gpu",
        )
        return rules, self.geometry(data), computing(data.dtype)

    def choice(self, direction: str, data: Spec) -> Any:
        """The algorithms for one direction, ranked; measured if the settings say so.

        direction: FORWARD, DATA or WEIGHT; data: the spec of the data.
        """
        rules, at, dtype = self.question(direction, data)
        return provided("convolution tuner").choose(direction, at, dtype, rules)

    def algorithm(self, direction: str, data: Spec) -> Algorithm:
        """The algorithm that computes one direction: FORWARD, DATA or WEIGHT.

        data: the spec of the data. A choice holds until a knob that it depends on is
        turned (`ops.forget_plans`).
        """
        decided = provided("convolution tuner").decided
        algorithm: Algorithm = decided(self.choice(direction, data)).algorithm
        return algorithm

    def _slices(self, direction: str, data: Spec) -> int:
        """The bytes in which a volume is cut to slices."""
        depth, itemsize = self.depth(data), computing(data.dtype).itemsize
        if depth is None:
            return 0
        return depth.workspace(direction, self.geometry(data)) * itemsize

    def need(self, direction: str, data: Spec) -> int:
        """The bytes of workspace for one direction.

        Nothing is logged here: a call on a GPU is planned for the CPU too, and only the
        plan that runs counts.
        """
        rules, at, dtype = self.question(direction, data)
        tuner = provided("convolution tuner")
        found = tuner.decided(tuner.choose(direction, at, dtype, rules, log=False))
        return self._slices(direction, data) + int(found.algorithm.workspace)

    def runner(self, direction: str, data: Spec) -> tuple[Any, tuple[Shape, ...]]:
        """The kernel for one direction; its shapes of data, weight and output.

        Arrays are seen in these shapes: groups apart, a line as an image one pixel
        high. For 16-bit types the kernel computes in float32.
        """
        at, algorithm = self.geometry(data), self.algorithm(direction, data)
        depth, name = self.depth(data), _KERNELS[direction]

        def precise(run: Any) -> Any:
            """In single precision for half-precision arrays."""
            if algorithm.dtype or data.dtype not in NARROW:
                return run
            return in_single(run, 3 if direction == FORWARD else 2)

        if depth is not None:
            stops = depth.out, at.out_h, at.out_w
            outs: Shape = data.shape[0], self.num_filter, *stops
            shapes = data.shape, self.complete(data)["weight"], outs
            return precise(find(f"volumes.{name}")(algorithm, at, depth)), shapes
        outs = at.images, at.filters, at.out_h, at.out_w
        run = precise(find(f"conv.{name}")(algorithm, at))
        return run, (_images(at), _filters(at), outs)

    def compute(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.conv`."""
        run, (images, filters, outs) = self.runner(FORWARD, specs[0])
        biased = not self.no_bias

        def kernel(data: Any, weight: Any, *rest: Any) -> None:
            bias, out, *workspace = rest if biased else (None, *rest)
            data, weight = data.reshape(images), weight.reshape(filters)
            run(data, weight, bias, out.reshape(outs), *workspace)

        return kernel

    def scratch(self, *specs: Spec) -> int:
        """What the algorithm asks for."""
        return self.need(FORWARD, specs[0])

    def grad(
        self, at: GradContext, dout: Any, data: Value, weight: Value
    ) -> Sequence[Value | None]:
        """Rule: ddata is dout spread by the weight, dweight dout correlated with data.

        Two operators, one for the data, one for weight and bias (dbias = Σ dout over
        samples and image).
        """
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
        return self.work(specs[0])

    def work(self, data: Spec) -> Cost:
        """The cost of one direction."""
        stops = self.lengths(data)[-1]
        weight = prod(self.complete(data)["weight"])
        windows = data.shape[0] * prod(stops)
        moved = data.size + windows * self.num_filter + weight
        return Cost(2 * windows * weight, moved * data.dtype.itemsize)


@register("_backward_Convolution_data")
class ConvolutionData(Multiplies, Op):
    """The gradient of a convolution's data.

    dout (N, num_filter, H', W'), weight as in Convolution; out: `shape`, that of data.
    conv: the Convolution itself.
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
        """See `minimx.core.kernels.cpu.conv`."""
        data = self._data(specs[0])
        conv = self.conv.for_device(self.kind)
        run, (images, filters, outs) = conv.runner(DATA, data)

        def kernel(dout: Any, weight: Any, ddata: Any, *workspace: Any) -> None:
            dout, weight = dout.reshape(outs), weight.reshape(filters)
            run(dout, weight, ddata.reshape(images), *workspace)

        return kernel

    def workspace(self, *specs: Spec) -> int:
        """What the algorithm asks for."""
        return int(self.conv.for_device(self.kind).need(DATA, self._data(specs[0])))

    def grad(
        self, at: GradContext, dout: Any, head: Value, weight: Value
    ) -> Sequence[Value | None]:
        """Rule: d dout = conv(g, weight), dweight = ConvolutionWeight(dout, g).

        g is the gradient of ddata, which is linear in both inputs.
        """
        plain = _without_bias(self.conv)
        dhead = bind(plain, dout, weight) if at.wants[0] else None
        dweight = None
        if at.wants[1]:
            dweight = bind(ConvolutionWeight.of(conv=plain), head, dout)
        return dhead, dweight

    def cost(self, *specs: Spec) -> Cost:
        """As much as the convolution itself."""
        found: Cost = self.conv.work(self._data(specs[0]))
        return found


@register("_backward_Convolution_weight")
class ConvolutionWeight(Multiplies, Op):
    """The gradients of a convolution's weight and bias.

    dout (N, num_filter, H', W'), data as in Convolution
    out: dweight, and dbias (num_filter,) unless the convolution has none
    conv: the Convolution itself.
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
        """See `minimx.core.kernels.cpu.conv`."""
        conv = self.conv.for_device(self.kind)
        run, (images, filters, outs) = conv.runner(WEIGHT, specs[1])
        biased = not self.conv.no_bias

        def kernel(dout: Any, data: Any, dweight: Any, *rest: Any) -> None:
            dbias, *workspace = rest if biased else (None, *rest)
            dout, data = dout.reshape(outs), data.reshape(images)
            if not data.size:  # a batch of nothing
                dweight[...] = 0
                if dbias is not None:
                    dbias[...] = 0
                return
            run(dout, data, dweight.reshape(filters), dbias, *workspace)

        return kernel

    def workspace(self, *specs: Spec) -> int:
        """What the algorithm asks for."""
        return int(self.conv.for_device(self.kind).need(WEIGHT, specs[1]))

    def grad(
        self, at: GradContext, dout: Any, head: Value, data: Value
    ) -> Sequence[Value | None]:
        """Rule: d dout = conv(data, gw) + gb, ddata = ConvolutionData(dout, gw).

        gw, gb: the gradients of dweight and dbias, which are linear in both inputs.
        """
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
        found: Cost = self.conv.work(specs[1])
        return found


def _without_bias(conv: Convolution) -> Convolution:
    return Convolution.of(**{**conv.settings, "no_bias": True})


def _images(at: Geometry) -> Shape:
    return (at.images, at.channels, at.height, at.width)


def _filters(at: Geometry) -> Shape:
    return (at.filters, at.channels // at.groups, at.kernel_h, at.kernel_w)
