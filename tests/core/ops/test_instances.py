"""`Op.of`: one instance for the same settings, and another for others."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import OperatorError
from minimx.core.graph.passes.cse import share
from minimx.core.ops.registry import Op, lookup


@pytest.mark.parametrize(
    ("op", "first", "second"),
    [
        ("_mul_scalar", {"scalar": 0.0}, {"scalar": -0.0}),
        ("_mul_scalar", {"scalar": np.float32(0)}, {"scalar": np.float32(-0.0)}),
        ("multi_sgd_update", {"lrs": (1, 0.0)}, {"lrs": (1, -0.0)}),
        ("multi_sgd_update", {"lrs": (1, 0)}, {"lrs": (True, 0)}),
    ],
)
def test_settings_that_only_look_alike_are_two(
    op: str, first: Any, second: Any
) -> None:
    more = {"wds": (0, 0), "num_weights": 2} if op.startswith("multi") else {}
    one, other = lookup(op).of(**first, **more), lookup(op).of(**second, **more)
    assert one is not other
    assert one != other
    assert one is lookup(op).of(**first, **more)


@pytest.mark.parametrize("number", [1, True, np.int8(1), np.float32(1), "1", 1.0])
def test_numbers_that_become_the_same_are_one(number: Any) -> None:
    sheet = lookup("_mul_scalar")
    assert sheet.of(scalar=number) is sheet.of(scalar=1.0)


def test_not_a_number_is_one() -> None:
    sheet = lookup("_mul_scalar")
    before = sheet.of(scalar=math.nan)
    assert sheet.of(scalar=float("nan")) is before
    assert hash(before) == hash(sheet.of(scalar=np.float32("nan")))


def test_what_is_refused_does_not_depend_on_what_came_before() -> None:
    sheet = lookup("argmax")
    sheet.of(axis=1)
    with pytest.raises(OperatorError, match="not a value of type int"):
        sheet.of(axis=1.0)


def test_the_sign_of_zero_reaches_the_numbers() -> None:
    x = mx.nd.ones((2,))
    assert not np.signbit((x * 0.0).asnumpy()).any()
    assert np.signbit((x * -0.0).asnumpy()).all()


def test_products_with_both_zeros_are_not_shared() -> None:
    x = mx.sym.var("x")
    graph = mx.sym.Group([x * 0.0, x * -0.0, x * 0.0]).graph
    merged = [c for c in share(graph).changes if c.rule == "merged"]
    assert len(merged) == 1


def test_an_operator_that_is_no_sheet_equals_itself_alone() -> None:
    class Own(Op):
        name = "own"

    one, other = Own(), Own()
    assert one == one and one != other
    assert len({one, other}) == 2


def test_settings_are_given_once_and_stay() -> None:
    sheet: Any = lookup("Pooling")
    made = sheet((2, 2), "avg", stride=(2, 2))
    assert (made.kernel, made.pool_type) == ((2, 2), "avg")
    assert repr(made).startswith("Pooling(kernel=(2, 2), pool_type='avg', ")
    with pytest.raises(dataclasses.FrozenInstanceError, match="pool_type"):
        made.pool_type = "max"
    with pytest.raises(dataclasses.FrozenInstanceError, match="stride"):
        del made.stride
    for args, settings in (((), {"size": 2}), (((2, 2),), {"kernel": 3})):
        with pytest.raises(TypeError, match="Pooling"):
            sheet(*args, **settings)
    with pytest.raises(TypeError, match="num_hidden is missing"):
        lookup("FullyConnected")()
