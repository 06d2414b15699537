"""What MXNET_ENGINE_INFO prints around every wait: for whom, and how long it took.

    Wait for dot, pushed at train.py:12, on cpu(0)
    Waited 1.254 ms

NaiveEngine never waits, and on the virtual clock no time passes: they print nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from minimx.core.engine.operation import Operation
from minimx.core.engine.origin import where
from minimx.core.engine.var import Claim
from minimx.core.knobs import knobs


@contextmanager
def logged(whom: Claim | str | None) -> Iterator[None]:
    """Print that a thread waits, and then how long it did, if the knob is on."""
    if not knobs.get("MXNET_ENGINE_INFO"):
        yield
        return
    print("Wait for", whom if isinstance(whom, str) else named(whom))
    began = perf_counter()
    try:
        yield
    finally:
        print(f"Waited {1e3 * (perf_counter() - began):.3f} ms")


def named(claim: Claim | None) -> str:
    """The operation that has to be done first; there is none if only reads are left."""
    if not isinstance(claim, Operation):
        return "those who read"
    place = where(claim.origin)
    pushed = f", pushed at {place}" if place else ""
    return f"{claim.name}{pushed}, on {claim.device}"
