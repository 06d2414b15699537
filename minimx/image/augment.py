"""Augmenters: functions of an image that are made once and described in a word.

An augmenter takes an array (H, W, C) and returns one. Those of colours want floats
(`CastAug` comes before them) and write over what they are given, as in MXNet; random
numbers come from Python's `random`, in MXNet's order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.rng import numpys
from minimx.core.rng import python as random
from minimx.image import functions
from minimx.image.functions import Size, made

__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug",
    "ColorNormalizeAug", "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug",
    "HorizontalFlipAug", "HueJitterAug", "LightingAug", "RandomCropAug",
    "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug",
    "SaturationJitterAug", "SequentialAug",
]  # fmt: skip

#: How bright red, green and blue look.
_GREY = np.array([[[0.299, 0.587, 0.114]]], np.float32)
#: Mean, deviation and directions of the colours of photographs (ImageNet).
MEAN = np.array([123.68, 116.28, 103.53])
STD = np.array([58.395, 57.12, 57.375])
EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array(
    [
        [-0.5675, 0.7192, 0.4009],
        [-0.5808, -0.0045, -0.8140],
        [-0.5836, -0.6948, 0.4203],
    ]
)


class Augmenter:
    """The base: an image goes in, an image comes out.

    kwargs: the settings, as `dumps` shows them.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """The name and the settings, as JSON; a list for several augmenters."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: Any) -> Any:
        """The image, changed."""
        raise NotImplementedError(f"{type(self).__name__}: write __call__(src).")


def _plain(value: Any) -> Any:
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


class SequentialAug(Augmenter):
    """Augmenters one after the other."""

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = list(ts)

    def dumps(self) -> Any:
        """The name, and what the parts say."""
        return [type(self).__name__.lower(), [part.dumps() for part in self.ts]]

    def __call__(self, src: Any) -> Any:
        """The image after all of them."""
        for part in self.ts:
            src = part(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters in a random order."""

    def __call__(self, src: Any) -> Any:
        """The image after all of them."""
        random.shuffle(self.ts)
        return super().__call__(src)


# -- sizes -----------------------------------------------------------------------------


class _SizeAug(Augmenter):
    """The base of those that are made from a size and a way to interpolate."""

    def __init__(self, size: Size | int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size: Any = size
        self.interp = interp


class _ChanceAug(Augmenter):
    """The base of those that act with probability p."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p


class ResizeAug(_SizeAug):
    """The shorter side gets `size` pixels."""

    def __call__(self, src: Any) -> Any:
        """The resized image."""
        return functions.resize_short(src, self.size, self.interp)


class ForceResizeAug(_SizeAug):
    """The image gets the size (width, height), whatever its aspect."""

    def __call__(self, src: Any) -> Any:
        """The resized image."""
        width, height = self.size
        way = functions.interpolation(self.interp, (*src.shape[:2], height, width))
        return functions.imresize(src, width, height, way)


class RandomCropAug(_SizeAug):
    """A part of the size (width, height) at a random place."""

    def __call__(self, src: Any) -> Any:
        """The part."""
        return functions.random_crop(src, self.size, self.interp)[0]


class CenterCropAug(RandomCropAug):
    """The middle part of the size (width, height)."""

    def __call__(self, src: Any) -> Any:
        """The part."""
        return functions.center_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of random area and aspect, in the size (width, height)."""

    def __init__(
        self,
        size: Size,
        area: float | tuple[float, float],
        ratio: tuple[float, float],
        interp: int = 2,
        **kwargs: Any,
    ) -> None:
        area = kwargs.pop("min_area", area)
        if kwargs:
            raise ArgumentError(f"RandomSizedCropAug has no {', '.join(kwargs)}.")
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = area
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: Any) -> Any:
        """The part."""
        cut = functions.random_size_crop
        return cut(src, self.size, self.area, self.ratio, self.interp)[0]


class HorizontalFlipAug(_ChanceAug):
    """Left and right change places, with probability p."""

    def __call__(self, src: Any) -> Any:
        """The image, or its mirror image."""
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Another dtype, float32 by default."""

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: Any) -> Any:
        """A copy of that dtype."""
        return src.astype(self.typ)


# -- colours ---------------------------------------------------------------------------


class BrightnessJitterAug(Augmenter):
    """The image times a random number between 1 - brightness and 1 + brightness."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: Any) -> Any:
        """Src, changed in place."""
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Mixed with the mean brightness, by a random number up to `contrast`."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: Any) -> Any:
        """Src, changed in place."""
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        grey = src * _like(_GREY, src)
        grey = grey.sum() * (3.0 * (1.0 - alpha) / grey.size)
        src *= alpha
        src += grey
        return src


class SaturationJitterAug(Augmenter):
    """Mixed with its grey image, by a random number up to `saturation`."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: Any) -> Any:
        """Src, changed in place."""
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = (src * _like(_GREY, src)).sum(axis=2, keepdims=True)
        grey *= 1.0 - alpha
        src *= alpha
        src += grey
        return src


class HueJitterAug(Augmenter):
    """Colours turned round their circle, by a random part of it up to `hue`."""

    #: From red, green and blue to brightness and two axes of colour, and back.
    tyiq = np.array(
        [[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]]
    )
    ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: Any) -> Any:
        """The image in other colours."""
        angle = random.uniform(-self.hue, self.hue) * np.pi
        u, w = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        return nd.dot(src, _like((self.ityiq @ turn @ self.tyiq).T, src))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation in random order; 0 leaves one out."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        kinds: list[tuple[Callable[[float], Augmenter], float]] = [
            (BrightnessJitterAug, brightness),
            (ContrastJitterAug, contrast),
            (SaturationJitterAug, saturation),
        ]
        super().__init__([kind(most) for kind, most in kinds if most > 0])


class LightingAug(Augmenter):
    """Colours along the directions in which those of photographs vary.

    alphastd: the deviation of how far; eigval, eigvec: the directions.
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def __call__(self, src: Any) -> Any:
        """Src, changed in place."""
        alpha = numpys.normal(0, self.alphastd, size=(3,))
        src += _like(np.dot(self.eigvec * alpha, self.eigval), src)
        return src


class ColorNormalizeAug(Augmenter):
    """(image - mean) / std; None leaves a step out."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean, self.std = _numbers(mean), _numbers(std)

    def __call__(self, src: Any) -> Any:
        """Src, changed in place."""
        return functions.color_normalize(src, self.mean, self.std)


class RandomGrayAug(_ChanceAug):
    """Grey, with probability p."""

    mat = np.repeat(np.array([[0.21], [0.72], [0.07]], np.float32), 3, 1)

    def __call__(self, src: Any) -> Any:
        """The image, or its grey image."""
        return nd.dot(src, _like(self.mat, src)) if random.random() < self.p else src


def _numbers(given: Any) -> Any:
    if given is None or isinstance(given, NDArray):
        return given
    return made(np.asarray(given, np.float32))


def _like(numbers: Any, src: Any) -> Any:
    return made(np.asarray(numbers, np.float32), src.context)


def _of_photographs(given: Any, default: Any, name: str) -> Any:
    """What `mean` or `std` of an augmenter means; True is the one of photographs."""
    if given is None or given is False:
        return None
    found = default if given is True else given
    if np.shape(found) not in ((1,), (3,)):
        raise ArgumentError(
            f"{name}={given!r} must be True, or an array of one number or three."
        )
    return found


def colour_augmenters(
    mean: Any,
    std: Any,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
) -> list[Augmenter]:
    """A cast to float32, and the changes of colours that are asked for."""
    found: list[Augmenter] = [CastAug()]
    if brightness or contrast or saturation:
        found.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        found.append(HueJitterAug(hue))
    if pca_noise > 0:
        found.append(LightingAug(pca_noise, EIGENVALUES, EIGENVECTORS))
    if rand_gray > 0:
        found.append(RandomGrayAug(rand_gray))
    mean, std = _of_photographs(mean, MEAN, "mean"), _of_photographs(std, STD, "std")
    if mean is not None or std is not None:
        found.append(ColorNormalizeAug(mean, std))
    return found


def CreateAugmenter(
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """The usual augmenters, for images of data_shape (C, H, W).

    resize: the shorter side first; rand_crop: cut at random, else the middle;
    rand_resize: and in random sizes; rand_mirror: mirrored in half of the cases; mean,
    std: True for those of ImageNet, or an array of three; the others: how far colours
    change at most, or with which probability. inter_method: see `interpolation`.
    """
    found: list[Augmenter] = []
    if resize > 0:
        found.append(ResizeAug(resize, inter_method))
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise ArgumentError("CreateAugmenter: rand_resize needs rand_crop=True.")
        found.append(RandomSizedCropAug(size, 0.08, (3 / 4, 4 / 3), inter_method))
    elif rand_crop:
        found.append(RandomCropAug(size, inter_method))
    else:
        found.append(CenterCropAug(size, inter_method))
    if rand_mirror:
        found.append(HorizontalFlipAug(0.5))
    mean = MEAN.astype(np.float32) if mean is True else mean
    std = STD.astype(np.float32) if std is True else std
    colours = (brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return found + colour_augmenters(mean, std, *colours)
