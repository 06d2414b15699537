"""Boxes between anchors and networks on CUDA: the arithmetic around choosing them.

The CPU does this with whole arrays, in the data sheets (`ops.boxes`, `ops.multibox`);
here a thread has a box, or an anchor. `boxes` has what looks at several at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minimx.kernels.cuda import boxes, launching, scratch
from minimx.kernels.cuda.indexing import ordered
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.mathematics import exp, log
from minimx.kernels.cuda.pointwise import filler

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


def overlaps(left: Any, right: Any, out: Any, center: bool) -> None:
    """Fill out (m · n) from left (m, 4) and right (n, 4), corners or centers."""
    left, right = left.reshape(-1, 4), right.reshape(-1, 4)
    if not center:
        boxes.overlaps(left, right, out)
        return
    with scratch.lent((left.shape, left.dtype), (right.shape, right.dtype)) as both:
        for given, corners in zip((left, right), both, strict=True):
            flat = given.reshape(-1), corners.reshape(-1)
            launching.run(_cornered, given.size, *flat)
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


def encode(*arrays: Any) -> None:
    """(samples, matches, anchors, refs, means, stds, targets, masks), as box_encode.

    A match that does not exist counts as none.
    """
    each, many = (int(arrays[k].shape[1]) for k in (2, 3))
    flat = [array.reshape(-1) for array in arrays]
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


def decode(
    data: Any, anchors: Any, out: Any, scales: Any, clip: Any, corner: bool
) -> None:
    """Fill out (B, N, 4); scales: four numbers of the type of data."""
    arrays = [x.reshape(-1) for x in (data, anchors, out)]
    each = int(data.shape[1])
    launching.run(_decode, out.size, *arrays, each, scales, clip, corner)


@launching.kernel
def _prior(
    out: Any, width: int, wide: Any, tall: Any, centres: Any, clip: bool
) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        k, which, pixel = i % 4, i // 4 % len(wide), i // (4 * len(wide))
        if k % 2 == 0:
            middle, half = (pixel % width + centres[1]) * centres[3], wide[which]
        else:
            middle, half = (pixel // width + centres[0]) * centres[2], tall[which]
        edge = middle - half if k < 2 else middle + half
        out[i] = min(max(edge, 0.0), 1.0) if clip else edge


def prior(
    out: Any, width: int, sizes: Any, centres: tuple[float, ...], clip: bool
) -> None:
    """Fill out (1, H · W · K, 4): boxes around each pixel.

    sizes (2, K): half the widths, half the heights; centres: offset y and x, step y, x
    """
    wide, tall = (tuple(map(float, numbers)) for numbers in sizes)
    launching.run(_prior, out.size, out.reshape(-1), width, wide, tall, centres, clip)


# -- what to keep ----------------------------------------------------------------------


class Columns(NamedTuple):
    """Where in a row of `width` numbers something is; kind -1: there are no classes."""

    width: int
    start: int
    score: int
    kind: int
    apart: bool
    center: bool


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


def keep_best(
    data: Any, out: Any, record: Any, at: Columns, limits: tuple[Any, Any, float],
    most: int, turn: tuple[bool, bool],
) -> None:  # fmt: skip
    """As box_nms: data and out (…, boxes, width), record (…, boxes).

    limits: the score to pass and the class of the background, in the type of data, and
    the overlap; turn: whether boxes go out as centers, as corners, unlike they came.
    """
    n, real = tuple(record.shape)[-1], data.dtype.type
    shape = record.size // n, n
    rooms = (shape, real), (shape, np.int64), ((*shape, 4), real), (shape, real)
    flat = data.reshape(-1)
    with scratch.lent(*rooms, (shape, np.int32)) as (keys, order, found, classes, keep):
        scores, places, *rest = (
            x.reshape(-1) for x in (keys, order, found, classes, keep)
        )
        launching.run(_keys, keys.size, flat, scores, *limits[:2], at)
        ordered(keys, shape, 1, False, order)
        sorting = flat, scores, places, *rest, n, most, at
        launching.run(_sorted, keep.size, *sorting)
        boxes.suppress(found, classes, limits[2], False, keep)
        boxes.pack(keep, order, record.reshape(*shape))
    rows = flat, record.reshape(-1), out.reshape(-1), n, at, *turn
    launching.run(_chosen, out.size, *rows)


@launching.kernel
def _back(dout: Any, record: Any, out: Any, each: int, width: int) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row = i // width
        if record[row] >= 0:
            out[(row // each * each + record[row]) * width + i % width] = dout[i]


def back(dout: Any, record: Any, out: Any) -> None:
    """Rows (…, boxes, width) to where they were chosen from, 0 elsewhere."""
    filler(out.dtype.type(0))(out)
    each, width = (int(n) for n in out.shape[-2:])
    flat = [x.reshape(-1) for x in (dout, record, out)]
    launching.run(_back, out.size, *flat, each, width)


# -- single-shot detection -------------------------------------------------------------


@launching.kernel
def _labelled(label: Any, counts: Any, n: int, many: int, width: int) -> None:
    """How many boxes an image has: a row of -1 ends them."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        count = many
        for k in range(many - 1, -1, -1):
            if label[(i * many + k) * width] == -1:
                count = k
        counts[i] = count


@launching.kernel
def _shared(
    anchor: Any, label: Any, out: Any, each: int, many: int, width: int
) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        image, k, box = i // (each * many), i // many % each, i % many
        out[i] = boxes.overlap(anchor, 4 * k, label, (image * many + box) * width + 1)


@launching.kernel
def _silence(
    pred: Any, owner: Any, best: Any, keys: Any, each: int, classes: int, most: float
) -> None:
    """The probability of background, of anchors that are far from all boxes."""
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        keys[i] = np.inf
        if owner[i] < 0 and best[i] < most:
            first = i // each * classes * each + i % each
            largest = pred[first]
            for c in range(1, classes):
                largest = max(largest, pred[first + c * each])
            total = 0.0
            for c in range(classes):
                total += exp(pred[first + c * each] - largest)
            keys[i] = exp(pred[first] - largest) / total


@launching.kernel
def _mined(
    keys: Any, order: Any, owned: Any, owner: Any, each: int, ratio: float, n: int
) -> None:
    """The anchors that should say background, by -2 in owner."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        image, rank = i // each, i % each
        count = min(int(owned[image] * ratio), each - owned[image])
        place = image * each + order[i]
        if rank < count and keys[place] < np.inf:
            owner[place] = -2


@launching.kernel
def _targets(
    anchor: Any, label: Any, counts: Any, owner: Any, place: Any, mask: Any,
    target: Any, at: Any, variances: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), place.size, cuda.gridsize(1)):
        row, k = i // 4, i % 4
        image, box = row // at.each, owner[row]
        mine = box >= 0 and counts[image] > 0
        source = (image * at.many + max(box, 0)) * at.width
        place[i], mask[i] = 0, 1 if mine else 0
        if mine:
            found = _offset(anchor, row % at.each * 4, label, source + 1, k)
            place[i] = found / variances[k]
        if k == 0:
            nothing = counts[image] > 0 and (box == -2 or not at.mining)
            target[row] = 0 if nothing else at.ignored
            if mine:
                target[row] = label[source] + 1


class Labels(NamedTuple):
    """Anchors, boxes and the numbers of a label; what an anchor says that is ignored.

    mining: only the background anchors that owner says by -2 count.
    """

    each: int
    many: int
    width: int
    ignored: float
    mining: bool


def targets(
    anchor: Any, label: Any, pred: Any, outs: Any, settings: tuple[float, ...],
    mining: tuple[float, float], variances: tuple[float, ...],
) -> None:  # fmt: skip
    """As MultiBoxTarget.

    settings: overlap_threshold and ignore_label; mining: its ratio and its threshold.
    """
    images, many, width = label.shape
    each, classes = int(anchor.shape[1]), int(pred.shape[1])
    real, shape = anchor.dtype.type, (images, each)
    x, rows = anchor.reshape(-1), label.reshape(-1)
    integers = [(images, np.int64), (images, np.int64), (images * each, np.int64)]
    rooms = ((*shape, many), real), (images * each, np.float64)
    with scratch.lent(*integers, *rooms) as (counts, owned, owner, shared, best):
        launching.run(_labelled, images, rows, counts, images, many, width)
        flat = shared.reshape(-1)
        launching.run(_shared, shared.size, x, rows, flat, each, many, width)
        boxes.match(shared, counts, settings[0], owner, best, owned)
        if mining[0] > 0:
            with scratch.lent((shape, real), (shape, np.int64)) as (keys, order):
                last = keys.reshape(-1), each, classes, mining[1]
                launching.run(_silence, keys.size, pred.reshape(-1), owner, best, *last)
                ordered(keys, shape, 1, True, order)
                n, sorting = keys.size, (keys.reshape(-1), order.reshape(-1))
                launching.run(_mined, n, *sorting, owned, owner, each, mining[0], n)
        at = Labels(each, many, width, settings[1], mining[0] > 0)
        flat = [out.reshape(-1) for out in outs]
        n = flat[0].size
        launching.run(_targets, n, x, rows, counts, owner, *flat, at, variances)


class Choice(NamedTuple):
    """Of how many anchors and classes MultiBoxDetection chooses, and how."""

    each: int
    classes: int
    most: int
    together: bool
    sorting: bool
    clip: bool


@launching.kernel
def _scores(prob: Any, keys: Any, kinds: Any, least: Any, at: Any) -> None:
    """The best class of each anchor; keys: what they are sorted by, -inf for none."""
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        start = i // at.each * at.classes * at.each + i % at.each
        kind = 1
        for c in range(2, at.classes):
            if prob[start + c * at.each] > prob[start + kind * at.each]:
                kind = c
        score = prob[start + kind * at.each]
        kinds[i] = kind - 1
        keys[i] = (score if at.sorting else 0) if score >= least else -np.inf


@launching.kernel
def _detected(
    move: Any, anchor: Any, order: Any, keys: Any, kinds: Any, found: Any, classes: Any,
    keep: Any, scales: Any, at: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), keep.size, cuda.gridsize(1)):
        own = order[i]
        place = i // at.each * at.each + own
        keep[i] = 1 if keys[place] > -np.inf and i % at.each < at.most else -1
        classes[i] = 0 if at.together else kinds[place]
        for k in range(4):
            zero = move[4 * place] * 0
            edge = _decoded(move, 4 * place, anchor, 4 * own, k, scales, zero, True)
            found[4 * i + k] = min(max(edge, zero), zero + 1) if at.clip else edge


@launching.kernel
def _said(
    prob: Any, order: Any, keys: Any, kinds: Any, found: Any, keep: Any, out: Any,
    at: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row, k = i // 6, i % 6
        image, own = row // at.each, order[row]
        place = image * at.each + own
        value = prob[0] * 0 - 1
        if keys[place] > -np.inf and k == 0 and keep[row] > 0:
            value = kinds[place]
        elif keys[place] > -np.inf and k == 1:
            kind = image * at.classes + kinds[place] + 1
            value = prob[kind * at.each + own]
        elif keys[place] > -np.inf and k > 1:
            value = found[4 * row + k - 2]
        out[i] = value


def detect(
    prob: Any, move: Any, anchor: Any, out: Any, at: Choice, least: Any,
    threshold: float, scales: Any,
) -> None:  # fmt: skip
    """As MultiBoxDetection; least, scales: numbers of the type of prob."""
    shape, real = (int(prob.shape[0]), at.each), prob.dtype.type
    integers = [(shape, np.int64)] * 3
    rooms = [(shape, real), ((*shape, 4), real), (shape, np.int32)]
    with scratch.lent(*integers, *rooms) as (order, kinds, classes, keys, found, keep):
        first, n = [x.reshape(-1) for x in (prob, order, keys, kinds, found)], keys.size
        launching.run(_scores, n, first[0], *first[2:4], least, at)
        ordered(keys, shape, 1, False, order)
        rest = classes.reshape(-1), keep.reshape(-1), scales, at
        moves = move.reshape(-1), anchor.reshape(-1)
        launching.run(_detected, n, *moves, *first[1:], *rest)
        if at.sorting:
            boxes.suppress(found, classes, threshold, True, keep)
        launching.run(_said, out.size, *first, rest[1], out.reshape(-1), at)
