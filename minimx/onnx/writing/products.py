"""Matrix products, and the heads of attention that are made of them."""

from __future__ import annotations

import math
from typing import Any

from minimx.onnx.writing.values import Call, Value, translates


def _swapped(at: Call, value: Value, ndim: int, swap: bool) -> Value:
    """Stacked matrices, transposed if that is wanted."""
    order = [*range(ndim - 2), ndim - 1, ndim - 2]
    return at.transposed(value, order) if swap else value


@translates("FullyConnected")
def _dense(at: Call, x: Value, weight: Value, bias: Value | None = None) -> Any:
    if at.op.settings["flatten"] and at.ndim() != 2:
        x = at("Flatten", x, axis=1)
    elif at.ndim() != 2:
        found = at("MatMul", x, at.transposed(weight, (1, 0)))
        return found if bias is None else found + bias
    return at("Gemm", x, weight, bias, transB=1)


@translates("dot")
def _dot(at: Call, a: Value, b: Value) -> Any:
    """The last axis of a with the first one of b; as matrices where b has more."""
    settings = at.op.settings
    one, two = at.ndim(0), at.ndim(1)
    if settings["transpose_a"]:
        a = at.transposed(a, (*range(1, one), 0))
    if settings["transpose_b"]:
        b = at.transposed(b, (two - 1, *range(two - 1)))
    if two > 2:
        last = at.length(1, -1 if settings["transpose_b"] else 0)
        b = at("Reshape", b, at.whole(last, -1))
    found = at("MatMul", a, b)
    return (
        at.reshaped(found, at.shape(), at.out) if two > 2 or one == two == 1 else found
    )


@translates("batch_dot", "_linalg_gemm2")
def _batch_dot(at: Call, a: Value, b: Value) -> Any:
    settings = at.op.settings
    if settings.get("axis", -2) not in (-2, at.ndim() - 2):
        raise at.refused(
            "has its rows on another axis than the last but one: swap axes"
        )
    a = _swapped(at, a, at.ndim(0), settings["transpose_a"])
    b = _swapped(at, b, at.ndim(1), settings["transpose_b"])
    scale = settings.get("alpha", 1.0)
    found = at("MatMul", a, b)
    return found if scale == 1 else found * scale


@translates("_npi_matmul")
def _matmul(at: Call, a: Value, b: Value) -> Any:
    return at("MatMul", a, b)


@translates("_npi_einsum")
def _einsum(at: Call, *values: Value) -> Any:
    return at("Einsum", *values, equation=at.op.settings["subscripts"])


# -- attention with queries, keys and values side by side ------------------------------


def _taken_apart(at: Call, value: Value, k: int, parts: int) -> list[Any]:
    """(length, batch, heads * parts * width) as (batch * heads, length, width) each."""
    width = at.length(k, 2) // (at.op.settings["heads"] * parts)
    rows = at("Reshape", value, at.whole(0, -1, parts, width))
    pieces = at("Split", rows, at.whole(*(1,) * parts), axis=2, outputs=parts)
    alone = [at("Squeeze", piece, at.whole(2)) for piece in pieces]
    return [at.transposed(piece, (1, 0, 2)) for piece in alone]


def _scores(at: Call, queries: Any, keys: Any, width: int) -> Any:
    return at(
        "MatMul", queries * (1 / math.sqrt(width)), at.transposed(keys, (0, 2, 1))
    )


def _put_together(at: Call, attention: Value, values: Any, width: int) -> Any:
    """Attention times values, (length, batch, heads * width)."""
    found = at.transposed(at("MatMul", attention, values), (1, 0, 2))
    return at("Reshape", found, at.whole(0, -1, at.op.settings["heads"] * width))


@translates("_contrib_interleaved_matmul_selfatt_qk")
def _self_scores(at: Call, packed: Value) -> Any:
    queries, keys, _ = _taken_apart(at, packed, 0, 3)
    return _scores(at, queries, keys, at.length(0, 2) // (3 * at.op.settings["heads"]))


@translates("_contrib_interleaved_matmul_selfatt_valatt")
def _self_values(at: Call, packed: Value, attention: Value) -> Any:
    *_, values = _taken_apart(at, packed, 0, 3)
    width = at.length(0, 2) // (3 * at.op.settings["heads"])
    return _put_together(at, attention, values, width)


@translates("_contrib_interleaved_matmul_encdec_qk")
def _cross_scores(at: Call, queries: Value, packed: Value) -> Any:
    (found,) = _taken_apart(at, queries, 0, 1)
    keys, _ = _taken_apart(at, packed, 1, 2)
    return _scores(at, found, keys, at.length(0, 2) // at.op.settings["heads"])


@translates("_contrib_interleaved_matmul_encdec_valatt")
def _cross_values(at: Call, packed: Value, attention: Value) -> Any:
    _, values = _taken_apart(at, packed, 0, 2)
    width = at.length(0, 2) // (2 * at.op.settings["heads"])
    return _put_together(at, attention, values, width)
