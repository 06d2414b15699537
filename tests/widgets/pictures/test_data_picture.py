"""Pixels of a static picture."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from minimx_widgets import palette
from minimx_widgets.pictures.data_picture import coloured, png
from minimx_widgets.training.first_layer import LOST, ZERO, Filters


@pytest.mark.parametrize("channels", [1, 3])
def test_a_png_holds_the_pixels(channels: int) -> None:
    pixels = np.arange(4 * 5 * channels, dtype=np.uint8).reshape(4, 5, channels)
    read = np.asarray(Image.open(BytesIO(png(pixels))))
    np.testing.assert_array_equal(read.reshape(pixels.shape), pixels)


@pytest.mark.parametrize("dark", [False, True])
def test_weights_have_the_colours_of_the_palette(dark: bool) -> None:
    codes = np.array([0, ZERO, 254, LOST], np.uint8).reshape(1, 1, 4, 1)
    pixels = coloured(Filters("w", "one filter", codes, 1, 1.0), dark=dark)[0, 0]
    colours = ["#" + bytes(pixel.tolist()).hex() for pixel in pixels]
    assert colours == [
        palette.category("parameter", dark=dark),
        palette.surface("paper", dark=dark),
        palette.category("gradient", dark=dark),
        palette.surface("mark", dark=dark),
    ]
