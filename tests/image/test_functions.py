"""Reading, resizing, cutting and turning of images."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import image, nd, npx
from minimx.core.errors import ArgumentError, DataError, DTypeError, ShapeError
from minimx.image import functions

sides = st.integers(1, 2000)


def numbers(*shape: int, dtype: str = "uint8") -> Any:
    found = np.random.default_rng(1).integers(0, 256, shape)
    return nd.array(found, dtype=dtype)


def test_reading(folder: Path) -> None:
    path = folder / "3.png"
    found = image.imread(str(path))
    assert (found.shape, found.dtype, str(found.context)) == (
        (43, 47, 3),
        np.uint8,
        "cpu(0)",
    )
    assert found[0, 0].asnumpy().tolist() == [30, 30, 30]
    content = path.read_bytes()
    for buf in (content, bytearray(content), np.frombuffer(content, np.uint8)):
        assert (image.imdecode(buf).asnumpy() == found.asnumpy()).all()
    numbers = nd.array(buf, dtype="uint8")
    assert (image.imdecode(numbers).asnumpy() == found.asnumpy()).all()
    blue = image.imdecode(content, to_rgb=0).asnumpy()
    assert (blue[..., ::-1] == found.asnumpy()).all()
    assert image.imread(path, flag=0).shape == (43, 47, 1)
    out = nd.zeros((43, 47, 3), dtype="uint8")
    assert image.imdecode(content, out=out) is out
    assert (out.asnumpy() == found.asnumpy()).all()


def test_reading_what_is_not_there(folder: Path) -> None:
    with pytest.raises(DataError, match="cannot read .*none.png.*No such file"):
        image.imread(str(folder / "none.png"))
    with pytest.raises(DataError, match="0 bytes"):
        image.imdecode(b"")
    with pytest.raises(ArgumentError, match="text"):
        image.imdecode("0.png")
    with pytest.raises(ArgumentError, match="flag=-1"):
        image.imread(str(folder / "0.png"), flag=-1)
    with pytest.raises(ShapeError, match=r"\(40, 50, 3\).*\(1, 2\)"):
        image.imread(str(folder / "0.png"), out=nd.zeros((1, 2)))


def test_under_mxnets_older_names(folder: Path) -> None:
    content = (folder / "0.png").read_bytes()
    internal = mx.nd._internal
    assert internal._cvimread(str(folder / "0.png")).shape == (40, 50, 3)
    assert internal._cvimresize(internal._cvimdecode(content), 5, 4).shape == (4, 5, 3)
    one = numbers(4, 5, 3)
    assert internal._cvcopyMakeBorder(one, 1, 0, 0, 0).shape == (5, 5, 3)
    found = nd.imdecode(content, clip_rect=(1, 2, 11, 22), mean=nd.ones((3, 20, 10)))
    assert found.dtype is np.float32
    whole = image.imdecode(content).asnumpy().astype(int)
    assert (found.asnumpy() == whole[2:22, 1:11].transpose(2, 0, 1) - 1).all()
    out = nd.zeros((2, 1, 40, 50))
    assert nd.imdecode(content, out=out, index=1, channels=1) is out
    assert not out[0].asnumpy().any()
    assert out[1].asnumpy().any()


def test_in_numpys_flavour(folder: Path) -> None:
    npx.set_np()
    try:
        found = image.imread(str(folder / "0.png"))
        assert isinstance(found, mx.np.ndarray)
        small = image.resize_short(found, 20)
        assert isinstance(small, mx.np.ndarray)
        steps = image.CreateAugmenter(
            (3, 8, 8), mean=True, contrast=0.1, saturation=0.1, hue=0.1, rand_gray=1
        )
        steps += [
            image.HorizontalFlipAug(1),
            image.LightingAug(1, np.ones(3), np.eye(3)),
        ]
        assert isinstance(image.SequentialAug(steps)(small), mx.np.ndarray)
    finally:
        npx.reset_np()


def test_resizing() -> None:
    src = numbers(20, 30, 3)
    assert image.imresize(src, 10, 5).shape == (5, 10, 3)
    out = nd.zeros((5, 10, 3), dtype="uint8")
    image.imresize(src, 10, 5, interp=0, out=out)
    assert (out.asnumpy() == src.asnumpy()[::4, ::3]).all()
    assert image.resize_short(src, 10).shape == (10, 15, 3)
    assert image.resize_short(nd.transpose(src, (1, 0, 2)), 10).shape == (15, 10, 3)
    assert image.imresize(numbers(4, 4, 1, dtype="float32"), 2, 2).shape == (2, 2, 1)
    with pytest.raises(ArgumentError, match="an array of mx.nd, not a ndarray"):
        image.imresize(src.asnumpy(), 2, 2)
    with pytest.raises(ShapeError, match=r"\(H, W, C\), not \(4, 4\)"):
        image.imresize(numbers(4, 4), 2, 2)


def test_the_way_to_resize() -> None:
    assert functions.interpolation(9) == 2
    assert functions.interpolation(9, (4, 4, 8, 8)) == 2
    assert functions.interpolation(9, (8, 8, 4, 4)) == 3
    assert functions.interpolation(9, (8, 8, 4, 16)) == 1
    random.seed(0)
    assert {functions.interpolation(10) for _ in range(50)} == set(range(5))
    with pytest.raises(ArgumentError, match="interp=7"):
        functions.interpolation(7)


def test_scaling_down() -> None:
    assert image.scale_down((360, 1000), (480, 500)) == (360, 375)
    assert image.scale_down((300, 400), (0, 0)) == (0, 0)


@given(sides, sides, sides, sides)
def test_a_part_that_is_scaled_down_fits(w: int, h: int, wide: int, high: int) -> None:
    width, height = image.scale_down((w, h), (wide, high))
    assert width <= w
    assert height <= h
    if wide <= w and high <= h:
        assert (width, height) == (wide, high)


def test_cutting() -> None:
    src = numbers(20, 30, 3)
    part = image.fixed_crop(src, 3, 4, 10, 5)
    assert (part.asnumpy() == src.asnumpy()[4:9, 3:13]).all()
    assert image.fixed_crop(src, 3, 4, 10, 5, size=(6, 7)).shape == (7, 6, 3)
    part, box = image.center_crop(src, (10, 10))
    assert box == (10, 5, 10, 10)
    assert (part.asnumpy() == src.asnumpy()[5:15, 10:20]).all()
    assert image.center_crop(src, (60, 40))[0].shape == (40, 60, 3)


@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 40))
def test_random_parts_lie_within(seed: int, width: int, height: int) -> None:
    random.seed(seed)
    src = numbers(20, 30, 3)
    part, (x, y, w, h) = image.random_crop(src, (width, height), interp=0)
    assert part.shape == (height, width, 3)
    assert 0 <= x <= 30 - w
    assert 0 <= y <= 20 - h
    if width <= 30 and height <= 20:
        assert (part.asnumpy() == src.asnumpy()[y : y + h, x : x + w]).all()
    part, (x, y, w, h) = image.random_size_crop(src, (6, 5), 0.3, (0.5, 2), interp=0)
    assert part.shape == (5, 6, 3)
    assert 0 <= x <= 30 - w
    assert 0 <= y <= 20 - h


def test_a_part_of_another_area() -> None:
    src = numbers(20, 30, 3)
    with pytest.warns(DeprecationWarning, match="now called area"):
        image.random_size_crop(src, (6, 5), 1, (1, 1), min_area=0.5)
    with pytest.raises(ArgumentError, match="has no least"):
        image.random_size_crop(src, (6, 5), 1, (1, 1), least=0.5)
    _, box = image.random_size_crop(src, (6, 5), (2.0, 3.0), (1, 1))
    assert box == image.center_crop(src, (6, 5))[1]


def test_normalizing_writes_over_the_image() -> None:
    src = nd.ones((2, 2, 3)) * 4
    found = image.color_normalize(src, nd.array([1, 2, 3]), nd.array([1, 2, 4]))
    assert found is src
    assert src[0, 0].asnumpy().tolist() == [3, 1, 0.25]
    assert image.color_normalize(nd.ones((1, 1, 3)), None) is not None


def test_turning() -> None:
    src = nd.arange(2 * 9 * 9).reshape((2, 9, 9))
    right = image.imrotate(src, 90)
    assert np.allclose(right.asnumpy(), np.rot90(src.asnumpy(), 1, (1, 2)), atol=1e-4)
    both = nd.stack(src, src)
    found = image.imrotate(both, nd.array([0, 90])).asnumpy()
    assert np.allclose(found[0], src.asnumpy(), atol=1e-4)
    assert np.allclose(found[1], right.asnumpy(), atol=1e-4)
    full = nd.ones((1, 21, 21))
    assert (
        image.imrotate(full, 30, zoom_in=True).asnumpy()[0, 1:-1, 1:-1] > 0.99
    ).all()
    small = image.imrotate(full, 45, zoom_out=True).asnumpy()
    assert 0.4 < small.mean() < 0.6  # a square in the square round its corners
    np.random.seed(0)
    assert image.random_rotate(src, (-5, 5)).shape == src.shape
    assert image.random_rotate(both, (-5, 5)).shape == both.shape


def test_what_cannot_be_turned() -> None:
    src = nd.ones((1, 4, 4))
    with pytest.raises(ArgumentError, match="exclude each other"):
        image.imrotate(src, 1, zoom_in=True, zoom_out=True)
    with pytest.raises(DTypeError, match="float32"):
        image.imrotate(src.astype("uint8"), 1)
    with pytest.raises(DTypeError, match="one number"):
        image.imrotate(src, nd.array([1]))
    with pytest.raises(ShapeError, match="as many angles, not 2"):
        image.imrotate(nd.ones((3, 1, 4, 4)), nd.array([1, 2]))
    with pytest.raises(ShapeError, match=r"\(4, 4\)"):
        image.imrotate(nd.ones((4, 4)), 1)
