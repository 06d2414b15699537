"""Augmenters: what each does, and how it describes itself."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from minimx import image, nd
from minimx.core.errors import ArgumentError


def pixels(dtype: str = "float32") -> Any:
    return nd.array(np.arange(8 * 10 * 3).reshape(8, 10, 3), dtype=dtype)


@pytest.mark.parametrize(
    ("augmenter", "shape"),
    [
        (image.ResizeAug(4), (4, 5, 3)),
        (image.ForceResizeAug((3, 7)), (7, 3, 3)),
        (image.RandomCropAug((3, 7)), (7, 3, 3)),
        (image.CenterCropAug((3, 7)), (7, 3, 3)),
        (image.RandomSizedCropAug((3, 7), 0.1, (0.5, 2)), (7, 3, 3)),
        (image.RandomSizedCropAug((3, 7), 1, (0.5, 2), min_area=0.1), (7, 3, 3)),
    ],
)
def test_sizes(augmenter: Any, shape: tuple[int, ...]) -> None:
    assert augmenter(pixels("uint8")).shape == shape
    name, settings = json.loads(augmenter.dumps())
    assert name == type(augmenter).__name__.lower()
    assert settings


def test_colours_keep_what_they_promise() -> None:
    random.seed(3)
    bright = image.BrightnessJitterAug(0.5)(pixels())
    share = bright.asnumpy()[1:] / pixels().asnumpy()[1:]
    assert np.allclose(share, share[0, 0, 0])
    assert 0.5 <= share[0, 0, 0] <= 1.5
    weights = np.array([0.299, 0.587, 0.114])
    contrast = image.ContrastJitterAug(0.5)(pixels()).asnumpy()
    assert np.isclose(
        (contrast @ weights).mean(), (pixels().asnumpy() @ weights).mean()
    )
    saturated = image.SaturationJitterAug(0.5)(pixels()).asnumpy()
    assert np.allclose(saturated @ weights, pixels().asnumpy() @ weights, rtol=1e-4)
    turned = image.HueJitterAug(0.5)(pixels()).asnumpy()
    assert np.allclose(turned @ weights, pixels().asnumpy() @ weights, rtol=1e-2)
    assert not np.allclose(turned, pixels().asnumpy(), atol=0.1)
    grey = image.RandomGrayAug(1)(pixels()).asnumpy()
    assert np.allclose(grey, grey[..., :1])
    assert (
        image.RandomGrayAug(0)(pixels()).asnumpy().tolist()
        == pixels().asnumpy().tolist()
    )
    lit = image.LightingAug(1, np.ones(3), np.eye(3))(pixels()) - pixels()
    assert np.allclose(lit.asnumpy(), lit[0, 0].asnumpy(), atol=1e-4)


def test_mirrored_cast_and_normalized() -> None:
    flipped = image.HorizontalFlipAug(1)(pixels()).asnumpy()
    assert (flipped == pixels().asnumpy()[:, ::-1]).all()
    assert image.CastAug()(pixels("uint8")).dtype is np.float32
    normal = image.ColorNormalizeAug(np.array([1, 2, 3]), [2, 2, 2])(pixels())
    assert normal[0, 0].asnumpy().tolist() == [-0.5, -0.5, -0.5]


def test_several_in_order_and_in_any_order() -> None:
    class Note(image.Augmenter):
        def __init__(self, name: str) -> None:
            super().__init__(name=name)
            self.name = name

        def __call__(self, src: Any) -> Any:
            return src + self.name

    notes = [Note(name) for name in "abcdefgh"]
    steps = image.SequentialAug(notes)
    assert steps("") == "abcdefgh"
    assert steps.dumps()[1][0] == '["note", {"name": "a"}]'
    random.seed(0)
    assert len({image.RandomOrderAug(notes)("") for _ in range(5)}) == 5
    with pytest.raises(NotImplementedError, match="write __call__"):
        image.Augmenter()(pixels())


def test_the_usual_ones() -> None:
    found = image.CreateAugmenter(
        (3, 4, 5),
        resize=6,
        rand_crop=True,
        rand_resize=True,
        rand_mirror=True,
        mean=True,
        std=np.array([1.0, 2.0, 3.0]),
        brightness=0.1,
        hue=0.2,
        pca_noise=0.1,
        rand_gray=0.5,
    )
    names = [type(augmenter).__name__ for augmenter in found]
    assert names == [
        "ResizeAug",
        "RandomSizedCropAug",
        "HorizontalFlipAug",
        "CastAug",
        "ColorJitterAug",
        "HueJitterAug",
        "LightingAug",
        "RandomGrayAug",
        "ColorNormalizeAug",
    ]
    assert found[-1].dumps() == (
        '["colornormalizeaug", {"mean": [123.68000030517578, 116.27999877929688, '
        '103.52999877929688], "std": [1.0, 2.0, 3.0]}]'
    )
    out = image.SequentialAug(found)(pixels("uint8"))
    assert (out.shape, out.dtype) == ((4, 5, 3), np.float32)
    plain = image.CreateAugmenter((3, 4, 5))
    assert [type(one).__name__ for one in plain] == ["CenterCropAug", "CastAug"]
    with pytest.raises(ArgumentError, match="rand_resize needs rand_crop"):
        image.CreateAugmenter((3, 4, 5), rand_resize=True)
    with pytest.raises(ArgumentError, match="one number or three"):
        image.CreateAugmenter((3, 4, 5), mean=np.zeros(2))
