"""How convolutions through a transform are cut up, before any array exists.

Winograd (`Tiling`) cuts the image into small overlapping tiles; Fourier (`Spectrum`)
takes it whole. Both turn the windows into products that are independent of each other,
one for each element of a tile or each frequency, and sum over channels as matrix
products. The kernels are in `minimx.fast.cpu.winograd` and `.fourier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from minimx.core.kernels.convolution import Geometry

#: The bytes of tiles to work on at a time: what fits the caches that cores share.
SHARED_CACHE = 4 << 20
#: Fewer tiles than this make slow matrix products.
TILES = 64
#: The widest window of Winograd's tiles here, and the only one.
WINDOW = 3

#: How much larger than the direct algorithm's a rounding error may become: the product
#: of the row sums of the three transforms, squared for two axes.
AMPLIFICATION: Final = {2: (2 * 1.5 * 3) ** 2, 4: (10 * 1 * 19) ** 2}


class Tiling(NamedTuple):
    """Winograd's tiles: `size` by `size` outputs each, from `span` by `span` inputs.

    rows, cols: tiles of one image. band: rows of tiles that are handled at a time,
    counted through all images. elements: of the workspace.
    """

    size: int
    span: int
    rows: int
    cols: int
    band: int
    elements: int

    @property
    def lead(self) -> int:
        """How many tiles are handled at a time."""
        return self.band * self.cols

    @property
    def points(self) -> int:
        """The elements of a tile, each of which has a matrix product of its own."""
        return self.span * self.span


def turned(at: Geometry) -> Geometry:
    """The convolution of dout that is the data gradient, where no stride is taken.

    What a pixel gave to its neighbours comes back from them: a window turned by half a
    circle, from filters to channels. The padding is what the window has beyond it.
    """
    return at._replace(
        channels=at.filters,
        filters=at.channels,
        height=at.out_h,
        width=at.out_w,
        out_h=at.height,
        out_w=at.width,
        pad_h=at.dilate_h * (at.kernel_h - 1) - at.pad_h,
        pad_w=at.dilate_w * (at.kernel_w - 1) - at.pad_w,
    )


def tiles(at: Geometry) -> bool:
    """Whether Winograd's tiles can compute it: 3×3, every pixel, no holes."""
    window = at.kernel_h, at.kernel_w, at.stride_h, at.stride_w
    return window == (WINDOW, WINDOW, 1, 1) and at.dilate_h == at.dilate_w == 1


def tiling(at: Geometry, size: int, itemsize: int) -> Tiling:
    """Tiles of `size` by `size` outputs for one direction."""
    span = size + WINDOW - 1
    rows, cols = -(-at.out_h // size), -(-at.out_w // size)
    channels, filters = at.channels // at.groups, at.filters // at.groups
    row = span * span * (channels + filters) * cols * itemsize
    fitting = max(SHARED_CACHE // row, -(-TILES // cols))
    band = max(1, min(fitting, at.images * rows))
    weights = span * span * at.filters * channels
    return Tiling(size, span, rows, cols, band, weights + row // itemsize * band)


class Spectrum(NamedTuple):
    """The planes on which a convolution is Fourier transformed.

    height, width: of a plane; products of small primes, which are the fast ones.
    most: how many planes the largest of data, weight and output has. elements: of the
    workspace, a number of which is one real number.
    """

    height: int
    width: int
    most: int
    elements: int


def spectrum(at: Geometry) -> Spectrum:
    """Planes as large as a padded image; the spectra of data, weight and output."""
    height = smooth(at.height + 2 * at.pad_h)
    width = smooth(at.width + 2 * at.pad_w)
    counts = (
        at.images * at.channels,
        at.images * at.filters,
        at.filters * (at.channels // at.groups),
    )
    frequencies = height * (width // 2 + 1)
    elements = max(counts) * height * width + sum(counts) * 2 * frequencies
    return Spectrum(height, width, max(counts), elements)


def smooth(length: int) -> int:
    """The first number from `length` on that has no prime factor above 5.

    >>> [smooth(n) for n in (7, 11, 59)]
    [8, 12, 60]
    """
    while True:
        rest = length
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1
