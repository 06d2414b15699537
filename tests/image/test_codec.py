"""Images as files, with OpenCV and with Pillow."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.errors import ArgumentError, DataError, Unavailable
from minimx.image import codec

BACKENDS = ["opencv", "pillow"]


@pytest.fixture(params=BACKENDS)
def backend(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "pillow":
        monkeypatch.setattr(codec, "opencv", lambda: None)
    yield request.param


def picture(*shape: int) -> Any:
    """Smooth, so that JPEG keeps it."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    planes = [120 + 100 * np.sin(x / 9), 3 * y + 20, 250 - 2 * x]
    image = np.stack(planes, -1).clip(0, 255).astype(np.uint8)
    return image if len(shape) == 3 else image[..., 0]


def test_a_png_keeps_every_pixel(backend: str) -> None:
    image = picture(40, 60, 3)
    content = codec.encode(image, ".png", 9)
    assert np.array_equal(codec.decode(content, to_rgb=False), image)
    assert np.array_equal(codec.decode(content), image[..., ::-1])
    assert codec.decode(content, codec.GREY).shape == (40, 60, 1)
    grey = codec.encode(picture(40, 60), ".png")
    assert np.array_equal(codec.decode(grey, codec.UNCHANGED)[..., 0], picture(40, 60))
    assert codec.decode(grey).shape == (40, 60, 3)


def test_transparent_pixels(backend: str) -> None:
    image = np.concatenate([picture(9, 8, 3), np.full((9, 8, 1), 77, np.uint8)], -1)
    content = codec.encode(image, ".png")
    assert np.array_equal(codec.decode(content, codec.UNCHANGED, to_rgb=False), image)
    assert np.array_equal(codec.decode(content, codec.COLOUR), image[..., 2::-1])


def test_a_png_is_refused_before_memory_is_taken_for_its_claims(backend: str) -> None:
    content = bytearray(codec.encode(picture(9, 8), ".png"))
    content[16:20] = b"\x7f\xff\xff\xff"
    with pytest.raises(DataError, match=r"for 2147483647×9 pixels they are too few"):
        codec.decode(content)
    content = bytearray(codec.encode(picture(9, 8), ".png"))
    place = content.index(b"IDAT") - 4
    content[place : place + 4] = b"\x7f\xff\xff\xff"
    with pytest.raises(DataError, match=r"chunk b'IDAT' of 2147483647 bytes is cut"):
        codec.decode(content)


def test_the_two_agree_on_a_jpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    content = codec.encode(picture(40, 60, 3))
    both = [(codec.decode(content), codec.decode(content, codec.GREY))]
    monkeypatch.setattr(codec, "opencv", lambda: None)
    both.append((codec.decode(content), codec.decode(content, codec.GREY)))
    for ours, theirs in zip(*both, strict=True):
        assert np.abs(ours.astype(int) - theirs).max() <= 3
    assert np.abs(both[0][0].astype(int) - picture(40, 60, 3)[..., ::-1]).mean() < 3
    smaller = codec.encode(picture(40, 60, 3), ".jpg", 20)
    assert len(smaller) < len(codec.encode(picture(40, 60, 3), ".jpg", 95))


@pytest.mark.parametrize("content", [b"", b"no image at all", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image(backend: str, content: bytes) -> None:
    with pytest.raises(DataError, match=f"{len(content)} bytes that begin.*decoded"):
        codec.decode(content)


def test_a_picture_that_claims_to_be_huge(backend: str) -> None:
    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(head)) + b"IHDR" + head
    chunk += struct.pack(">I", zlib.crc32(b"IHDR" + head))
    with pytest.raises(DataError, match="cannot be decoded"):
        codec.decode(b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\0IDAT")


def test_what_cannot_be_stored(backend: str) -> None:
    with pytest.raises(ArgumentError, match=r"\(H, W, 3\).*not \(4, 4, 3\) of float"):
        codec.encode(np.zeros((4, 4, 3)))
    with pytest.raises(ArgumentError, match="cannot store '.what' files"):
        codec.encode(picture(4, 4, 3), ".what")


@pytest.mark.parametrize("way", codec.WAYS)
@pytest.mark.parametrize("size", [(30, 20), (90, 66), (45, 99)])
def test_both_resize_alike(
    monkeypatch: pytest.MonkeyPatch, way: int, size: tuple[int, int]
) -> None:
    image = picture(40, 60, 3)
    theirs = codec.resize(image, *size, way)
    monkeypatch.setattr(codec, "opencv", lambda: None)
    ours = codec.resize(image, *size, way)
    assert ours.shape == (size[1], size[0], 3)
    assert np.abs(ours.astype(int) - theirs).max() <= 1
    assert codec.resize(image, 60, 40, way) is image


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(ArgumentError, match="width=0 and height=3"):
        codec.resize(picture(4, 4, 3), 0, 3)
    with pytest.raises(ArgumentError, match="interp=5"):
        codec.resize(picture(4, 4, 3), 3, 3, 5)
    with pytest.raises(ArgumentError, match="has no pixels"):
        codec.resize(np.zeros((0, 4, 3), np.uint8), 3, 3)


@pytest.mark.parametrize("kind", codec.BORDERS)
def test_borders_are_opencvs(kind: int) -> None:
    image, cv2 = picture(6, 7, 3), codec.opencv()
    assert cv2 is not None
    wanted = cv2.copyMakeBorder(image, 1, 2, 3, 4, kind, value=(5, 6, 7))
    found = codec.border(image, (1, 2, 3, 4), kind, (5, 6, 7))
    assert np.array_equal(found, wanted)


def test_the_colour_of_a_border() -> None:
    image = picture(6, 7, 3)
    assert codec.border(image, (1, 0, 0, 0), 0, 9)[0, 0].tolist() == [9, 9, 9]
    assert codec.border(image, (1, 0, 0, 0), 0, (9,))[0, 0].tolist() == [9, 0, 0]
    with pytest.raises(ArgumentError, match="type=7"):
        codec.border(image, (1, 0, 0, 0), 7)


def test_neither_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    codec.pillow.cache_clear()
    with pytest.raises(Unavailable, match=r"pip install 'minimx\[image\]'"):
        codec.pillow()
    assert codec.opencv.__wrapped__() is None
    with pytest.raises(DataError, match="image.read: cannot read .*No such file"):
        codec.read(tmp_path / "nothing.jpg")
