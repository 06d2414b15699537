"""Monitor: statistics of what passes through an executor, every few batches.

    monitor = mx.mon.Monitor(10, pattern=".*weight|.*output")
    monitor.install(executor)
    monitor.tic()
    executor.forward(is_train=True)
    executor.backward()
    monitor.toc_print()

Of the backward pass it shows gradients, in MXNet's names: `fc_backward_output1` is that
of the second input of `fc`, `sum_grad_output` one that came together from several
users, `_head_grad_0_id_output` what `backward` was given.

Blocks are watched with `HybridBlock.register_op_hook`, and their gradients with
`mx.numerics.watch`. `FiniteWatch` finds where the first NaN or infinity came from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.executor import Executor
from minimx.tools.finite import FiniteWatch

__all__ = ["FiniteWatch", "Monitor"]

Stat = tuple[int, str, str]


def _size(array: NDArray) -> NDArray:
    """The root of the mean square; it is computed later."""
    norm: NDArray = nd.norm(array) / math.sqrt(array.size)
    return norm


class Monitor:
    """Collects a statistic of arrays by name.

    interval: every how many batches. stat_func: from an array to one or several; by
        default the root of the mean square. pattern: names must match from their start.
    sort: by name. monitor_all: also what goes into each operator of the forward pass.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        if interval < 1:
            raise ArgumentError(f"Monitor: interval={interval}; give 1 or more.")
        self.interval = interval
        self.stat_func = stat_func or _size
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.step = 0
        self.queue: list[tuple[int, str, Any]] = []
        self.exes: list[Executor] = []

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Collect the statistic of an array, if this batch is due and the name matches.

        Executors call it for every output.
        """
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Watch an executor; those that were installed before stay watched."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Call before a batch: collect statistics of it, if it is due."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[Stat]:
        """Call after a batch: [(batch, name, text)], empty if it was not due.

        Adds the statistics of arguments and auxiliary states, and waits for all of
        them.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for named in (exe.arg_dict, exe.aux_dict):
                for name, array in named.items():
                    self.stat_helper(name, array)
        self.activated = False
        found, self.queue = self.queue, []
        if self.sort:
            found.sort(key=lambda one: one[1])
        return [(step, name, _text_of(stats)) for step, name, stats in found]

    def toc_print(self) -> None:
        """Call after a batch: write what `toc` returns to the root logger, as INFO."""
        import logging  # slow to import, and most programs log nothing

        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)


def _text_of(stats: Any) -> str:
    arrays = stats if isinstance(stats, (list, tuple)) else [stats]
    numbers = [one.asnumpy() for one in arrays]
    return "".join(f"{one[0] if one.shape == (1,) else one}\t" for one in numbers)
