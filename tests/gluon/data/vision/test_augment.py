"""Parts and colours of images."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError
from minimx.gluon.data.vision import transforms

operators: Any = nd.image
IMAGE = np.random.default_rng(0).integers(0, 256, (8, 6, 3)).astype(np.uint8)


def changed(transform: Any, image: Any = IMAGE) -> Any:
    mx.random.seed(5)
    return transform(nd.array(image, dtype=image.dtype)).asnumpy()


@pytest.mark.parametrize("name", ["Brightness", "Contrast", "Saturation", "Hue"])
def test_no_spread_changes_nothing(name: str) -> None:
    found = changed(getattr(transforms, f"Random{name}")(0))
    assert found.dtype == np.uint8
    np.testing.assert_allclose(found.astype(int), IMAGE, atol=1)
    other = changed(getattr(transforms, f"Random{name}")(0.4))
    assert np.abs(other.astype(int) - IMAGE).max() > 2


def test_brightness_multiplies() -> None:
    some = IMAGE.astype(np.float32) + 1
    ratio = changed(transforms.RandomBrightness(0.5), some) / some
    assert np.ptp(ratio) < 1e-5
    assert 0.5 <= ratio[0, 0, 0] <= 1.5


def test_contrast_keeps_the_mean_of_grey() -> None:
    grey = np.repeat(IMAGE[:, :, :1], 3, 2).astype(np.float32)
    found = changed(transforms.RandomContrast(0.5), grey)
    assert found.mean() == pytest.approx(grey.mean(), rel=1e-3)
    assert found.std() != pytest.approx(grey.std(), rel=1e-3)


def test_saturation_keeps_grey() -> None:
    grey = np.repeat(IMAGE[:, :, :1], 3, 2).astype(np.float32)
    found = changed(transforms.RandomSaturation(0.9), grey)
    np.testing.assert_allclose(found, grey, rtol=1e-3)


def test_hue_turns_the_circle_of_colours() -> None:
    found = operators.random_hue(nd.array(IMAGE), 0.25, 0.25).asnumpy()
    for place in np.ndindex(8, 6):
        h, light, s = colorsys.rgb_to_hls(*(IMAGE[place] / 255))
        wanted = colorsys.hls_to_rgb((h + 0.25) % 1, light, s)
        np.testing.assert_allclose(found[place] / 255, wanted, atol=1e-4)


def test_the_same_seed_jitters_alike() -> None:
    jitter = transforms.RandomColorJitter(0.3, 0.3, 0.3, 0.1)
    np.testing.assert_array_equal(changed(jitter), changed(jitter))
    lights = transforms.RandomLighting(0.5)
    assert np.abs(changed(lights).astype(int) - IMAGE).max() > 2


def test_the_middle_is_cut_out() -> None:
    found = changed(transforms.CenterCrop((2, 4)))
    np.testing.assert_array_equal(found, IMAGE[2:6, 2:4])
    assert changed(transforms.CenterCrop(12)).shape == (12, 12, 3)


def test_a_part_is_cut_and_resized() -> None:
    np.testing.assert_array_equal(
        changed(transforms.CropResize(1, 2, 3, 4)), IMAGE[2:6, 1:4]
    )
    assert changed(transforms.CropResize(1, 2, 3, 4, (7, 5))).shape == (5, 7, 3)
    assert changed(transforms.RandomResizedCrop((5, 3))).shape == (3, 5, 3)


def test_a_transform_may_be_left_out() -> None:
    flip = transforms.CropResize(0, 0, 1, 1)
    assert changed(transforms.RandomApply(flip, 0.0)).shape == IMAGE.shape
    assert changed(transforms.RandomApply(flip, 1.0)).shape == (1, 1, 3)


def test_lessons() -> None:
    with pytest.raises(ArgumentError, match="negative"):
        transforms.RandomHue(-1)
    with pytest.raises(ArgumentError, match="length or"):
        transforms.CenterCrop((1, 2, 3))
