"""Launches of sorting and of running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.kernels.half import computing
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.core import indexing
from minimx.cuda.launches import implements


@implements("sort", "argsort", "topk")
def order(op: Any, *specs: Spec) -> Kernel | None:
    """Merges of runs, then a gather."""
    (data,) = specs
    found = op.infer(data)
    outs = found if isinstance(found, tuple) else (found,)
    if any(spec.dtype in NARROW for spec in (data, *outs)) or data.dtype.kind == "b":
        return None
    shape, axis = op.split(data)
    if op.name == "sort":
        return indexing.sort(shape, axis, op.is_ascend)
    if op.name == "argsort":
        return indexing.argsort(shape, axis, op.is_ascend)
    k = op.k or shape[axis]
    return indexing.topk(shape, axis, k, op.is_ascend, op.ret_typ)


@implements("cumsum", "_npi_cumprod")
def running(op: Any, *specs: Spec) -> Kernel | None:
    """In the type of the sums, half precision in float32."""
    (data,), out = specs, op.infer(*specs)
    if NARROW & {data.dtype, out.dtype} or "b" in (data.dtype.kind, out.dtype.kind):
        return None
    axis = op.axis if op.axis is None else op.axis % data.ndim
    wide = np.promote_types(computing(out.dtype), out.dtype)
    return places.cumsum(data.shape, axis, wide, op.name == "_npi_cumprod")
