"""Operators on arrays whose results have a length that a mask decides.

How many elements are chosen is known only when the mask has been read, so these wait
for it, and then take by indices, an ordinary operator with its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import from_numpy_copy
from minimx.core.errors import ShapeError
from minimx.core.operators.indexing import Take
from minimx.core.ops.registry import Op, register
from minimx.core.shapes import normalize_axis


@register("_contrib_boolean_mask")
class BooleanMask(Op):
    """The slices along an axis where a mask is not 0.

    data (4, 3), index (4,), axis=0; out (k, 3), if k numbers of index are not 0
    """

    axis: int = 0
    inputs = ("data", "index")

    @staticmethod
    def eager(op: BooleanMask, inputs: Sequence[NDArray], out: Any) -> Any:
        """Wait for the mask, then take the slices where it is not 0.

        inputs: data and index; out: None or an array of the result's shape. Raises
        ShapeError for a mask of another length.
        """
        data, index = inputs
        axis = normalize_axis(op.name, op.axis, data.ndim)
        if index.ndim != 1 or index.size != data.shape[axis]:
            raise ShapeError(
                f"boolean_mask: the mask {index.shape} must have one number for each "
                f"of the {data.shape[axis]} slices of {data.shape} along axis {axis}."
            )
        indices = from_numpy_copy(
            np.flatnonzero(index.asnumpy()), data.context, type(data)
        )
        return invoke(Take.of(axis=axis), [data, indices], out)
