"""The share of a part of a kernel: see `threads.Parallel`, and `compiled_parts`.

    dealt(n, part)              the numbers below n that a part has, for a loop
    ends(n, part)               the first of them, and the first behind the last
    copy(source, target)        target[:] = source, which compiles in no time

Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import compiled_parts, threads

#: numba's type of a part: which one, of how many. (Code on disk depends on that module,
#: so that those who import this one have to import it.)
PART = compiled_parts.PART


@threads.jit(inner=True, forceinline=True)
def ends(n: int, part: tuple[int, int]) -> tuple[int, int]:
    """The first number below `n` that a part has, and the first behind its last.

    part: (which one, of how many).
    """
    return n * part[0] // part[1], n * (part[0] + 1) // part[1]


@threads.jit(inner=True, forceinline=True)
def dealt(n: int, part: tuple[int, int]) -> range:
    """The numbers below `n` that a part has; of 5, the first of two has 0 and 1.

    They are unsigned: of others numba asks at every access whether they are negative.
    """
    first, last = ends(n, part)
    return range(np.uintp(first), np.uintp(last))


@threads.jit(inner=True)
def copy(source: Any, target: Any) -> None:
    """target[:] = source, of one axis and the same length.

    numba's own assignment checks the lengths, and compiles for 2 s what says that they
    differ.
    """
    for i in range(target.size):
        target[i] = source[i]
