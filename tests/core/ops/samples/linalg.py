"""Rows for linear algebra; symmetric inputs are those of `test_linalg.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import Sample, numbers

REAL = ("float32", "float64")
A, B, C = numbers(2, 3, 4), numbers(2, 4, 3, seed=1), numbers(2, 3, 3, seed=2)
SQUARE = numbers(2, 3, 3, seed=3) + 3 * np.eye(3)
LOW = np.tril(SQUARE)
UPPER = {"lower": False}
SYMMETRIC = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(3)


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def row(op: str, inputs: tuple[Any, ...], settings: Any, oracle: Any) -> Sample:
    return Sample(f"_linalg_{op}", inputs, settings, oracle, REAL, tolerance=256)


def still(op: str, inputs: tuple[Any, ...], settings: Any, oracle: Any) -> Sample:
    """A row whose input is symmetric: single elements of it cannot be moved."""
    name = f"_linalg_{op}"
    return Sample(name, inputs, settings, oracle, REAL, smooth=False, tolerance=4096)


def _products() -> list[Sample]:
    rows = [
        row("gemm", (A, B, C), {}, lambda a, b, c: a @ b + c),
        row(
            "gemm",
            (A, turned(B), C),
            {"transpose_b": True, "alpha": 2.0, "beta": -0.5},
            lambda a, b, c: 2 * a @ turned(b) - c / 2,
        ),
        row(
            "gemm",
            (A.swapaxes(0, 1), B.swapaxes(0, 1), C.swapaxes(0, 1)),
            {"axis": 0},
            lambda a, b, c: np.swapaxes(a.swapaxes(0, 1) @ b.swapaxes(0, 1), 0, 1) + c,
        ),
        row(
            "gemm2",
            (A.swapaxes(0, 1), B.swapaxes(0, 1)),
            {"axis": 0, "alpha": 3.0},
            lambda a, b: np.swapaxes(3 * a.swapaxes(0, 1) @ b.swapaxes(0, 1), 0, 1),
        ),
        row("syrk", (A,), {}, lambda a: a @ turned(a)),
        row("syrk", (A,), {"transpose": True, "alpha": 2}, lambda a: 2 * turned(a) @ a),
    ]
    for transpose in (False, True):
        for right in (False, True):
            for lower in (False, True):
                settings = {
                    "transpose": transpose,
                    "rightside": right,
                    "lower": lower,
                    "alpha": 1.5,
                }

                def triangle(
                    a: Any, transpose: bool = transpose, lower: bool = lower
                ) -> Any:
                    a = np.tril(a) if lower else np.triu(a)
                    return turned(a) if transpose else a

                def trmm(a: Any, b: Any, f: Any = triangle, right: bool = right) -> Any:
                    return 1.5 * (b @ f(a) if right else f(a) @ b)

                def trsm(a: Any, b: Any, f: Any = triangle, right: bool = right) -> Any:
                    inverse = np.linalg.inv(f(a))
                    return 1.5 * (b @ inverse if right else inverse @ b)

                other = B if right else A
                rows.append(row("trmm", (SQUARE, other), settings, trmm))
                rows.append(row("trsm", (SQUARE, other), settings, trsm))
    return rows


def _triangles() -> list[Sample]:
    rows = [
        row("inverse", (SQUARE,), {}, np.linalg.inv),
        Sample("_inverse_or_zeros", (SQUARE,), {}, np.linalg.inv, REAL, tolerance=256),
        row("det", (SQUARE,), {}, np.linalg.det),
        row("det", (SQUARE[0],), {}, np.linalg.det),
        row("slogdet", (SQUARE,), {}, lambda a: tuple(np.linalg.slogdet(a))),
        row(
            "sumlogdiag",
            (np.abs(SQUARE),),
            {},
            lambda a: np.log(np.diagonal(a, 0, 1, 2)).sum(-1),
        ),
    ]
    for offset in (0, 1, -1):
        settings: dict[str, Any] = {"offset": offset}
        rows.append(
            row(
                "extractdiag",
                (SQUARE,),
                settings,
                lambda a, k=offset: np.diagonal(a, k, 1, 2),
            )
        )
        rows.append(
            row(
                "makediag",
                (numbers(2, 3),),
                settings,
                lambda a, k=offset: np.stack([np.diag(r, k) for r in a]),
            )
        )
        for lower in (True, False):
            settings = {"offset": offset, "lower": lower}
            low = offset < 0 or (offset == 0 and lower)
            places = np.tril_indices(3, offset if low else -offset)
            places = places if low else places[::-1]  # column by column
            count = len(places[0])

            def made(a: Any, places: Any = places) -> Any:
                out = np.zeros((2, 3, 3))
                out[:, places[0], places[1]] = a
                return out

            rows.append(
                row(
                    "extracttrian",
                    (SQUARE,),
                    settings,
                    lambda a, p=places: a[:, p[0], p[1]],
                )
            )
            rows.append(row("maketrian", (numbers(2, count),), settings, made))
    return rows


def gelqf(a: Any) -> Any:
    q, r = np.linalg.qr(turned(a))
    return turned(q), turned(r)


def syevd(a: Any) -> Any:
    values, u = np.linalg.eigh(a)
    u = turned(u)
    largest = np.take_along_axis(u, np.abs(u).argmax(-1)[..., None], -1)
    return u * np.sign(largest), values


ROWS = [
    *_products(),
    *_triangles(),
    still("potrf", (SYMMETRIC,), {}, np.linalg.cholesky),
    still("potrf", (SYMMETRIC,), UPPER, lambda a: turned(np.linalg.cholesky(a))),
    still("potri", (LOW,), {}, lambda a: np.linalg.inv(a @ turned(a))),
    still(
        "potri",
        (turned(LOW),),
        {"lower": False},
        lambda a: np.linalg.inv(turned(a) @ a),
    ),
    row("gelqf", (A,), {}, gelqf),
    still("syevd", (SYMMETRIC,), {}, syevd),
    Sample(
        "khatri_rao",
        (numbers(2, 3), numbers(4, 3), numbers(2, 3, seed=4)),
        {},
        lambda a, b, c: np.stack(
            [np.kron(np.kron(a[:, k], b[:, k]), c[:, k]) for k in range(3)], 1
        ),
    ),
]
