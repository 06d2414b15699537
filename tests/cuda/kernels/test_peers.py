"""Copies between CUDA devices: directly, or through the host (MXNET_ENABLE_GPU_P2P)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import drivers
from minimx.core.device import Device
from minimx.core.drivers import copies, links
from minimx.cuda import toolkit
from minimx.cuda.kernels import peers

ONE, TWO = mx.gpu(0), Device("gpu", 1)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two devices; in the simulator, which has one, the second is played as well."""
    if not toolkit.simulated():
        if toolkit.stack().count < 2:
            pytest.skip("there is only one CUDA device")
        yield None
        return
    from tests.cuda.kernels import playing

    found = playing.two_devices(monkeypatch)
    monkeypatch.setattr(peers, "_known", {})
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        yield found
        mx.nd.waitall()
    drivers.forget(TWO)


def copied(monkeypatch: pytest.MonkeyPatch) -> int:
    """In how many steps an array goes from one device to the other."""
    steps = []
    between = copies.between

    def spy(target: Any, at: Device, source: Any, home: Device) -> None:
        steps.append((home, at))
        between(target, at, source, home)

    x = mx.nd.array([1, 2, 3], ctx=ONE)
    with monkeypatch.context() as patch:
        patch.setattr(copies, "between", spy)
        there = x.copyto(TWO)
        np.testing.assert_array_equal(there.asnumpy(), [1, 2, 3])
    assert there.context is TWO
    return sum(ONE in step or TWO in step for step in steps)


def test_devices_copy_directly_if_they_can_and_may(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copied(monkeypatch) == (1 if peers.reaches(TWO, ONE) else 2)
    with mx.knobs(MXNET_ENABLE_GPU_P2P=0):
        assert copied(monkeypatch) == 2
    if library:
        assert peers.reaches(TWO, ONE)
        copied(monkeypatch)
        assert library.calls.count("cuCtxEnablePeerAccess") == 1  # once is enough


def test_devices_that_cannot_reach_each_other_go_through_the_host(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not library:
        pytest.skip("a machine has the links that it has")
    monkeypatch.setattr(library, "strangers", {(101, 100)})
    assert copied(monkeypatch) == 2
    assert "cuCtxEnablePeerAccess" not in library.calls


def test_links_of_simulated_gpus_do_not_matter(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(a: int, b: int) -> None:
        """No link joins any two."""

    before = copied(monkeypatch)
    monkeypatch.setitem(links.LAYOUTS, "pcie", none)
    assert drivers.link_between(ONE, TWO) is None
    assert copied(monkeypatch) == before


def test_what_another_library_has_allowed_is_no_error(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copied(monkeypatch) in (1, 2)
    monkeypatch.setattr(peers, "_known", {})  # asks again
    assert copied(monkeypatch) in ((1,) if library else (1, 2))
    if library:
        assert library.calls.count("cuCtxEnablePeerAccess") == 2
