"""Rows for lines and volumes, other layouts, and transposed convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.operators.conv import Convolution
from minimx.core.operators.pooling import Pooling
from tests.core.ops import oracles
from tests.core.ops.sample import Sample, numbers

LINE, IMAGE, VOLUME = numbers(2, 4, 7), numbers(2, 4, 5, 4), numbers(2, 4, 4, 3, 3)


def _volumes() -> list[Sample]:
    rows = []
    cases: list[dict[str, Any]] = [
        {"stride": (1, 1, 1), "pad": (0, 0, 0), "dilate": (1, 1, 1)},
        {"stride": (2, 1, 2), "pad": (1, 0, 2), "dilate": (1, 2, 1), "groups": 2},
        {"stride": (1, 2, 1), "pad": (3, 1, 0), "dilate": (2, 1, 2)},
    ]
    for case in cases:
        oracle = oracles.Convolution(**case)
        groups = case.get("groups", 1)
        weight = numbers(4, 4 // groups, 3, 2, 2, low=-1, high=1)
        settings = {k: v for k, v in case.items() if k != "groups"}
        settings |= {"kernel": (3, 2, 2), "num_filter": 4, "num_group": groups}
        conv = Convolution.of(**settings)
        plain = Convolution.of(**settings, no_bias=True)
        dout = numbers(2, 4, *oracle.stops(VOLUME.shape[2:], (3, 2, 2)))
        inputs = (VOLUME, weight, numbers(4))
        rows += [
            Sample("Convolution", inputs, settings, oracle.forward, tolerance=64),
            Sample(
                "_backward_Convolution_data",
                (dout, weight),
                {"conv": plain, "shape": VOLUME.shape},
                lambda d, w, o=oracle: o.data(d, w, VOLUME.shape),
                tolerance=64,
                note=f"volume{groups}",
            ),
            Sample(
                "_backward_Convolution_weight",
                (dout, VOLUME),
                {"conv": conv},
                lambda d, x, o=oracle, w=weight: o.weight(d, x, w.shape),
                tolerance=256,
                note=f"volume{groups}",
            ),
        ]
    return rows


def _deconvolutions() -> list[Sample]:
    """settings, steps of the convolution that it undoes, data, the image that comes."""
    cases: list[tuple[dict[str, Any], dict[str, Any], Any, tuple[int, ...]]] = [
        ({"kernel": (3, 2)}, {}, IMAGE, (7, 5)),
        (
            {"kernel": (3, 2), "stride": (2, 3), "pad": (1, 0), "adj": (1, 2)},
            {"stride": (2, 3), "pad": (1, 0)},
            IMAGE,
            (10, 13),
        ),
        (
            {"kernel": (3, 3), "stride": (2, 2), "target_shape": (8, 9)},
            {"stride": (2, 2), "pad": (2, 0)},
            IMAGE,
            (8, 9),
        ),
        (
            {"kernel": (2, 2), "dilate": (2, 1), "num_group": 2},
            {"dilate": (2, 1), "groups": 2},
            IMAGE,
            (7, 5),
        ),
        (
            {"kernel": (3,), "stride": (2,), "pad": (1,)},
            {"stride": (2,), "pad": (1,), "dilate": (1,)},
            LINE,
            (13,),
        ),
        (
            {"kernel": (2, 2, 1), "stride": (1, 2, 1)},
            {"stride": (1, 2, 1), "pad": (0, 0, 0), "dilate": (1, 1, 1)},
            VOLUME,
            (5, 6, 3),
        ),
    ]
    rows = []
    for settings, steps, data, image in cases:
        oracle = oracles.Convolution(**steps)
        filters = 4 // settings.get("num_group", 1)
        weight = numbers(4, filters, *settings["kernel"], low=-1, high=1)
        shape = (2, 4, *image)

        def plain(x: Any, w: Any, o: Any = oracle, s: Any = shape) -> Any:
            return o.data(x, w, s)

        def biased(x: Any, w: Any, b: Any, plain: Any = plain) -> Any:
            return plain(x, w) + b.reshape(-1, *(1,) * (x.ndim - 2))

        named = {**settings, "num_filter": 4}
        inputs = (data, weight)
        rows += [
            Sample("Deconvolution", inputs, named, plain, tolerance=64),
            Sample(
                "Deconvolution",
                (*inputs, numbers(4)),
                {**named, "no_bias": False},
                biased,
                tolerance=64,
            ),
        ]
    return rows


def _pools() -> list[Sample]:
    cube: dict[str, Any] = {"kernel": (2, 2, 1), "stride": (2, 1, 1), "pad": (1, 0, 0)}
    steps: dict[str, Any] = {"stride": (2, 1, 1), "pad": (1, 0, 0)}
    positive = numbers(2, 3, 5, 4, low=0.5, high=2)
    pool = Pooling.of(**cube, pool_type="avg")
    rows = [
        Sample(
            "Pooling",
            (VOLUME,),
            {**cube, "pool_type": kind},
            oracles.Pooling(kind, (2, 2, 1), (3, 2, 3), **steps).forward,
            tolerance=16,
        )
        for kind in ("max", "avg", "sum")
    ]
    for power in (1, 2, 3):
        oracle = oracles.Pooling("lp", (2, 3), (2, 2), (2, 1), power=power)
        settings: dict[str, Any] = {
            "kernel": (2, 3),
            "stride": (2, 1),
            "pool_type": "lp",
        }
        rows.append(
            Sample(
                "Pooling",
                (positive,),
                {**settings, "p_value": power},
                oracle.forward,
                tolerance=16,
            )
        )
    last = numbers(2, 5, 4, 3, low=0.5, high=2)
    for kind in ("max", "avg", "lp"):
        oracle = oracles.Pooling(kind, (2, 2), (2, 2), (2, 2), power=2)
        if kind == "avg":
            oracle.power = 1

        def turned(x: Any, o: Any = oracle) -> Any:
            return np.moveaxis(o.forward(np.moveaxis(x, -1, 1)), 1, -1)

        settings = {"kernel": (2, 2), "stride": (2, 2), "layout": "NHWC"}
        settings |= {"pool_type": kind, "p_value": 2 if kind == "lp" else None}
        rows.append(Sample("Pooling", (last,), settings, turned, tolerance=16))
    return [
        *rows,
        Sample(
            "Pooling",
            (LINE,),
            {"kernel": (3,), "stride": (2,), "pooling_convention": "same"},
            oracles.Pooling("max", (3,), (4,), (2,), (0,)).forward,
            tolerance=16,
        ),
        Sample(
            "_backward_Pooling_avg",
            (numbers(2, 4, 3, 2, 3),),
            {"pool": pool, "shape": VOLUME.shape},
            lambda d: oracles.Pooling("avg", (2, 2, 1), (3, 2, 3), **steps).spread(
                d, VOLUME.shape
            ),
            tolerance=16,
            note="volume",
        ),
    ]


ROWS = [*_volumes(), *_deconvolutions(), *_pools()]
