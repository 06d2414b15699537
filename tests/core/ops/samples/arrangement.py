"""Rows for operators that reduce, rearrange, join, cut, and for mixed inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.core.ops.sample import FLOATS, Sample, numbers

EVERY = (*FLOATS, "int32", "uint8")
CUBE = numbers(2, 3, 4)
MATRIX = numbers(3, 4)


def with_holes(*shape: int) -> Any:
    x = numbers(*shape)
    x.reshape(-1)[::3] = np.nan
    return x


def _reductions() -> list[Sample]:
    oracles: dict[str, Callable[..., Any]] = {
        "sum": np.sum,
        "mean": np.mean,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
    }
    rows = []
    for name, f in oracles.items():
        for axis, keepdims in ((None, False), (1, True), ((0, 2), False), (-1, False)):
            settings = {"axis": axis, "keepdims": keepdims}
            rows.append(Sample(name, (CUBE,), settings, partial(f, **settings)))
        settings = {"axis": 1, "exclude": True}
        rows.append(Sample(name, (CUBE,), settings, partial(f, axis=(0, 2))))
    hole = with_holes(3, 4)
    rows += [
        Sample("sum", (CUBE * 10,), {}, np.sum, ("int32", "int64"), note="int"),
        Sample("nansum", (hole,), {"axis": 1}, lambda x: np.nansum(x, 1), smooth=False),
        Sample(
            "nanprod", (hole,), {"axis": 0}, lambda x: np.nanprod(x, 0), smooth=False
        ),
        Sample("nansum", (MATRIX,), {"axis": 1}, lambda x: np.nansum(x, 1)),
        Sample("nanprod", (MATRIX,), {"axis": 0}, lambda x: np.nanprod(x, 0)),
        Sample("max", (hole,), {"axis": 1}, lambda x: np.max(x, 1), smooth=False),
        Sample("norm", (CUBE,), {}, np.linalg.norm, note="all"),
        Sample(
            "norm",
            (CUBE,),
            {"axis": 1, "out_dtype": "float64"},
            lambda x: np.linalg.norm(x, axis=1),
            ("float32",),
        ),
        Sample("norm", (CUBE,), {"axis": 1}, lambda x: np.linalg.norm(x, axis=1)),
        Sample(
            "norm",
            (CUBE,),
            {"ord": 1, "axis": (0, 2), "keepdims": True},
            lambda x: np.abs(x).sum((0, 2), keepdims=True),
        ),
        Sample("_sum_to", (CUBE,), {"shape": (3, 1)}, lambda x: x.sum((0, 2))[:, None]),
        Sample("_sum_to", (CUBE,), {"shape": (2, 3, 4)}, np.copy, note="same"),
        Sample("argmax", (CUBE,), {"axis": 1}, lambda x: x.argmax(1), EVERY),
        Sample("argmax", (CUBE,), {}, np.argmax),
        Sample(
            "argmin",
            (CUBE,),
            {"axis": -1, "keepdims": True},
            lambda x: x.argmin(-1)[..., None],
            EVERY,
        ),
        Sample("argmax_channel", (MATRIX,), {}, lambda x: x.argmax(1)),
    ]
    return rows


def _views() -> list[Sample]:
    like = numbers(4, 6)
    return [
        Sample("Reshape", (CUBE,), {"shape": (-1, 0)}, lambda x: x.reshape(8, 3)),
        Sample("Reshape", (CUBE,), {"shape": (-3, 0)}, lambda x: x.reshape(6, 4)),
        Sample(
            "Reshape",
            (CUBE,),
            {"shape": (0, 0, -4, 2, 2)},
            lambda x: x.reshape(2, 3, 2, 2),
        ),
        Sample("_reshape_to", (CUBE,), {"shape": (4, 6)}, lambda x: x.reshape(4, 6)),
        Sample("Flatten", (CUBE,), {}, lambda x: x.reshape(2, 12), EVERY),
        Sample("expand_dims", (CUBE,), {"axis": -1}, lambda x: x[..., None]),
        Sample("squeeze", (CUBE[:, None],), {}, lambda x: x[:, 0]),
        Sample("squeeze", (CUBE[:1, None],), {"axis": 1}, lambda x: x[:, 0]),
        Sample(
            "reshape_like", (CUBE, like), {}, lambda x, y: x.reshape(4, 6),
            smooth=(True, False),
        ),
    ]  # fmt: skip


def _moves() -> list[Sample]:
    image = numbers(1, 2, 3, 4)
    frame = (0, 0, 0, 0, 1, 2, 2, 1)
    pairs = ((0, 0), (0, 0), (1, 2), (2, 1))
    rows = [
        Sample("transpose", (CUBE,), {}, np.transpose, EVERY),
        Sample(
            "transpose", (CUBE,), {"axes": (1, 2, 0)}, lambda x: x.transpose(1, 2, 0)
        ),
        Sample("SwapAxis", (CUBE,), {"dim1": 0, "dim2": 2}, lambda x: x.swapaxes(0, 2)),
        Sample(
            "_basic_index",
            (CUBE,),
            {"key": (1, None, (2, -1, -1), (0, 4, 2))},
            lambda x: x[1, None, ::-1, ::2],
        ),
        Sample(
            "_backward_basic_index",
            (numbers(2, 4),),
            {"key": ((0, 2, 1), 1), "shape": (2, 3, 4)},
            lambda d: d[:, None] * np.array([0, 1, 0])[:, None],
        ),
        Sample(
            "slice",
            (CUBE,),
            {"begin": (0, None), "end": (1, -1)},
            lambda x: x[0:1, :-1],
        ),
        Sample(
            "slice",
            (CUBE,),
            {"begin": (None, 2), "end": (None, None), "step": (1, -2)},
            lambda x: x[:, 2::-2],
        ),
        Sample(
            "slice_axis",
            (CUBE,),
            {"axis": -1, "begin": 1, "end": None},
            lambda x: x[..., 1:],
        ),
        Sample(
            "slice_like",
            (CUBE, numbers(1, 2, 2)),
            {"axes": (0, 2)},
            lambda x, y: x[:1, :, :2],
            smooth=(True, False),
        ),
        Sample("reverse", (CUBE,), {"axis": (0, 2)}, lambda x: x[::-1, :, ::-1], EVERY),
        Sample("tile", (MATRIX,), {"reps": (2, 1, 3)}, lambda x: np.tile(x, (2, 1, 3))),
        Sample("tile", (CUBE,), {"reps": (2,)}, lambda x: np.tile(x, 2), EVERY),
        Sample("repeat", (CUBE,), {"repeats": 2}, lambda x: np.repeat(x, 2)),
        Sample(
            "repeat", (CUBE,), {"repeats": 3, "axis": 1}, lambda x: np.repeat(x, 3, 1)
        ),
        Sample(
            "broadcast_to",
            (numbers(3, 1),),
            {"shape": (2, 0, 4)},
            lambda x: np.broadcast_to(x, (2, 3, 4)),
        ),
        Sample(
            "broadcast_to",
            (numbers(1, 3, 1),),
            {"shape": (2, 0, 4)},
            lambda x: np.broadcast_to(x, (2, 3, 4)),
        ),
        Sample(
            "broadcast_like",
            (numbers(1, 3, 1), CUBE),
            {},
            lambda x, y: np.broadcast_to(x, y.shape),
            smooth=(True, False),
        ),
        Sample(
            "broadcast_axis",
            (numbers(1, 3, 1),),
            {"axis": (0, 2), "size": (2, 4)},
            lambda x: np.broadcast_to(x, (2, 3, 4)),
        ),
        Sample(
            "broadcast_like",
            (numbers(3, 1), CUBE),
            {},
            lambda x, y: np.broadcast_to(x, y.shape),
            smooth=(True, False),
        ),
    ]
    for mode in ("constant", "edge", "reflect"):
        settings = {"mode": mode, "pad_width": frame}
        pad: Any = partial(np.pad, pad_width=pairs, mode=mode)
        rows.append(Sample("Pad", (image,), settings, pad))
        back = partial(padded_back, mode=mode)
        rows.append(Sample("_backward_Pad", (numbers(1, 2, 6, 7),), settings, back))
    return rows


def padded_back(dout: Any, mode: str) -> Any:
    """What each of the 3 x 4 pixels was copied to, asked of NumPy's own padding."""
    pixels: Any = np.arange(1, 13).reshape(3, 4)
    where: Any = partial(np.pad, mode=mode)(pixels, ((1, 2), (2, 1)))
    found = [dout[..., where == k].sum(-1) for k in range(1, 13)]
    return np.stack(found, -1).reshape(1, 2, 3, 4)


def _joins() -> list[Sample]:
    a, b = numbers(2, 3), numbers(2, 1, seed=4)

    def blocks(x: Any) -> Any:
        n, c, h, w = x.shape
        apart = x.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2)
        return apart.reshape(n, c // 4, 2 * h, 2 * w)

    deep = numbers(1, 8, 2, 3)
    return [
        Sample("Concat", (a, b, a), {}, lambda *x: np.concatenate(x, 1), EVERY),
        Sample("Concat", (CUBE, CUBE), {"dim": 0}, lambda *x: np.concatenate(x, 0)),
        Sample("stack", (a, -a), {"axis": 1}, lambda *x: np.stack(x, 1)),
        Sample("stack", (CUBE, -CUBE), {"axis": -1}, lambda *x: np.stack(x, -1)),
        Sample(
            "SliceChannel",
            (CUBE,),
            {"num_outputs": 2, "axis": 2},
            lambda x: tuple(np.split(x, 2, 2)),
        ),
        Sample(
            "SliceChannel",
            (CUBE,),
            {"num_outputs": 3, "squeeze_axis": True},
            lambda x: (x[:, 0], x[:, 1], x[:, 2]),
        ),
        Sample(
            "_split_v2",
            (CUBE,),
            {"indices": (0, 1), "axis": 1},
            lambda x: (x[:, :1], x[:, 1:]),
        ),
        Sample("diag", (CUBE[0],), {"k": 1}, lambda x: np.diag(x, 1), EVERY),
        Sample("diag", (CUBE[0, 0],), {"k": -1}, lambda x: np.diag(x, -1)),
        Sample(
            "diag",
            (CUBE,),
            {"k": -1, "axis1": 2, "axis2": 0},
            lambda x: np.diagonal(x, -1, 2, 0),
        ),
        Sample(
            "_backward_diag",
            (numbers(3, 1),),
            {"k": 1, "axis1": 0, "axis2": 2, "shape": (2, 3, 2)},
            lambda d: np.stack([d * [0, 1], d * [0, 0]]),
        ),
        Sample("depth_to_space", (deep,), {"block_size": 2}, blocks),
        Sample(
            "space_to_depth",
            (blocks(deep),),
            {"block_size": 2},
            lambda x: (
                x.reshape(1, 2, 2, 2, 3, 2)
                .transpose(0, 3, 5, 1, 2, 4)
                .reshape(1, 8, 2, 3)
            ),
        ),
    ]


def _mixed() -> list[Sample]:
    condition = np.array([[1, 0, 3, 0], [0, 0, 1, 1], [1, 1, 1, 0]], np.int32)
    rows = np.array([1, 0, 2], np.int32)
    a, b = MATRIX, numbers(3, 4, seed=9)
    many = tuple(numbers(2, 2, seed=k) for k in range(16))
    return [
        Sample(
            "where", (condition, a, b), {}, lambda c, x, y: np.where(c, x, y), EVERY
        ),
        Sample(
            "where",
            (rows, a, b),
            {},
            lambda c, x, y: np.where(c[:, None], x, y),
            note="rows",
        ),
        Sample(
            "_backward_where_x",
            (a, condition),
            {},
            lambda d, c: np.where(c, d, 0),
            smooth=False,
        ),
        Sample(
            "_backward_where_y",
            (a, condition),
            {},
            lambda d, c: np.where(c, 0, d),
            smooth=False,
        ),
        Sample("add_n", (a, b, a), {}, lambda *x: sum(x), EVERY),
        Sample("add_n", many, {}, lambda *x: sum(x), note="many"),
        Sample("cast", (a * 3,), {"dtype": "int32"}, np.trunc, smooth=False),
        Sample("cast", (a,), {"dtype": "float64"}, np.copy, FLOATS),
        Sample("cast", (a * 3,), {"dtype": "bool"}, lambda x: x != 0, smooth=False),
        Sample("cast", (condition,), {"dtype": "float16"}, np.copy, ("float32",)),
        Sample("zeros_like", (a,), {}, np.zeros_like, EVERY),
        Sample("ones_like", (a,), {}, np.ones_like, EVERY),
    ]


def _creation() -> list[Sample]:
    return [
        Sample("_zeros", (), {"shape": (2, 3)}, lambda: np.zeros((2, 3)), EVERY),
        Sample("_ones", (), {"shape": (2, 3)}, lambda: np.ones((2, 3)), EVERY),
        Sample(
            "_full", (), {"shape": (2,), "value": 3.0}, lambda: np.full(2, 3), EVERY
        ),
        Sample("_arange", (), {"start": 5.0}, lambda: np.arange(5), EVERY),
        Sample(
            "_arange",
            (),
            {"start": 2.0, "stop": 0.0, "step": -0.5, "repeat": 2},
            lambda: np.repeat(np.arange(2, 0, -0.5), 2),
        ),
        Sample(
            "_linspace",
            (),
            {"start": 0.0, "stop": 1.0, "num": 5, "endpoint": False},
            lambda: np.linspace(0, 1, 5, endpoint=False),
        ),
        Sample("_eye", (), {"N": 3, "M": 4, "k": 1}, lambda: np.eye(3, 4, 1), EVERY),
        Sample("_eye", (), {"N": 3, "k": -1}, lambda: np.eye(3, k=-1)),
        Sample("shape_array", (CUBE,), {}, lambda x: np.array([2, 3, 4])),
        Sample("size_array", (CUBE,), {}, lambda x: np.array([24])),
    ]


ROWS = [
    *_reductions(),
    *_views(),
    *_moves(),
    *_joins(),
    *_mixed(),
    *_creation(),
]
