"""Data sheets of making images smaller or larger: means, lines between pixels, copies.

All of them are linear in the image, so a gradient is the transposed map, and the
gradient of that is the map again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.pooling import Pooling
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.checks import same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.layers.deconv import Deconvolution
from minimx.operators.rules import Gradients, given_shape, one_of, with_half


def _images(op: str, name: str, spec: Spec) -> None:
    """Refuse what is no batch of images."""
    if spec.ndim != 4 or 0 in spec.shape[2:]:
        raise ShapeError(
            f"{op}: {name} {spec.shape} must be (N, C, H, W), with pixels. Add the "
            "missing axes with expand_dims."
        )


class Resampling(Op):
    """Every new pixel is a weighted sum of old ones near its place."""

    def image(self, *specs: Spec) -> Shape:
        """The height and the width that come out."""
        raise OperatorError(f"{self.name} has no rule for its image")

    def plain(self, image: Shape) -> Op:
        """The operator of one input that gives images of this size."""
        return self

    def tables(self, old: Shape, new: Shape) -> tuple[Any, Any]:
        """For each image axis, which old pixels count how much."""
        raise OperatorError(f"{self.name} has no rule for its pixels")

    def infer(self, *specs: Spec) -> Spec:
        """The same samples and channels."""
        data = specs[0]
        same_reals(self.name, ("data",), data)
        _images(self.name, "data", data)
        return data.with_shape((*data.shape[:2], *self.image(*specs)))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.resample`."""
        out = self.infer(*specs)
        tables = self.tables(specs[0].shape[2:], out.shape[2:])
        gather = find("resample.gather")

        def run(*arrays: Any) -> None:
            if arrays[-2].size:
                gather(arrays[0], tables, *arrays[-2:])

        return with_half(run, specs)

    def workspace(self, *specs: Spec) -> int:
        """Room for new rows of old pixels."""
        return _between(specs[0], self.infer(*specs))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The transposed map; how large a model is, has no gradient."""
        op = ResampleGradient.of(
            forward=self.plain(at.outs[0].shape[2:]), shape=at.ins[0].shape
        )
        return bind(op, dout), *(None for _ in at.ins[1:])

    def cost(self, *specs: Spec) -> Cost:
        """Four products for every new pixel."""
        out = self.infer(*specs)
        return Cost(8 * out.size, specs[0].nbytes + out.nbytes)


def _between(old: Spec, new: Spec) -> int:
    rows = old.shape[0] * old.shape[1] * new.shape[2]
    return rows * old.shape[3] * computing(old.dtype).itemsize


@register("_backward_resample")
class ResampleGradient(Op):
    """The transpose of a resampling: every new pixel goes back where it came from.

    dout (N, C, H', W'); out: `shape`, that of the data
    """

    forward: Any
    shape: Shape

    inputs = ("dout",)

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.resample`."""
        tables = self.forward.tables(self.shape[2:], specs[0].shape[2:])
        spread = find("resample.spread")

        def run(dout: Any, ddata: Any, between: Any) -> None:
            if ddata.size:
                spread(dout, tables, ddata, between)

        return with_half(run, specs)

    def workspace(self, *specs: Spec) -> int:
        """As much as the resampling."""
        return _between(self.infer(*specs), specs[0])

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Linear: the resampling itself."""
        return (bind(self.forward, dout),)

    def cost(self, *specs: Spec) -> Cost:
        """As much as the resampling."""
        return Cost(8 * specs[0].size, specs[0].nbytes + self.infer(*specs).nbytes)


@register("_contrib_AdaptiveAvgPooling2D")
class AdaptiveAvgPooling2D(Resampling):
    """Means over pieces of an image, as many as are wanted.

    data (N, C, H, W); out (N, C, *output_size); output_size: two numbers, or one for
    both axes; 1 without it. Pieces overlap by a pixel where the lengths do not divide.
    """

    output_size: Shape = ()

    def image(self, *specs: Spec) -> Shape:
        """As the setting says."""
        size = self.output_size or (1,)
        if len(size) > 2 or min(size) < 1:
            raise OperatorError(
                f"{self.name}: output_size={size} must be one or two positive numbers."
            )
        return size if len(size) == 2 else size * 2

    def tables(self, old: Shape, new: Shape) -> tuple[Any, Any]:
        """Equal weights within a piece."""
        averages = find("resample.averages")
        return averages(old[0], new[0]), averages(old[1], new[1])


# By how much a length changes, if it is even and if it is odd.
_PARITY = {
    "to_even_down": (0, -1),
    "to_even_up": (0, 1),
    "to_odd_down": (-1, 0),
    "to_odd_up": (1, 0),
}
MODES = ("size", "odd_scale", "like", *_PARITY)


@register("_contrib_BilinearResize2D")
class BilinearResize2D(Resampling):
    """Images of another size; a new pixel lies between up to four old ones.

    data (N, C, H, W); like (…, …, h, w): an image whose size is wanted, for mode='like'
    out (N, C, height', width'), by `mode`:

    'size': height and width, in pixels; or scale_height * H and scale_width * W where
    scales are given, cut off to whole pixels
    'odd_scale': scale_height * H where H is even, (H - 1) * scale_height + 1 where odd
    'like': the size of `like`
    'to_even_up', 'to_even_down', 'to_odd_up', 'to_odd_down': the next even or odd
    length

    align_corners: the pixels in the corners stay there; otherwise the edges of the
    image do. Raises ShapeError for images without pixels, OperatorError for other
    settings.
    """

    height: int = 1
    width: int = 1
    scale_height: float | None = None
    scale_width: float | None = None
    mode: str = "size"
    align_corners: bool = True

    all_inputs = ("data", "like")

    @property
    def inputs(self) -> tuple[str, ...]:
        """A second one only if its size is wanted."""
        return self.all_inputs if self.mode == "like" else self.all_inputs[:1]

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "mode", *MODES)
        scales = self.scale_height, self.scale_width
        if None in scales and (self.mode == "odd_scale" or scales != (None, None)):
            raise OperatorError(
                f"{self.name}: scale_height={scales[0]} and scale_width={scales[1]}: "
                "give both."
            )

    def image(self, *specs: Spec) -> Shape:
        """As the mode says."""
        old = specs[0].shape[2:]
        if self.mode == "like":
            _images(self.name, "like", specs[1])
            return specs[1].shape[2:]
        if self.mode in _PARITY:
            change = _PARITY[self.mode]
            new = tuple(n + change[n % 2] for n in old)
        elif self.scale_height is None or self.scale_width is None:
            new = (self.height, self.width)
        else:
            scales = self.scale_height, self.scale_width
            odd = self.mode == "odd_scale"
            new = tuple(_scaled(n, s, odd) for n, s in zip(old, scales, strict=True))
        if min(new) < 1:
            raise ShapeError(
                f"{self.name}: an image of {new} pixels has none; data are "
                f"{specs[0].shape}. Ask for a larger one."
            )
        return new

    def plain(self, image: Shape) -> Op:
        """The mode 'size'."""
        return BilinearResize2D.of(
            height=image[0], width=image[1], align_corners=self.align_corners
        )

    def tables(self, old: Shape, new: Shape) -> tuple[Any, Any]:
        """Two neighbours, the nearer the heavier."""
        lines, align = find("resample.lines"), self.align_corners
        return lines(old[0], new[0], align), lines(old[1], new[1], align)


def _scaled(length: int, scale: float, odd: bool) -> int:
    """A length times a scale, cut off; in single precision, as MXNet counts."""
    rest = length % 2 if odd else 0
    return int(np.float32(length - rest) * np.float32(scale)) + rest


@register("UpSampling")
class UpSampling(Op):
    """Images that are `scale` times as large, by copying pixels or with a weight.

    sample_type='nearest': data (N, C, H, W), one or more; the first becomes `scale`
    times as large, the others as large as that. multi_input_mode: they are joined along
    the channels ('concat') or added up ('sum').
    sample_type='bilinear': data (N, C, H, W) and a weight (C, 1, k, k), k = 2 * scale -
    scale % 2: the kernel of a transposed convolution of each channel;
    `mx.init.Bilinear` fills it so that it interpolates.
    out (N, C, scale * H, scale * W)

    num_filter: for 'bilinear', C or 0. workspace: scratch memory in MiB. Raises
    ShapeError for images that do not fit, OperatorError for other settings.
    """

    scale: int
    num_filter: int = 0
    sample_type: str = "nearest"
    multi_input_mode: str = "concat"
    workspace: int = 512  # type: ignore[assignment]

    variadic = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "sample_type", "nearest", "bilinear")
        one_of(self, "multi_input_mode", "concat", "sum")
        if self.scale < 1:
            raise OperatorError(f"UpSampling: scale={self.scale} must be positive.")
        if self.sample_type == "bilinear":
            object.__setattr__(self, "saves", ("data0", "data1"))
            object.__setattr__(self, "inputs", ("data", "weight"))
        else:  # nothing but images comes in
            object.__setattr__(self, "complete", None)

    def _spreading(self, data: Spec) -> Deconvolution:
        """The transposed convolution of mode 'bilinear'."""
        if self.num_filter not in (0, data.shape[1]):
            raise OperatorError(
                f"UpSampling: num_filter={self.num_filter}, but data {data.shape} has "
                f"{data.shape[1]} channels; each gets a filter of its own."
            )
        window = 2 * self.scale - self.scale % 2
        return Deconvolution.of(
            kernel=(window, window), stride=(self.scale, self.scale),
            pad=(self.scale // 2, self.scale // 2), num_filter=data.shape[1],
            num_group=data.shape[1], workspace=self.workspace,
        )  # fmt: skip

    def complete(self, data: Spec) -> dict[str, Shape]:
        """What the weight looks like."""
        return self._spreading(data).complete(data)

    def infer(self, *specs: Spec) -> Spec:
        """The first image `scale` times as large."""
        same_reals(self.name, tuple(f"data{k}" for k in range(len(specs))), *specs)
        data = specs[0]
        _images(self.name, "data", data)
        if self.sample_type == "bilinear":
            if len(specs) != 2:
                raise OperatorError(
                    f"UpSampling: sample_type='bilinear' takes data and a weight, not "
                    f"{len(specs)} arrays."
                )
            return self._spreading(data).infer(*specs)
        samples, channels, *image = data.shape
        new = tuple(n * self.scale for n in image)
        for spec in specs:
            _images(self.name, "data", spec)
            fits = all(n % m == 0 for n, m in zip(new, spec.shape[2:], strict=True))
            alike = self.multi_input_mode == "concat" or spec.shape[1] == channels
            if not (fits and alike) or spec.shape[0] != samples:
                raise ShapeError(
                    f"UpSampling: {spec.shape} cannot join {data.shape}, which becomes "
                    f"{new}: its image must divide that, and the samples, and to be "
                    "summed also the channels, be as many."
                )
        if self.multi_input_mode == "concat":
            channels = sum(spec.shape[1] for spec in specs)
        return data.with_shape((samples, channels, *new))

    def _parts(self, specs: Sequence[Spec], out: Spec) -> list[tuple[slice, Shape]]:
        """For each input: its channels of the output, and how often pixels repeat."""
        parts, begin = [], 0
        for spec in specs:
            times = tuple(n // m for n, m in zip(out.shape, spec.shape, strict=True))
            parts.append((slice(begin, begin + spec.shape[1]), times[2:]))
            begin += spec.shape[1] if self.multi_input_mode == "concat" else 0
        return parts

    def compute(self, *specs: Spec) -> Kernel:
        """Copies, or the kernel of the transposed convolution."""
        if self.sample_type == "bilinear":
            return self._spreading(specs[0]).compute(*specs)
        parts = self._parts(specs, self.infer(*specs))

        def kernel(*arrays: Any) -> None:
            *images, out = arrays
            for k, (image, part) in enumerate(zip(images, parts, strict=True)):
                channels, (tall, wide) = part
                samples, _, height, width = image.shape
                whole = out.reshape(samples, -1, height, tall, width, wide)
                blocks = whole[:, channels]
                pixels = image[:, :, :, None, :, None]
                if k and self.multi_input_mode == "sum":
                    blocks += pixels
                else:
                    blocks[...] = pixels

        return kernel

    def scratch(self, *specs: Spec) -> int:
        """What the transposed convolution asks for."""
        if self.sample_type == "nearest":
            return 0
        return self._spreading(specs[0]).scratch(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The sum over the copies."""
        if self.sample_type == "bilinear":
            return self._spreading(at.ins[0]).grad(at, dout, *saved)
        found = []
        for channels, times in self._parts(at.ins, at.outs[0]):
            head, total = dout, Pooling.of(kernel=times, stride=times, pool_type="sum")
            if self.multi_input_mode == "concat" and len(at.ins) > 1:
                cut = lookup("slice_axis").of(
                    axis=1, begin=channels.start, end=channels.stop
                )
                head = bind(cut, dout)
            found.append(bind(total, head))
        return found

    def cost(self, *specs: Spec) -> Cost:
        """A copy for every pixel, or the transposed convolution."""
        if self.sample_type == "bilinear":
            return self._spreading(specs[0]).cost(*specs)
        return super().cost(*specs)
