"""Transforms of images: functions that datasets apply to each sample.

Images come as (H, W, C) of uint8, or a batch of them as (N, H, W, C); `ToTensor` turns
them into what networks want. `batchable` marks transforms whose result for a batch is
the batch of the results, so that a loader may apply them to whole batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import minimx.nd as nd
from minimx.absent import missing
from minimx.dtypes import resolve
from minimx.errors import ArgumentError, ShapeError
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.data.vision.augment import (
    CenterCrop,
    CropResize,
    RandomApply,
    RandomBrightness,
    RandomColorJitter,
    RandomContrast,
    RandomHue,
    RandomLighting,
    RandomResizedCrop,
    RandomSaturation,
)
from minimx.gluon.flavours import flavoured
from minimx.gluon.nn.basic import HybridSequential, Sequential
from minimx.nd.array import NDArray

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "HybridCompose",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomSaturation",
    "Resize",
    "ToTensor",
]


class Compose(Sequential):
    """Transforms one after the other."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        self.add(*(t if isinstance(t, Block) else _Plain(t) for t in transforms))

    @property
    def batchable(self) -> bool:
        """Whether all the transforms are."""
        return all(getattr(block, "batchable", False) for block in self)


class HybridCompose(HybridSequential):
    """Hybrid transforms one after the other."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        self.add(*transforms)

    @property
    def batchable(self) -> bool:
        """Whether all the transforms are."""
        return all(getattr(block, "batchable", False) for block in self)


class _Plain(Block):
    """A plain function among the blocks of a Compose."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        if not callable(function):
            raise ArgumentError(f"Compose takes transforms, not {function!r}.")
        self._function = function

    def forward(self, *args: Any) -> Any:
        return self._function(*args)


class Cast(HybridBlock):
    """To another element type."""

    batchable = True

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = resolve(dtype).name

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """(H, W, C) of 0 to 255 becomes (C, H, W) of float32, 0 to 1; batches alike."""

    batchable = True

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(C, H, W), or (N, C, H, W)."""
        if x.ndim not in (3, 4):
            raise ShapeError(
                f"ToTensor: an image has the shape (H, W, C), a batch (N, H, W, C); "
                f"{x.shape} is neither. Reshape it first."
            )
        axes = (2, 0, 1) if x.ndim == 3 else (0, 3, 1, 2)
        return F.cast(F.transpose(x, axes=axes), dtype="float32") / 255.0


class Normalize(HybridBlock):
    """(x - mean) / std for each channel of (C, H, W) or (N, C, H, W).

    mean, std: a number, or one for each channel.
    """

    batchable = True

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean = _per_channel("mean", mean)
        self._std = _per_channel("std", std)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        if x.ndim not in (3, 4) or resolve(x.dtype).kind != "f":
            raise ShapeError(
                f"Normalize: x must be (C, H, W) or (N, C, H, W) of floats, it is "
                f"{x.shape} of {resolve(x.dtype)}. Apply ToTensor first."
            )
        for name, values in (("mean", self._mean), ("std", self._std)):
            if len(values) not in (1, x.shape[-3]):
                raise ShapeError(
                    f"Normalize: {name} has {len(values)} numbers, x {x.shape} has "
                    f"{x.shape[-3]} channels. Give one number, or one for each."
                )
        mean, std = self._mean, self._std
        if len(mean) == len(std) == 1:
            return (x - float(mean[0])) / float(std[0])
        return (x - _column(mean, x)) / _column(std, x)


class Resize(Block):
    """To another size: (H, W, C), or a batch of such.

    size: (width, height), or the length of both, as in MXNet. keep_ratio: with a single
        number, make the shorter side that long.
    interpolation: 0 takes the nearest pixel, 1 mixes the four nearest.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        keep_ratio: bool = False,
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        if interpolation not in (0, 1):
            raise ArgumentError(
                f"Resize: interpolation={interpolation}: choose 0 (nearest pixel) or 1 "
                "(bilinear)."
            )
        self._size = size
        self._keep = keep_ratio
        self._interpolation = interpolation

    def forward(self, x: NDArray) -> NDArray:
        """(H', W', C) of the same dtype."""
        if x.ndim not in (3, 4):
            raise ShapeError(
                f"Resize: an image has the shape (H, W, C), not {x.shape}. Resize "
                "before ToTensor."
            )
        height, width = x.shape[-3:-1]
        new_width, new_height = self._target(width, height)
        image = x.asnumpy()
        found = _resize_axis(image, -3, height, new_height, self._interpolation)
        found = _resize_axis(found, -2, width, new_width, self._interpolation)
        if image.dtype.kind in "iu":
            found = np.rint(found)
        made = nd.array(found.astype(image.dtype), ctx=x.context, dtype=image.dtype)
        return flavoured(made)  # type: ignore[no-any-return]

    def _target(self, width: int, height: int) -> tuple[int, int]:
        if not isinstance(self._size, int):
            wanted_width, wanted_height = self._size
            return wanted_width, wanted_height
        if not self._keep:
            return self._size, self._size
        short = min(width, height)
        return width * self._size // short, height * self._size // short


class RandomFlipLeftRight(Block):
    """Mirror the image in half of the cases; the coin is NumPy's global generator."""

    axis = -2

    def forward(self, x: NDArray) -> NDArray:
        """Same shape as x."""
        if np.random.random() < 0.5:
            return x
        return nd.flip(x, axis=x.ndim + self.axis)


class RandomFlipTopBottom(RandomFlipLeftRight):
    """Turn the image upside down in half of the cases."""

    axis = -3


def _per_channel(name: str, value: Any) -> Any:
    found = np.atleast_1d(np.asarray(value, np.float32))
    if found.ndim != 1 or (name == "std" and not found.all()):
        raise ArgumentError(
            f"Normalize: {name}={value!r} must be a number, or one for each channel"
            f"{'; none may be 0' if name == 'std' else ''}."
        )
    return found


def _column(values: Any, x: NDArray) -> NDArray:
    """Numbers by channel, in a shape that broadcasts to x."""
    shape = (1,) * (x.ndim - 3) + (len(values), 1, 1)
    made = nd.array(values.reshape(shape), ctx=x.context, dtype=x.dtype)
    return flavoured(made)  # type: ignore[no-any-return]


def _resize_axis(image: Any, axis: int, old: int, new: int, interpolation: int) -> Any:
    """Resample along one axis; pixel centres stand at half numbers."""
    if old == new:
        return image
    places = (np.arange(new) + 0.5) * old / new - 0.5
    if interpolation == 0:
        nearest = np.minimum((np.arange(new) * (old / new)).astype(int), old - 1)
        return np.take(image, nearest, axis)
    low = np.clip(np.floor(places).astype(int), 0, old - 1)
    high = np.clip(low + 1, 0, old - 1)
    share = np.clip(places - low, 0, 1).astype(np.float32)
    share = share.reshape((-1,) + (1,) * (-axis - 1))
    return np.take(image, low, axis) * (1 - share) + np.take(image, high, axis) * share


if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        raise missing("mx.gluon.data.vision.transforms", name, globals())
