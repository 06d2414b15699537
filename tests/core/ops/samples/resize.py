"""Rows for images made smaller or larger."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minimx.operators.images.resize import AdaptiveAvgPooling2D, BilinearResize2D
from tests.core.ops import oracles
from tests.core.ops.sample import Sample, numbers

IMAGE = numbers(2, 3, 5, 4)
Pair = tuple[int, int]


def adaptive(x: Any, out: Pair) -> Any:
    """The mean of each of out[0] * out[1] pieces, one at a time."""
    y = np.zeros((*x.shape[:2], *out))
    height, width = x.shape[2:]
    for i, j in np.ndindex(*out):
        rows = slice(i * height // out[0], -(-(i + 1) * height // out[0]))
        columns = slice(j * width // out[1], -(-(j + 1) * width // out[1]))
        y[:, :, i, j] = x[:, :, rows, columns].mean((2, 3))
    return y


def between(x: Any, out: Pair, align: bool = True) -> Any:
    """Linear interpolation along both image axes, with NumPy's own."""
    for axis, new in zip((2, 3), out, strict=True):
        old = x.shape[axis]
        places = np.arange(new) * ((old - 1) / max(new - 1, 1))
        if not align:
            places = np.maximum((np.arange(new) + 0.5) * old / new - 0.5, 0)
        places = places if new > 1 else np.zeros(1)
        known = np.arange(old)
        interp: Any = partial(np.interp, places, known)
        x = np.apply_along_axis(interp, axis, x)
    return x


def transpose(forward: Any, dout: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of a linear map, from what it makes of every unit."""
    found = np.zeros(shape)
    for place in np.ndindex(*shape):
        unit = np.zeros(shape)
        unit[place] = 1
        found[place] = (forward(unit) * dout).sum()
    return found


def _resizes() -> list[Sample]:
    rows = [
        Sample(
            "_contrib_AdaptiveAvgPooling2D",
            (IMAGE,),
            {"output_size": size} if size else {},
            lambda x, s=size: adaptive(x, (*s, *s)[:2] if s else (1, 1)),
        )
        for size in ((), (2,), (3, 1), (7, 4))
    ]
    cases: list[tuple[dict[str, Any], Pair]] = [
        ({"height": 3, "width": 7}, (3, 7)),
        ({"height": 1, "width": 9}, (1, 9)),
        ({"scale_height": 2.0, "scale_width": 0.5}, (10, 2)),
        ({"mode": "odd_scale", "scale_height": 2.0, "scale_width": 0.5}, (9, 2)),
        ({"mode": "to_even_up"}, (6, 4)),
        ({"mode": "to_odd_down"}, (5, 3)),
    ]
    for settings, out in cases:
        for align in (True, False):
            rows.append(
                Sample(
                    "_contrib_BilinearResize2D",
                    (IMAGE,),
                    {**settings, "align_corners": align},
                    lambda x, o=out, a=align: between(x, o, a),
                )
            )
    like = Sample(
        "_contrib_BilinearResize2D",
        (IMAGE, numbers(1, 1, 3, 6)),
        {"mode": "like"},
        lambda x, y: between(x, (3, 6)),
        smooth=(True, False),
    )
    sheets = (
        AdaptiveAvgPooling2D.of(output_size=(3, 2)),
        BilinearResize2D.of(height=3, width=2),
    )
    maps = (lambda x: adaptive(x, (3, 2))), (lambda x: between(x, (3, 2)))
    small = (1, 2, 4, 3)
    return [
        *rows,
        like,
        *(
            Sample(
                "_backward_resample",
                (numbers(1, 2, 3, 2),),
                {"forward": sheet, "shape": small},
                lambda d, f=forward: transpose(f, d, small),
                note=sheet.name,
            )
            for sheet, forward in zip(sheets, maps, strict=True)
        ),
    ]


def _copies() -> list[Sample]:
    def larger(x: Any, tall: int, wide: int) -> Any:
        return x.repeat(tall, 2).repeat(wide, 3)

    first, second = numbers(2, 3, 2, 3), numbers(2, 1, 4, 3)
    third = numbers(2, 3, 4, 6)
    window = oracles.Convolution((3, 3), (1, 1), groups=3)
    return [
        Sample("UpSampling", (first,), {"scale": 2}, lambda x: larger(x, 2, 2)),
        Sample(
            "UpSampling",
            (first, second),
            {"scale": 2},
            lambda x, y: np.concatenate([larger(x, 2, 2), larger(y, 1, 2)], 1),
        ),
        Sample(
            "UpSampling",
            (first, third),
            {"scale": 2, "multi_input_mode": "sum"},
            lambda x, y: larger(x, 2, 2) + y,
        ),
        Sample(
            "UpSampling",
            (first, numbers(3, 1, 5, 5)),
            {"scale": 3, "sample_type": "bilinear", "num_filter": 3},
            lambda x, w: window.data(x, w, (2, 3, 6, 9)),
            tolerance=64,
        ),
    ]


ROWS = [*_resizes(), *_copies()]
