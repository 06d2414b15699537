"""How kernels are launched, and what numba's simulator needs for it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from minimx.cuda import toolkit
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda


@launching.kernel
def _neighbours(out: Any) -> None:
    """Every thread of a block hands its number to the thread before it."""
    seen = cuda.shared.array(8, np.int64)
    at = cuda.threadIdx.x
    seen[at] = at
    cuda.syncthreads()
    out[at] = seen[(at + 1) % 8]


@pytest.mark.usefixtures("working")
def test_the_threads_of_a_block_share_an_array_they_all_ask_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = cuda.device_array(8, np.int64)
    if toolkit.simulated():
        empty = np.empty

        def slow(*args: Any, **kwargs: Any) -> Any:
            """While one makes the memory, the others ask for it."""
            time.sleep(0.002)
            return empty(*args, **kwargs)

        monkeypatch.setattr(np, "empty", slow)
    _neighbours[1, 8](out)
    monkeypatch.undo()
    assert out.copy_to_host().tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
