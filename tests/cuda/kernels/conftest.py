"""Tests of what runs on CUDA: on a device, or in numba's simulator.

    make cuda                                    in the simulator, on any machine
    pytest -m cuda                               on a device, where there is one

Which of the two numba offers is decided when it is imported, so the simulator's run is
a process of its own, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minimx.core import drivers, engine
from minimx.core.device import gpu
from minimx.cuda import toolkit


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here, and skip it where there is no CUDA of either kind."""
    found = toolkit.look()
    reason = f"no CUDA to run on: {found}; `make cuda` runs this in numba's simulator"
    for item in items:
        if "cuda/kernels" not in item.path.as_posix():
            continue
        item.add_marker(pytest.mark.cuda)
        # What a GPU computes in silence, NumPy, which plays it, warns of.
        item.add_marker(pytest.mark.filterwarnings("ignore::RuntimeWarning"))
        if not found.count:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def on_the_device() -> Iterator[None]:
    """An operator that visits the host says so, and pytest makes an error of it."""
    from minimx.cuda import launches

    launches._reported.clear()
    yield
    engine.wait_all()  # the simulator runs one kernel at a time


@pytest.fixture
def working() -> Iterator[None]:
    """This thread may launch kernels itself."""
    with drivers.working(gpu(0)):
        yield
