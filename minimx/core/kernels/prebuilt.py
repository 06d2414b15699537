"""Calls that are built once, for memory that stays: a table, and a loop that runs it.

A small kernel takes less time than Python takes to call it. Kernels that are nothing
but calls of machine code on addresses can tell which calls (`offers`). Where memory
stays, as in an executor, the calls of neighbours become the rows of one table.

    calls = calls_of(kernel, arrays)    what a launch comes down to, if is_built(kernel)
    run = Prebuilt(calls)
    run()                               all of them, without Python in between

The same machine code runs on the same numbers, whichever way it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from minimx.core.kernels import threads


class Call(NamedTuple):
    """`code(addresses, steps, n)`, compiled by `native.row_kernel`.

    code: where the machine code starts. addresses: one for each operand. steps, n: what
    the code makes of them. around: what must be entered first, the same for all calls
    that need one.
    """

    code: int
    addresses: tuple[int, ...]
    steps: tuple[int, ...]
    n: int
    around: Any = None


Kernel = Callable[..., None]
#: What a launch on these arrays comes down to.
Calls = Callable[..., Sequence[Call]]


def offers(launch: Kernel, calls: Calls) -> Kernel:
    """Attach to a kernel a function that gives its calls for some arrays; the kernel.

    calls: takes the arrays of a launch and returns calls of machine code, which a graph
    then runs as one table without Python between them.
    """
    launch.calls = calls  # type: ignore[attr-defined]
    return launch


def is_built(kernel: Kernel) -> bool:
    """Whether a launch of this kernel is nothing but some calls."""
    return hasattr(kernel, "calls")


def calls_of(kernel: Kernel, arrays: Sequence[Any]) -> Sequence[Call]:
    """The calls of machine code that a launch of the kernel on these arrays makes.

    arrays: inputs, then outputs; C-contiguous, and kept alive as long as the calls,
    which hold their addresses. Only for a kernel that `is_built`.
    """
    found: Sequence[Call] = kernel.calls(*arrays)  # type: ignore[attr-defined]
    return found


def flat(code: int, singles: Sequence[Any], *arrays: Any) -> list[Call]:
    """One call on arrays of the size of the last one, or of a single element.

    singles: arrays of one number, the operands before the last array.
    """
    n = arrays[-1].size
    operands = (*arrays[:-1], *singles, arrays[-1])
    return [
        Call(code, addresses(operands), tuple(int(x.size == n) for x in operands), n)
    ]


def addresses(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Where the memory of arrays begins."""
    return tuple([array.__array_interface__["data"][0] for array in arrays])


class Prebuilt:
    """A table of calls, run in its order."""

    def __init__(self, calls: Sequence[Call]) -> None:
        """The addresses must stay good for as long as this is used."""
        from minimx.core.kernels import native

        # One array has the addresses and steps of all calls; rows point into it.
        numbers = [each for call in calls for each in (*call.addresses, *call.steps)]
        self._numbers = np.array(numbers, np.intp)
        start, rows = self._numbers.ctypes.data, []
        for call in calls:
            steps = start + self._numbers.itemsize * len(call.addresses)
            rows.append((call.code, start, steps, call.n))
            start = steps + self._numbers.itemsize * len(call.steps)
        self._table = np.array(rows, np.intp).reshape(-1, 4)
        few = sum(call.n for call in calls) < threads.SMALL
        self._run = native.run_table_holding if few else native.run_table
        around = (call.around for call in calls if call.around is not None)
        self._around: Any = next(around, nullcontext())

    def __call__(self) -> None:
        """Run all calls on this thread."""
        with self._around:
            self._run(self._table)
