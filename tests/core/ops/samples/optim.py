"""Rows for the update operators. The states' own changes are asked in test_optim.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers

W, G = numbers(3, 4, seed=1), numbers(3, 4, seed=2)
S, T, U = (numbers(3, 4, low=0.5, high=2, seed=k) for k in (3, 4, 5))
SETTINGS: dict[str, Any] = {
    "lr": 0.1,
    "wd": 0.2,
    "rescale_grad": 0.5,
    "clip_gradient": 0.7,
}
MOM = {**SETTINGS, "momentum": 0.9}


def clipped(w: Any, g: Any) -> Any:
    return np.clip(g * 0.5, -0.7, 0.7) + 0.2 * w


def decayed(w: Any, g: Any) -> Any:
    """Adam and RMSProp clip after the decay."""
    return np.clip(g * 0.5 + 0.2 * w, -0.7, 0.7)


def sgd(w: Any, g: Any) -> Any:
    return w - 0.1 * clipped(w, g)


def sgd_mom(w: Any, g: Any, m: Any) -> Any:
    return w + 0.9 * m - 0.1 * clipped(w, g)


def nag(w: Any, g: Any, m: Any) -> Any:
    step = 0.1 * clipped(w, g)
    return w + 0.9 * (0.9 * m - step) - step


def signum(w: Any, g: Any, m: Any) -> Any:
    return (1 - 0.1 * 0.3) * w + 0.1 * np.sign(0.9 * m - 0.1 * clipped(w, g))


def adam(w: Any, g: Any, m: Any, v: Any) -> Any:
    step = decayed(w, g)
    m, v = 0.8 * m + 0.2 * step, 0.7 * v + 0.3 * step**2
    return w - 0.1 * m / (np.sqrt(v) + 1e-4)


def rmsprop(w: Any, g: Any, n: Any) -> Any:
    step = decayed(w, g)
    n = 0.8 * n + 0.2 * step**2
    return np.clip(w - 0.1 * step / np.sqrt(n + 1e-4), -1.5, 1.5)


def alex(w: Any, g: Any, n: Any, mean: Any, delta: Any) -> Any:
    step = decayed(w, g)
    n, mean = 0.8 * n + 0.2 * step**2, 0.8 * mean + 0.2 * step
    return w + 0.6 * delta - 0.1 * step / np.sqrt(n - mean**2 + 1e-4)


def row(
    op: str, inputs: tuple[Any, ...], settings: Any, oracle: Any, **more: Any
) -> Sample:
    return Sample(op, inputs, settings, oracle, smooth=False, tolerance=64, **more)


MANY = {k: v for k, v in MOM.items() if k not in ("lr", "wd", "momentum")}
PAIR = {**MANY, "lrs": (0.1, 0.1), "wds": (0.2, 0.2), "num_weights": 2}
REAL = ("float32", "float64")

ROWS = [
    row("sgd_update", (W, G), SETTINGS, sgd),
    row("sgd_update", (W, G), {"lr": 0.5}, lambda w, g: w - 0.5 * g),
    row("sgd_mom_update", (W, G, S), MOM, sgd_mom),
    row("nag_mom_update", (W, G, S), MOM, nag),
    row(
        "signsgd_update",
        (W, G),
        SETTINGS,
        lambda w, g: (1 - 0.1 * 0.2) * w - 0.1 * np.sign(g),
    ),
    row("signum_update", (W, G, S), {**MOM, "wd_lh": 0.3}, signum),
    row(
        "adam_update",
        (W, G, S, T),
        {**SETTINGS, "beta1": 0.8, "beta2": 0.7, "epsilon": 1e-4},
        adam,
    ),
    row(
        "rmsprop_update",
        (W, G, S),
        {**SETTINGS, "gamma1": 0.8, "epsilon": 1e-4, "clip_weights": 1.5},
        rmsprop,
    ),
    row(
        "rmspropalex_update",
        (W, G, S + 2, T - 1, U),
        {**SETTINGS, "gamma1": 0.8, "gamma2": 0.6, "epsilon": 1e-4},
        alex,
        dtypes=REAL,
    ),
    row(
        "mp_sgd_update",
        (W, G, W.astype(np.float32)),
        SETTINGS,
        lambda w, g, w32: sgd(w32, g),
        dtypes=("float16",),
    ),
    row(
        "mp_sgd_mom_update",
        (W, G, S.astype(np.float32), W.astype(np.float32)),
        MOM,
        lambda w, g, m, w32: sgd_mom(w32, g, m),
        dtypes=("float16",),
    ),
    row(
        "multi_sgd_update",
        (W, G, W[:2] + 1, G[:2]),
        PAIR,
        lambda w, g, w2, g2: (sgd(w, g), sgd(w2, g2)),
    ),
    row(
        "multi_sgd_mom_update",
        (W, G, S, W[:2] + 1, G[:2], S[:2]),
        {**PAIR, "momentum": 0.9},
        lambda w, g, m, w2, g2, m2: (sgd_mom(w, g, m), sgd_mom(w2, g2, m2)),
    ),
    row(
        "multi_mp_sgd_update",
        (W, G, W.astype(np.float32)),
        {**PAIR, "lrs": (0.1,), "wds": (0.2,), "num_weights": 1},
        lambda w, g, w32: sgd(w32, g),
        dtypes=("float16",),
    ),
    row(
        "multi_mp_sgd_mom_update",
        (W, G, S.astype(np.float32), W.astype(np.float32)),
        {**PAIR, "lrs": (0.1,), "wds": (0.2,), "num_weights": 1, "momentum": 0.9},
        lambda w, g, m, w32: sgd_mom(w32, g, m),
        dtypes=("float16",),
    ),
]
