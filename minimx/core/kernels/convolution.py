"""The lengths of a convolution, and what one way to compute it is.

Which ways there are, and which one is taken, is decided outside the core: see
`minimx/fast/convolution/algorithms.py`. Its kernels here are direct loops (0), im2col
(1) and mec (2, and 3 with fewer sums).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

FORWARD, DATA, WEIGHT = "forward", "data", "weight"
#: How an algorithm is chosen: by a rule, or by measuring those that fit, or all.
MODES = ("off", "limited_workspace", "fastest")


class Geometry(NamedTuple):
    """Every length that a convolution's loops run over; whole numbers only."""

    images: int
    channels: int
    height: int
    width: int
    filters: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    dilate_h: int
    dilate_w: int
    pad_h: int
    pad_w: int
    groups: int
    out_h: int
    out_w: int

    @property
    def weights(self) -> int:
        """How many elements the weight has."""
        window = self.kernel_h * self.kernel_w
        return self.filters * (self.channels // self.groups) * window

    @property
    def products(self) -> int:
        """How many multiplications one direction is."""
        stops = self.images * self.out_h * self.out_w
        return stops * self.weights

    @property
    def is_pointwise(self) -> bool:
        """A 1×1 window that visits every pixel: the image already is the matrix."""
        window = self.kernel_h, self.kernel_w, self.stride_h, self.stride_w
        return window == (1, 1, 1, 1) and self.pad_h == self.pad_w == 0


class Depth(NamedTuple):
    """The lengths of a convolution of volumes along the first image axis.

    Such a convolution is one of images, sample by sample: the stops along the depth
    are the images, and the slices that a window covers are channels of them.
    """

    length: int
    kernel: int
    stride: int
    dilate: int
    pad: int
    out: int

    def slices(self, at: Geometry) -> tuple[int, ...]:
        """The shape (out, C, kernel, H, W) of one sample cut to slices."""
        return self.out, at.channels // self.kernel, self.kernel, at.height, at.width

    def planes(self, at: Geometry) -> tuple[int, ...]:
        """The shape (out, F, H', W') of what becomes of them."""
        return self.out, at.filters, at.out_h, at.out_w

    def workspace(self, direction: str, at: Geometry) -> int:
        """How many elements of scratch memory one sample needs: slices and planes.

        direction: FORWARD, DATA or WEIGHT; the last also needs a sample's gradients of
        weight and bias. at: the geometry of the convolution of slices.
        """
        elements = prod(self.slices(at)) + prod(self.planes(at))
        return elements + (at.weights + at.filters if direction == WEIGHT else 0)


class Lowering(NamedTuple):
    """How an image is cut up and copied before a matrix product.

    taps: kernel rows that are copied; all for im2col, one for mec.
    products: matrix products per piece of image, so that taps * products = kernel_h.
    phases: with mec and a vertical stride s, row h is kept in the (h mod s)-th phase,
        so that the rows one tap visits lie together.
    band: output rows (forward, weight) or input channels (data) handled at a time.
    rows: rows of each phase in the buffer.
    pieces: parallel pieces of work; each has a buffer of its own.
    buffer: elements of one buffer.
    turn: how many of them hold a transposed band of dout (weight); 0 where the copy
        would cost more than the faster product saves.
    packed: elements of the rearranged weight, or of one running sum of its gradient.
    cut: 0 where bands are dealt to the pieces. Small images have too few: there it is
        how many filters (forward) or channels (weight) a piece takes of every band.
    """

    taps: int
    products: int
    phases: int
    band: int
    rows: int
    pieces: int
    buffer: int
    turn: int
    packed: int
    cut: int = 0


@dataclass(frozen=True)
class Algorithm:
    """One way to compute one direction of a convolution.

    notes: what sets it apart, in cuDNN's abbreviations: `nd` not deterministic, `rp`
    sums of reduced precision, `w` Winograd, `fft` Fourier, and our own `bf16`.
    error: how many times the direct algorithm's bound of rounding errors it may reach.
    unfit: why it cannot compute this convolution, or nothing.
    dtype: the element type of the arrays that it takes, where that is not the one that
    kernels compute in: float16 for sums in float16, bfloat16 where a processor
    multiplies it.
    """

    number: int
    name: str
    direction: str
    workspace: int  # bytes
    lowering: Lowering | None
    notes: tuple[str, ...] = ()
    error: float = 1.0
    way: Any = None  # Tiling, Spectrum, Slices or Stack
    unfit: str = ""
    dtype: str = ""

    @property
    def deterministic(self) -> bool:
        """Whether it gives the same bits for any number of threads."""
        return "nd" not in self.notes

    @property
    def reduced_precision(self) -> bool:
        """Whether it adds in a narrower type than it multiplies in."""
        return "rp" in self.notes
