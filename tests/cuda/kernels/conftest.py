"""Tests of what runs on CUDA: on a device, or in numba's simulator.

    make cuda                                    in the simulator, on any machine
    pytest -m cuda                               on a device, where there is one

Which of the two numba offers is decided when it is imported, so the simulator's run is
a process of its own, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minimx.core import drivers, engine
from minimx.core.device import gpu
from minimx.cuda import toolkit


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark what lies here.

    Where there is no CUDA of either kind, one test of each file is skipped and says so;
    the others, a twelfth of all tests, are left out.
    """
    found = toolkit.look()
    reason = f"no CUDA to run on: {found}; `make cuda` runs this in numba's simulator"
    kept, left_out = [], []
    skipped: set[Path] = set()
    for item in items:
        if "cuda/kernels" in item.path.as_posix():
            item.add_marker(pytest.mark.cuda)
            # What a GPU computes in silence, NumPy, which plays it, warns of.
            item.add_marker(pytest.mark.filterwarnings("ignore::RuntimeWarning"))
            if not found.count:
                item.add_marker(pytest.mark.skip(reason=reason))
                if item.path in skipped:
                    left_out.append(item)
                    continue
                skipped.add(item.path)
        kept.append(item)
    if left_out:
        items[:] = kept
        config.hook.pytest_deselected(items=left_out)


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
