"""A prediction as a scene: what is drawn is what was simulated."""

from __future__ import annotations

import numpy as np
import pytest

from minimx.kvstore.simulation import Cluster, Layer, Link, Workload
from minimx_widgets.pictures.kvstore import scene as scenes
from minimx_widgets.pictures.kvstore.layout import laid_out
from minimx_widgets.pictures.kvstore.scene import (
    COMPUTING,
    KINDS,
    PULL,
    PUSH,
    REDUCE,
    Bars,
    Scene,
    disconnected,
    modelled,
)
from minimx_widgets.pictures.kvstore.trial import PRESETS, STORES, Trial, preset

WIRE = Link(1e-3, 1e6)
#: Only links take time: 1 ms, and 1 µs for each byte.
SWITCH = Cluster("test", WIRE, WIRE, memory=1e18, host_memory=1e18)
NET = Workload((Layer("top", 1000, 1e-3, 2e-3), Layer("bottom", 500, 1e-3, 2e-3)))


def scene(trial: Trial) -> Scene:
    return modelled(trial.predicted(), trial.work, trial.changed, trial.cluster)


def test_a_small_step_is_drawn_to_the_nanosecond() -> None:
    found = scene(Trial(NET, SWITCH, "local", 2))
    bars = [
        (
            found.rows[row].label,
            KINDS[kind],
            found.keys[key].name,
            start / 1e6,
            end / 1e6,
            [found.layout.wires[w].name for w in found.routes[route]]
            if route >= 0
            else [],
        )
        for row, kind, key, start, end, route in zip(
            found.bars.row.tolist(),
            found.bars.kind.tolist(),
            found.bars.key.tolist(),
            found.bars.start.round().tolist(),
            found.bars.end.round().tolist(),
            found.bars.route.tolist(),
            strict=True,
        )
        if kind != REDUCE
    ]
    up = ["worker 0 → switch", "switch → host"]
    assert ("worker 0", "push", "top", 2.0, 8.0, up) in bars
    assert (
        "worker 1",
        "push",
        "top",
        8.0,
        14.0,
        ["worker 1 → switch", *up[1:]],
    ) in bars
    assert ("worker 0", "pull", "top", 14.0, 20.0,
            ["host → switch", "switch → worker 0"]) in bars  # fmt: skip
    assert ("worker 0", "forward", "bottom") in [bar[:3] for bar in bars]
    assert [row.label for row in found.rows] == ["worker 0", "worker 1", "host"]
    assert [(k.name, k.priority, k.nbytes) for k in found.keys] == [
        ("top", 1, 4000),
        ("bottom", 0, 2000),
    ]


def test_waits_are_where_a_worker_does_not_compute() -> None:
    found = scene(Trial(NET, SWITCH, "local", 2))
    assert found.numbers is not None
    for row in (0, 1):
        mine = (found.bars.row == row) & np.isin(found.bars.kind, COMPUTING)
        last = found.bars.end[mine].max()
        computes = (found.bars.end - found.bars.start)[mine].sum()
        waited = sum(end - start for k, start, end in found.waits if k == row)
        assert waited + computes == pytest.approx(last, abs=1)
    assert found.numbers.exposed == pytest.approx(
        max(sum(e - s for k, s, e in found.waits if k == row) for row in (0, 1)), abs=1
    )


@pytest.mark.parametrize("cluster", PRESETS)
@pytest.mark.parametrize("store", STORES)
def test_all_that_is_sent_goes_over_links_that_are_drawn(
    store: str, cluster: str
) -> None:
    trial = Trial(NET, preset(cluster), store, 9)
    prediction, found = trial.predicted(), scene(trial)
    drawn = {
        wire.name: load.nbytes
        for wire, load in zip(found.layout.wires, found.loads, strict=True)
        if load.nbytes
    }
    assert drawn == prediction.nbytes
    copies = np.isin(found.bars.kind, (PUSH, PULL))
    assert (found.bars.route[copies] >= 0).all()
    assert (np.diff(found.bars.start) >= 0).all()
    assert found.span >= found.bars.end.max() - 1e-6


@pytest.mark.parametrize("workers", [1, 2, 16, 17, 64, 4096])
@pytest.mark.parametrize("store", ["device", "ring", "dist_sync"])
def test_many_workers_are_joined(store: str, workers: int) -> None:
    found = scene(Trial(NET, preset("cloud"), store, workers))
    above = [place for place in found.layout.places if place.kind == "worker"]
    assert len(found.layout.places) <= 32
    assert sum(place.count for place in above) == workers
    assert all(0 < place.x < 1 and 0 < place.y < 1 for place in found.layout.places)
    assert len({(p.x, p.y) for p in found.layout.places}) == len(found.layout.places)


def test_too_many_bars_are_joined_and_keep_their_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slices = [(0, PUSH, k // 50, 0, 1000 * k, 1000 * k + 900, 10) for k in range(100)]
    rows = [(row, kind, key, start, end, route, nbytes)
            for row, kind, key, route, start, end, nbytes in slices]  # fmt: skip
    assert len(Bars.of(rows)) == 100
    monkeypatch.setattr(scenes, "MOST_BARS", 10)
    few = Bars.of(rows)
    assert few.key.tolist() == [0, 1]
    assert few.start.tolist() == [0, 50_000] and few.end.tolist() == [49_900, 99_900]
    assert few.nbytes.tolist() == [500, 500]


def test_links_are_slow_or_cut_as_they_were_changed() -> None:
    trial = Trial(NET, preset("DGX-like"), "device", 4)
    trial = trial.with_link("worker 0 → worker 1", 0.25).with_straggler(2, 2)
    cut = trial.with_link("worker 0 → worker 2", 0)
    wires = {wire.name: wire for wire in scene(cut).layout.wires}
    assert wires["worker 0 → worker 1"].state == "slow"
    assert wires["worker 0 → worker 2"].state == "cut"
    assert wires["worker 2 → worker 0"].state == ""
    assert [place.factor for place in scene(cut).layout.places] == [1, 1, 2, 1]


def test_a_network_lies_between_machines_and_the_host_beside_its_workers() -> None:
    cluster = preset("DGX-like")
    groups = [f"worker {k}" for k in range(16)]
    made = laid_out(cluster, cluster, groups, servers=2, host=True)
    assert [bus.name for bus in made.buses] == [
        "switch of machine 0",
        "switch of machine 1",
        "network",
    ]
    names = {wire.name for wire in made.wires}
    assert {"machine 1 → network", "server 1 → switch", "host → switch"} <= names
    left, right, network = made.buses
    assert left.right < right.left and left.y < network.y


def test_where_there_is_no_way_there_is_a_lesson() -> None:
    cluster = preset("Ethernet")
    found = disconnected("no way", "title", cluster, cluster, 64, "dist_sync")
    assert found.lesson == "no way" and found.numbers is None and len(found.bars) == 0
    assert found.layout.places[0].count == 64
