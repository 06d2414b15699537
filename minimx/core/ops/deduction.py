"""Rules for shapes that are only partly known: what inputs and outputs tell each other.

A sheet takes one of them as its `deduce`. Graphs use them where `infer` cannot begin,
because an input's shape is open; the operator itself is right without them.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.shapes import Deduced, Open, Opens, is_whole, merge


def first_is_out(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """The first output has the shape of the first input; the others are parameters.

    As for every rule here, ins and outs are shapes of which None, or an axis that is
    None, is not known yet; the answer is both lists with what follows filled in. Raises
    ShapeError if two known lengths differ.
    """
    shape = merge(op.name, ins[0], outs[0])
    return [shape, *ins[1:]], [shape, *outs[1:]]


def all_alike(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """Every input and output has the same shape, as for `elemwise_add`.

    (None, 4) and (3, None) are both (3, 4). Arguments as for `first_is_out`.
    """
    shape: Open = None
    for other in (*ins, *outs):
        shape = merge(op.name, shape, other)
    return [shape] * len(ins), [shape] * len(outs)


def like_second(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """The output and the first of two inputs have the shape of the second.

    Arguments as for `first_is_out`.
    """
    shape = merge(op.name, merge(op.name, ins[0], ins[1]), outs[0])
    return [shape, shape], [shape]


def samples_of_out(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """The first axis of the first input is that of the output: the samples of a batch.

    Data (None, 10) and an output (32, 5) make data (32, 10). Arguments as for
    `first_is_out`.
    """
    data, out = ins[0], outs[0]
    if data is not None and out is not None:
        data = merge(op.name, data, (out[0], *[None] * (len(data) - 1)))
    return [data, *ins[1:]], outs


def image_of_out(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """A convolution's samples; and its image, where the stride is 1.

    Data (None, 3, None, None), kernel (3, 3) without pad and an output (8, 16, 6, 6)
    make data (8, 3, 8, 8). With a larger stride several images give one output size.
    Arguments as for `first_is_out`.
    """
    (data, *rest), outs = samples_of_out(op, ins, outs)
    out = outs[0]
    if data is None or out is None or len(data) != len(out):
        return [data, *rest], outs
    axes = len(data) - 2
    steps = zip(
        op.stride or (1,) * axes, op.kernel, op.dilate or (1,) * axes,
        op.pad or (0,) * axes, out[2:], strict=True,
    )  # fmt: skip
    image = tuple(
        stop + dilate * (kernel - 1) - 2 * pad
        if stride == 1 and stop is not None
        else None
        for stride, kernel, dilate, pad, stop in steps
    )
    return [merge(op.name, data, (None, None, *image)), *rest], outs


def pieces(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """Equal pieces of one input along the setting `axis`.

    With squeeze_axis the pieces do not have that axis, which then has the length
    num_outputs in the input.
    """
    data = ins[0]
    piece: Open = None
    for out in outs:
        piece = merge(op.name, piece, out)
    if op.squeeze_axis and piece is not None:
        axis = op.axis % (len(piece) + 1)
        piece = (*piece[:axis], 1, *piece[axis:])
    if piece is not None:
        axis = op.axis % len(piece)
        length = piece[axis]
        whole = None if length is None else length * op.num_outputs
        data = merge(op.name, data, (*piece[:axis], whole, *piece[axis + 1 :]))
    if data is not None:
        axis = op.axis % len(data)
        length = data[axis]
        part = None if length is None else length // op.num_outputs
        around = (*data[:axis], part, *data[axis + 1 :])
        piece = (*data[:axis], *data[axis + 1 :]) if op.squeeze_axis else around
    return [data], [piece] * len(outs)


def joined(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """Inputs that differ along one axis only, where their lengths add up.

    The axis is the setting `dim`. With all other lengths known, the one that is open is
    the rest of the output's.
    """
    known = [shape for shape in (*ins, *outs) if shape is not None]
    if not known:
        return ins, outs
    axis = op.dim % len(known[0])
    around: Open = None
    for shape in known:
        around = merge(op.name, around, (*shape[:axis], None, *shape[axis + 1 :]))
    assert around is not None
    ins = [merge(op.name, shape, around) for shape in ins]
    out = merge(op.name, outs[0], around)
    lengths = [None if shape is None else shape[axis] for shape in ins]
    whole = None if out is None else out[axis]
    there = [n for n in lengths if n is not None]
    if whole is None and len(there) == len(ins):
        whole = sum(there)
    elif whole is not None and len(there) == len(ins) - 1:
        lengths = [whole - sum(there) if n is None else n for n in lengths]

    def with_length(n: int | None) -> Open:
        return (*around[:axis], n, *around[axis + 1 :])

    return [with_length(n) for n in lengths], [with_length(whole)]


def size_kept(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """As many elements come out as go in, so one open axis of the input follows.

    A reshape from (None, 4) to (2, 6): the open axis is 3. Nothing follows where more
    than one axis is open.
    """
    data, out = ins[0], outs[0]
    if data is None or not is_whole(out) or data.count(None) != 1:
        return ins, outs
    size = prod(out)  # type: ignore[arg-type]
    known = prod(n for n in data if n is not None)
    if known and size % known == 0:
        data = tuple(size // known if n is None else n for n in data)
    return [data, *ins[1:]], outs


def stretched(op: Any, ins: Opens, outs: Opens) -> Deduced:
    """Inputs whose axes of length 1 stretch; any other length is that of the output.

    The rule of NumPy's broadcasting; all inputs must have a number of axes.
    """
    known = [shape for shape in ins if shape is not None]
    if len(known) < len(ins):
        return ins, outs
    axes = max(map(len, known))
    padded = [(1,) * (axes - len(shape)) + shape for shape in known]
    out = []
    for lengths in zip(*padded, strict=True):
        wide = [n for n in lengths if n not in (1, None)]
        out.append(wide[0] if wide else None if None in lengths else 1)
    return ins, [merge(op.name, tuple(out), outs[0])]
