"""A lab on several devices: the losses of one, and changes between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx_widgets import Lab
from minimx_widgets.lab.lab_views import STORE
from minimx_widgets.training.meter import BUSIEST, COPIES, EXCHANGED, HIDDEN
from tests.widgets.image_data import pictures
from tests.widgets.lab.stepping import losses, metric, steps

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


@pytest.fixture
def make() -> Iterator[Callable[..., Lab]]:
    made: list[Lab] = []

    def one(**settings: Any) -> Lab:
        chosen = {"network": "mlp", "data": pictures(), "batch_size": 50}
        made.append(Lab(**{**chosen, **settings}))
        return made[-1]

    yield one
    while made:  # none is left over, so that the knobs can take its GPUs away
        made.pop().close()


def same_losses(lab: Lab, other: Lab, least: int) -> None:
    """The losses that both have are equal up to rounding."""
    one, two = losses(lab), losses(other)
    many = min(len(one), len(two))
    assert many >= least
    np.testing.assert_allclose(one[:many], two[:many], rtol=2e-5)


def weights(lab: Lab) -> list[list[Any]]:
    """The values of each parameter on each of its devices."""
    assert lab.fit is not None
    mx.nd.waitall()
    every = lab.fit.net.collect_params().values()
    return [[copy.asnumpy() for copy in one.list_data()] for one in every]


def alike(lab: Lab) -> bool:
    """Whether all devices have the same weights, to the bit."""
    return all(
        np.array_equal(copies[0], copy) for copies in weights(lab) for copy in copies
    )


@pytest.mark.parametrize("device", ["cpu(0)", "gpu(0)"])
def test_devices_and_stores_change_while_it_trains_and_losses_do_not(
    make: Callable[..., Lab], device: str
) -> None:
    """256 samples in batches of 50: pieces differ in length, and 6 are left over."""
    alone = make()
    steps(alone, 11)
    lab = make(device=device, graph="static", devices=3)
    steps(lab, 3)
    assert lab.fit is not None
    fit = lab.fit
    assert [str(one) for one in fit.spread.devices] == [
        device.replace("0", str(i)) for i in range(3)
    ]
    lab.set("store", "local")
    lab.set("devices", "5")
    steps(lab, 3)
    knobs.set(MXNET_UPDATE_ON_KVSTORE=False)
    assert lab.turns.all[-1].note.startswith("the store is made anew")
    lab.set("graph", "imperative")
    steps(lab, 3)
    assert fit._trainer._update_on_kvstore is False
    assert alike(lab)
    high = lab.engine.height
    lab.set("devices", "1")
    assert lab.engine.height < high
    steps(lab, 2)
    assert lab.fit is fit, "nothing began afresh"
    same_losses(lab, alone, 10)


def test_each_step_says_what_the_devices_sent(make: Callable[..., Lab]) -> None:
    lab = make(device="gpu(0)", devices=2)
    steps(lab, 9)
    of_all = sum(copies[0].nbytes for copies in weights(lab))
    # Gradients go to the other device, and weights come back; the store's first step,
    # which gives all devices the same weights, comes before.
    assert set(metric(lab, EXCHANGED)[1:]) == {2 * of_all}
    assert set(metric(lab, COPIES)[1:]) == {2 * len(weights(lab))}
    assert len(metric(lab, COPIES)) == 7, "the last two are still under way"
    assert all(of_all / 2 < most <= of_all for most in metric(lab, BUSIEST)[1:])
    assert all(0 <= share <= 1 for share in metric(lab, HIDDEN))
    assert " · 2 devices: " in lab.session.progress.text
    lab.set("store", "local")
    steps(lab, 8)
    assert metric(lab, COPIES)[-1] == 4 * len(weights(lab)), "there and back"
    lab.set("devices", "1")
    steps(lab, 3)
    assert "devices:" not in lab.session.progress.text


def test_a_scaled_loss_keeps_updates_on_the_devices(make: Callable[..., Lab]) -> None:
    lab = make(devices=2, network="lenet", dtype="float32")
    steps(lab, 2)
    for dtype, scaling in (("float16", "dynamic"), ("float16", "off"), ("float32", "")):
        if scaling:
            lab.set("scaling", scaling)
        lab.set("dtype", dtype)
        steps(lab, 3)
        assert lab.fit is not None
        in_store = lab.fit._trainer._update_on_kvstore
        assert in_store == (not (dtype == "float16" and scaling == "dynamic"))
        assert alike(lab)


def test_what_cannot_be_is_refused_and_nothing_changes(
    make: Callable[..., Lab],
) -> None:
    lab = make(device="gpu(0)")
    for name, text, said in (
        ("devices", "9", "a whole number from 1 to 8"),
        ("devices", "two", "a whole number"),
        ("store", "nothing", "choose local, device"),
    ):
        with pytest.raises(ArgumentError, match=said):
            lab.set(name, text)
    lab.set("devices", "4")
    assert knobs.MXNET_UPDATE_ON_KVSTORE and knobs.MINIMX_SIM_GPUS == 4
    with pytest.raises(ArgumentError, match="each device needs a sample"):
        lab.set("batch_size", "3")
    with pytest.raises(ArgumentError, match="would need gpu"):
        lab.set("device", "gpu(14)")
    assert (lab.settings.batch_size, lab.settings.devices) == (50, 4)
    assert lab.controls.settings["devices"] == "4"
    assert knobs.MINIMX_SIM_GPUS == 4
    lab.set("store", "nccl")
    with pytest.raises(ArgumentError, match="it adds on GPUs"):
        lab.set("device", "cpu(0)")
    few = make(data=pictures(3), devices=4)
    few.step()
    with pytest.raises(ArgumentError, match="only 3 samples"):
        few.wait(60)


def test_a_device_without_room_is_left_out_and_training_goes_on(
    make: Callable[..., Lab],
) -> None:
    knobs.set(MINIMX_SIM_GPUS=2, MINIMX_SIM_GPU_MEMORY="4MiB")
    alone, lab = make(), make(device="gpu(0)")
    steps(alone, 6)
    steps(lab, 3)
    full = mx.nd.ones((990_000,), ctx=mx.gpu(1))
    lab.set("devices", "2")
    steps(lab, 1)
    assert lab.settings.devices == 1
    assert lab.controls.settings["devices"] == "1"
    (turn,) = lab.turns.all
    assert turn.note.startswith("not taken up. gpu(1) cannot join: ")
    steps(lab, 1)
    same_losses(lab, alone, 4)
    del full
    lab.set("devices", "2")
    steps(lab, 1)
    assert lab.settings.devices == 2
    same_losses(lab, alone, 5)


def test_a_comparison_of_stores_has_what_was_sent(make: Callable[..., Lab]) -> None:
    lab = make(device="gpu(0)", devices=2)
    view = lab.compare({"store": "local"}, store="device", steps=8)
    assert view.wait(60)
    comparison = view.comparison
    assert comparison.disturbed == []
    turn = comparison.turn
    assert turn.before is not None and turn.after is not None
    assert (turn.before.copies or 0) > (turn.after.copies or 0) > 0


def test_what_devices_send_each_other_is_in_a_drawer(
    make: Callable[..., Lab],
) -> None:
    lab = make(device="gpu(0)", devices=2, store="local", epochs=1)
    view = lab.drawers.pull(STORE)
    assert "local, 2 workers" in repr(view) and "modelled" in repr(view)
    with pytest.raises(ArgumentError, match="nothing was recorded"):
        view.choose(workload="recorded")
    lab.run()
    view = lab.drawers.pull(None) or lab.drawers.pull(STORE)
    assert repr(view).startswith("KVStoreView(2 devices, measured, step ")
    links = {wire.name for wire in view.scene.layout.wires}
    assert {"gpu(0) → host", "host → gpu(1)"} <= links
    view.choose(source="modelled")
    names = [key.name for key in view.scene.keys]
    wanted = [name for name in lab.net.collect_params() if "running" not in name]
    assert sorted(names) == sorted(wanted)
    assert view.frozen[0]["workload"] == "recorded"
