"""Launches of what prepares images: into tensors, into other sizes, into other colours.

Random numbers are drawn on the host, as the CPU's kernels draw them, and travel with
the launch: from one state of a generator come the same changes on every device.
"""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import FLOAT32, NARROW
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing
from minimx.core.ops.registry import Kernel, lookup
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, pointwise, scratch
from minimx.cuda.kernels.arrays.places import held
from minimx.cuda.kernels.core.shape import strides
from minimx.cuda.kernels.images import colours, images
from minimx.cuda.kernels.pointwise import SAME
from minimx.cuda.launches import found, implements

_SHARE = Formula("x / most", ("x", "most"))
_CENTRED = Formula("(x - mean) / std", ("x", "mean", "std"))


def _read(spec: Spec) -> bool:
    """Whether kernels read such images as they are."""
    return spec.dtype.kind in "iuf" and spec.dtype not in NARROW


@implements("_image_to_tensor")
def tensor(op: Any, data: Spec) -> Kernel | None:
    """A transposition that converts, then a division."""
    if data.dtype.kind not in "iuf" and data.dtype not in NARROW:
        return None
    out = op.infer(data)
    *before, height, width, channels = data.shape
    steps = strides(data.shape)
    lengths = [width, height, channels, *before]
    ins = [steps[-2], steps[-3], steps[-1], *steps[:-3]]
    outs = [*reversed(strides(out.shape)[-3:]), *strides(out.shape)[:-3]]
    moves = list(zip(ins, outs, strict=True))
    turn = pointwise.walk(SAME, (data.dtype,), FLOAT32, "??", (0, 0), lengths, moves)
    share: Any = pointwise.elementwise(_SHARE, out.size, [FLOAT32], FLOAT32, 255.0)

    def run(x: Any, y: Any) -> None:
        turn(x, y)
        share(y, y)

    return run


@implements("_image_normalize")
def normalized(op: Any, data: Spec) -> Kernel | None:
    """A formula with a mean and a deviation for each channel."""
    kind = computing(data.dtype)
    columns = [column.astype(kind) for column in op._columns(data.shape[-3])]
    specs = [data, *(Spec.of(column.shape, kind) for column in columns)]
    move: Any = pointwise.broadcast(_CENTRED, specs, data)
    mean, std = map(held, columns)
    return lambda x, out: move(x, mean(), std(), out)


@implements("_image_random_flip_left_right", "_image_random_flip_top_bottom")
def flipped(op: Any, data: Spec) -> Kernel | None:
    """A coin, then a gather or a copy."""
    other = lookup(op.name.replace("random_", "")).of()
    flip = found(other, (data,), (data,))
    if flip is None:
        return None

    def run(x: Any, out: Any, rng: Any) -> None:
        change = launching.duplicate if rng.random() < 0.5 else flip
        change(x, out)

    return run


@implements("_image_resize", types=_read)
def resized(op: Any, data: Spec) -> Kernel | None:
    """Rows and columns, one after the other."""
    return images.resize(data.shape, op.infer(data).shape, op.interp, data.dtype)


@implements(
    *("_image_random_brightness", "_image_random_contrast", "_image_random_saturation"),
    *("_image_random_hue", "_image_random_color_jitter", "_image_random_lighting"),
    "_image_adjust_lighting",
    types=_read,
)
def coloured(op: Any, data: Spec) -> Kernel | None:
    """One change after the other; each result is put into the type of data."""

    def run(x: Any, out: Any, rng: Any = None) -> None:
        changes = [(function.__name__, number) for function, number in op.steps(rng)]
        with scratch.allocated((data.shape, data.dtype)) as (buffer,):
            # The last change writes into `out`; those before it take turns.
            for k, (name, number) in enumerate(changes):
                target = buffer if (len(changes) - k) % 2 == 0 else out
                getattr(colours, name)(x, number, target)
                x = target
            if not changes:
                launching.duplicate(x, out)

    return run
