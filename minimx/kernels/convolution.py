"""The ways to compute a convolution, before any array exists.

Every direction (forward, gradient of the data, gradient of the weight) can be computed
by three algorithms, the last by a fourth, numbered as a tuner will name them:

    0  direct   nested loops over windows; no workspace; the one to read first
    1  im2col   copy every window of a piece of the image into a column of a matrix,
                then multiply by the weight: most workspace, one large product
    2  mec      copy only the horizontal taps; the vertical ones are the same rows,
                started lower: kernel_h times less workspace, kernel_h products
                (Cho and Brand, "MEC: memory-efficient convolution", 2017)
    3  lean     mec with one running sum of the weight's gradient for every thread,
                where mec keeps up to 16: less workspace, but how the sum is grouped,
                and so its last bits, depend on the number of threads

`choose` is a pure function of shapes, so that a tuner, a replay and a test can ask it.
The first three are deterministic: work is cut into pieces that depend on shapes only,
and sums over images are taken in one order, whatever the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

#: Into how many pieces a kernel cuts its work at most; threads share them.
PIECES = 16
#: The bytes that one piece should work on at a time: half of a common L2 cache.
CACHE = 512 << 10
#: The bytes that the running sums of a weight gradient may take together.
SUMS = 64 << 20

FORWARD, DATA, WEIGHT = "forward", "data", "weight"


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
        """The elements of both, and of one sample's gradients of weight and bias."""
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


@dataclass(frozen=True)
class Algorithm:
    """One way to compute one direction of a convolution."""

    number: int
    name: str
    direction: str
    workspace: int  # bytes
    lowering: Lowering | None
    deterministic: bool = True
    reduced_precision: bool = False


def algorithms(
    direction: str, at: Geometry, itemsize: int, threads: int = 0
) -> tuple[Algorithm, ...]:
    """Every algorithm for one direction of one convolution, by number.

    threads: how many share the work; 0 leaves out what depends on it.
    """
    found = [Algorithm(0, "direct", direction, 0, None)]
    for number, name, taps in ((1, "im2col", at.kernel_h), (2, "mec", 1)):
        lowering = _lowering(direction, at, taps, itemsize)
        workspace = _workspace(direction, at, lowering) * itemsize
        found.append(Algorithm(number, name, direction, workspace, lowering))
    if direction == WEIGHT and threads:
        lean = lowering._replace(pieces=min(threads, lowering.pieces))
        workspace = _workspace(direction, at, lean) * itemsize
        found.append(Algorithm(3, "lean", direction, workspace, lean, False))
    return tuple(found)


def _workspace(direction: str, at: Geometry, lowering: Lowering) -> int:
    """The elements of scratch memory that a lowering asks for."""
    elements = lowering.pieces * lowering.buffer
    if direction == WEIGHT:
        return elements + lowering.pieces * (lowering.packed + at.filters)
    return elements + lowering.packed * (lowering.products > 1)


def choose(
    direction: str, at: Geometry, itemsize: int, limit: int = 1 << 30, threads: int = 0
) -> Algorithm:
    """The algorithm that should be fastest within `limit` bytes of workspace.

    threads: how many share the work, 0 to have a deterministic algorithm only.

    The fewer bytes are copied the better, which makes it mec, except where the gradient
    of a few channels (of an image, say) is taken through a strided window: there its
    many small products cost more than the copies.
    """
    direct, im2col, mec, *lean = algorithms(direction, at, itemsize, threads)
    small = at.channels // at.groups * at.kernel_w < 64
    few = direction != FORWARD and at.stride_h > 1 and small
    for algorithm in (*((im2col, mec) if few else (mec, im2col)), *lean):
        if algorithm.workspace <= limit:
            return algorithm
    return direct


def _lowering(direction: str, at: Geometry, taps: int, itemsize: int) -> Lowering:
    products = at.kernel_h // taps
    phases = at.stride_h if products > 1 else 1
    # Rows below a band that its last vertical taps reach, counted within a phase.
    reach = at.dilate_h * (products - 1) // at.stride_h
    channels, filters = at.channels // at.groups, at.filters // at.groups
    row = taps * at.kernel_w * phases * at.out_w
    jobs, turn = at.images * at.groups, 0
    if direction == DATA:
        rows = at.out_h + reach
        band = _band(CACHE // (row * rows * itemsize), channels, jobs)
        buffer = band * row * rows
        pieces = jobs * -(-channels // band)
    else:
        fitting = CACHE // (channels * row * itemsize) - reach
        band = _band(fitting, at.out_h, jobs)
        rows = band + reach
        buffer = channels * row * rows
        pieces = jobs * -(-at.out_h // band)
    if at.is_pointwise:
        buffer = 0
    if direction == WEIGHT:
        # One sum for every piece: as many as there is room for, at least two.
        pieces = at.images * -(-at.out_h // band)
        pieces = min(pieces, max(2, SUMS // (at.weights * itemsize)))
        if channels * at.kernel_h * at.kernel_w >= 128:
            turn = filters * band * at.out_w
    pieces = min(PIECES, pieces)
    buffer += turn
    return Lowering(
        taps, products, phases, band, rows, pieces, buffer, turn, at.weights
    )


def _band(fitting: int, length: int, jobs: int) -> int:
    """How much of `length` to handle at a time: what fits, but enough pieces for all.

    The last band should not be a sliver, so equal ones are made.
    """
    wanted = -(-PIECES // max(jobs, 1))
    largest = max(1, min(fitting, -(-length // wanted)))
    bands = -(-length // largest)
    return -(-length // bands)
