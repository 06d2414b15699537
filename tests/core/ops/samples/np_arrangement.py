"""Rows for NumPy's rearrangements, joints, frames, diagonals, differences, choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import FLOATS, Sample, numbers

EVERY = (*FLOATS, "int32", "uint8")
CUBE = numbers(2, 3, 4)
MATRIX = numbers(3, 4)
VECTOR = numbers(5)
POINT = numbers()


def _shapes() -> list[Sample]:
    wide = numbers(2, 1, 6)
    return [
        Sample(
            "_np_reshape", (CUBE,), {"newshape": (4, -1)}, lambda x: x.reshape(4, 6)
        ),
        Sample(
            "_np_reshape", (POINT,), {"newshape": (1, 1)}, lambda x: x.reshape(1, 1)
        ),
        Sample(
            "_npx_reshape",
            (wide,),
            {"newshape": (-2, -3, -6, 2, -1)},
            lambda x: x.reshape(2, 2, 3),
        ),
        Sample(
            "_npx_reshape", (CUBE,), {"newshape": (-5, -4)}, lambda x: x.reshape(6, 4)
        ),
        Sample(
            "_npx_reshape",
            (CUBE,),
            {"newshape": (-1, -2), "reverse": True},
            lambda x: x.reshape(6, 4),
        ),
        Sample("_np_squeeze", (wide,), {"axis": 1}, np.squeeze),
        Sample("_np_atleast_1d", (POINT,), {}, np.atleast_1d),
        Sample("_np_atleast_2d", (VECTOR,), {}, np.atleast_2d),
        Sample(
            "_np_atleast_3d",
            (VECTOR, MATRIX),
            {"num_args": 2},
            lambda *x: tuple(np.atleast_3d(*x)),
        ),
        Sample(
            "_npi_broadcast_to",
            (MATRIX[:, :1],),
            {"shape": (2, -2, 5)},
            lambda x: np.broadcast_to(x, (2, 3, 5)),
        ),
    ]


def _moves() -> list[Sample]:
    return [
        Sample(
            "_np_moveaxis",
            (CUBE,),
            {"source": (0, 1), "destination": (-1, 0)},
            lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
            EVERY,
        ),
        Sample("_np_roll", (CUBE,), {"shift": 2}, lambda x: np.roll(x, 2)),
        Sample(
            "_np_roll",
            (CUBE,),
            {"shift": (1, -2), "axis": (0, 2)},
            lambda x: np.roll(x, (1, -2), (0, 2)),
        ),
        Sample("_npi_rot90", (CUBE,), {"k": 1}, np.rot90),
        Sample(
            "_npi_rot90",
            (CUBE,),
            {"k": -2, "axes": (2, 1)},
            lambda x: np.rot90(x, -2, (2, 1)),
        ),
        Sample("_npi_tril", (CUBE,), {"k": -1}, lambda x: np.tril(x, -1)),
        Sample("_npi_tril", (VECTOR,), {}, np.tril, note="vector"),
        Sample("_npi_triu", (CUBE,), {"k": 1}, lambda x: np.triu(x, 1)),
        Sample("_np_diag", (MATRIX,), {"k": 1}, lambda x: np.diag(x, 1)),
        Sample("_np_diag", (VECTOR,), {"k": -1}, lambda x: np.diag(x, -1), note="out"),
        Sample("_np_diagflat", (MATRIX,), {"k": 1}, lambda x: np.diagflat(x, 1)),
        Sample(
            "_np_diagonal",
            (CUBE,),
            {"offset": 1, "axis1": 2, "axis2": 0},
            lambda x: np.diagonal(x, 1, 2, 0),
        ),
        Sample(
            "_np_trace", (CUBE,), {"axis1": 1, "axis2": 2}, lambda x: x.trace(0, 1, 2)
        ),
    ]


def _joints() -> list[Sample]:
    pair = (MATRIX, numbers(2, 4))
    rows = [
        Sample("_npi_concatenate", pair, {}, lambda *x: np.concatenate(x), EVERY),
        Sample(
            "_npi_concatenate", pair, {"dim": None}, lambda *x: np.concatenate(x, None)
        ),
        Sample("_npi_vstack", (VECTOR, numbers(2, 5)), {}, lambda *x: np.vstack(x)),
        Sample("_npi_hstack", (VECTOR, numbers(2)), {}, lambda *x: np.hstack(x)),
        Sample("_npi_hstack", (CUBE, CUBE), {}, lambda *x: np.hstack(x), note="cubes"),
        Sample("_npi_dstack", (MATRIX, MATRIX), {}, lambda *x: np.dstack(x)),
        Sample(
            "_npi_column_stack",
            (numbers(3), MATRIX),
            {},
            lambda *x: np.column_stack(x),
        ),
    ]
    widths = ((1, 2), (0, 3), (2, 1))
    for mode in ("constant", "edge", "reflect", "symmetric"):
        rows.append(
            Sample(
                "_npi_pad",
                (CUBE,),
                {"pad_width": widths, "mode": mode},
                lambda x, mode=mode: np.pad(x, widths, mode=mode),
            )
        )
    rows.append(
        Sample(
            "_backward_npi_pad",
            (numbers(4, 3),),
            {"pad_width": ((1, 1), (0, 1)), "mode": "edge", "shape": (2, 2)},
            _folded,
        )
    )
    return rows


def _folded(d: Any) -> Any:
    rows = np.stack([d[0] + d[1], d[2] + d[3]])
    return np.stack([rows[:, 0], rows[:, 1] + rows[:, 2]], axis=1)


def _statistics() -> list[Sample]:
    holes = np.array([1.5, np.nan, -np.inf, np.inf, 0.25])
    condition = np.array([[1, 0, 2, 0]], "int32")
    q = np.array([10.0, 50.0, 99.0])
    return [
        Sample("_npi_diff", (CUBE,), {}, np.diff, tolerance=16),
        Sample(
            "_npi_diff",
            (MATRIX,),
            {"n": 2, "axis": 0},
            lambda x: np.diff(x, 2, 0),
            tolerance=32,
        ),
        Sample(
            "_npi_nan_to_num",
            (holes,),
            {"nan": 2.0, "posinf": 7.0, "neginf": -8.0},
            lambda x: np.array([1.5, 2, -8, 7, 0.25]),
            smooth=False,
        ),
        Sample("_npi_nan_to_num", (MATRIX,), {}, np.nan_to_num),
        Sample(
            "_npi_where",
            (condition, MATRIX, MATRIX[:, :1]),
            {},
            lambda c, x, y: np.where(c != 0, x, y),
        ),
        Sample(
            "_npi_percentile",
            (CUBE, q),
            {"axis": (0, 2)},
            lambda x, q: np.percentile(x, q, (0, 2)),
            ("float32", "float64"),
        ),
        Sample(
            "_npi_percentile",
            (CUBE,),
            {"q_scalar": 30.0, "interpolation": "lower", "keepdims": True},
            lambda x: np.percentile(x, 30, method="lower", keepdims=True),
            ("float32", "float64"),
        ),
        Sample(
            "_np_unravel_index",
            (np.array([[0, 7], [11, 5]]),),
            {"shape": (3, 4)},
            lambda x: np.stack(np.unravel_index(x, (3, 4))),
            ("float32",),
        ),
    ]


ROWS = [*_shapes(), *_moves(), *_joints(), *_statistics()]
