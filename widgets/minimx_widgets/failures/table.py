"""An operator with a kernel of its own, which refuses rows that a table lacks.

The kernel runs on a worker. No thread waits for it there, so what it raises travels
with its result until the program reads that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.arrays.launch import invoke
from minimx.core.errors import OperatorError
from minimx.core.operators.indexing import BackwardTake
from minimx.core.ops.registry import GradContext, Op, Value, bind, with_settings
from minimx.core.ops.spec import Spec

Array = Any


def _take(weight: Array, ids: Array, out: Array) -> None:
    """Copy a row of the table for each number."""
    wrong = np.flatnonzero((ids < 0) | (ids >= len(weight)))
    if len(wrong):
        error = IndexError(
            f"take_rows: sample {wrong[0]} asks for row {int(ids[wrong[0]])}, and the "
            f"table has {len(weight)}."
        )
        raise OperatorError(f"minimx_lab_take_rows: its kernel raised {error!r}")
    out[:] = weight[ids.astype(np.int64)]


class TakeRows(Op):
    """Rows of a table by their numbers: weight (5, 6), ids (8,); out (8, 6).

    It stands in no dictionary: no other program is to find it under `mx.nd`.
    """

    name = "minimx_lab_take_rows"
    inputs = ("weight", "ids")
    saves = ("ids",)

    def infer(self, *specs: Spec) -> Spec:
        """A row for each number."""
        weight, ids = specs
        return Spec.of((*ids.shape, *weight.shape[1:]), weight.dtype)

    def kernel(self, *specs: Spec) -> Any:
        """Plain NumPy."""
        return _take

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Each row gets what its readers got."""
        back = BackwardTake.of(shape=at.ins[0].shape)
        return (bind(back, dout, *saved), None)


def take_rows(weight: Any, ids: Any) -> Any:
    """The rows of a table; for one that it lacks an `OperatorError`, later."""
    return invoke(_TAKE, [weight, ids])


_Sheet = with_settings(TakeRows)
_Sheet._made = {}
_TAKE = _Sheet.of()
