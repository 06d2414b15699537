"""Rows for normalization within samples, and batch normalization by other names."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.oracles import normalized
from tests.core.ops.sample import Sample, numbers
from tests.core.ops.samples.norm import BETA, GAMMA, IMAGES, MOVING

MAPS = numbers(2, 4, 3, 2)
EPS = 1e-2


def _grouped(x: Any, groups: int, g: Any, b: Any, eps: float) -> Any:
    seen = x.reshape(len(x), groups, -1)
    return (normalized(seen, (2,), eps) * g[:, None] + b[:, None]).reshape(x.shape)


def _groups() -> list[Sample]:
    rows = []
    for groups in (1, 2, 4):
        inputs = MAPS, numbers(groups, seed=1), numbers(groups, seed=2)
        rows.append(
            Sample(
                "GroupNorm",
                inputs,
                {"num_groups": groups, "eps": EPS},
                lambda x, g, b, n=groups: _grouped(x, n, g, b, EPS),
                tolerance=64,
            )
        )
    mean = MAPS.reshape(2, 2, -1).mean(2)
    std = np.sqrt(MAPS.reshape(2, 2, -1).var(2) + EPS)

    def with_stats(x: Any, g: Any, b: Any) -> Any:
        seen = x.reshape(2, 2, -1)
        std = np.sqrt(seen.var(2) + EPS)
        return _grouped(x, 2, g, b, EPS), seen.mean(2), std

    return [
        *rows,
        Sample(
            "GroupNorm",
            (MAPS, GAMMA, BETA),
            {"num_groups": 2, "eps": EPS, "output_mean_var": True},
            with_stats,
            smooth=False,
            tolerance=64,
        ),
        Sample(
            "InstanceNorm",
            (MAPS, numbers(4, seed=1), numbers(4, seed=2)),
            {"eps": EPS},
            lambda x, g, b: _grouped(x, 4, g, b, EPS),
            tolerance=64,
        ),
        Sample(
            "_backward_GroupNorm",
            (numbers(2, 4, 3, 2, seed=5), MAPS, GAMMA, mean, std),
            {"shape": MAPS.shape, "seen": (2, 2, 12), "eps": EPS},
            smooth=False,
        ),
    ]


def _neighbours() -> list[Sample]:
    def lrn(x: Any, n: int, alpha: float, beta: float, knorm: float) -> Any:
        energy = np.zeros_like(x)
        for c in range(x.shape[1]):
            around = x[:, max(c - n // 2, 0) : c + n // 2 + 1]
            energy[:, c] = (around * around).sum(1)
        return x / (knorm + alpha / n * energy) ** beta

    cases: list[dict[str, Any]] = [
        {"nsize": 3},
        {"nsize": 5, "alpha": 1.0, "beta": 0.5, "knorm": 1.0},
        {"nsize": 1, "alpha": 0.5},
    ]
    given = {"alpha": 1e-4, "beta": 0.75, "knorm": 2.0}
    rows = []
    for case in cases:
        named = {**given, **case}
        size, *rest = (named[word] for word in ("nsize", "alpha", "beta", "knorm"))
        rows.append(
            Sample("LRN", (MAPS,), case, lambda x, n=size, r=rest: lrn(x, n, *r))
        )
    return rows


def _batch_norms() -> list[Sample]:
    def trained(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        return normalized(x, (0, 2, 3), 1e-3) * g[:, None, None] + b[:, None, None]

    inputs = (IMAGES, GAMMA, BETA, *MOVING)
    settings = {"fix_gamma": False, "training": True}
    smooth = (True, True, True, False, False)
    return [
        Sample(
            "_contrib_SyncBatchNorm",
            inputs,
            {**settings, "ndev": 1, "key": "one"},
            trained,
            smooth=smooth,
            tolerance=32,
        ),
        Sample(
            "_contrib_SyncBatchNorm",
            inputs,
            {**settings, "output_mean_var": True},
            lambda x, *a: (trained(x, *a), x.mean((0, 2, 3)), x.var((0, 2, 3))),
            dtypes=("float32", "float64"),
            smooth=False,
            tolerance=64,
        ),
        Sample(
            "_contrib_BatchNormWithReLU",
            inputs,
            settings,
            lambda *a: np.maximum(trained(*a), 0),
            smooth=smooth,
            tolerance=32,
        ),
        Sample(
            "LayerNorm",
            (MAPS, numbers(2, seed=1), numbers(2, seed=2)),
            {"axis": 0},
            lambda x, g, b: (
                normalized(x, (0,), 1e-5) * g[:, None, None, None]
                + b[:, None, None, None]
            ),
            tolerance=256,
        ),
    ]


ROWS = [*_groups(), *_neighbours(), *_batch_norms()]
