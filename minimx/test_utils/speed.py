"""How long a symbol takes to run."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.device import Context
from minimx.core.errors import ArgumentError
from minimx.symbol import Symbol
from minimx.test_utils.defaults import default_context


def check_speed(
    sym: Symbol,
    location: dict[str, Any] | None = None,
    ctx: Context | None = None,
    N: int = 20,
    grad_req: Any = "write",
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Seconds for one run, the mean of N after one that is not counted.

    location: values of arguments; by default normal ones, of shapes in kwargs. typ:
    'whole', forward and backward, or 'forward'.
    """
    if typ not in ("whole", "forward"):
        raise ArgumentError(f"check_speed: typ={typ!r}; give 'whole' or 'forward'.")
    shapes = {name: np.shape(value) for name, value in (location or {}).items()}
    executor: Any = sym.simple_bind(
        default_context() if ctx is None else ctx,
        grad_req=grad_req or "write",
        **(kwargs if location is None else shapes),
    )
    for name, array in executor.arg_dict.items():
        if location is None:
            array[:] = np.random.normal(size=array.shape)
        elif name in location:
            array[:] = location[name]

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    run()
    nd.waitall()
    began = time.perf_counter()
    for _ in range(N):
        run()
    nd.waitall()
    return (time.perf_counter() - began) / N
