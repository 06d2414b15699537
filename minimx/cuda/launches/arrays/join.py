"""Launches of operators that only move elements, whichever way: by a table.

The CPU's kernel of such an operator says all about it. Once for each plan it runs on
numbers that name the elements of the input, -1, -2, ...; what comes out says for every
element of the output which of them belongs there, or, if it is another number, what
fills it. The device gathers by that table. So there is no second text of `Pad`,
`depth_to_space` or `tril`, at the price of one look-up for each element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT64
from minimx.core.errors import MXNetError
from minimx.core.ops.registry import Kernel, Op
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels.arrays import places
from minimx.cuda.launches import implements

#: Operators with one input whose kernels take any element type.
MOVED = (
    *("Pad", "_npi_pad", "depth_to_space", "space_to_depth", "diag", "_backward_diag"),
    *("_np_diag", "_np_diagflat", "_np_diagonal", "_place_diagonals", "_np_roll"),
    *("_np_moveaxis", "_npi_rot90", "_npi_tril", "_npi_triu", "_linalg_extractdiag"),
    *("_linalg_makediag", "_linalg_extracttrian", "_linalg_maketrian"),
    *("_image_crop", "_backward_image_crop", "_image_flip_left_right"),
    *("_image_flip_top_bottom", "_npi_broadcast_to"),
)
#: The same, and a second input gives only its shape.
SHAPED_LIKE = ("Crop",)


@implements(*MOVED, *SHAPED_LIKE)
def moved(op: Any, *specs: Spec) -> Kernel | None:
    """A gather by what the CPU's kernel does to the numbers of elements."""
    data, *others = specs
    out = op.infer(*specs)
    if data.dtype.isbuiltin != 1 or out.dtype != data.dtype:
        return None
    if others and op.name not in SHAPED_LIKE:
        return None
    found = table(op, specs, out)
    if found is None:
        return None
    launch = places.gathered(*found)
    return lambda *arrays: launch(arrays[0], arrays[-1])


def table(op: Op, specs: tuple[Spec, ...], out: Spec) -> tuple[Any, float] | None:
    """For each output element the input's index, or -1, and what fills it there.

    None if the operator does more than to move elements.
    """
    data, *others = specs
    names = -1.0 - np.arange(data.size, dtype=np.float64).reshape(data.shape)
    rest = [np.zeros(spec.shape, FLOAT64) for spec in others]
    found = np.empty(out.shape, np.float64)
    try:
        wide = (Spec.of(data.shape, FLOAT64), *(s.with_dtype(FLOAT64) for s in others))
        op.compute(*wide)(names, *rest, found)
    except MXNetError:
        return None
    named = (found < 0) & (found == np.trunc(found)) & (found >= -data.size)
    fills = np.unique(found[~named])
    if fills.size > 1:
        return None
    where = np.where(named, -1 - found, -1).astype(np.int64).reshape(-1)
    return where, float(fills[0]) if fills.size else 0.0
