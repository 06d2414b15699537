"""What a simulated step takes: known cases, and what holds in all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.errors import ArgumentError
from minimx.kvstore.planners import flat, ring
from minimx.kvstore.planners.steps import traffic
from minimx.kvstore.simulation import (
    Cluster,
    Layer,
    Link,
    Prediction,
    Workload,
    scaling,
    simulate,
)
from minimx.kvstore.simulation.planned import MOST_SEARCHED

WIRE = Link(1e-3, 1e6)
#: Only links take time.
SWITCH = Cluster("test", WIRE, WIRE, memory=1e18, host_memory=1e18)
ONE = Workload((Layer("only", 1000, 0.0, 0.0),))  # 4,000 bytes
STORES = ("local", "device", "tree", "ring", "dist_sync", "dist_async", "p3")
IN_ORDER = ("local", "tree", "ring", "dist_sync", "dist_async")
NET = Workload(
    tuple(Layer(f"layer{9 - k}", 1000 * (k + 1), 0.002, 0.004) for k in range(10))
)


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)


def test_a_copy_takes_latency_and_bytes_over_bandwidth() -> None:
    cluster = Cluster.of_matrix([[0, 1e6], [1e6, 0]], latency=1e-3, wire=WIRE)
    cluster = replace(cluster, memory=1e18, host_memory=1e18)
    found = simulate(ONE, cluster, "device", 2)
    assert found.step_seconds == close(2 * (1e-3 + 4e-3))  # there, and back again
    assert found.nbytes == {"worker 1 → worker 0": 4000, "worker 0 → worker 1": 4000}


def test_a_host_takes_one_gradient_after_the_other() -> None:
    for n in (2, 5, 16):
        found = simulate(ONE, SWITCH, "local", n)
        assert found.step_seconds == close(2 * n * (2e-3 + 4e-3))
        assert found.nbytes["switch → host"] == 4000 * n


def test_a_ring_takes_as_long_for_any_number() -> None:
    for n in (2, 4, 8):
        found = simulate(ONE, SWITCH, "ring", n)
        rounds = 2 * (n - 1)
        assert found.step_seconds == close(rounds * (2e-3 + 4e-3 / n))
        assert found.nbytes["worker 0 → switch"] == rounds * 4000 // n


def test_communication_hides_behind_a_longer_backward_pass() -> None:
    table = Workload((ONE.layers[0], Layer("first", 1, 0.0, 1.0)))
    found = simulate(table, SWITCH, "ring", 2)
    alone = simulate(Workload(table.layers[1:]), SWITCH, "ring", 2)
    assert found.step_seconds == close(alone.step_seconds)
    assert alone.overlap == 0
    assert 0.6 < found.overlap < 0.7  # of two keys the first, which is longer


def forward_start(found: Prediction, layer: str) -> float:
    return min(
        lane.start
        for lane in found.lanes
        if lane.phase == "forward" and lane.key == layer
    )


def test_p3_starts_the_next_forward_pass_earlier() -> None:
    table = Workload(
        (Layer("back", 1_000_000, 0.1, 0.01), Layer("front", 1000, 0.1, 0.01))
    )
    cluster = replace(SWITCH, wire=Link(1e-5, 1e7), host=Link(1e-5, 1e7))
    fifo = simulate(table, cluster, "dist_sync", 4, servers=1)
    urgent = simulate(table, cluster, "p3", 4, servers=1, slice_threshold=10_000)
    assert forward_start(urgent, "front") < 0.2 * forward_start(fifo, "front")
    assert urgent.step_seconds < fifo.step_seconds


def test_p3_sends_by_the_priorities_that_are_given() -> None:
    table = Workload(
        (Layer("back", 1_000_000, 0.1, 0.01), Layer("front", 1000, 0.1, 0.01))
    )
    cluster = replace(SWITCH, wire=Link(1e-5, 1e7), host=Link(1e-5, 1e7))

    def start(**priorities: int) -> float:
        given: Any = {"priorities": priorities} if priorities else {}
        found = simulate(
            table, cluster, "p3", 4, servers=1, slice_threshold=10_000, **given
        )
        return forward_start(found, "front")

    assert start() == start(front=0, back=-1) == start(front=7, back=3)
    assert start(front=0, back=1) > 4 * start()
    for wrong in ({"front": 1}, {"front": 1, "back": 0, "other": 2}):
        with pytest.raises(ArgumentError, match="one for each of back, front"):
            start(**wrong)
    with pytest.raises(ArgumentError, match="priorities are for p3"):
        simulate(table, cluster, "ring", 2, priorities={"front": 0, "back": 1})


# -- what always holds ----------------------------------------------------------------

LAYERS = st.lists(
    st.tuples(st.integers(1, 5000), st.floats(0, 0.01), st.floats(0, 0.01)),
    min_size=1,
    max_size=5,
).map(lambda rows: Workload(tuple(Layer(f"l{k}", *row) for k, row in enumerate(rows))))


@pytest.mark.parametrize("store", IN_ORDER)
@settings(max_examples=15)
@given(table=LAYERS, n=st.integers(2, 6).filter(lambda n: n != 5), more=st.floats(1, 9))
def test_more_bandwidth_is_never_slower(
    store: str, table: Workload, n: int, more: float
) -> None:
    better = replace(SWITCH, wire=Link(1e-3, 1e6 * more), host=Link(1e-3, 1e6 * more))
    slow, fast = (simulate(table, one, store, n) for one in (SWITCH, better))
    assert fast.step_seconds <= slow.step_seconds * (1 + 1e-9)


@pytest.mark.parametrize("store", ["tree", "ring", "local"])
@settings(max_examples=15)
@given(table=LAYERS, who=st.integers(0, 3), factor=st.floats(1, 9))
def test_a_straggler_is_never_faster(
    store: str, table: Workload, who: int, factor: float
) -> None:
    slow = simulate(table, SWITCH.with_straggler(who, factor), store, 4)
    even = simulate(table, SWITCH, store, 4)
    assert slow.step_seconds >= even.step_seconds * (1 - 1e-9)
    assert slow.compute_seconds == close(
        factor * table.compute_seconds + even.compute_seconds - table.compute_seconds
    )


@pytest.mark.parametrize("store", STORES)
@settings(max_examples=10)
@given(table=LAYERS, n=st.sampled_from([1, 2, 3, 4, 8]))
def test_no_step_is_shorter_than_its_computing(
    store: str, table: Workload, n: int
) -> None:
    found = simulate(table, SWITCH, store, n)
    assert found.step_seconds >= found.compute_seconds * (1 - 1e-9)
    assert 0 <= found.overlap <= 1
    assert found == simulate(table, SWITCH, store, n)  # to the bit


def test_all_bytes_of_the_plan_travel() -> None:
    table = Workload(tuple(Layer(str(k), 96 + k, 0.1, 0.1) for k in range(3)))
    for store, n in (("ring", 4), ("local", 5)):
        planned: Counter[str] = Counter()
        for one in table.layers:
            plan = (
                flat.on_host(n)
                if store == "local"
                else ring.on_ring(range(n), one.elements)
            )
            both = (*plan.reduce, *plan.broadcast)
            for pair, nbytes in traffic(both, one.elements, one.nbytes).items():
                planned.update({name: nbytes for name, _ in SWITCH.route(*pair)})
        assert simulate(table, SWITCH, store, n).nbytes == dict(planned)


def test_servers_get_each_byte_once_from_each_worker() -> None:
    for store in ("dist_sync", "dist_async", "p3"):
        found = simulate(
            *(NET, SWITCH, store, 4),
            servers=3,
            bigarray_bound=5000,
            slice_threshold=700,
        )
        into = [found.nbytes.get(f"switch → server {k}", 0) for k in range(3)]
        assert sum(into) == 4 * NET.nbytes
        assert found.nbytes["worker 0 → switch"] == NET.nbytes


def test_compressed_gradients_take_fewer_bytes_there_and_as_many_back() -> None:
    words = sum(-(-layer.elements // 32) for layer in NET.layers)
    for store in ("dist_sync", "dist_async"):
        whole, packed = (
            simulate(NET, SWITCH, store, 4, servers=1, compression=kind)
            for kind in ("", "1bit")
        )
        assert packed.nbytes["switch → server 0"] == 4 * 4 * words
        assert packed.nbytes["server 0 → switch"] == 4 * NET.nbytes
        assert packed.step_seconds < whole.step_seconds
    both = simulate(ONE, SWITCH, "device", 2, compression="2bit").nbytes
    assert both["worker 1 → switch"] == 4 * -(-1000 // 16)
    assert both["worker 0 → switch"] == 4000


# -- many workers ---------------------------------------------------------------------


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("slow_every", [0, 4])
def test_workers_taken_together_are_as_fast_as_one_by_one(
    store: str, slow_every: int
) -> None:
    cluster = replace(Cluster.ethernet(), slow_every=slow_every, slowdown=2.0)
    table = Workload(tuple(one._replace(elements=16_384) for one in NET.layers))
    one_by_one = simulate(table, cluster, store, 16, servers=1, full=True)
    together = simulate(table, cluster, store, 16, servers=1, full=False)
    assert together.events < one_by_one.events
    tolerance = 0.05 if store in ("p3", "dist_async") else 1e-9
    assert together.step_seconds == pytest.approx(one_by_one.step_seconds, tolerance)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("elements", [1000, 100_000])
def test_groups_of_machines_that_share_wires_are_close(
    store: str, elements: int
) -> None:
    table = Workload(tuple(one._replace(elements=elements) for one in NET.layers))
    one_by_one = simulate(table, Cluster.mesh(), store, 24, full=True)
    together = simulate(table, Cluster.mesh(), store, 24, full=False)
    assert together.events < one_by_one.events
    assert together.step_seconds == pytest.approx(one_by_one.step_seconds, 0.05)


@pytest.mark.parametrize("store", ["local", "dist_sync"])
def test_wires_of_very_many_machines_are_as_busy_as_one_by_one(store: str) -> None:
    pairs = replace(Cluster.mesh(), machine=2)
    table = Workload(tuple(one._replace(elements=100_000) for one in NET.layers))
    one_by_one = simulate(table, pairs, store, 40, servers=20, full=True)
    together = simulate(table, pairs, store, 40, servers=20, full=False)
    assert together.events < one_by_one.events / 5
    assert together.step_seconds == close(one_by_one.step_seconds)
    wires = [name for name in together.nbytes if "network" in name]
    assert wires
    for name in wires:
        assert together.nbytes[name] == one_by_one.nbytes[name]
        assert together.busy[name] == close(one_by_one.busy[name])


LARGE = Workload(
    (Layer("dense", 30_000_000, 0.05, 0.1), Layer("narrow", 300_000, 0.03, 0.06))
)
SMALL = Workload(tuple(one._replace(elements=200_000) for one in NET.layers))
PRESETS = {
    "PCIe": Cluster.pcie(),
    "DGX-like": Cluster.mesh(),
    "DGX-like, slow network": Cluster.mesh(gigabits=10),
    "Ethernet": Cluster.ethernet(),
    "cloud": Cluster.cloud(slow_every=0),
}


@pytest.mark.parametrize(
    "store", ["local", "device", "tree", "ring", "dist_sync", "p3"]
)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("table", [LARGE, SMALL])
def test_more_workers_are_not_used_better(
    store: str, preset: str, table: Workload
) -> None:
    """Whether workers are followed one by one, by machine, or all together."""
    doubling = [2**k for k in range(1, 10)]
    given: dict[str, Any] = {"slice_threshold": 1_000_000} if store == "p3" else {}
    found = [
        simulate(table, PRESETS[preset], store, n, **given).efficiency for n in doubling
    ]
    for n, before, after in zip(doubling, found, found[1:], strict=False):
        if store == "tree" and n == MOST_SEARCHED and preset in ("Ethernet", "cloud"):
            continue  # trees that are searched for are less even than regular ones
        assert after < 1.03 * before, (n, before, after)


@pytest.mark.parametrize("store", STORES)
def test_thousands_of_workers_take_few_events(store: str) -> None:
    found = simulate(NET, Cluster.cloud(), store, 4096)
    assert found.events < 10_000
    assert found.step_seconds >= found.compute_seconds
    assert "modelled" in repr(found)


def test_scaling_has_a_curve() -> None:
    found = scaling(NET, Cluster.ethernet(), "ring", workers=(1, 2, 4, 64))
    columns = found.columns()
    assert columns["workers"] == [1, 2, 4, 64]
    assert columns["efficiency"][0] == close(1.0)
    assert columns["efficiency"][-1] < 1
    assert "modelled" in repr(found)


@pytest.mark.parametrize("store", STORES)
def test_lanes_tell_which_links_carry_what(store: str) -> None:
    found = simulate(NET, Cluster.mesh(), store, 8)
    carried: Counter[str] = Counter()
    for lane in found.lanes:
        assert bool(lane.nbytes) == (lane.kind in ("push", "pull")) == bool(lane.links)
        carried.update(dict.fromkeys(lane.links, lane.nbytes))
    assert carried == found.nbytes


# -- knobs and faults -----------------------------------------------------------------


def test_each_knob_moves_the_prediction() -> None:
    def step(store: str, **knobs: Any) -> float:
        return simulate(NET, Cluster.ethernet(1), store, 4, **knobs).step_seconds

    small = Workload(tuple(Layer(str(k), 10, 0.0, 0.0) for k in range(40)))
    alone, together = (
        simulate(small, SWITCH, "ring", 4, reduce_bucket_size=size) for size in (0, 1)
    )
    assert together.step_seconds < alone.step_seconds / 10
    assert step("dist_sync", bigarray_bound=1) != step("dist_sync")
    assert step("tree", tree_array_bound=1) != step("tree")
    assert step("p3", slice_threshold=500) != step("p3")
    assert step("local", update_on_kvstore=False) != step("local")


def test_a_link_that_is_cut_or_slow() -> None:
    mesh = Cluster.mesh()
    name = "worker 0 → worker 3"
    assert [one for one, _ in mesh.route(0, 3)] == [name]
    detour = mesh.with_link(name, None)
    assert [one for one, _ in detour.route(0, 3)] == [
        "worker 0 → switch",
        "switch → worker 3",
    ]
    slow = Cluster.ethernet().with_link("worker 2 → switch", Link(1e-3, 1e6))
    even = simulate(NET, Cluster.ethernet(), "ring", 4).step_seconds
    assert simulate(NET, slow, "ring", 4).step_seconds > even
    with pytest.raises(ArgumentError, match="is cut"):
        simulate(NET, slow.with_link("worker 2 → switch", None), "ring", 4)


def test_machines_share_their_wire_to_the_network() -> None:
    names = [name for name, _ in Cluster.mesh().route(1, 9)]
    assert names == [
        "worker 1 → switch",
        "machine 0 → network",
        "network → machine 1",
        "switch → worker 9",
    ]


def test_bad_questions_are_errors() -> None:
    with pytest.raises(ArgumentError, match="no store 'rign'.*ring"):
        simulate(NET, SWITCH, "rign", 4)
    with pytest.raises(ArgumentError, match="no knob 'bound'"):
        simulate(NET, SWITCH, "ring", 4, bound=1)
    with pytest.raises(ArgumentError, match="compression is '1bit' or '2bit'"):
        simulate(NET, SWITCH, "device", 4, compression="3bit")
    with pytest.raises(ArgumentError, match="'ring' is not simulated with compression"):
        simulate(NET, SWITCH, "ring", 4, compression="2bit")
    with pytest.raises(ArgumentError, match="at least one worker"):
        simulate(NET, SWITCH, "ring", 0)
    with pytest.raises(ArgumentError, match="at least one layer"):
        Workload(())
    with pytest.raises(ArgumentError, match="factor from 1"):
        SWITCH.with_straggler(0, 0.5)
