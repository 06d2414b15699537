"""Rows for reading images between pixels, and for what bends and compares them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.operators.conv import Convolution
from minimx.operators.layers.correlation import Correlation
from tests.core.ops.oracles import Convolution as Plain
from tests.core.ops.sample import Sample, numbers

IMAGE = numbers(2, 3, 4, 5)
MAPS = numbers(2, 6, low=-0.9, high=0.9)


def surface(x: Any, down: Any, right: Any, sharp: bool = False) -> Any:
    """Pixels of x (B, C, H, W) at down, right (B, P), from all pixels' tents."""
    batch, channels, height, width = x.shape
    out = np.zeros((batch, channels, down.shape[1]))
    for b, p in np.ndindex(*down.shape):
        y, z = down[b, p], right[b, p]
        if sharp:
            if not (0 <= y < height and 0 <= z < width):
                continue
            y, z = min(y, height - 1), min(z, width - 1)
        for i, j in np.ndindex(height, width):
            weight = max(0, 1 - abs(y - i)) * max(0, 1 - abs(z - j))
            out[b, :, p] += weight * x[b, :, i, j]
    return out


def corners(height: int, width: int) -> Any:
    places = np.ones((3, height, width))
    places[0] = np.linspace(-1, 1, width)
    places[1] = np.linspace(-1, 1, height)[:, None]
    return places


def affine(maps: Any, shape: tuple[int, int]) -> Any:
    return np.einsum("nij,jhw->nihw", maps.reshape(-1, 2, 3), corners(*shape))


def look(x: Any, grid: Any) -> Any:
    samples, _, height, width = grid.shape
    right = (grid[:, 0] + 1) * (x.shape[3] - 1) / 2
    down = (grid[:, 1] + 1) * (x.shape[2] - 1) / 2
    seen = surface(x, down.reshape(samples, -1), right.reshape(samples, -1))
    return seen.reshape(samples, -1, height, width)


def _looking() -> list[Sample]:
    flow = numbers(2, 2, 3, 4)
    half = np.array([1.5, 1.0]).reshape(2, 1, 1)
    grid = numbers(2, 2, 3, 4, low=-1.4, high=1.4)
    y, x = numbers(2, 7, low=-1.3, high=4.4), numbers(2, 7, low=-1.3, high=5.4, seed=1)
    whole = np.floor(y), np.floor(x)
    heads = numbers(2, 3, 7, seed=2)

    def put(d: Any, y: Any, x: Any) -> Any:
        found = np.zeros(IMAGE.shape)
        for b, p in np.ndindex(*y.shape):
            i, j = int(y[b, p]), int(x[b, p])
            if 0 <= i < 4 and 0 <= j < 5:
                found[b, :, i, j] += d[b, :, p]
        return found

    linear = (True, False, False)
    return [
        Sample(
            "GridGenerator",
            (MAPS,),
            {"transform_type": "affine", "target_shape": (3, 4)},
            lambda m: affine(m, (3, 4)),
        ),
        Sample(
            "GridGenerator",
            (flow,),
            {"transform_type": "warp"},
            lambda f: f / half + corners(3, 4)[:2],
        ),
        Sample(
            "_backward_GridGenerator",
            (flow,),
            {"affine": True, "target_shape": (3, 4)},
            lambda d: np.einsum("nihw,jhw->nij", d, corners(3, 4)).reshape(-1, 6),
            tolerance=64,
        ),
        Sample(
            "_backward_GridGenerator",
            (flow,),
            {"affine": False, "target_shape": (3, 4)},
            lambda d: d / half,
        ),
        Sample("BilinearSampler", (IMAGE, grid), {}, look, tolerance=32),
        Sample(
            "SpatialTransformer",
            (IMAGE, MAPS),
            {"target_shape": (3, 4)},
            lambda x, m: look(x, affine(m, (3, 4))),
            tolerance=64,
        ),
        *(
            Sample(
                "_sample_pixels",
                (IMAGE, y, x),
                {"sharp": sharp},
                lambda d, y, x, s=sharp: surface(d, y, x, s),
                dtypes=("float32", "float64"),
                tolerance=32,
            )
            for sharp in (False, True)
        ),
        *(
            Sample(
                "_backward_sample_pixels",
                (heads, IMAGE, y, x),
                {"sharp": sharp, "shape": IMAGE.shape},
                smooth=False,
            )
            for sharp in (False, True)
        ),
        Sample(
            "_fetch_pixels",
            (IMAGE, *whole),
            {},
            lambda d, y, x: surface(d, y, x),
            smooth=linear,
        ),
        Sample(
            "_put_pixels",
            (heads, *whole),
            {"shape": IMAGE.shape},
            put,
            smooth=linear,
        ),
    ]


def _columns() -> list[Sample]:
    rows = []
    cases: list[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = [
        ({"kernel": (3, 2)}, (4, 5), (2, 4)),
        (
            {"kernel": (2, 2), "stride": (2, 1), "pad": (1, 1), "dilate": (1, 3)},
            (4, 5),
            (3, 4),
        ),
        ({"kernel": (3,), "stride": (2,), "pad": (1,)}, (5,), (3,)),
    ]
    for settings, image, stops in cases:
        axes, taps = len(image), int(np.prod(settings["kernel"]))
        steps = {"stride": (1,) * axes, "pad": (0,) * axes, "dilate": (1,) * axes}
        steps |= {k: v for k, v in settings.items() if k != "kernel"}
        plain = Plain(**steps, groups=3)
        # a filter of one tap for each tap shows what im2col copies
        each = np.tile(
            np.eye(taps).reshape(taps, 1, *settings["kernel"]), (3, *[1] * (axes + 1))
        )
        shape, columns = (2, 3, *image), (2, 3 * taps, int(np.prod(stops)))

        def forth(x: Any, p: Any = plain, w: Any = each, c: Any = columns) -> Any:
            return p.forward(x, w).reshape(c)

        def back(
            d: Any, p: Any = plain, w: Any = each, s: Any = shape, o: Any = stops
        ) -> Any:
            return p.data(d.reshape(*d.shape[:2], *o), w, s)

        rows += [
            Sample("im2col", (numbers(*shape),), settings, forth),
            Sample(
                "col2im", (numbers(*columns),), {**settings, "output_size": image}, back
            ),
        ]
    return rows


def compared(x: Any, y: Any, multiply: bool, kernel: int, reach: int, s1: int, s2: int,
             pad: int) -> Any:  # fmt: skip
    frame = ((0, 0), (0, 0), (pad, pad), (pad, pad))
    x, y = np.pad(x, frame), np.pad(y, frame)
    border = reach + kernel // 2
    height, width = (-(-(n - 2 * border) // s1) for n in x.shape[2:])
    steps = range(-(reach // s2) * s2, reach + 1, s2)
    out = np.zeros((len(x), len(steps) ** 2, height, width))
    for i, j in np.ndindex(height, width):
        top, left = i * s1 + reach, j * s1 + reach
        a = x[:, :, top : top + kernel, left : left + kernel]
        moves = ((down, right) for down in steps for right in steps)
        for k, (down, right) in enumerate(moves):
            rows = slice(top + down, top + down + kernel)
            b = y[:, :, rows, left + right : left + right + kernel]
            each = a * b if multiply else abs(a - b)
            out[:, k, i, j] = each.mean((1, 2, 3))
    return out


def _correlations() -> list[Sample]:
    x, y = numbers(2, 2, 4, 5), numbers(2, 2, 4, 5, high=1.9, seed=1)  # never equal
    cases: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
        ({"pad_size": 1}, (True, 1, 1, 1, 1, 1)),
        (
            {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2,
             "pad_size": 3},
            (True, 3, 2, 2, 2, 3),
        ),
        ({"pad_size": 2, "is_multiply": False}, (False, 1, 1, 1, 1, 2)),
    ]  # fmt: skip
    rows = [
        Sample(
            "Correlation",
            (x, y),
            settings,
            lambda x, y, r=rest: compared(x, y, *r),
            tolerance=64,
        )
        for settings, rest in cases
    ]
    head = numbers(2, 9, 4, 5)
    forward = Correlation.of(pad_size=1)
    plain = Correlation.of(pad_size=1, is_multiply=False)

    def spread(d: Any, other: Any, first: bool) -> Any:
        found = np.zeros(x.shape)
        for place in np.ndindex(*x.shape):
            unit = np.zeros(x.shape)
            unit[place] = 1
            one, two = (unit, other) if first else (other, unit)
            found[place] = (compared(one, two, True, 1, 1, 1, 1, 1) * d).sum()
        return found

    return [
        *rows,
        *(
            Sample(
                "_backward_Correlation",
                (head, y),
                {"forward": forward, "shape": x.shape, "first": first},
                lambda d, o, f=first: spread(d, o, f),
                tolerance=64,
            )
            for first in (True, False)
        ),
        Sample(
            "_backward_Correlation_difference",
            (head, x, y),
            {"forward": plain},
            smooth=False,
        ),
    ]


def _bent() -> list[Sample]:
    settings = {"kernel": (2, 3), "stride": (1, 2), "pad": (1, 0), "num_filter": 4}
    conv = Convolution.of(**settings, num_group=2)
    data = numbers(2, 4, 3, 5)
    offset = numbers(2, 24, 4, 2, low=-0.9, high=0.9)
    mask = numbers(2, 12, 4, 2, low=0.2, high=1)
    weight = numbers(4, 2, 2, 3, low=-1, high=1)

    def places(offset: Any) -> Any:
        moves = offset.reshape(2, 2, 6, 2, 4, 2)
        taps = np.indices((2, 3)).reshape(2, 6, 1, 1)
        stops = np.indices((4, 2)).reshape(2, 1, 4, 2) * [[[[1]]], [[[2]]]]
        still = taps + stops - np.array([1, 0]).reshape(2, 1, 1, 1)
        both = moves + still.swapaxes(0, 1)
        return tuple(both[:, :, :, k].reshape(4, -1) for k in (0, 1))

    def bent(sharp: bool, x: Any, o: Any, m: Any, w: Any, b: Any = 0) -> Any:
        rows, columns = places(o)
        seen = surface(x.reshape(4, 2, 3, 5), rows, columns, sharp)
        seen = (seen.reshape(2, 2, 2, 6, 4, 2) * m).reshape(2, 2, 12, 4, 2)
        out = np.einsum("nckhw,cfk->ncfhw", seen, w.reshape(2, 2, 12))
        return out.reshape(2, 4, 4, 2) + np.reshape(b, (-1, 1, 1))

    def first(x: Any, o: Any, w: Any, b: Any = 0) -> Any:
        return bent(True, x, o, 1, w, b)

    def second(x: Any, o: Any, m: Any, w: Any, b: Any = 0) -> Any:
        return bent(False, x, o, m.reshape(2, 2, 1, 6, 4, 2), w, b)

    settings |= {"num_group": 2, "num_deformable_group": 2}
    both = {"dtypes": ("float32", "float64"), "tolerance": 128}
    return [
        Sample(
            "_deformed_places", (offset,), {"conv": conv, "data": data.shape}, places
        ),
        Sample(
            "_contrib_DeformableConvolution",
            (data, offset, weight, numbers(4)),
            settings,
            first,
            **both,  # type: ignore[arg-type]
        ),
        Sample(
            "_contrib_DeformableConvolution",
            (data, offset, weight),
            {**settings, "no_bias": True},
            first,
            **both,  # type: ignore[arg-type]
        ),
        Sample(
            "_contrib_ModulatedDeformableConvolution",
            (data, offset, mask, weight, numbers(4)),
            settings,
            second,
            **both,  # type: ignore[arg-type]
        ),
    ]


def _by_chance() -> list[Sample]:
    middle = (0.125 + 0.334) / 2
    return [
        Sample(
            "LeakyReLU",
            (numbers(4, 5),),
            {"act_type": "rrelu"},
            lambda x: (np.where(x > 0, x, middle * x), np.full_like(x, middle)),
        ),
        Sample("LeakyReLU", (numbers(4, 5),), {"act_type": "rrelu", "training": True}),
        Sample(
            "LeakyReLU",
            (numbers(2, 3, 4), numbers(2, 3, seed=1)),
            {"act_type": "prelu"},
            lambda x, g: np.where(x > 0, x, x * g[:, :, None]),
            note="2-D",
        ),
    ]


ROWS = [*_looking(), *_columns(), *_correlations(), *_bent(), *_by_chance()]
