"""Let simulated GPUs take their time on the clock on the wall, too.

The kernels of a simulated GPU are those of the CPU that plays it, so on the wall it
launches at once and copies at the speed of memory. With `MINIMX_SIM_DELAY` every
operation on it then waits as long as it declares, times that factor: launches are felt,
copies queue for their wires, and overlapping them pays.
"""

from __future__ import annotations

import time
from time import perf_counter_ns

from minimx.core.drivers import driver_for
from minimx.core.engine.costs import Wires, declared_ns
from minimx.core.engine.kinds import BULK
from minimx.core.engine.operation import Operation


class Delay:
    """Called after each operation: sleeps for `factor` times its declared time."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self._wires = Wires()

    def __call__(self, operation: Operation) -> None:
        """Sleep if the operation ran on a simulated GPU; a bulk's parts do so alone."""
        if operation.prop == BULK or operation.device.device_type != "gpu":
            return
        if not driver_for(operation.device).simulated:
            return
        ns = round(declared_ns(operation) * self.factor)
        end = self._wires.occupy(operation, perf_counter_ns(), ns)
        time.sleep(max(end - perf_counter_ns(), 0) / 1e9)
