"""Data sheets of images: into tensors, into other sizes, into other colours.

Images are (H, W, C), or batches of them (N, H, W, C).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import in_single
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.checks import same_reals
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.images.multibox import floats
from minimx.operators.rules import Draws, Gradients, given_shape, short_name, with_half


def _images(op: Op, data: Spec, layout: str = "(H, W, C)") -> None:
    if data.ndim not in (3, 4):
        raise ShapeError(
            f"image.{short_name(op)}: data {data.shape} must be an image {layout}, or "
            "a batch of images with one axis more. Reshape it first."
        )


# -- into tensors ----------------------------------------------------------------------


@register("_image_to_tensor")
class ToTensor(Op):
    """Turn images into tensors: numbers from 0 to 1, channels first.

    data (H, W, C) or (N, H, W, C), of any type, with numbers from 0 to 255; out (C, H,
    W) or (N, C, H, W), float32: data / 255. Raises ShapeError for another number of
    axes.
    """

    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """Channels first."""
        (data,) = specs
        _images(self, data)
        *before, height, width, channels = data.shape
        return Spec.of((*before, channels, height, width), FLOAT32)

    def kernel(self, *specs: Spec) -> Kernel:
        """One division for each number."""

        def run(data: Any, out: Any) -> None:
            np.divide(np.moveaxis(data, -1, -3), np.float32(255), out=out)

        return run


@register("_image_normalize")
class Normalize(Op):
    """(data - mean) / std, channel by channel.

    data (C, H, W) or (N, C, H, W); mean, std: a number, or one for each channel; out:
    the shape of data
    """

    mean: Any = (0.0, 0.0, 0.0, 0.0)
    std: Any = (1.0, 1.0, 1.0, 1.0)

    same_shape = True

    def _columns(self, channels: int) -> tuple[Any, Any]:
        """The two settings as (C, 1, 1)."""
        columns = []
        for name in ("mean", "std"):
            given = floats("image.normalize", name, getattr(self, name))
            default = type(self).__dataclass_fields__[name].default
            if given == default or len(given) == 1:
                given = (given[0],) * channels
            if len(given) != channels:
                raise ShapeError(
                    f"image.normalize: {name} has {len(given)} numbers, the images "
                    f"have {channels} channels. Give one number, or one for each."
                )
            columns.append(np.array(given)[:, None, None])
        return columns[0], columns[1]

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        (data,) = specs
        _images(self, data, "(C, H, W)")
        same_reals("image.normalize", ("data",), data)
        self._columns(data.shape[-3])
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """Whole arrays at a time."""
        mean, std = self._columns(specs[0].shape[-3])

        def run(data: Any, out: Any) -> None:
            np.subtract(data, mean.astype(data.dtype), out=out)
            out /= std.astype(data.dtype)

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Divided by the same numbers."""
        return (bind(Normalize.of(std=self.std, mean=(0.0,)), dout),)


# -- places ----------------------------------------------------------------------------


class Flip(Op):
    """Another order along one axis."""

    axis: ClassVar[int]
    same_shape = True

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        _images(self, specs[0])
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy."""
        axis = self.axis
        return lambda data, out: np.copyto(out, np.flip(data, axis))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Flipped back."""
        return (bind(self, dout),)


@register("_image_flip_left_right")
class FlipLeftRight(Flip):
    """Mirror images: the left side becomes the right one.

    data (H, W, C) or (N, H, W, C); out: the same shape and type.
    """

    axis = -2


@register("_image_flip_top_bottom")
class FlipTopBottom(Flip):
    """Turn images upside down.

    data (H, W, C) or (N, H, W, C); out: the same shape and type.
    """

    axis = -3


class RandomFlip(Draws, Flip):
    """A flip in half of the cases."""

    def kernel(self, *specs: Spec) -> Kernel:
        """A coin and a copy."""
        axis = self.axis

        def run(data: Any, out: Any, rng: Any) -> None:
            np.copyto(out, data if rng.random() < 0.5 else np.flip(data, axis))

        return run


@register("_image_random_flip_left_right")
class RandomFlipLeftRight(RandomFlip):
    """Mirror images with a probability of one half.

    data (H, W, C) or (N, H, W, C), all images of a batch alike; out: the same shape and
    type.
    """

    axis = -2


@register("_image_random_flip_top_bottom")
class RandomFlipTopBottom(RandomFlip):
    """Turn images upside down with a probability of one half.

    data (H, W, C) or (N, H, W, C), all images of a batch alike; out: the same shape and
    type.
    """

    axis = -3


@register("_image_crop")
class Crop(Op):
    """A part of images: columns from x on, rows from y on.

    data (H, W, C) or (N, H, W, C); out (height, width, C) or (N, height, width, C)
    """

    x: int
    y: int
    width: int
    height: int

    def infer(self, *specs: Spec) -> Spec:
        """Refuses parts that do not lie inside the image."""
        (data,) = specs
        _images(self, data)
        *before, height, width, channels = data.shape
        if (
            min(self.x, self.y) < 0 or min(self.width, self.height) < 1
            or self.x + self.width > width or self.y + self.height > height
        ):  # fmt: skip
            raise ShapeError(
                f"image.crop: x={self.x}, y={self.y}, width={self.width}, height="
                f"{self.height} is no part of images of height {height} and width "
                f"{width}."
            )
        return data.with_shape((*before, self.height, self.width, channels))

    def part(self) -> Any:
        """The part as an index."""
        rows = slice(self.y, self.y + self.height)
        return (..., rows, slice(self.x, self.x + self.width), slice(None))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy."""
        part = self.part()
        return lambda data, out: np.copyto(out, data[part])

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Back to its place."""
        return (bind(CropGradient.of(forward=self, shape=at.ins[0].shape), dout),)


@register("_backward_image_crop")
class CropGradient(Op):
    """A part of images back at its place, 0 around it. dout: the part; out: `shape`."""

    forward: Any
    shape: Shape

    inputs = ("dout",)

    infer = given_shape

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros and a copy."""
        part = self.forward.part()

        def run(dout: Any, out: Any) -> None:
            out[...] = 0
            out[part] = dout

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The part again."""
        return (bind(self.forward, dout),)


WAYS = {0: "nearest", 1: "linear", 2: "cubic", 3: "area", 4: "Lanczos"}


@register("_image_resize")
class Resize(Op):
    """Images in another size.

    data (H, W, C) or (N, H, W, C); size: (width, height), or the length of both; with
    keep_ratio a single number is the length of the shorter side. interp: 0 the nearest
    pixel, 1 linear, 2 cubic, 3 the area that a pixel covers, 4 Lanczos. out: the new
    height and width, the type of data; whole numbers are rounded.
    """

    size: Any = ()
    keep_ratio: bool = False
    interp: int = 1

    differentiable = False

    def target(self, height: int, width: int) -> tuple[int, int]:
        """The new height and width."""
        size = self.size if isinstance(self.size, Sequence) else (self.size,)
        if len(size) not in (1, 2) or min(size) < 1:
            raise OperatorError(
                f"image.resize: size={self.size!r} must be a length or (width, height)."
            )
        if len(size) == 2:
            return int(size[1]), int(size[0])
        side = int(size[0])
        if not self.keep_ratio:
            return side, side
        if height > width:
            return height * side // width, side
        return side, width * side // height

    def infer(self, *specs: Spec) -> Spec:
        """The new size."""
        (data,) = specs
        _images(self, data)
        if self.interp not in WAYS:
            known = ", ".join(f"{code} ({name})" for code, name in WAYS.items())
            raise OperatorError(
                f"image.resize: interp={self.interp}: choose one of {known}."
            )
        *before, height, width, channels = data.shape
        new = self.target(height, width)
        return data.with_shape((*before, *new, channels))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.images.images`."""
        resize, way = find("images.resize"), self.interp
        each = specs[0].shape[-3:]

        def run(data: Any, out: Any) -> None:
            new = out.reshape(-1, *out.shape[-3:])
            for image, found in zip(data.reshape(-1, *each), new, strict=True):
                resize(image, way, found)

        return in_single(run, 1) if specs[0].dtype.name == "float16" else run


# -- colours ---------------------------------------------------------------------------


class Colours(Op):
    """Other colours for an image (H, W, C), C being 3 or 1."""

    same_shape = True
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The same spec."""
        (data,) = specs
        if data.ndim != 3 or data.shape[2] not in (1, 3):
            raise ShapeError(
                f"image.{short_name(self)}: data {data.shape} must be one image "
                "(H, W, C), with 3 channels (red, green, blue) or 1."
            )
        return data

    def steps(self, rng: Any) -> list[tuple[Callable[..., Any], Any]]:
        """Functions of `operators/kernels/images/colours.py`, each with its number."""
        raise OperatorError(f"{self.name} changes nothing")

    def kernel(self, *specs: Spec) -> Kernel:
        """One function after the other; each result is put into the type of data."""
        converted, dtype = find("colours.converted"), specs[0].dtype

        def run(data: Any, out: Any, rng: Any = None) -> None:
            for function, number in self.steps(rng):
                data = converted(function(data, number), dtype)
            np.copyto(out, data)

        return run


class RandomColours(Draws, Colours):
    """Colours changed by random numbers."""


@with_settings
class RandomFactor(RandomColours):
    """A change by a random number between two bounds."""

    min_factor: float
    max_factor: float

    change: ClassVar[str]

    def steps(self, rng: Any) -> list[tuple[Callable[..., Any], Any]]:
        """The one change."""
        number = rng.uniform(self.min_factor, self.max_factor)
        return [(find(f"colours.{self.change}"), number)]


@register("_image_random_brightness")
class RandomBrightness(RandomFactor):
    """Multiply an image by a number drawn evenly from [min_factor, max_factor).

    data (H, W, C) with 3 channels or 1; out: the same shape and type, whole numbers cut
    off at the limits of their type.
    """

    change = "brightness"


@register("_image_random_contrast")
class RandomContrast(RandomFactor):
    """Move the pixels of an image away from its mean brightness, or towards it.

    data (H, W, C) with 3 channels or 1; out: the same shape and type, f * data + (1 -
    f) * mean, with f drawn evenly from [min_factor, max_factor); whole numbers are cut
    off at the limits of their type.
    """

    change = "contrast"


@register("_image_random_saturation")
class RandomSaturation(RandomFactor):
    """Move the pixels of an image away from their own brightness, or towards it.

    data (H, W, C) with 3 channels (red, green, blue); an image of 1 channel does not
    change. out: the same shape and type, f * data + (1 - f) * grey, with f drawn evenly
    from [min_factor, max_factor).
    """

    change = "saturation"


@register("_image_random_hue")
class RandomHue(RandomFactor):
    """Turn the colours of an image round their circle, by a random part of it.

    data (H, W, C) with 3 channels (red, green, blue); an image of 1 channel does not
    change. out: the same shape and type. The part is drawn evenly from [min_factor,
    max_factor); 1 is the whole circle.
    """

    change = "hue"


@register("_image_random_color_jitter")
class RandomColorJitter(RandomColours):
    """Brightness, contrast, saturation and hue changed at random, in random order.

    data (H, W, C); the first three become 1 ± their number times as large, colours turn
    by up to `hue` of their circle; 0 leaves one out. out: as data
    """

    brightness: float
    contrast: float
    saturation: float
    hue: float

    def steps(self, rng: Any) -> list[tuple[Callable[..., Any], Any]]:
        """Those that are asked for."""
        found = []
        for place in rng.permutation(4):
            name = ("brightness", "contrast", "saturation", "hue")[place]
            most = getattr(self, name)
            if most > 0:
                number = rng.uniform(-most, most) + (name != "hue")
                found.append((find(f"colours.{name}"), number))
        return found


@register("_image_adjust_lighting")
class AdjustLighting(Colours):
    """Colours along the three directions in which those of photographs vary.

    data (H, W, C); alpha: how far along each; out: as data
    """

    alpha: Any

    differentiable = True

    def steps(self, rng: Any) -> list[tuple[Callable[..., Any], Any]]:
        """The one change."""
        amounts = floats("image.adjust_lighting", "alpha", self.alpha, 3)
        return [(find("colours.lighting"), amounts)]

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same is added everywhere."""
        return (dout,)


@register("_image_random_lighting")
class RandomLighting(RandomColours):
    """Add noise along the three directions in which colours of photographs vary.

    data (H, W, C) with 3 channels; out: the same shape and type. As adjust_lighting
    with three normal random numbers of standard deviation alpha_std (AlexNet's colour
    augmentation).
    """

    alpha_std: float = 0.05

    def steps(self, rng: Any) -> list[tuple[Callable[..., Any], Any]]:
        """The one change."""
        return [(find("colours.lighting"), rng.normal(0, self.alpha_std, 3))]
