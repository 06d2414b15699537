"""Rows for einsum, NumPy's linear algebra and NumPy's random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.sample import FLOATS, Sample, numbers

WIDE = ("float32", "float64")
MATRIX = numbers(3, 4)
SQUARE = numbers(3, 3) + 3 * np.eye(3)


def _einsum(text: str, *shapes: tuple[int, ...], optimize: int = 0) -> Sample:
    inputs = tuple(numbers(*shape, seed=k) for k, shape in enumerate(shapes))
    settings = {"subscripts": text, "optimize": optimize}
    return Sample(
        "_npi_einsum", inputs, settings, lambda *x: np.einsum(text, *x), FLOATS,
        tolerance=512,
    )  # fmt: skip


def _products() -> list[Sample]:
    return [
        _einsum("ij,jk->ik", (2, 3), (3, 4)),
        _einsum("ij,jk", (2, 3), (3, 4)),
        _einsum("ii", (3, 3)),
        _einsum("ii->i", (3, 3)),
        _einsum("ijji->j", (2, 3, 3, 2)),
        _einsum("...j->...", (2, 3, 4)),
        _einsum("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
        _einsum("ij, ij -> i", (1, 4), (2, 4)),
        _einsum("i,j", (2,), (3,)),
        _einsum("j,j->", (5,), (1,)),
        _einsum(", ij", (), (2, 3)),
        _einsum("ij,jk,kl->il", (2, 3), (3, 2), (2, 2), optimize=1),
        Sample(
            "_place_diagonals",
            (numbers(3, 2),),
            {"labels": "iji", "shape": (3, 2, 3)},
            lambda x: np.eye(3)[:, None] * x[:, :, None],
        ),
        Sample(
            "_npi_tensordot",
            (numbers(2, 3, 4), numbers(4, 3, 2)),
            {"a_axes_summed": (2, 1), "b_axes_summed": (0, -2)},
            lambda a, b: np.tensordot(a, b, ((2, 1), (0, 1))),
            tolerance=512,
        ),
        Sample(
            "_npi_tensordot_int_axes",
            (numbers(2, 3), numbers(3, 4)),
            {"axes": 1},
            np.dot,
            tolerance=256,
        ),
        Sample(
            "_npi_tensordot_int_axes",
            (numbers(2), numbers(3)),
            {"axes": 0},
            np.outer,
        ),
        *_pairs(),
    ]


def _pairs() -> list[Sample]:
    stack, matrix, row = numbers(2, 1, 2, 3), numbers(4, 3, 2), numbers(3)
    calls: list[tuple[str, Any, Any, Any]] = [
        ("_np_dot", numbers(2, 3), numbers(4, 3, 2), np.dot),
        ("_np_dot", numbers(2, 3), row, np.dot),
        ("_np_dot", numbers(), row, np.dot),
        ("_npi_matmul", stack, matrix, np.matmul),
        ("_npi_matmul", row, matrix, np.matmul),
        ("_npi_matmul", numbers(4, 2, 3), row, np.matmul),
        ("_npi_matmul", row, numbers(3), np.matmul),
    ]
    return [
        Sample(name, (a, b), {}, oracle, tolerance=256, note=f"{a.ndim}{b.ndim}")
        for name, a, b, oracle in calls
    ]


def _thin(a: Any) -> Any:
    u, s, v = np.linalg.svd(a, full_matrices=False)
    largest = np.argmax(np.abs(u), -2)
    signs = np.sign(u[largest, np.arange(u.shape[1])])
    return u * signs, s, v * signs[:, None]


def _eigenvectors(a: Any) -> Any:
    return tuple(np.linalg.eig(a))


def _linalg() -> list[Sample]:
    real = np.array([[2.0, 0.3, 0.1], [0.2, 5.0, 0.4], [0.1, 0.3, 9.0]])
    return [
        Sample("_npi_svd", (MATRIX,), {}, _thin, WIDE, tolerance=512),
        Sample(
            "_npi_svd", (MATRIX.T.copy(),), {}, _thin, WIDE, tolerance=512, note="t"
        ),
        Sample("_npi_svd", (SQUARE,), {}, _thin, WIDE, tolerance=512, note="square"),
        Sample(
            "_npi_solve",
            (SQUARE, numbers(3, 2)),
            {},
            np.linalg.solve,
            WIDE,
            tolerance=512,
        ),
        Sample(
            "_npi_solve",
            (SQUARE, numbers(3)),
            {},
            np.linalg.solve,
            WIDE,
            tolerance=512,
            note="vector",
        ),
        Sample("_npi_det", (SQUARE,), {}, np.linalg.det, WIDE, tolerance=512),
        Sample(
            "_npi_slogdet",
            (np.stack([SQUARE, real]),),
            {},
            lambda a: tuple(np.linalg.slogdet(a)),
            WIDE,
            tolerance=512,
        ),
        Sample("_npi_eig", (real,), {}, _eigenvectors, WIDE, tolerance=1024),
        Sample("_npi_eigvals", (real,), {}, np.linalg.eigvals, WIDE, tolerance=1024),
    ]


def _random() -> list[Sample]:
    size: dict[str, Any] = {"size": (2, 3)}
    fine = {**size, "dtype": "float64"}
    near, far = numbers(3, low=0.5, high=2), numbers(2, 1, low=2.5, high=4)
    rows = [
        Sample(f"_npi_{word}", (), {"loc": 0.5, "scale": 2.0, **size})
        for word in ("normal", "logistic", "gumbel", "laplace", "normal_n")
    ]
    rows += [
        Sample(f"_npi_{word}", (near, far), {"loc": None, "scale": None, **fine})
        for word in ("normal", "logistic", "gumbel", "laplace")
    ]
    rows += [
        Sample(f"_npi_{word}", (far,), {"scale": None, **fine})
        for word in ("exponential", "rayleigh")
    ]
    rows += [
        Sample(f"_npi_{word}", (far,), {"a": None, **fine})
        for word in ("weibull", "pareto", "powerd")
    ]
    rows += [
        Sample("_npi_normal_n", (near,), {"loc": None, "scale": 1.0, **fine}),
        Sample("_npi_uniform", (near, far), {"low": None, "high": None, **fine}),
        Sample("_npi_uniform_n", (near,), {"low": None, "high": 5.0, **fine}),
        Sample("_npi_gamma", (), {"shape": 2.0, "scale": 1.0, **size}),
        Sample("_npi_beta", (), {"a": 2.0, "b": 1.0, **size}),
        Sample("_npi_chisquare", (), {"df": 2.0, **size}),
        Sample("_npi_f", (), {"dfnum": 2.0, "dfden": 3.0, **size}),
        Sample("_npi_poisson", (), {"lam": 4.0, **size}),
        Sample("_npi_bernoulli", (), {"prob": 0.3, **size}),
        Sample(
            "_npi_choice", (), {"a": 9, "size": 5, "replace": False}, None, ("int64",)
        ),
        Sample("_npi_multinomial", (), {"n": 9, "pvals": (0.5, 0.5)}, None, ("int64",)),
    ]
    return rows


ROWS = [*_products(), *_linalg(), *_random()]
