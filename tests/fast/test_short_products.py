"""Small products without the questions of large ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx import nd
from minimx.core.kernels import find
from minimx.core.kernels.cpu import matmul

SIDES = st.integers(1, 40)


@given(SIDES, SIDES, SIDES, st.booleans(), st.booleans(), st.sampled_from("fd"))
def test_the_bits_are_those_of_any_product(
    m: int, n: int, k: int, ta: bool, tb: bool, kind: str
) -> None:
    draw = np.random.default_rng(m * n * k)
    a = draw.normal(size=(k, m) if ta else (m, k)).astype(kind)
    b = draw.normal(size=(n, k) if tb else (k, n)).astype(kind)
    usual, ours = np.full((2, m, n), np.nan, kind)

    def refuse(*_: Any) -> None:
        raise AssertionError("a small product asks what a large one asks")

    matmul.product(a, b, usual, ta, tb)
    direct = find("short_products.direct")
    direct(refuse, ta, tb, a.shape, b.shape, (m, n))(a, b, ours)
    np.testing.assert_array_equal(ours, usual)


def test_a_product_of_many_terms_is_the_usual_one() -> None:
    direct, shape = find("short_products.direct"), (1, 65, 65)
    assert direct(matmul.product, False, False, shape, shape, shape) is matmul.product


@pytest.mark.parametrize("place", [0, 1])
def test_a_product_may_be_written_over_an_operand(place: int) -> None:
    pair = nd.array([[1.0, 2], [3, 4]]), nd.array([[0.0, 1], [1, 1]])
    expected = pair[0].asnumpy() @ pair[1].asnumpy()
    nd.dot(*pair, out=pair[place])
    np.testing.assert_array_equal(pair[place].asnumpy(), expected)


def test_a_row_is_added_to_every_row() -> None:
    data, weight, bias = nd.ones((3, 2)), nd.ones((4, 2)), nd.arange(4)
    for _ in range(2):
        out = nd.FullyConnected(data, weight, bias, num_hidden=4)
    assert out.asnumpy().tolist() == [[2, 3, 4, 5]] * 3
