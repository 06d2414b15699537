"""Two-byte numbers for launches that compute in float32.

Inputs are widened into scratch memory, the launch for float32 runs on them, and what it
wrote is rounded once, at the end: what the CPU does (`kernels.half.in_single`). That is
one pass over every array more; element by element, in reductions and in copies nothing
of it is needed, as their kernels read and write two bytes themselves.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from minimx.core.dtypes import FLOAT32, NARROW
from minimx.core.errors import MXNetError
from minimx.core.ops.registry import Kernel, Op
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.default_launch import Maker


def in_single(
    maker: Maker, op: Op, specs: tuple[Spec, ...], outs: tuple[Spec, ...]
) -> Kernel | None:
    """The launch for two-byte numbers, from the maker of that for float32.

    None if there is no such launch either, or if what comes out of float32 would have
    another type or shape than what is asked for.
    """
    wide = tuple(map(_wide, specs))
    try:
        found = op.infer(*wide)
    except MXNetError:  # the operator is one of two-byte numbers only
        return None
    results = found if isinstance(found, tuple) else (found,)
    if [_wide(spec) for spec in results] != [_wide(spec) for spec in outs]:
        return None
    launch = maker(op, *wide)
    if launch is None:
        return None
    count = len(specs)
    names = (op.inputs,) if isinstance(op.inputs, str) else tuple(op.inputs)
    changed = {names.index(name) for name in op.mutates}
    every = list(zip((*specs, *outs), (*wide, *results), strict=True))
    widen, narrow = {}, {}
    for index, (spec, real) in enumerate(every):
        if spec.dtype is not real.dtype:
            widen[index] = _cast(spec, real) if index < count else None
            if index >= count or index in changed:
                narrow[index] = _cast(real, spec)

    def run(*arrays: Any) -> None:
        given = list(arrays)
        with ExitStack() as stack:
            for index, convert in widen.items():
                shape, dtype = every[index][1].shape, every[index][1].dtype
                buffer = scratch.allocated((shape or (1,), dtype))
                (given[index],) = stack.enter_context(buffer)
                if convert is not None:
                    convert(arrays[index], given[index])
            launch(*given)
            for index, convert in narrow.items():
                convert(given[index], arrays[index])

    return run


def _wide(spec: Spec) -> Spec:
    return Spec.of(spec.shape, FLOAT32) if spec.dtype in NARROW else spec


def _cast(source: Spec, target: Spec) -> Any:
    """The launch that copies from one type to another."""
    return pointwise.converted(source.size, source.dtype, target.dtype)
