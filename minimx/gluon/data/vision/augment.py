"""Transforms that make other images out of images: parts of them, other colours.

Images are (H, W, C). Random numbers are those of the device, so `mx.random.seed`
repeats them, except where a transform decides in Python, with NumPy's generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.rng import numpys
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.nn.basic import Sequential
from minimx.gluon.np_arrays import as_np_if_set
from minimx.image import functions

__all__ = [
    "CenterCrop", "CropResize", "HybridRandomApply", "RandomApply", "RandomBrightness",
    "RandomColorJitter", "RandomContrast", "RandomCrop", "RandomGray", "RandomHue",
    "RandomLighting", "RandomResizedCrop", "RandomSaturation",
]  # fmt: skip

Size = int | Sequence[int]
_operators: Any = nd.image
#: The luminance of red, green and blue, for each of the three new channels.
_GREY = np.repeat([[0.21], [0.72], [0.07]], 3, axis=1).astype(np.float32)


class _Colours(HybridBlock):
    """One of the operators of `nd.image`, with its settings."""

    operator = ""

    def __init__(self, *settings: float) -> None:
        super().__init__()
        self._settings = settings

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return getattr(F.image, self.operator)(x, *self._settings)


def _around_one(name: str, spread: float) -> tuple[float, float]:
    if spread < 0:
        raise ArgumentError(f"{name}={spread} is negative; it says how far from 1.")
    return max(0.0, 1 - spread), 1 + spread


class RandomBrightness(_Colours):
    """An image times a random number between 1 - brightness and 1 + brightness."""

    operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(*_around_one("brightness", brightness))


class RandomContrast(_Colours):
    """Away from the image's mean by a number between 1 - contrast and 1 + contrast."""

    operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(*_around_one("contrast", contrast))


class RandomSaturation(_Colours):
    """Away from grey by a number between 1 - saturation and 1 + saturation."""

    operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(*_around_one("saturation", saturation))


class RandomHue(_Colours):
    """Colours round their circle, by up to `hue` of it to either side."""

    operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(*_around_one("hue", hue))


class RandomColorJitter(_Colours):
    """Brightness, contrast, saturation and hue, in random order; 0 leaves one out."""

    operator = "random_color_jitter"

    def __init__(
        self,
        brightness: float = 0,
        contrast: float = 0,
        saturation: float = 0,
        hue: float = 0,
    ) -> None:
        super().__init__(brightness, contrast, saturation, hue)


class RandomLighting(_Colours):
    """Along the directions in which photographs vary; alpha: the deviation."""

    operator = "random_lighting"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)


# -- parts -----------------------------------------------------------------------------


def _pair(size: Size) -> tuple[int, int]:
    """A size as (width, height)."""
    given = (size, size) if isinstance(size, int) else tuple(size)
    if len(given) != 2 or min(given) < 1:
        raise ArgumentError(f"size={size!r} must be a length or (width, height).")
    return given[0], given[1]


class CropResize(HybridBlock):
    """A part of images, and that in another size if one is given.

    x, y: the first column and row. size: a length or (width, height).
    """

    def __init__(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        size: Size | None = None,
        interpolation: int | None = None,
    ) -> None:
        super().__init__()
        self._part = {"x": x, "y": y, "width": width, "height": height}
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(height, width, C) or the new size; batches alike."""
        out = F.image.crop(x, **self._part)
        if self._size is None:
            return out
        size = _pair(self._size)
        return F.image.resize(out, size=size, interp=self._interpolation)


def _cut(image: NDArray, part: tuple[int, int, int, int], size: Any, way: int) -> Any:
    """The part (x, y, width, height) of an image, in another size."""
    x, y, width, height = part
    out = _operators.crop(image, x=x, y=y, width=width, height=height)
    if (width, height) != size:
        out = _operators.resize(out, size=size, interp=way)
    return out


class CenterCrop(Block):
    """The middle of an image; a smaller image is enlarged to the size.

    size: a length or (width, height). interpolation: as in `nd.image.resize`.
    """

    def __init__(self, size: Size, interpolation: int = 1) -> None:
        super().__init__()
        self._size, self._interpolation = _pair(size), interpolation

    def forward(self, x: NDArray) -> NDArray:
        """(height, width, C)."""
        height, width = x.shape[-3:-1]
        wide, tall = self._size
        shrink = min(1.0, width / wide, height / tall)
        wide, tall = int(wide * shrink), int(tall * shrink)
        part = ((width - wide) // 2, (height - tall) // 2, wide, tall)
        return _cut(x, part, self._size, self._interpolation)  # type: ignore[no-any-return]


class RandomResizedCrop(Block):
    """A random part of an image, in another size.

    size: a length or (width, height). scale: the least and largest share of the area.
    ratio: the least and largest width / height. Where no part is found in ten
    attempts, it is the middle.
    """

    def __init__(
        self,
        size: Size,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._size, self._interpolation = _pair(size), interpolation
        self._scale, self._ratio = scale, np.log(ratio)

    def forward(self, x: NDArray) -> NDArray:
        """(height, width, C)."""
        height, width = x.shape[-3:-1]
        for _ in range(10):
            area = numpys.uniform(*self._scale) * height * width
            ratio = np.exp(numpys.uniform(*self._ratio))
            wide, tall = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if 0 < wide <= width and 0 < tall <= height:
                left = numpys.randint(width - wide + 1)
                top = numpys.randint(height - tall + 1)
                part = (int(left), int(top), wide, tall)
                return _cut(x, part, self._size, self._interpolation)  # type: ignore[no-any-return]
        return CenterCrop(self._size, self._interpolation)(x)  # type: ignore[no-any-return]


class RandomCrop(Block):
    """A random part of an image, as large as `size`; a smaller image is enlarged.

    size: a length or (width, height). pad: so many pixels of `pad_value` are put round
    the image first, or ((above, below), (left, right), (0, 0)).
    """

    def __init__(
        self,
        size: Size,
        pad: Any = None,
        pad_value: float = 0,
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._size, self._interpolation = _pair(size), interpolation
        self._pad = ((pad, pad), (pad, pad), (0, 0)) if isinstance(pad, int) else pad
        self._pad_value = pad_value

    def forward(self, x: NDArray) -> NDArray:
        """(height, width, C)."""
        if self._pad is not None:
            padded = np.pad(x.asnumpy(), self._pad, constant_values=self._pad_value)
            x = as_np_if_set(nd.array(padded, ctx=x.context, dtype=x.dtype))
        return functions.random_crop(x, self._size, self._interpolation)[0]  # type: ignore[no-any-return]


class RandomGray(Block):
    """With probability p without colours; red, green and blue stay, and are equal."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: NDArray) -> NDArray:
        """Same shape and dtype as x."""
        if numpys.random() >= self.p:
            return x
        grey = nd.dot(x.astype("float32"), nd.array(_GREY, ctx=x.context))
        return nd.cast(grey, dtype=x.dtype)


class RandomApply(Sequential):
    """A transform, applied with probability p."""

    def __init__(self, transforms: Block, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: NDArray) -> NDArray:
        """The image, changed or not."""
        return x if self.p < numpys.random() else self.transforms(x)


class HybridRandomApply(HybridBlock):
    """A hybrid transform that keeps the shape, applied with probability p."""

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        if not isinstance(transforms, HybridBlock):
            raise ArgumentError(
                f"HybridRandomApply takes a HybridBlock, not {transforms!r}. "
                "RandomApply takes any."
            )
        super().__init__()
        self.transforms = transforms
        self.p = p

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The image, changed or not."""
        applied = F.random.uniform(shape=(1,)) < self.p
        return F.contrib.cond(applied, lambda: self.transforms(x), lambda: x)
