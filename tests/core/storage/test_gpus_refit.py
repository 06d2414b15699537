"""The number of GPUs changes while work for them is under way."""

from __future__ import annotations

import threading

import pytest

from minimx import nd
from minimx.core import engine
from minimx.core.device import gpu
from minimx.core.errors import KnobBusy
from minimx.core.knobs import knobs


@pytest.mark.timeout(60)
def test_operations_may_open_a_pool_while_gpus_are_taken_away() -> None:
    """A lock held while the engine ends its work would never be free for them."""
    free = threading.Event()
    with knobs(MINIMX_SIM_GPUS=3):
        kept = nd.ones(4, ctx=gpu(1))
        kept.wait_to_read()
        blocked = engine.Var()
        engine.push(lambda: free.wait(30), gpu(2), [], [blocked], "wait")
        first = nd.array([0.0] * 4, ctx=gpu(2))  # the first there, behind that wait
        threading.Timer(0.2, free.set).start()
        with pytest.raises(KnobBusy, match=r"gpu\(1\)"):
            knobs.set(MINIMX_SIM_GPUS=1)
        assert first.asnumpy().tolist() == [0.0] * 4
        del kept, first
        engine.wait_all()


def test_operations_that_were_pushed_find_their_gpu() -> None:
    with knobs(MINIMX_SIM_GPUS=2):
        nd.zeros(1, ctx=gpu(0)).wait_to_read()
        free = threading.Event()
        blocked = engine.Var()
        engine.push(lambda: free.wait(30), gpu(1), [], [blocked], "wait")
        engine.push(lambda: free.wait(30), gpu(1), [], [blocked], "wait")
        late = [nd.ones(2, ctx=gpu(1)) for _ in range(4)]  # their pool is not open
        threading.Timer(0.2, free.set).start()
        del late
    engine.wait_all()
