"""Kernels of sparse arrays do what NumPy does in many steps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minimx import nd
from minimx.core.kernels import find


@given(
    columns=st.sampled_from([1, 7, 40, 5_000_000]),
    draws=st.lists(st.floats(0, 1, exclude_max=True), max_size=40),
)
def test_a_transpose_stores_the_rows_that_have_elements(
    columns: int, draws: list[float]
) -> None:
    places = np.array([int(x * columns) for x in draws], np.int64)
    each = np.arange(len(places) + 1)
    data, order, begins, stored = find("sparse.turn")(places, places, each, columns)
    assert stored.tolist() == np.unique(places).tolist()
    assert order.tolist() == np.argsort(places, kind="stable").tolist()
    assert data.tolist() == places[order].tolist()
    assert data.tolist() == np.repeat(stored, np.diff(begins)).tolist()


def test_a_csr_matrix_with_columns_out_of_order_is_multiplied_turned() -> None:
    entries = [1.0, 2.0, 3.0, 4.0, 5.0], [3, 0, 3, 1, 3], [0, 2, 3, 3, 5]
    lhs = nd.sparse.csr_matrix(entries, shape=(4, 6))
    rhs = np.arange(8, dtype=np.float32).reshape(4, 2)
    wanted = np.zeros((6, 2), np.float32)
    for row, (begin, end) in enumerate(zip(entries[2], entries[2][1:], strict=False)):
        for at in range(begin, end):
            wanted[entries[1][at]] += np.float32(entries[0][at]) * rhs[row]
    for stype in ("default", "row_sparse"):
        found = nd.sparse.dot(lhs, nd.array(rhs), transpose_a=True, forward_stype=stype)
        assert found.stype == stype
        assert np.array_equal(found.asnumpy(), wanted)
