"""The sum of row_sparse arrays on the host: the union of their rows, summed by row.

Rows of one number meet in the order of the arrays, on one thread or on several
(MXNET_KVSTORE_SERIAL_PUSH), so the sum is the same to the bit. Each array has a row
once, so threads that share its rows never write to the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt
from minimx.core.ops.stypes import Rows
from minimx.nd.sparse.chunk import Destination
from minimx.operators.sparse.pairs import union_of_rows
from minimx.operators.sparse.pointwise import in_order

_COMPILED = ("float32", "float64", "int32", "int64")


@threads.jit(parallel=True)
def _add(part: Any, data: Any, places: Any, total: Any) -> None:
    """Add row k of `data` (n, width) to row `places[k]` of `total`, for all k."""
    width = data.shape[1]
    for k in dealt(data.shape[0], part):
        at = places[k]
        for i in range(width):
            total[at, i] += data[k, i]


def add(arrays: Sequence[Rows], out: Destination, most: int) -> None:
    """Let `out` store the sum of what row_sparse arrays store.

    most: how many threads may take part.
    """
    ordered = [in_order(one) for one in arrays]
    numbers = union_of_rows(*[one.indices for one in ordered])
    made = out.rows(len(numbers))
    np.copyto(made.indices, numbers)
    width = prod(made.data.shape[1:])
    total = made.data.reshape(len(numbers), width)
    total.fill(0)
    for one in ordered:
        places = np.searchsorted(numbers, one.indices)
        data = one.data.reshape(len(places), width)
        if data.dtype.name in _COMPILED and data.size:
            _add.sharing(most if data.size >= threads.SMALL else 1, data, places, total)
        else:  # element types that numba has no numbers of, such as float16
            total[places] += data
