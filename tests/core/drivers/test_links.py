"""Layouts of links, the hops and wires of a copy, and what it costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core import drivers
from minimx.core.device import Device, cpu, cpu_pinned, gpu
from minimx.core.drivers.cards import CARDS, GENERIC, scaled
from minimx.core.drivers.links import (
    LAYOUTS,
    NVLINK,
    PCIE,
    hops,
    mesh,
    nvswitch,
    pcie,
    place,
    sockets,
    weights,
    wires,
)
from minimx.core.knobs import knobs

devices = st.one_of(
    st.integers(0, 15).map(gpu), st.integers(0, 3).map(cpu), st.just(cpu_pinned())
)
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@layouts
def test_links_lead_both_ways(layout: drivers.links.Layout) -> None:
    found = weights(layout, 16)
    assert found == tuple(zip(*found, strict=True))
    assert all(row[i] == 0 for i, row in enumerate(found))
    assert all(weight > 0 for i, row in enumerate(found) for weight in (row[:i]))


def test_the_mesh_has_the_six_links_of_every_v100() -> None:
    matrix = weights(mesh, 8)
    for row in matrix:
        assert sum(weight - 1 for weight in row if weight > 1) == 6
    assert matrix[0] == (0, 2, 2, 3, 3, 1, 1, 1)
    assert mesh(0, 8) is None


def test_who_reaches_whom() -> None:
    assert pcie(0, 15) is PCIE
    assert weights(nvswitch, 2) == ((0, 7), (7, 0))
    assert sockets(3, 4) is None
    assert sockets(5, 4) is PCIE


@given(devices, devices, st.sampled_from([None, PCIE, NVLINK]))
def test_a_way_leads_from_start_to_end(
    start: Device, end: Device, link: drivers.links.Link | None
) -> None:
    way = hops(start, end, link)
    assert (way[0][0], way[-1][1]) == (start, end)
    assert all(a[1] is b[0] for a, b in zip(way, way[1:], strict=False))
    for a, b in way:
        assert bool(wires(a, b, link)) == (place(a) != place(b))
    staged = len(way) == 2
    two_gpus = start.device_type == end.device_type == "gpu" and start is not end
    assert staged == (two_gpus and link is None)


def test_directions_do_not_disturb_each_other() -> None:
    assert not set(wires(gpu(0), gpu(1), PCIE)) & set(wires(gpu(1), gpu(0), PCIE))
    assert set(wires(gpu(0), gpu(1), PCIE)) & set(wires(gpu(0), cpu(), None))
    assert not set(wires(gpu(0), gpu(1), NVLINK)) & set(wires(gpu(0), cpu(), None))


def test_a_scaled_card_is_a_fraction() -> None:
    card, costs = CARDS["V100"], CARDS["V100"].costs
    small = scaled(card)
    assert small == CARDS["V100/16"]
    assert small.memory * 16 == card.memory == 16 << 30
    assert small.costs.launch_ns == costs.launch_ns
    assert small.costs.run_ns(1e9, 0) - 5_000 == pytest.approx(
        16 * (costs.run_ns(1e9, 0) - 5_000), rel=1e-3
    )
    assert GENERIC.costs.driver_call_ns == 0


def test_what_joins_a_gpu_stands_in_its_repr() -> None:
    with knobs(MINIMX_SIM_GPUS=2):
        driver = drivers.driver_for(gpu(0))
        assert "PCIe, 12 GB/s to the next GPU" in repr(driver)
        with knobs(MINIMX_SIM_LINKS="mesh", MINIMX_SIM_LAUNCH=7):
            assert "NVLink, 23 GB/s to the next GPU" in repr(driver)
            assert "7 µs a launch" in repr(driver)
        with knobs(MXNET_ENABLE_GPU_P2P=0):
            assert "through the host, 12 GB/s to the next GPU" in repr(driver)
    assert "next GPU" not in repr(driver)
