"""The sum of several arrays on the host, four at a time, as MXNet's kvstore adds.

    out = x0 + (x1 + x2 + x3 + x4) + (x5 + …) + …

The order of the additions is MXNet's, so the last bits are. All arrays are read once:
elements are handled in runs that stay in the cache while the groups are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt
from minimx.kvstore.planners.flat import AT_ONCE, groups

#: Elements that are added before the next ones are looked at; MXNet's number.
RUN = 4096
_COMPILED = ("float32", "float64", "int32", "int64")


@threads.jit(parallel=True)
def _add(
    part: Any, have: Any, a: Any, b: Any, c: Any, d: Any, count: int, out: Any
) -> None:
    """Out = have + (the first `count` of a, b, c, d); all flat, out may be `have`."""
    size = out.size
    for run in dealt(-(-size // RUN), part):
        for i in range(np.uintp(run * RUN), np.uintp(min((run + 1) * RUN, size))):
            more = a[i]
            if count > 1:
                more += b[i]
            if count > 2:
                more += c[i]
            if count > 3:
                more += d[i]
            out[i] = have[i] + more


@threads.jit(parallel=True)
def _add_two_groups(
    part: Any, have: Any, a: Any, b: Any, c: Any, d: Any,
    e: Any, f: Any, g: Any, h: Any, count: int, out: Any,
) -> None:  # fmt: skip
    """Out = have + (a + b + c + d) + (the first `count` of e, f, g, h)."""
    size = out.size
    for run in dealt(-(-size // RUN), part):
        for i in range(np.uintp(run * RUN), np.uintp(min((run + 1) * RUN, size))):
            more = e[i]
            if count > 1:
                more += f[i]
            if count > 2:
                more += g[i]
            if count > 3:
                more += h[i]
            out[i] = (have[i] + (a[i] + b[i] + c[i] + d[i])) + more


def add(arrays: Sequence[Any], out: Any, most: int) -> None:
    """Fill `out` with the sum of NumPy arrays of its shape and type, at least two.

    most: how many threads may take part.
    """
    have, *others = (array.reshape(-1) for array in arrays)
    flat = out.reshape(-1)
    if out.dtype.name not in _COMPILED:
        _add_with_numpy([have, *others], flat)
        return
    while others:
        now, others = others[: 2 * AT_ONCE], others[2 * AT_ONCE :]
        count = len(now) - (AT_ONCE if len(now) > AT_ONCE else 0)
        kernel = _add_two_groups if len(now) > AT_ONCE else _add
        room = AT_ONCE if kernel is _add else 2 * AT_ONCE
        summands = now + [now[-1]] * (room - len(now))  # as many as it has arguments
        kernel.sharing(most, have, *summands, count, flat)
        have = flat


def _add_with_numpy(arrays: Sequence[Any], out: Any) -> None:
    """The same for element types that numba has no numbers of, such as float16."""
    have = arrays[0].copy()
    for group in groups(len(arrays)):
        more = arrays[group[0]].copy()
        for k in group[1:]:
            more += arrays[k]
        have += more
    out[...] = have
