"""Rows for FTML, Ftrl, AdamW, LAMB, and for many weights at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample
from tests.core.ops.samples.optim import MOM, REAL, SETTINGS, G, S, T, W, nag, row, sgd
from tests.core.ops.samples.optim import sgd_mom as sgd_with_mom

BETAS = {"beta1": 0.8, "beta2": 0.7, "epsilon": 1e-4}
M, V = S - 1, T
CLIP = {"rescale_grad": 0.5, "clip_gradient": 0.7}
SINGLE = np.float32


def scaled(g: Any) -> Any:
    return np.clip(g * 0.5, -0.7, 0.7)


def ftml(w: Any, g: Any, d: Any, v: Any, z: Any) -> Any:
    g = np.clip(0.5 * g + 0.2 * w, -0.7, 0.7)
    v = 0.7 * v + 0.3 * g * g
    slow = (1 - 0.8**3) / 0.1 * (np.sqrt(v / (1 - 0.7**3)) + 1e-4)
    return -(0.8 * z + 0.2 * g - (slow - 0.8 * d) * w) / slow


def ftrl(w: Any, g: Any, z: Any, n: Any) -> Any:
    g = scaled(g)
    z = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) * w / 0.1
    moved = (np.sign(z) * 0.3 - z) / ((1 + np.sqrt(n + g * g)) / 0.1 + 0.2)
    return moved * (np.abs(z) > 0.3)


def adamw(w: Any, g: Any, m: Any, v: Any, scale: Any) -> Any:
    if not np.isfinite(scale[0]):
        return w
    g = np.clip(g * scale[0], -0.7, 0.7)
    m, v = 0.8 * m + 0.2 * g, 0.7 * v + 0.3 * g * g
    return w - 0.9 * (0.1 * m / (np.sqrt(v) + 1e-4) + 0.2 * w)


def direction(w: Any, g: Any, m: Any, v: Any, t: int = 2) -> Any:
    g = scaled(g)
    m, v = 0.8 * m + 0.2 * g, 0.7 * v + 0.3 * g * g
    m, v = m / (1 - 0.8**t), v / (1 - 0.7**t)
    return m / (np.sqrt(v) + 1e-4) + 0.2 * w


def uncorrected(w: Any, g: Any, m: Any, v: Any) -> Any:
    g = scaled(g)
    m, v = 0.8 * m + 0.2 * g, 0.7 * v + 0.3 * g * g
    return m / (np.sqrt(v) + 1e-4) + 0.2 * w


def lamb(w: Any, g: Any, m: Any, v: Any, t: int = 2) -> Any:
    step = direction(w, g, m, v, t)
    r1: Any = min(np.linalg.norm(w), 3.0)
    return w - 0.1 * r1 / np.linalg.norm(step) * step


def groups(w: Any, g: Any, h: Any) -> Any:
    g = scaled(g)
    h = h + (g * g).mean(1, keepdims=True)
    return w - 0.1 * g / np.sqrt(h + 1e-4)


def half(*arrays: Any) -> tuple[Any, ...]:
    """Single precision for what a float16 weight keeps in single precision."""
    return tuple(a.astype(SINGLE) for a in arrays)


SCALE, OVERFLOW = np.array([0.5]), np.array([np.inf])
LAMB1 = {**BETAS, **CLIP, "wd": 0.2, "t": 2}
LAMB = {**LAMB1, "lr": 0.1, "upper_bound": 3.0}
ADAMW = {**BETAS, "lr": 0.1, "wd": 0.2, "eta": 0.9, "clip_gradient": 0.7}
MANY_ADAMW = {
    **{k: v for k, v in ADAMW.items() if k not in ("lr", "wd", "eta")},
    "lrs": (0.1, 0.1),
    "wds": (0.2, 0.2),
    "etas": (0.9, 0.9),
    "num_weights": 2,
}
MANY_LAMB = {
    **{k: v for k, v in LAMB.items() if k not in ("lr", "wd", "t")},
    "learning_rates": (0.1, 0.1),
    "wds": (0.2, 0.2),
    "step_count": (2, 5),
    "num_tensors": 2,
}
ONE_ADAMW = {**MANY_ADAMW, "lrs": 0.1, "wds": 0.2, "etas": 0.9, "num_weights": 1}
ONE_LAMB = {
    **MANY_LAMB,
    "learning_rates": 0.1,
    "wds": 0.2,
    "step_count": 2,
    "num_tensors": 1,
}
TOP = tuple(x[:2] for x in (W + 1, G, M, V))
LRS, WDS = np.array([0.1, 0.1]), np.array([0.2, 0.2])
STATES = half(M, V, W)


def single(op: str, inputs: Any, settings: Any, oracle: Any) -> Sample:
    return row(op, inputs, settings, oracle, dtypes=("float16",))


SINGLES = [
    row(
        "ftml_update",
        (W, G, S + 5, V, M),
        {**BETAS, "lr": 0.1, "wd": 0.2, "rescale_grad": 0.5, "clip_grad": 0.7, "t": 3},
        ftml,
        dtypes=REAL,
    ),
    row("ftrl_update", (W, G, M, V), {**SETTINGS, "lamda1": 0.3}, ftrl, dtypes=REAL),
    single("mp_nag_mom_update", (W, G, *half(S, W)), MOM, lambda w, g, m, w32:
           nag(w32, g, m)),
    row("_adamw_update", (W, G, M, V, SCALE), ADAMW, adamw),
    row("_adamw_update", (W, G, M, V, OVERFLOW), ADAMW, adamw),
    single("_mp_adamw_update", (W, G, *STATES, SCALE.astype(SINGLE)), ADAMW,
           lambda w, g, m, v, w32, s: adamw(w32, g, m, v, s)),
    row("lamb_update_phase1", (W, G, M, V), LAMB1, direction, dtypes=REAL),
    row("lamb_update_phase1", (W, G, M, V), {**LAMB1, "bias_correction": False},
        uncorrected, dtypes=REAL),
    row("lamb_update_phase2", (W, G, np.array([5.0]), np.array([2.0])),
        {"lr": 0.1, "upper_bound": 3.0}, lambda w, g, a, b: w - 0.1 * 3 / 2 * g),
    row("lamb_update_phase2", (W, G, np.array([0.0]), np.array([2.0])), {"lr": 0.1},
        lambda w, g, a, b: w - 0.1 * g),
    row("_lamb_update", (W, G, M, V), LAMB, lamb, dtypes=REAL),
    single("_mp_lamb_update", (W, G, *STATES), LAMB,
           lambda w, g, m, v, w32: lamb(w32, g, m, v)),
    single("mp_lamb_update_phase2", (W, *half(G, S[0, :1], T[0, :1], W)), {"lr": 0.1},
           lambda w, g, a, b, w32: w32 - 0.1 * a / b * g),
    Sample("mp_lamb_update_phase1", (W, G, *STATES), LAMB1,
           lambda w, g, m, v, w32: direction(w32, g, m, v), ("float16",), False, 8192),
    row("_contrib_group_adagrad_update", (W, G, V[:, :1]),
        {"lr": 0.1, **CLIP, "epsilon": 1e-4}, groups),
]  # fmt: skip


def two(step: Any, width: int, shared: int = 0) -> Any:
    def oracle(*arrays: Any) -> Any:
        tail = arrays[2 * width :][:shared]
        return tuple(
            step(*arrays[k * width : (k + 1) * width], *tail) for k in range(2)
        )

    return oracle


MANY = [
    row("_multi_adamw_update", (W, G, M, V, *TOP, SCALE), MANY_ADAMW,
        two(adamw, 4, 1)),
    single("_multi_mp_adamw_update", (W, G, *STATES, SCALE.astype(SINGLE)), ONE_ADAMW,
           lambda w, g, m, v, w32, s: adamw(w32, g, m, v, s)),
    row("_multi_lamb_update", (W, G, M, V, *TOP), MANY_LAMB,
        lambda *a: (lamb(*a[:4]), lamb(a[4], a[5], a[6], a[7], 5)), dtypes=REAL),
    single("_multi_mp_lamb_update", (W, G, *STATES), ONE_LAMB,
           lambda w, g, m, v, w32: lamb(w32, g, m, v)),
    row("preloaded_multi_sgd_update", (W, G, *TOP[:2], LRS, WDS),
        {**CLIP, "num_weights": 2}, two(sgd, 2)),
    row("preloaded_multi_sgd_mom_update", (W, G, S, *TOP[:3], LRS, WDS),
        {**CLIP, "momentum": 0.9, "num_weights": 2}, two(sgd_with_mom, 3)),
    single("preloaded_multi_mp_sgd_update", (W, G, *half(W, LRS[:1], WDS[:1])), CLIP,
           lambda w, g, w32, a, b: sgd(w32, g)),
    single("preloaded_multi_mp_sgd_mom_update",
           (W, G, *half(S, W, LRS[:1], WDS[:1])), {**CLIP, "momentum": 0.9},
           lambda w, g, m, w32, a, b: sgd_with_mom(w32, g, m)),
]  # fmt: skip
ROWS = [*SINGLES, *MANY]
