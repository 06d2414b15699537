"""Settings that no program means: the errors are ours, and name the operator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import (
    DTypeError,
    ElementError,
    MXNetError,
    OperandError,
    OperatorError,
    OutOfMemory,
)

X = [[1.0, 2, 3], [4, 5, 6]]

ND: Any = nd  # whose types refuse what is tried here
CASES: dict[str, tuple[Callable[[Any], Any], type[MXNetError], str]] = {
    "a count": (lambda x: nd.multi_sum_sq(x, num_arrays=10**9), OperatorError, "65,5"),
    "outputs": (lambda x: nd.split(x, num_outputs=10**9), OperatorError, "65,536"),
    "a tuple": (lambda x: ND.expand_dims(x, axis=(1, 2)), OperatorError, "type int"),
    "no text": (lambda x: ND.take(x, x, mode={}), OperatorError, "take: mode"),
    "None": (lambda x: ND.Activation(x, act_type=None), OperatorError, "act_type=None"),
    "a type": (lambda x: nd.Cast(x, dtype="(1,"), DTypeError, "is not one of"),
    "endless": (lambda x: nd.arange(0, float("inf")), OperatorError, "_arange"),
    "a row": (
        lambda x: nd.gather_nd(x, nd.array([[5], [9]])).wait_to_read(),
        ElementError,
        "gather_nd.* out of bounds",
    ),
    "a table": (
        lambda x: nd.contrib.BilinearResize2D(x.reshape((1, 1, 2, 3)), width=2**33),
        OutOfMemory,
        "BilinearResize2D.* asked for",
    ),
    "tri": (lambda x: mx.np.tri(10**5, M=10**9), OutOfMemory, "tri .* asked for"),
    "logspace": (lambda x: mx.np.logspace(0, 3, 10**12), OutOfMemory, "logspace"),
    "no output": (lambda x: ND._internal._split_v2(x, sections=-1), MXNetError, "_spl"),
    "negative": (lambda x: nd.eye(-3), OperatorError, "_eye|negative|cannot be"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_error_is_ours_and_names_the_operator(case: str) -> None:
    call, kind, words = CASES[case]
    with pytest.raises(kind if case != "negative" else MXNetError, match=words):
        call(nd.array(X))


def test_a_rule_of_a_graph_names_the_operator_too() -> None:
    graph = json.loads(mx.sym.sum(mx.sym.var("x"), axis=(0, 1), name="all").tojson())
    graph["nodes"][1]["attrs"]["axis"] = "(0, 'one')"
    damaged = mx.sym.load_json(json.dumps(graph))
    with pytest.raises(OperandError, match=r"sum\(axis=.* cannot be computed"):
        damaged.infer_shape_partial(x=(2, 3))


def test_the_cause_stays() -> None:
    with pytest.raises(ElementError) as found:
        nd.gather_nd(nd.array(X), nd.array([[5], [9]])).wait_to_read()
    assert isinstance(found.value.__cause__, IndexError)
