"""Images as arrays: read, resize, cut, turn. Images are (H, W, C), red first.

Random cuts and angles are drawn from Python's `random` and NumPy's global generator, as
in MXNet, so the same seeds give the same cuts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context, cpu
from minimx.core.errors import ArgumentError, DTypeError, ShapeError
from minimx.core.np_semantics import is_np_array
from minimx.core.rng import numpys
from minimx.core.rng import python as random
from minimx.image import codec
from minimx.nd import _internal

__all__ = [
    "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode",
    "imread", "imresize", "imrotate", "random_crop", "random_rotate",
    "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip

Size = tuple[int, int]
Box = tuple[int, int, int, int]


def made(image: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """NumPy numbers as an array, of `mx.np` under np semantics."""
    dtype = image.dtype if dtype is None else dtype
    array = nd.array(image, ctx=ctx, dtype=dtype)
    return array.as_np_ndarray() if is_np_array() else array


def _pixels(src: Any, name: str) -> Any:
    """The numbers of an image (H, W, C)."""
    if not isinstance(src, NDArray):
        raise ArgumentError(
            f"{name}: an image is an array of mx.nd, not a {type(src).__name__}. "
            "nd.array(image, dtype=image.dtype) makes one."
        )
    if src.ndim != 3:
        raise ShapeError(f"{name}: an image is (H, W, C), not {src.shape}.")
    return src.asnumpy()


def _put(image: Any, out: NDArray | None, ctx: Context | None = None) -> Any:
    if out is None:
        return made(image, ctx)
    if out.shape != image.shape:
        raise ShapeError(
            f"the image is {image.shape}, and the array out= has the shape {out.shape}."
        )
    out[:] = image
    return out


def imdecode(
    buf: Any, flag: int = 1, to_rgb: bool | int = True, out: NDArray | None = None
) -> Any:
    """An image, from the bytes of a file.

    buf: bytes, or an array of uint8. flag: 1 for colours, 0 for grey. to_rgb: red comes
    first; else blue, as in OpenCV. Returns (H, W, 3) or (H, W, 1) of uint8.
    """
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    if isinstance(buf, str):
        raise ArgumentError(
            "imdecode: buf is text; it takes the bytes of a file. imread takes a name."
        )
    return _put(codec.decode(buf, _flag(flag), bool(to_rgb)), out, cpu())


def imread(
    filename: Any, flag: int = 1, to_rgb: bool | int = True, out: NDArray | None = None
) -> Any:
    """An image, from a file; see `imdecode`."""
    content = codec.read(filename if hasattr(filename, "__fspath__") else str(filename))
    return imdecode(content, flag, to_rgb, out)


def _flag(flag: int) -> int:
    if flag < 0:
        raise ArgumentError(f"imdecode: flag={flag} must be 1 (colours) or 0 (grey).")
    return min(int(flag), 1)


def imresize(
    src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None
) -> Any:
    """The image with w columns and h rows.

    interp: 0 nearest pixel, 1 linear, 2 cubic, 3 area, 4 Lanczos.
    """
    image = codec.resize(_pixels(src, "imresize"), int(w), int(h), interp)
    return _put(image, out, src.context)


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: NDArray | None = None,
) -> Any:
    """The image with a border.

    type: 0 the colour `values` (or the one number `value`), 1 the outermost pixels
    again, 2 mirrored, 3 the other side, 4 mirrored without the outermost pixels.
    """
    image = _pixels(src, "copyMakeBorder")
    colour = tuple(values) or float(value)
    return _put(
        codec.border(image, (top, bot, left, right), type, colour), out, src.context
    )


def scale_down(src_size: Size, size: Size) -> Size:
    """The size (width, height), made smaller in proportion until it fits.

    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = size
    most_width, most_height = src_size
    if most_height < height:
        width, height = width * most_height / height, most_height  # type: ignore[assignment]
    if most_width < width:
        width, height = most_width, height * most_width / width  # type: ignore[assignment]
    return int(width), int(height)


def interpolation(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """The way to resize that a number of MXNet means.

    9 chooses by sizes (old height, old width, new height, new width): area to shrink,
    cubic to grow, else linear; 10 draws one.
    """
    if interp == 9:
        if not sizes:
            return 2
        height, width, new_height, new_width = sizes
        if new_height > height and new_width > width:
            return 2
        return 3 if new_height < height and new_width < width else 1
    if interp == 10:
        return int(random.randint(0, 4))
    if interp not in codec.WAYS:
        raise ArgumentError(
            f"interp={interp} must be 0 (nearest), 1 (linear), 2 (cubic), 3 (area), 4 "
            "(Lanczos), 9 (by the sizes) or 10 (drawn)."
        )
    return interp


def resize_short(src: NDArray, size: int, interp: int = 2) -> Any:
    """The image whose shorter side has `size` pixels."""
    new = short_size(src.shape, size)
    way = interpolation(interp, (*src.shape[:2], *new))
    return imresize(src, new[1], new[0], interp=way)


def short_size(shape: Sequence[int], size: int) -> Size:
    """Height and width of an image (H, W, …) whose shorter side gets `size` pixels.

    >>> short_size((480, 640, 3), 240)
    (240, 320)
    """
    height, width = shape[:2]
    if height > width:
        return size * height // width, size
    return size, size * width // height


def fixed_crop(
    src: NDArray,
    x0: int,
    y0: int,
    w: int,
    h: int,
    size: Size | None = None,
    interp: int = 2,
) -> Any:
    """The part of w columns from x0 on and h rows from y0 on.

    size: (width, height), in which it is resized to.
    """
    out = src[y0 : y0 + h, x0 : x0 + w]
    if size is not None and (w, h) != tuple(size):
        way = interpolation(interp, (h, w, size[1], size[0]))
        out = imresize(out, *size, interp=way)
    return out


def random_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[Any, Box]:
    """A part of the size (width, height) at a random place, and where it was.

    From an image that is too small a smaller part is taken, and made larger.
    """
    height, width = src.shape[:2]
    w, h = (max(1, side) for side in scale_down((width, height), size))
    x0, y0 = random.randint(0, width - w), random.randint(0, height - h)
    return fixed_crop(src, x0, y0, w, h, size, interp), (x0, y0, w, h)


def center_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[Any, Box]:
    """The middle part of the size (width, height), and where it was."""
    height, width = src.shape[:2]
    w, h = (max(1, side) for side in scale_down((width, height), size))
    x0, y0 = (width - w) // 2, (height - h) // 2
    return fixed_crop(src, x0, y0, w, h, size, interp), (x0, y0, w, h)


def random_size_crop(
    src: NDArray,
    size: Size,
    area: float | tuple[float, float],
    ratio: tuple[float, float],
    interp: int = 2,
    **kwargs: Any,
) -> tuple[Any, Box]:
    """A part of random area and aspect, in the size (width, height), and where it was.

    area: bounds of its share of the image, or the lower one; ratio: bounds of width by
    height. Where ten draws do not fit into the image, the middle is taken.
    """
    height, width = src.shape[:2]
    if "min_area" in kwargs:
        warnings.warn(
            "random_size_crop: min_area is now called area.",
            DeprecationWarning,
            stacklevel=2,
        )
        area = kwargs.pop("min_area")
    if kwargs:
        raise ArgumentError(f"random_size_crop has no {', '.join(kwargs)}.")
    low, high = (area, 1.0) if isinstance(area, (int, float)) else area
    for _ in range(10):
        pixels = random.uniform(low, high) * height * width
        aspect = np.exp(random.uniform(*np.log(ratio)))
        w, h = round(np.sqrt(pixels * aspect)), round(np.sqrt(pixels / aspect))
        if w <= width and h <= height:
            x0, y0 = random.randint(0, width - w), random.randint(0, height - h)
            return fixed_crop(src, x0, y0, w, h, size, interp), (x0, y0, w, h)
    return center_crop(src, size, interp)


def color_normalize(src: Any, mean: Any, std: Any = None) -> Any:
    """(src - mean) / std, written over src; None leaves a step out."""
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(
    src: NDArray,
    rotation_degrees: Any,
    zoom_in: bool = False,
    zoom_out: bool = False,
) -> Any:
    """Images turned clockwise about their middle, pixels mixed linearly.

    src: (C, H, W) or (N, C, H, W) of float32; rotation_degrees: a number, or one for
    each image. zoom_in: enlarge until no corner is empty; zoom_out: shrink until all of
    the image is seen.
    """
    if zoom_in and zoom_out:
        raise ArgumentError("imrotate: zoom_in and zoom_out exclude each other.")
    if src.dtype is not np.float32:
        raise DTypeError("imrotate: images must be of float32; src.astype('float32').")
    if src.ndim == 3:
        if not isinstance(rotation_degrees, Number):
            raise DTypeError("imrotate: one image takes one number of degrees.")
        batch = src.expand_dims(axis=0)
        return imrotate(batch, rotation_degrees, zoom_in, zoom_out)[0]
    if src.ndim != 4:
        raise ShapeError(f"imrotate: src {src.shape} is not (C, H, W), (N, C, H, W).")
    if isinstance(rotation_degrees, Number):
        angles = np.full(len(src), rotation_degrees, np.float64)
    else:
        angles = np.asarray(rotation_degrees.asnumpy(), np.float64)
    if len(angles) != len(src):
        raise ShapeError(
            f"imrotate: {len(src)} images take as many angles, not {len(angles)}."
        )
    grid = _turned_grid(np.deg2rad(angles), src.shape[2:], zoom_in, zoom_out)
    return nd.BilinearSampler(src, made(grid.astype(np.float32), src.context))


def _turned_grid(
    angles: Any, size: Sequence[int], zoom_in: bool, zoom_out: bool
) -> Any:
    """Where each pixel comes from: (N, 2, H, W), x and y from -1 to 1."""
    height, width = size
    y, x = np.mgrid[:height, :width]
    y, x = y - (height - 1) / 2, x - (width - 1) / 2
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    half_x, half_y = max(width - 1, 1) / 2, max(height - 1, 1) / 2
    grid = np.stack([(x * cos - y * sin) / half_x, (x * sin + y * cos) / half_y], 1)
    if zoom_in or zoom_out:
        # How far the corners of the turned image reach, in widths and heights.
        reach_x = (width * abs(cos) + height * abs(sin)) / width
        reach_y = (height * abs(cos) + width * abs(sin)) / height
        most = np.maximum(reach_x, reach_y)
        grid *= (most if zoom_out else 1 / most)[:, None]
    return grid


def random_rotate(
    src: NDArray,
    angle_limits: Sequence[float],
    zoom_in: bool = False,
    zoom_out: bool = False,
) -> Any:
    """Images turned by random angles between two limits; see `imrotate`."""
    low, high = angle_limits
    if src.ndim == 3:
        return imrotate(src, float(numpys.uniform(low, high)), zoom_in, zoom_out)
    angles = numpys.uniform(low, high, size=len(src)).astype(np.float32)
    return imrotate(src, made(angles, src.context), zoom_in, zoom_out)


def _nd_imdecode(
    str_img: bytes,
    clip_rect: Box = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> Any:
    """An image, from the bytes of a file, as (channels, H, W) of float32.

    clip_rect: left, top, right and bottom of the part that is wanted; all 0 means the
    whole. out: (N, channels, H, W), in which image `index` is written. mean: an array
    to subtract. `mx.image.imdecode` is simpler.
    """
    image = codec.decode(str_img, codec.COLOUR if channels > 1 else codec.GREY)
    left, top, right, bottom = clip_rect
    if right > left and bottom > top:
        image = image[top:bottom, left:right]
    found = made(image.transpose(2, 0, 1), cpu(), np.float32)
    if mean is not None:
        found = found - mean
    if out is None:
        return found
    out[index] = found
    return out


_nd_imdecode.__name__ = "imdecode"
#: What `mx.nd` and `mx.nd._internal` offer of this module, which imports them.
vars(nd)["imdecode"] = _nd_imdecode
vars(_internal).update(
    _cvimdecode=imdecode,
    _cvimread=imread,
    _cvimresize=imresize,
    _cvcopyMakeBorder=copyMakeBorder,
)
