"""Images as bytes of a file, and as NumPy arrays: OpenCV, or Pillow where that is not.

Both are extras (`pip install 'minimx[image]'`) and imported when first needed. Arrays
are (H, W, C) of uint8. OpenCV is faster; Pillow reads and writes the same files, and
our own kernel resizes then, with the same numbers.
"""

from __future__ import annotations

import functools
import importlib
import io
import os
import sys
from types import ModuleType
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError, DataError, Unavailable
from minimx.core.files import read_whole
from minimx.core.kernels import find
from minimx.core.knobs import knobs

#: No image has more pixels; a larger claim is a mistake or a trap.
MOST_PIXELS = 1 << 28
#: So many times as long is what deflate, in PNG, unpacks at most; more is a trap that
#: takes seconds to fall into.
MOST_RATIO = 1032
PNG = b"\x89PNG\r\n\x1a\n"  # how its files begin
GREY, COLOUR, UNCHANGED = 0, 1, -1
#: What `resize` understands: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos.
WAYS = range(5)
JPEG = (".jpg", ".jpeg")
_imported_in = os.getpid()


@functools.cache
def opencv() -> ModuleType | None:
    """OpenCV, if it is installed; with the threads that this process may use."""
    # It is read when OpenCV decodes for the first time.
    os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(MOST_PIXELS))
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError:
        return None
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_limit_threads)
    if _is_child():
        cv2.setNumThreads(int(str(knobs.MXNET_MP_OPENCV_NUM_THREADS)))
    return cv2


def _is_child() -> bool:
    """Whether this process is a worker: forked, or started by multiprocessing."""
    started = sys.modules.get("multiprocessing.process")  # not imported: not started
    by_parent = started is not None and started.parent_process() is not None
    return by_parent or os.getpid() != _imported_in


def _limit_threads() -> None:
    """Give OpenCV in a worker process as many threads as the knob says."""
    cv2 = opencv()
    assert cv2 is not None  # who calls this has it
    cv2.setNumThreads(int(str(knobs.MXNET_MP_OPENCV_NUM_THREADS)))


@functools.cache
def pillow() -> ModuleType:
    """Pillow. Raises Unavailable where neither it nor OpenCV is installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise Unavailable(
            "images are read and written by OpenCV or Pillow, and neither is "
            "installed. pip install 'minimx[image]' installs both."
        ) from None


def decode(
    buf: bytes | bytearray | memoryview | Any, flag: int = COLOUR, to_rgb: bool = True
) -> Any:
    """An image, from the bytes of a JPEG, PNG or other file.

    flag: 1 for three colours, 0 for grey, -1 for what the file has. to_rgb: red comes
    first; else blue, as in OpenCV. Returns (H, W, C) of uint8 (of uint16 where flag is
    -1 and the file has that). Raises DataError for what is no image.
    """
    content = np.frombuffer(buf, np.uint8)
    if bytes(content[:8]) == PNG and content.size > 24:
        _check_png(content, content.data)
    cv2 = opencv()
    image = (
        _with_pillow(content, flag) if cv2 is None else _with_opencv(cv2, content, flag)
    )
    if image.ndim == 2:
        return image[..., None]
    if (cv2 is not None) == to_rgb:  # OpenCV puts blue first, Pillow red
        order = [2, 1, 0, 3][: image.shape[2]]
        if cv2 is not None and len(order) == 3:
            return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        return np.ascontiguousarray(image[..., order])
    return image


def _check_png(content: Any, data: memoryview) -> None:
    """Refuse a PNG file that claims more than it can hold.

    OpenCV would take the memory for all pixels, and for each chunk, before it looks.
    """
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    if width * height * data[24] > MOST_RATIO * 8 * len(data):
        raise _no_image(content, f"for {width}×{height} pixels they are too few")
    place, kind = len(PNG), b""
    while kind != b"IEND" and place + 8 <= len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        kind = bytes(data[place + 4 : place + 8])
        place += 12 + length  # its length, kind, data and checksum
        if place > len(data):
            raise _no_image(content, f"its chunk {kind!r} of {length} bytes is cut off")


def _with_opencv(cv2: Any, content: Any, flag: int) -> Any:
    try:
        image = cv2.imdecode(content, flag) if content.size else None
    except cv2.error as reason:
        raise _no_image(content, str(reason).strip()) from reason
    if image is None:
        raise _no_image(content, "OpenCV knows no such format")
    return image


def _with_pillow(content: Any, flag: int) -> Any:
    pil = pillow()
    try:
        with pil.open(io.BytesIO(content)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise _no_image(content, f"it claims {image.width}×{image.height}")
            if flag != UNCHANGED:
                image = importlib.import_module("PIL.ImageOps").exif_transpose(image)
                mode = "L" if flag == GREY else "RGB"
            elif "A" in image.getbands():
                mode = "RGBA"
            else:
                mode = "L" if image.mode in ("1", "L") else "RGB"
            return np.asarray(image.convert(mode))
    except (OSError, SyntaxError, ValueError, pil.DecompressionBombError) as reason:
        if isinstance(reason, DataError):
            raise
        raise _no_image(content, str(reason)) from reason


def _no_image(content: Any, why: str) -> DataError:
    return DataError(
        f"{content.size} bytes that begin with {bytes(content[:8])!r} cannot be "
        f"decoded as an image: {why}. Is the file whole, and an image?"
    )


def read(filename: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises DataError where there is none."""
    return read_whole(filename, "image.read")


def encode(image: Any, form: str = ".jpg", quality: int = 95) -> bytes:
    """The bytes of a file that shows an image.

    image: (H, W, 3) of uint8, blue first, or (H, W). form: the ending of such files.
    quality: 1 to 100 for JPEG, 0 to 9 (how long to try to make it small) for PNG.
    """
    image = np.asarray(image)
    form = form.lower()
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or not image.size:
        raise ArgumentError(
            f"an image to be stored is (H, W, 3) or (H, W) of uint8, not {image.shape} "
            f"of {image.dtype}."
        )
    cv2 = opencv()
    if cv2 is None:
        return _stored_by_pillow(image, form, quality)
    settings = []
    if form in JPEG:
        settings = [cv2.IMWRITE_JPEG_QUALITY, quality]
    elif form == ".png":
        settings = [cv2.IMWRITE_PNG_COMPRESSION, min(quality, 9)]
    try:
        done, content = cv2.imencode(form, image, settings)
    except cv2.error as reason:
        raise ArgumentError(f"OpenCV cannot store {form!r} files: {reason}") from reason
    if not done:
        raise ArgumentError(f"OpenCV cannot store this image as a {form!r} file.")
    return bytes(content)


def _stored_by_pillow(image: Any, form: str, quality: int) -> bytes:
    settings: dict[str, Any] = {}
    if form in JPEG:
        settings = {"quality": quality}
    elif form == ".png":
        settings = {"compress_level": min(quality, 9)}
    if image.ndim == 3:
        image = image[..., [2, 1, 0, 3][: image.shape[2]]]
    out, pil = io.BytesIO(), pillow()
    pil.init()
    if form not in pil.EXTENSION:
        raise ArgumentError(f"Pillow cannot store {form!r} files.")
    pil.fromarray(image.squeeze()).save(out, pil.EXTENSION[form], **settings)
    return out.getvalue()


def resize(image: Any, width: int, height: int, way: int = 1) -> Any:
    """The image (H, W, C) in another size, of the same dtype; see `WAYS`."""
    if width < 1 or height < 1 or way not in WAYS:
        raise ArgumentError(
            f"resize: width={width} and height={height} must be at least 1, and "
            f"interp={way} 0 (nearest), 1 (linear), 2 (cubic), 3 (area) or 4 (Lanczos)."
        )
    if not image.size:
        raise ArgumentError(f"resize: an image of shape {image.shape} has no pixels.")
    if image.shape[:2] == (height, width):
        return image
    cv2, channels = opencv(), image.shape[2]
    known = channels <= 4 and image.dtype.name in ("uint8", "float32", "float64")
    if cv2 is not None and known:
        found = cv2.resize(image, (width, height), interpolation=way)
        return found.reshape(height, width, channels)
    out = np.empty((height, width, channels), image.dtype)
    find("images.resize")(image, way, out)
    return out


#: How a border is filled, by OpenCV's numbers: what NumPy calls it.
BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}


def border(
    image: Any, sides: tuple[int, int, int, int], kind: int = 0, values: Any = 0
) -> Any:
    """The image (H, W, C) with a border, `sides` being top, bottom, left and right.

    kind: 0 a colour, `values` (one number for all channels, or a list that zeros
    complete); 1 the outermost pixels again; 2 mirrored; 3 the other side; 4 mirrored
    without the outermost pixels; with 16 added it means the same.
    """
    kind &= ~16  # OpenCV's "isolated", which is about parts of images
    if kind not in BORDERS or min(sides) < 0:
        raise ArgumentError(
            f"copyMakeBorder: type={kind} must be one of {BORDERS}, and the margins "
            f"{sides} at least 0."
        )
    top, bottom, left, right = sides
    widths = ((top, bottom), (left, right), (0, 0))
    if kind:
        return np.pad(image, widths, BORDERS[kind])  # type: ignore[call-overload]
    height, width, channels = image.shape
    out = np.empty((top + height + bottom, left + width + right, channels), image.dtype)
    colour = np.full(max(channels, 4), values if np.isscalar(values) else 0.0)
    if not np.isscalar(values):
        colour[: len(values)] = values
    out[...] = colour[:channels]
    out[top : top + height, left : left + width] = image
    return out
