"""Questions to the simulation: choices, faults, and what is refused."""

from __future__ import annotations

import pytest

from minimx.core.errors import ArgumentError, KnobError
from minimx.core.knobs import knobs
from minimx.kvstore.simulation import Cluster, Layer, Workload
from minimx_widgets.pictures.kvstore.trial import (
    ACTS,
    FIELDS,
    PRESETS,
    STORES,
    Trial,
    preset,
    usual_link,
)
from minimx_widgets.pictures.kvstore.workloads import example

NET = Workload(
    (
        Layer("top", 20_000_000, 1e-4, 2e-4, rows=100),
        Layer("middle", 1_500_000, 1e-4, 2e-4, rows=100),
        Layer("bottom", 3_000, 1e-4, 2e-4, rows=100),
    )
)


def trial(**given: object) -> Trial:
    return Trial(NET, Cluster.ethernet(), **given)  # type: ignore[arg-type]


def test_every_knob_acts_exactly_where_it_is_said_to() -> None:
    tried = {
        "bigarray_bound": "100000000",
        "tree_array_bound": "1000",
        "slice_threshold": "10000000",
        "reduce_bucket_size": "65536",
        "reduction_nthreads": "1",
        "update_on_kvstore": "0",
    }
    for store in STORES:
        before = trial(store=store)
        for name, short in FIELDS.items():
            after = before.with_knob(name, tried[short])
            moved = after.predicted().step_seconds != before.predicted().step_seconds
            assert moved == (store in ACTS[short]), (store, name)


def test_knobs_in_force_count_until_another_value_is_tried() -> None:
    one = trial(store="dist_sync")
    with knobs(MXNET_KVSTORE_BIGARRAY_BOUND=5_000_000):
        fresh = trial(store="dist_sync")
        assert fresh.settings["bigarray_bound"] == 5_000_000
        assert fresh.with_knob("MXNET_KVSTORE_BIGARRAY_BOUND", "7").settings[
            "bigarray_bound"
        ] == 7  # fmt: skip
    assert one.settings["bigarray_bound"] == 1_000_000
    tried = one.with_knob("MXNET_UPDATE_ON_KVSTORE", "0")
    assert tried.settings["update_on_kvstore"] is False
    assert tried.with_knob("MXNET_UPDATE_ON_KVSTORE", None) == one
    with pytest.raises(KnobError):
        one.with_knob("MXNET_KVSTORE_REDUCTION_NTHREADS", "0")


def test_faults_change_the_cluster_and_are_said() -> None:
    one = trial(store="ring", workers=4)
    slow = one.with_link("worker 1 → switch", 0.25).with_straggler(2, 2.0)
    assert slow.changed.changed["worker 1 → switch"].bandwidth == 1.25e9 / 4  # type: ignore[union-attr]
    assert slow.changed.factor(2) == 2.0
    assert slow.faults == ["worker 1 → switch at ×0.25", "worker 2 ×2 slower"]
    assert slow.predicted().step_seconds > one.predicted().step_seconds
    whole = slow.with_link("worker 1 → switch", 1).with_straggler(2, 1)
    assert whole == one
    cut = one.with_link("switch → worker 3", 0)
    assert cut.faults == ["switch → worker 3 cut"]
    with pytest.raises(ArgumentError, match=r"no way .* is cut"):
        cut.predicted()


def test_the_dial_multiplies_computing_alone() -> None:
    one, more = trial(), trial(dial=4.0)
    assert more.work.compute_seconds == pytest.approx(4 * one.work.compute_seconds)
    assert more.work.nbytes == one.work.nbytes


@pytest.mark.parametrize(
    ("cluster", "link", "bandwidth"),
    [
        ("PCIe box", "worker 0 → switch", 12e9),
        ("PCIe box", "switch → host", 12e9),
        ("Ethernet", "server 3 → switch", 1.25e9),
        ("DGX-like", "worker 0 → worker 3", 46e9),
        ("DGX-like", "network → machine 1", 12.5e9),
    ],
)
def test_links_are_known_by_name(cluster: str, link: str, bandwidth: float) -> None:
    assert usual_link(preset(cluster), link).bandwidth == bandwidth


@pytest.mark.parametrize(
    "link",
    ["worker 0", "worker 0 → worker 1", "machine 0 → network", "a → switch", "→"],
)
def test_links_that_are_not_there_are_refused(link: str) -> None:
    with pytest.raises(ArgumentError, match="has no link"):
        trial().with_link(link, 0.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"store": "rings"}, "no store 'rings'"),
        ({"workers": 0}, "1 to 4,096"),
        ({"dial": 17.0}, "dial=17"),
    ],
)
def test_bad_choices_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        trial(**given)
    with pytest.raises(ArgumentError, match="negative|times -1"):
        trial().with_link("worker 0 → switch", -1)
    with pytest.raises(ArgumentError, match="worker 8"):
        trial().with_straggler(8, 2)


def test_presets_and_examples_are_found_or_suggested() -> None:
    assert {name: make().network is not None for name, make in PRESETS.items()} == {
        "PCIe box": False,
        "DGX-like": True,
        "Ethernet": False,
        "cloud": False,
    }
    with pytest.raises(ArgumentError, match="Did you mean Ethernet"):
        preset("ethernett")
    with pytest.raises(ArgumentError, match="Did you mean vgg16"):
        example("vgg61")


@pytest.mark.parametrize(
    ("name", "layers", "parameters"),
    [("vgg16", 16, 138.3), ("resnet50", 54, 25.5), ("perceptron", 3, 1.86)],
)
def test_examples_have_the_sizes_of_the_networks(
    name: str, layers: int, parameters: float
) -> None:
    found = example(name)
    assert len(found.layers) == layers
    assert found.nbytes / 4e6 == pytest.approx(parameters, rel=5e-3)
    assert found.layers[-1].name in ("conv0", "stem", "dense0"), "backward order"
