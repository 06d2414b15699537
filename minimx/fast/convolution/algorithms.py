"""The ways to compute a convolution, before any array exists.

Every direction (forward, gradient of the data, gradient of the weight) can be computed
by several algorithms, numbered as the tuner and its knobs name them:

    0  direct   nested loops over windows; no workspace; the one to read first
    1  im2col   copy every window of a piece of the image into a column of a matrix,
                then multiply by the weight: most workspace, one large product; of
                small images it takes all and cuts the weight instead, and of the
                smallest it makes one tall image for the whole batch
    2  mec      copy only the horizontal taps; the vertical ones are the same rows,
                started lower: kernel_h times less workspace, kernel_h products
                (Cho and Brand, "MEC: memory-efficient convolution", 2017)
    3  lean     mec with one running sum of the weight's gradient for every thread,
                where mec keeps up to 16: less workspace, but how the sum is grouped,
                and so its last bits, depend on the number of threads; for no other
                direction
    4  winograd2  2×2 outputs at a time through Winograd's transform, with 2.25 times
                fewer multiplications; for windows of 3×3 that visit every pixel
    5  winograd4  4×4 outputs, 4 times fewer, and larger rounding errors
    6  fft      whole images through a Fourier transform; for long windows
    7  onednn   what the library oneDNN does, where it is installed
    8  sliced   for float16: sums over a part of the channels (filters, images) at a
                time, rounded to float16 in between; least memory, fewest digits

    9  implicit  on CUDA devices, beside direct: the product of im2col, whose matrix is
                never stored; blocks of threads fetch tiles of it into shared memory

`choosing.py` decides among them. All but lean are deterministic: work is cut into
pieces that depend on shapes only, and sums are taken in one order, whatever the number
of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2, sqrt
from typing import NamedTuple

from minimx.core.kernels.convolution import (
    DATA,
    FORWARD,
    WEIGHT,
    Algorithm,
    Geometry,
    Lowering,
)
from minimx.fast.convolution import transforms
from minimx.fast.onednn import convolution as onednn

#: Into how many pieces a kernel cuts its work at most; threads share them.
PIECES = 16
#: A piece of a weight gradient has a sum of its own, as large as the weight: it should
#: add up at least so many stops, or moving the sum takes longer than the products.
STOPS = 64
#: Images with no more stops than this are stacked: the product of one of them would
#: fetch the whole weight for a few columns.
TINY = 8
#: The least rows and columns of a matrix that are worth a piece of their own.
ROWS, COLUMNS = 64, 256
#: The bytes that one piece should work on at a time: half of a common L2 cache.
CACHE = 512 << 10
#: The bytes that the running sums of a weight gradient may take together.
SUMS = 64 << 20
#: Into how many slices sums of float16 are cut at most, and how much coarser they are.
SLICES, HALF = 8, 2.0**13


class Slices(NamedTuple):
    """What is summed over, in slices of `size`; `part` is the convolution of one.

    word: which length of the convolution it is. elements: of the workspace for mec.
    """

    word: str
    length: int
    size: int
    part: Geometry
    lowering: Lowering
    elements: int

    @property
    def wide(self) -> int:
        """The elements of a slice's arrays, which are float32."""
        at = self.part
        image = at.images * at.channels * at.height * at.width
        out = at.images * at.filters * at.out_h * at.out_w
        return image + out + at.weights + at.filters


class Stack(NamedTuple):
    """A batch as one tall image, with rows of zeros between its images.

    part: the convolution of the tall image. rows: from one image to the next. used:
    the rows of an image that windows reach. lowering, elements: of im2col's workspace.
    """

    part: Geometry
    rows: int
    used: int
    lowering: Lowering
    elements: int


#: The names by number.
NAMES = (
    *("direct", "im2col", "mec", "lean", "winograd2", "winograd4", "fft", "onednn"),
    *("sliced", "implicit"),
)


def algorithms(
    direction: str, at: Geometry, itemsize: int, threads: int = 0, narrow: str = ""
) -> tuple[Algorithm, ...]:
    """Every algorithm that can compute one direction of one convolution, by number.

    threads: how many share the work; 0 leaves out what depends on it. narrow: the name
    of the arrays' type if it has two bytes, though most algorithms compute in
    `itemsize` bytes.
    """
    every = known(direction, at, itemsize, threads, narrow)
    return tuple([one for one in every if not one.unfit])


def known(
    direction: str, at: Geometry, itemsize: int, threads: int = 0, narrow: str = ""
) -> Iterator[Algorithm]:
    """All algorithms by number, those too that are `unfit` for this convolution."""
    yield Algorithm(0, NAMES[0], direction, 0, None)
    for number, taps in ((1, at.kernel_h), (2, 1)):
        if number == 1 and 0 < at.out_h * at.out_w <= TINY and at.images > 1:
            yield _stacked(direction, at, itemsize)
            continue
        low = _lowering(direction, at, taps, itemsize)
        workspace = _workspace(direction, at, low) * itemsize
        yield Algorithm(number, NAMES[number], direction, workspace, low)
    if direction == WEIGHT and threads:
        low = low._replace(pieces=min(threads, low.pieces))
        workspace = _workspace(direction, at, low) * itemsize
        yield Algorithm(3, NAMES[3], direction, workspace, low, ("nd",))
    yield from _transformed(direction, at, itemsize)
    yield _library(direction, at, itemsize, narrow)
    if narrow == "float16":
        yield _sliced(direction, at, itemsize)


def stack(at: Geometry) -> tuple[Geometry, int, int]:
    """The tall image of a batch, how far its images are apart, their rows in use.

    Padding between two images serves both. The stops that reach into two images are
    computed and left out.

    >>> at = Geometry(16, 512, 2, 2, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 2, 2)
    >>> part, rows, used = stack(at)
    >>> part.images, part.height, part.out_h, rows, used
    (1, 48, 48, 3, 2)
    """
    step, reach = at.stride_h, (at.kernel_h - 1) * at.dilate_h + 1
    used = min(at.height, (at.out_h - 1) * step + reach - at.pad_h)
    stops = max(
        -(-(used + at.pad_h) // step),
        at.out_h,
        -(-(used + 2 * at.pad_h - reach) // step) + 1,
    )
    out_h = at.images * stops
    height = (out_h - 1) * step + reach - 2 * at.pad_h
    return at._replace(images=1, height=height, out_h=out_h), stops * step, used


def _stacked(direction: str, at: Geometry, itemsize: int) -> Algorithm:
    """Im2col of the tall image."""
    part, rows, used = stack(at)
    low = _lowering(direction, part, at.kernel_h, itemsize)
    elements = _workspace(direction, part, low)
    image = at.channels * part.height * at.width
    nbytes = (elements + image + at.filters * part.out_h * at.out_w) * itemsize
    way = Stack(part, rows, used, low, elements)
    return Algorithm(1, NAMES[1], direction, nbytes, None, way=way)


class Tiles(NamedTuple):
    """The matrix product of one direction on a CUDA device, for every group.

    rows, columns: of the answer; depth: what is summed over, in `parts` whose sums are
    added up in order.
    """

    rows: int
    columns: int
    depth: int
    parts: int


#: The side of the square of the answer that a block of CUDA threads makes.
SIDE = 64
#: Blocks that keep every device busy, and the shortest sum that is worth a part.
BUSY, SHORTEST = 512, 512


def on_cuda(direction: str, at: Geometry, itemsize: int) -> Iterator[Algorithm]:
    """The algorithms of CUDA devices, by number."""
    yield Algorithm(0, NAMES[0], direction, 0, None)
    found = tiles(direction, at)
    workspace = at.weights * found.parts * itemsize if found.parts > 1 else 0
    yield Algorithm(9, NAMES[9], direction, workspace, None, way=found)


def tiles(direction: str, at: Geometry) -> Tiles:
    """How one direction is a product of matrices.

    The gradient of the weight is a small matrix of long sums, so these are cut.
    """
    channels, filters = at.channels // at.groups, at.filters // at.groups
    window, stops = at.kernel_h * at.kernel_w, at.images * at.out_h * at.out_w
    if direction == FORWARD:
        return Tiles(filters, stops, channels * window, 1)
    if direction == DATA:
        return Tiles(channels, at.images * at.height * at.width, filters * window, 1)
    rows, columns = filters, channels * window
    return Tiles(rows, columns, stops, parts(rows, columns, stops, at.groups))


def parts(rows: int, columns: int, depth: int, groups: int) -> int:
    """Into how many sums a product is cut: into enough to keep a device busy.

    >>> parts(2048, 2048, 2048, groups=1), parts(64, 64, 1 << 16, groups=1)
    (1, 128)
    """
    blocks = groups * -(-rows // SIDE) * -(-columns // SIDE)
    wanted = max(1, min(-(-BUSY // blocks), depth // SHORTEST))
    return -(-depth // -(-depth // wanted))


def _library(direction: str, at: Geometry, itemsize: int, narrow: str) -> Algorithm:
    """What oneDNN offers. It shares a weight's gradient among the threads there are.

    Arrays of bfloat16 it takes as they are (`bf16`), else widened as all others do.
    """
    notes = ("nd",) if direction == WEIGHT else ()
    if narrow == "bfloat16" and (found := onednn.offered(direction, at, narrow)):
        notes = (*notes, "bf16")
        rest = None, notes, 1.0, found, "", narrow
        return Algorithm(7, NAMES[7], direction, found.nbytes, *rest)
    if itemsize != 4:
        unfit = "only for float32"
    elif (found := onednn.offered(direction, at)) is not None:
        nbytes = found.nbytes
        return Algorithm(7, NAMES[7], direction, nbytes, None, notes, way=found)
    else:
        unfit = onednn.missing()
    return Algorithm(7, NAMES[7], direction, 0, None, notes, unfit=unfit)


def _sliced(direction: str, at: Geometry, itemsize: int) -> Algorithm:
    """Mec on slices of what is summed over, with float16 sums."""
    if at.groups > 1:
        unfit = "only without groups"
        return Algorithm(8, NAMES[8], direction, 0, None, ("rp",), unfit=unfit)
    length = {FORWARD: at.channels, DATA: at.filters, WEIGHT: at.images}[direction]
    least = max(1, -(-length // SLICES))
    size = next((n for n in range(least, length) if length % n == 0), max(length, 1))
    word = {FORWARD: "channels", DATA: "filters", WEIGHT: "images"}[direction]
    part = at._replace(**{word: size})
    low = _lowering(direction, part, 1, itemsize)
    slices = Slices(word, length, size, part, low, _workspace(direction, part, low))
    nbytes = (slices.elements + slices.wide) * itemsize
    error = HALF * max(1, length // size)
    rest = None, ("rp",), error, slices, "", "float16"
    return Algorithm(8, NAMES[8], direction, nbytes, *rest)


def _transformed(direction: str, at: Geometry, itemsize: int) -> Iterator[Algorithm]:
    """Winograd's and Fourier's."""
    shape = transforms.turned(at) if direction == DATA else at
    for number, size in ((4, 2), (5, 4)):
        name = NAMES[number]
        if not transforms.tiles(at):
            unfit = "only for windows of 3×3 with stride 1 and dilate 1"
            yield Algorithm(number, name, direction, 0, None, ("w",), unfit=unfit)
            continue
        tiling = transforms.tiling(shape, size, itemsize)
        nbytes, error = tiling.elements * itemsize, transforms.AMPLIFICATION[size]
        yield Algorithm(number, name, direction, nbytes, None, ("w",), error, tiling)
    plan = transforms.spectrum(at)
    plane, window = plan.height * plan.width, at.kernel_h * at.kernel_w
    error = 2 * log2(plane + 1) * sqrt(plane / window) + 1
    nbytes = plan.elements * itemsize
    yield Algorithm(6, NAMES[6], direction, nbytes, None, ("fft",), error, plan)


def _workspace(direction: str, at: Geometry, lowering: Lowering) -> int:
    """The elements of scratch memory that a lowering asks for."""
    elements = lowering.pieces * lowering.buffer
    if lowering.cut:
        return lowering.buffer if direction == FORWARD else elements
    if direction == WEIGHT:
        return elements + lowering.pieces * (lowering.packed + at.filters)
    return elements + lowering.packed * (lowering.products > 1)


def _across(direction: str, at: Geometry, itemsize: int) -> Lowering | None:
    """Im2col that cuts filters or channels, where that makes more pieces than bands do.

    A few stops are a slow product with a large weight, and a sum for each piece is as
    large as the weight. Here all filters share one band of columns; and a piece of the
    weight's gradient belongs to one piece alone, which adds up every band's part of it.
    """
    window, row = at.kernel_h * at.kernel_w, at.kernel_h * at.kernel_w * at.out_w
    channels, filters = at.channels // at.groups, at.filters // at.groups
    bands = at.images * at.groups * max(1, at.out_h * at.out_w // STOPS)
    parts = filters // ROWS if direction == FORWARD else channels * window // COLUMNS
    parts = min(parts, PIECES)
    # As many as there may be are best for a gradient, however many bands there are.
    most = direction == WEIGHT and parts == PIECES
    if not bands or (bands >= parts and not most):
        return None
    if direction == FORWARD:
        cut, copied, space = -(-filters // parts), channels, transforms.SHARED_CACHE
        pieces = -(-filters // cut)
    else:
        cut = copied = -(-channels // parts)
        pieces, space = min(PIECES, at.groups * -(-channels // cut)), CACHE
    fitting = max(space // (copied * row * itemsize), -(-STOPS // at.out_w))
    band = _band(fitting, at.out_h, 1, 1)
    buffer = 0 if at.is_pointwise else copied * row * band
    sizes = at.kernel_h, 1, 1, band, band, pieces, buffer, 0, at.weights
    return Lowering(*sizes, cut)


def _lowering(direction: str, at: Geometry, taps: int, itemsize: int) -> Lowering:
    products = at.kernel_h // taps
    across = direction != DATA and products == 1
    if across and (found := _across(direction, at, itemsize)):
        return found
    phases = at.stride_h if products > 1 else 1
    # Rows below a band that its last vertical taps reach, counted within a phase.
    reach = at.dilate_h * (products - 1) // at.stride_h
    channels, filters = at.channels // at.groups, at.filters // at.groups
    row = taps * at.kernel_w * phases * at.out_w
    jobs, turn, most = at.images * at.groups, 0, PIECES
    if direction == WEIGHT:
        most = max(1, min(PIECES, at.images * at.out_h * at.out_w // STOPS))
    if direction == DATA:
        rows = at.out_h + reach
        band = _band(CACHE // (row * rows * itemsize), channels, jobs, most)
        buffer = band * row * rows
        pieces = jobs * -(-channels // band)
    else:
        fitting = CACHE // (channels * row * itemsize) - reach
        band = _band(fitting, at.out_h, jobs, most)
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
    pieces = min(most, pieces)
    buffer += turn
    return Lowering(
        taps, products, phases, band, rows, pieces, buffer, turn, at.weights
    )


def _band(fitting: int, length: int, jobs: int, pieces: int) -> int:
    """How much of `length` to handle at a time: what fits, but enough pieces for all.

    The last band should not be a sliver, so equal ones are made.
    """
    wanted = -(-pieces // max(jobs, 1))
    largest = max(1, min(fitting, -(-length // wanted)))
    bands = -(-length // largest)
    return -(-length // bands)
