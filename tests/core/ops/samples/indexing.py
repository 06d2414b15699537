"""Rows for operators that pick, sort, or draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import FLOATS, Sample, numbers

EVERY = (*FLOATS, "int32", "uint8")
TABLE = numbers(5, 3)
CUBE = numbers(2, 3, 4)
TWICE = np.array([[4, 0], [2, 4]], np.int32)  # one row is picked twice
OUTSIDE = np.array([-1, 5, 2], np.int32)
FLOAT_INDEX = np.array([2, 0, 1], np.float32)


def added(shape: tuple[int, ...], key: Any, values: Any) -> Any:
    out = np.zeros(shape)
    np.add.at(out, key, values)
    return out


def _picks() -> list[Sample]:
    rows = np.array([0, 2, 1], np.int64)
    pick = numbers(3, 4)
    coordinates = np.array([[0, 1, 1], [2, 0, 0]], np.int32)
    return [
        Sample("take", (TABLE, TWICE), {}, lambda a, i: a[i], EVERY),
        Sample(
            "take",
            (CUBE, np.array([2, 2, 0], np.float32)),
            {"axis": 1},
            lambda a, i: a[:, [2, 2, 0]],
            note="float",
        ),
        Sample("take", (TABLE, OUTSIDE), {}, lambda a, i: a[[0, 4, 2]], note="clip"),
        Sample("take", (TABLE, OUTSIDE), {"mode": "wrap"}, lambda a, i: a[[4, 0, 2]]),
        Sample(
            "_backward_take",
            (numbers(2, 2, 3), TWICE),
            {"shape": (5, 3)},
            lambda d, i: added((5, 3), i, d),
        ),
        Sample(
            "Embedding",
            (TWICE, TABLE),
            {"input_dim": 5, "output_dim": 3},
            lambda i, w: w[i],
        ),
        Sample("pick", (pick, rows), {}, lambda x, i: x[np.arange(3), i]),
        Sample(
            "pick",
            (pick, np.array([2, 0, 1, 1], np.float32)),
            {"axis": 0, "keepdims": True},
            lambda x, i: x[i.astype(int), np.arange(4)][None],
        ),
        *(
            Sample("batch_take", (pick, at), {}, lambda x, i: x[np.arange(3), i])
            for at in (rows, rows.astype(np.int32))
        ),
        Sample(
            "_take_along_axis",
            (pick, np.array([[1, 1], [0, 3], [2, 2]], np.int64)),
            {"axis": 1},
            lambda x, i: np.take_along_axis(x, i, 1),
        ),
        Sample(
            "_put_along_axis",
            (numbers(3, 2), np.array([[1, 1], [0, 3], [2, 2]], np.int64)),
            {"axis": 1, "length": 4},
            lambda x, i: added((3, 4), (np.arange(3)[:, None], i), x),
        ),
        Sample(
            "one_hot",
            (np.array([1, 0, 7], np.int32),),
            {"depth": 3, "on_value": 2.0, "off_value": -1.0},
            lambda i: np.array([[-1, 2, -1], [2, -1, -1], [-1, -1, -1]]),
            ("float32",),
        ),
        Sample("gather_nd", (CUBE, coordinates), {}, lambda x, i: x[tuple(i)], EVERY),
        Sample(
            "_backward_gather_nd",
            (numbers(3, 4), coordinates),
            {"shape": (2, 3, 4)},
            lambda d, i: added((2, 3, 4), tuple(i), d),
        ),
        Sample(
            "scatter_nd",
            (numbers(2, 4), coordinates[:, :2]),
            {"shape": (2, 3, 4)},
            lambda d, i: added((2, 3, 4), tuple(i), d),
        ),
    ]


def _keys() -> list[Sample]:
    i, j = np.array([1, 0, 1], np.int64), np.array([2, 0, 2], np.int64)
    return [
        Sample(
            "_advanced_index",
            (CUBE, i, j),
            {"key": ("array", "array")},
            lambda x, i, j: x[i, j],
        ),
        Sample(
            "_advanced_index",
            (CUBE, j),
            {"key": ("...", "array", (1, None, 2))},
            lambda x, j: x[..., j, 1::2],
            EVERY,
        ),
        Sample(
            "_advanced_index",
            (CUBE, FLOAT_INDEX),
            {"key": (1, "array", None)},
            lambda x, j: x[1, j.astype(int), None],
        ),
        Sample(
            "_backward_advanced_index",
            (numbers(3, 4), i, j),
            {"key": ("array", "array"), "shape": (2, 3, 4)},
            lambda d, i, j: added((2, 3, 4), (i, j), d),
        ),
    ]


def _sorts() -> list[Sample]:
    ties = np.array([[1.0, 0.0, 1.0, 0.0]])
    both = {"axis": -1, "k": 2, "ret_typ": "both"}
    mask = np.zeros((2, 3, 4))
    np.put_along_axis(mask, CUBE.argmax(1)[:, None], 1, 1)
    return [
        Sample("sort", (CUBE,), {"axis": 1}, lambda x: np.sort(x, 1), EVERY),
        Sample(
            "sort",
            (CUBE,),
            {"axis": None, "is_ascend": False},
            lambda x: np.sort(x, None)[::-1],
        ),
        Sample("argsort", (CUBE,), {}, np.argsort, EVERY),
        Sample(
            "argsort",
            (ties,),
            {"is_ascend": False, "dtype": "int32"},
            lambda x: np.array([[0, 2, 1, 3]]),
        ),
        Sample("topk", (CUBE,), {"axis": 1}, lambda x: x.argmax(1)[:, None]),
        Sample("topk", (CUBE,), {"axis": 1, "ret_typ": "mask"}, lambda x: mask),
        Sample(
            "topk",
            (CUBE,),
            {"k": 2, "ret_typ": "value", "is_ascend": True},
            lambda x: np.sort(x, -1)[..., :2],
        ),
        Sample(
            "topk",
            (CUBE,),
            both,
            lambda x: (np.sort(x, -1)[..., :-3:-1], np.argsort(x, -1)[..., :-3:-1]),
            smooth=True,
        ),
    ]


def _draws() -> list[Sample]:
    shape = {"shape": (3, 4)}
    positive = np.array([0.5, 2.0])
    rows = [
        Sample(name, (), {**shape, **settings})
        for name, settings in (
            ("_random_uniform", {"low": -1.0}),
            ("_random_normal", {"scale": 2.0}),
            ("_random_gamma", {"alpha": 2.0}),
            ("_random_exponential", {"lam": 2.0}),
            ("_random_poisson", {"lam": 2.0}),
            ("_random_negative_binomial", {"k": 3, "p": 0.5}),
            ("_random_generalized_negative_binomial", {"mu": 2.0, "alpha": 0.5}),
            ("_random_randint", {"low": 0, "high": 5}),
            ("_random_bernoulli", {"prob": 0.3}),
        )
    ]
    rows += [
        Sample(f"_sample_{name}", (positive,) * inputs, {"shape": (3,)})
        for name, inputs in (
            ("uniform", 2),
            ("normal", 2),
            ("gamma", 2),
            ("exponential", 1),
            ("poisson", 1),
        )
    ]
    certain = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    rows += [
        Sample(
            "_sample_multinomial",
            (certain,),
            {"shape": (4,)},
            lambda p: np.array([[1] * 4, [2] * 4]),
        ),
        Sample("shuffle", (numbers(4, 2),)),
    ]
    return rows


ROWS = [*_picks(), *_keys(), *_sorts(), *_draws()]
