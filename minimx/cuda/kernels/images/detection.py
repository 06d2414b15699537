"""Boxes between anchors and networks on CUDA: the arithmetic around choosing them.

The CPU does this with whole arrays, in the data sheets (`ops.boxes`, `ops.multibox`);
here a thread has a box, or an anchor. `boxes` has what looks at several at once.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.indexing import ordered
from minimx.cuda.kernels.default_launch import numeric, real, runs
from minimx.cuda.kernels.images import boxes
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp, log
from minimx.cuda.kernels.pointwise import filler

# -- two ways to write a box -----------------------------------------------------------


@launching.inner
def _to_corner(data: Any, at: int, k: int) -> Any:
    """Number k of the corners of a box (x, y, width, height) that begins at a place."""
    half = data[at + 2 + k % 2] / 2
    return data[at + k] - half if k < 2 else data[at + k - 2] + half


@launching.inner
def _to_center(data: Any, at: int, k: int) -> Any:
    """Number k of (x, y, width, height) of a box of corners."""
    size = data[at + 2 + k % 2] - data[at + k % 2]
    return size if k > 1 else data[at + k] + size / 2


@launching.kernel
def _cornered(data: Any, out: Any) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _to_corner(data, i // 4 * 4, i % 4)


@runs("_contrib_box_iou", types=real)
def overlaps(left: Any, right: Any, format: str, out: Any) -> None:
    """Fill out (m · n) from left (m, 4) and right (n, 4), "corner" or "center"."""
    left, right = left.reshape(-1, 4), right.reshape(-1, 4)
    if format != "center":
        boxes.overlaps(left, right, out)
        return
    given = [(x.shape, x.dtype) for x in (left, right)]
    with scratch.allocated(*given) as both:
        for x, corners in zip((left, right), both, strict=True):
            launching.run(_cornered, x.size, *launching.flat(x, corners))
        boxes.overlaps(both[0], both[1], out)


# -- offsets from anchors --------------------------------------------------------------


@launching.inner
def _offset(anchors: Any, at: int, box: Any, place: int, k: int) -> Any:
    """Number k of what an anchor must learn to become a box, both of corners."""
    size, own = _to_center(box, place, k), _to_center(anchors, at, 2 + k % 2)
    return log(size / own) if k > 1 else (size - _to_center(anchors, at, k)) / own


@launching.kernel
def _encode(
    samples: Any, matches: Any, anchors: Any, refs: Any, means: Any, stds: Any,
    targets: Any, masks: Any, each: int, many: int,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), targets.size, cuda.gridsize(1)):
        row, k = i // 4, i % 4
        counts, which = samples[row] > 0.5, 0
        if counts:
            which = int(matches[row])
            which = which + many if which < 0 else which
            counts = which >= 0 and which < many
        targets[i], masks[i] = 0, 1 if counts else 0
        if counts:
            place = (row // each * many + which) * 4
            found = _offset(anchors, row * 4, refs, place, k)
            targets[i] = (found - means[k]) / stds[k]


def _real_anchors(samples: Spec, matches: Spec, anchors: Spec, *rest: Spec) -> bool:
    return numeric(samples, matches, anchors, *rest) and real(anchors)


@runs("_contrib_box_encode", types=_real_anchors)
def encode(*arrays: Any) -> None:
    """(samples, matches, anchors, refs, means, stds, targets, masks), as box_encode.

    A match that does not exist counts as none.
    """
    each, many = (int(arrays[k].shape[1]) for k in (2, 3))
    flat = launching.flat(*arrays)
    launching.run(_encode, flat[-1].size, *flat, each, many)


@launching.inner
def _decoded(
    data: Any, at: int, anchors: Any, place: int, k: int, scales: Any, clip: Any,
    corner: bool,
) -> Any:  # fmt: skip
    """Number k of the corners of the box that an anchor and its offsets stand for."""
    low = k % 2
    if corner:
        size = _to_center(anchors, place, 2 + low)
        middle = _to_center(anchors, place, low)
    else:
        size, middle = anchors[place + 2 + low], anchors[place + low]
    centre = data[at + low] * scales[low] * size + middle
    logarithm = data[at + 2 + low] * scales[2 + low]
    if clip > 0:
        logarithm = min(logarithm, clip)
    half = exp(logarithm) * size / 2
    return centre - half if k < 2 else centre + half


@launching.kernel
def _decode(
    data: Any, anchors: Any, out: Any, each: int, scales: Any, clip: Any, corner: bool
) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row, k = i // 4, i % 4
        place = row % each * 4
        out[i] = _decoded(data, row * 4, anchors, place, k, scales, clip, corner)


@runs("_contrib_box_decode", types=real)
def decode(
    data: Any, anchors: Any, std0: float, std1: float, std2: float, std3: float,
    clip: float, format: str, out: Any,
) -> None:  # fmt: skip
    """Fill out (B, N, 4) with corners, as box_decode."""
    kind, each = data.dtype.type, int(data.shape[1])
    scales = tuple(map(kind, (std0, std1, std2, std3)))
    arrays, settings = launching.flat(data, anchors, out), (each, scales, kind(clip))
    launching.run(_decode, out.size, *arrays, *settings, format == "corner")


# -- what to keep ----------------------------------------------------------------------


#: Where in a row of `width` numbers something is; kind -1: there are no classes.
Columns = namedtuple("Columns", "width start score kind apart center")


@launching.kernel
def _keys(data: Any, keys: Any, least: Any, background: Any, at: Any) -> None:
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        score, row = data[i * at.width + at.score], i * at.width
        valid = score > least
        if valid and at.kind >= 0:
            valid = data[row + at.kind] != background
        keys[i] = score if valid else -np.inf


@launching.kernel
def _sorted(
    data: Any, keys: Any, order: Any, found: Any, classes: Any, keep: Any, each: int,
    most: int, at: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), keep.size, cuda.gridsize(1)):
        place = i // each * each + order[i]
        row = place * at.width
        keep[i] = 1 if keys[place] > -np.inf and i % each < most else -1
        classes[i] = data[row + at.kind] if at.apart else 0
        for k in range(4):
            corner = data[row + at.start + k]
            if at.center:
                corner = _to_corner(data, row + at.start, k)
            found[4 * i + k] = corner


@launching.kernel
def _chosen(
    data: Any, record: Any, out: Any, each: int, at: Any, to_center: bool,
    to_corner: bool,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row, column = i // at.width, i % at.width
        source = (row // each * each + record[row]) * at.width
        k, value = column - at.start, data[source + column] if record[row] >= 0 else -1
        if record[row] >= 0 and k >= 0 and k < 4:
            if to_center:
                value = _to_center(data, source + at.start, k)
            elif to_corner:
                value = _to_corner(data, source + at.start, k)
        out[i] = value


def sift(
    data: Any, at: Columns, limits: tuple[Any, Any, float], most: int, including: bool,
    order: Any, keep: Any,
) -> None:  # fmt: skip
    """Which rows of data (images, boxes, width) stay; order, keep (images, boxes).

    order: the best first; keep: 1 for those that stay, 0 for those that overlap one
    better, -1 for those that do not take part. limits: the score to pass and the class
    of the background, in the type of data, and the overlap; most: so many take part.
    """
    (images, n), kind = keep.shape, data.dtype.type
    buffers = ((images, n), kind), ((images, n, 4), kind), ((images, n), kind)
    with scratch.allocated(*buffers) as (keys, found, classes):
        x, scores = data.reshape(-1), keys.reshape(-1)
        launching.run(_keys, keys.size, x, scores, *limits[:2], at)
        ordered(keys, (images, n), 1, False, order)
        flat = launching.flat(order, found, classes, keep)
        launching.run(_sorted, keep.size, x, scores, *flat, n, most, at)
        if limits[2] <= 1:  # more than all of it is not shared
            boxes.suppress(found, classes, limits[2], including, keep)


def keep_best(
    data: Any, out: Any, record: Any, at: Columns, limits: tuple[Any, Any, float],
    most: int, turn: tuple[bool, bool],
) -> None:  # fmt: skip
    """As box_nms; turn: whether boxes go out as centers, as corners, unlike they came.

    data and out (…, boxes, width), record (…, boxes).
    """
    n = tuple(record.shape)[-1]
    shape = record.size // n, n
    with scratch.allocated((shape, np.int64), (shape, np.int32)) as (order, keep):
        sift(data, at, limits, most, False, order, keep)
        boxes.pack(keep, order, record.reshape(*shape))
    arrays = launching.flat(data, record, out)
    launching.run(_chosen, out.size, *arrays, n, at, *turn)


@launching.kernel
def _back(dout: Any, record: Any, out: Any, each: int, width: int) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row = i // width
        if record[row] >= 0:
            out[(row // each * each + record[row]) * width + i % width] = dout[i]


def _real_recorded(dout: Spec, record: Spec) -> bool:
    return real(dout)


@runs("_backward_contrib_box_nms", types=_real_recorded)
def back(dout: Any, record: Any, out: Any) -> None:
    """Rows (…, boxes, width) to where they were chosen from, 0 elsewhere."""
    filler(out.dtype.type(0))(out)
    each, width = (int(n) for n in out.shape[-2:])
    launching.run(_back, out.size, *launching.flat(dout, record, out), each, width)


# -- single-shot detection -------------------------------------------------------------


#: Lengths of anchors, labels and predictions, and settings of MultiBoxTarget.
Labels = namedtuple("Labels", "each many width classes overlap ignored ratio far")


@launching.kernel
def _shared(anchor: Any, label: Any, out: Any, at: Any) -> None:
    """Overlaps with labelled boxes; -1 from the row of -1 on that ends them."""
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        first, box = i // (at.each * at.many) * at.many, i % at.many
        out[i] = boxes.overlap(
            anchor, i // at.many % at.each * 4, label, (first + box) * at.width + 1
        )
        for k in range(first, first + box + 1):
            if label[k * at.width] == -1:
                out[i] = -1


@launching.kernel
def _owned(shared: Any, pred: Any, owner: Any, owned: Any, keys: Any, at: Any) -> None:
    """The box of each anchor; of those far from all, the probability of background."""
    for i in range(cuda.grid(1), owner.size, cuda.gridsize(1)):
        image, box = i // at.each, 0
        for k in range(1, at.many):
            box = k if shared[i * at.many + k] > shared[i * at.many + box] else box
        best = float(shared[i * at.many + box])
        if owner[i] < 0 and at.overlap > 0 and best > at.overlap:
            owner[i] = box
        keys[i] = np.inf
        if owner[i] >= 0:
            cuda.atomic.add(owned, image, 1)  # whole numbers: the same in any order
        elif best < at.far:
            first, total = image * at.classes * at.each + i % at.each, 0.0
            for c in range(at.classes):
                total += exp(pred[first + c * at.each] - pred[first])
            keys[i] = 1 / total


@launching.kernel
def _mined(keys: Any, order: Any, owned: Any, owner: Any, at: Any) -> None:
    """The anchors that should say background, by -2 in owner."""
    for i in range(cuda.grid(1), owner.size, cuda.gridsize(1)):
        image, rank = i // at.each, i % at.each
        count = min(int(owned[image] * at.ratio), at.each - owned[image])
        place = image * at.each + order[i]
        if rank < count and keys[place] < np.inf:
            owner[place] = -2


@launching.kernel
def _targets(
    anchor: Any, label: Any, shared: Any, owner: Any, variances: Any, place: Any,
    mask: Any, target: Any, at: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), place.size, cuda.gridsize(1)):
        row, k = i // 4, i % 4
        box = owner[row]
        source = (row // at.each * at.many + max(box, 0)) * at.width
        place[i], mask[i] = 0, 1 if box >= 0 else 0
        if box >= 0:
            found = _offset(anchor, row % at.each * 4, label, source + 1, k)
            place[i] = found / variances[k]
        labelled = shared[row * at.many] >= 0 and (box != -1 or at.ratio <= 0)
        if k == 0:
            target[row] = 0 if labelled else at.ignored
            if box >= 0:
                target[row] = label[source] + 1


def targets(
    anchor: Any, label: Any, pred: Any, outs: Any, numbers: tuple[float, ...],
    variances: tuple[float, ...],
) -> None:  # fmt: skip
    """As MultiBoxTarget; numbers: its thresholds, as `Labels` has them."""
    images, many, width = label.shape
    each, kind = int(anchor.shape[1]), anchor.dtype.type
    at = Labels(each, many, width, int(pred.shape[1]), *numbers)
    wholes = [(n, np.int64) for n in (images * each, images * many, images)]
    buffers = ((images, each, many), kind), ((images, each), kind)
    x, rows, guesses = launching.flat(anchor, label, pred)
    with scratch.allocated(*buffers, *wholes) as (shared, keys, owner, other, owned):
        (flat, scores), n = launching.flat(shared, keys), owner.size
        launching.run(_shared, shared.size, x, rows, flat, at)
        # Every box takes the anchor that it overlaps most, the largest overlap first.
        boxes.bipartite(shared, 1e-6, False, -1, owner, other)
        filler(np.int64(0))(owned)
        launching.run(_owned, n, flat, guesses, owner, owned, scores, at)
        if at.ratio > 0:
            with scratch.allocated((n, np.int64)) as (order,):
                ordered(keys, (images, each), 1, True, order)
                launching.run(_mined, n, scores, order, owned, owner, at)
        arrays = launching.flat(*outs)
        launching.run(_targets, 4 * n, x, rows, flat, owner, variances, *arrays, at)


@launching.kernel
def _predicted(
    prob: Any, move: Any, anchor: Any, rows: Any, least: Any, scales: Any, each: int,
    classes: int, clip: bool, sorting: bool,
) -> None:  # fmt: skip
    """Rows (class, probability, corners, what they are sorted by) of all anchors."""
    zero = scales[0] * 0
    for i in range(cuda.grid(1), rows.size // 7, cuda.gridsize(1)):
        start, kind = i // each * classes * each + i % each, 1
        for c in range(2, classes):
            if prob[start + c * each] > prob[start + kind * each]:
                kind = c
        score = prob[start + kind * each]
        rows[7 * i] = kind - 1 if score >= least else -1
        rows[7 * i + 1], rows[7 * i + 6] = score, score if sorting else zero
        for k in range(4):
            edge = _decoded(move, 4 * i, anchor, i % each * 4, k, scales, zero, True)
            rows[7 * i + 2 + k] = min(max(edge, zero), zero + 1) if clip else edge


@launching.kernel
def _kept_boxes(rows: Any, order: Any, keep: Any, out: Any, each: int) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row, k = i // 6, i % 6
        source = (row // each * each + order[row]) * 7
        stays = rows[source] != -1 and (k > 0 or keep[row] > 0)
        out[i] = rows[source + k] if stays else -1


def detect(
    prob: Any, move: Any, anchor: Any, out: Any, least: Any, scales: Any, clip: bool,
    apart: bool, threshold: float, most: int,
) -> None:  # fmt: skip
    """As MultiBoxDetection; least, scales: numbers of the type of prob.

    threshold: of the overlap, above 1 if boxes are not sorted either.
    """
    (images, classes, each), kind = prob.shape, prob.dtype.type
    buffers = ((images, each), np.int64), ((images, each), np.int32)
    with scratch.allocated(((images, each, 7), kind), *buffers) as (rows, order, keep):
        flat = launching.flat(prob, move, anchor, rows)
        settings = least, scales, each, classes, clip, threshold <= 1
        launching.run(_predicted, images * each, *flat, *settings)
        at = Columns(7, 2, 6, 0, apart, False)
        sift(rows, at, (kind(-np.inf), kind(-1), threshold), most, True, order, keep)
        arrays = launching.flat(rows, order, keep, out)
        launching.run(_kept_boxes, out.size, *arrays, each)
