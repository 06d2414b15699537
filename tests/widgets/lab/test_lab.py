"""A lab trains in the background, takes up changes, and never loses its head."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets import Lab
from minimx_widgets.lab.lab_views import (
    ACCOUNT,
    CONVOLUTIONS,
    NUMBERS,
    POOL,
)
from minimx_widgets.training.training import load
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


@pytest.fixture
def make() -> Iterator[Callable[..., Lab]]:
    """Labs that are closed when the test is over."""
    made: list[Lab] = []

    def one(**settings: Any) -> Lab:
        chosen = {"network": "mlp", "data": pictures(), "batch_size": 32, "epochs": 2}
        made.append(Lab(**{**chosen, **settings}))
        return made[-1]

    yield one
    for lab in made:
        lab.close()


def test_it_learns_without_anybody_looking(make: Callable[..., Lab]) -> None:
    lab = make(epochs=6)
    assert repr(lab) == "Lab(mlp on (given), cpu(0), ready)"
    result = lab.run()
    assert result.epochs == 6
    assert result.steps == 6 * 8
    assert result.test_accuracy > 0.9
    accuracy = 100 * result.test_accuracy
    assert repr(lab) == (
        f"Lab(mlp on (given), cpu(0), done, epoch 6/6, test={accuracy:.2f}%)"
    )
    assert not lab.record.running


def test_the_same_seed_gives_the_same_numbers_again(make: Callable[..., Lab]) -> None:
    lab = make()
    first, second = lab.run(), lab.run()
    assert repr(first) == repr(second)
    lab.set("seed", "1")
    assert repr(lab.run()) != repr(first)


def test_engine_and_pool_change_nothing_but_time(make: Callable[..., Lab]) -> None:
    lab = make(network="lenet")
    expected = repr(lab.run())
    for engine, pool in (("NaiveEngine", "Round"), ("ThreadedEngine", "Unpooled")):
        with knobs(MXNET_ENGINE_TYPE=engine, MXNET_CPU_MEM_POOL_TYPE=pool):
            assert repr(lab.run()) == expected
    lab.set("device", "gpu(0)")
    assert repr(lab.run()) == expected
    assert {"gpu(0)/0", "gpu(0) copy/0"} <= set(lab.devices.lanes)
    assert lab.devices.run is lab.engine.run


def test_phases_layers_and_categories_are_attributed(make: Callable[..., Lab]) -> None:
    lab = make(network="lenet", epochs=1)
    lab.run()
    record = lab.record
    phases = set(record.texts(record.ops()["phase"]))
    assert {"forward", "backward", "update", "evaluate"} <= phases
    assert "data" in record.texts(record.mem()["phase"])
    assert "lenet/conv0" in {
        layer.split("/relu")[0] for layer in record.texts(record.ops()["layer"])
    }
    categories = set(record.texts(record.mem()["category"]))
    assert {"parameter", "gradient", "optimizer state", "activation", "data"} <= (
        categories
    )


def test_live_settings_act_at_the_next_step(make: Callable[..., Lab]) -> None:
    lab = make(epochs=50)
    lab.step()
    lab.wait()
    assert lab.session.state == "paused"
    lab.set("learning_rate", "0.5")
    lab.set("batch_size", "64")
    lab.set("epochs", "1")
    assert lab.session.state == "paused", "none of them begins afresh"
    lab.train()
    lab.wait()
    assert lab.fit is not None
    assert lab.fit._trainer.learning_rate == 0.5
    # One step of 32 samples, then 224 left in steps of 64.
    assert lab.fit.step == 1 + 4
    assert lab.session.state == "done"


def test_a_structural_setting_begins_afresh(make: Callable[..., Lab]) -> None:
    lab = make(epochs=50)
    lab.step()
    lab.wait()
    lab.set("network", "lenet")
    assert lab.session.state == "ready"
    assert lab.net is None
    lab.set("optimizer", "sgd")
    assert lab.settings.learning_rate == 0.1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("batch_size", "0", "a whole number from 1"),
        ("batch_size", "many", "batch_size='many'"),
        ("learning_rate", "nan", "learning_rate='nan'"),
        ("device", "tpu(0)", r"write cpu\(0\) or gpu\(0\)"),
        ("optimizer", "adams", "choose sgd"),
        ("dtype", "float8", "dtype='float8': choose float32, float16, bfloat16"),
        ("seed", "-1", "seed='-1'"),
    ],
)
def test_a_bad_setting_is_refused_and_changes_nothing(
    make: Callable[..., Lab], name: str, text: str, message: str
) -> None:
    lab = make()
    before = dict(vars(lab.settings))
    with pytest.raises(ArgumentError, match=message):
        lab.set(name, text)
    assert vars(lab.settings) == before


def test_an_unknown_network_is_an_error_of_training_with_a_suggestion(
    make: Callable[..., Lab],
) -> None:
    lab = make(network="lennet")
    with pytest.raises(ArgumentError, match="Did you mean lenet"):
        lab.run()
    assert lab.controls.status["state"] == "failed"
    assert "Did you mean lenet" in lab.controls.status["error"]
    lab.set("network", "lenet")
    assert lab.run(epochs=1).epochs == 1


def test_an_error_in_the_network_is_shown_and_raised(make: Callable[..., Lab]) -> None:
    class Broken(mx.gluon.Block):
        def forward(self, x: Any) -> Any:
            raise ZeroDivisionError("in forward")

    lab = make(network=Broken())
    lab.train()
    with pytest.raises(ZeroDivisionError, match="in forward"):
        lab.wait()
    assert "ZeroDivisionError: in forward" in lab.controls.status["error"]
    assert not lab.record.running


def test_networks_and_data_of_one_s_own(make: Callable[..., Lab]) -> None:
    def network() -> Any:
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Flatten(), mx.gluon.nn.Dense(10))
        return net

    x, y, *_ = pictures()
    dataset = mx.gluon.data.ArrayDataset(x, y)
    lab = make(network=network, data=dataset)
    assert lab.run(epochs=1).epochs == 1
    assert len(load(dataset).test_x) == len(x) // 6
    assert lab.controls.settings["network"] == "(given)"
    lab.set("network", "mlp")
    lab.set("network", "(given)")
    assert lab.settings.network is network


def test_data_that_does_not_fit_is_refused() -> None:
    x, y, tx, ty = pictures()
    with pytest.raises(ArgumentError, match="do not pair up"):
        load((x, y[:-1], tx, ty))
    with pytest.raises(ArgumentError, match="Did you mean glyphs"):
        load("glyph")
    with pytest.raises(ArgumentError, match="data is int"):
        load(7)


def test_the_second_lab_that_trains_takes_the_record_over(
    make: Callable[..., Lab],
) -> None:
    first, second = make(epochs=1000), make(epochs=1)
    first.train()
    while first.fit is None or first.fit.step < 2:
        assert first.session.alive
    second.run()
    assert first.session.state == "stopped"
    assert len(first.record.ops())
    assert second.result.epochs == 1


def test_somebody_else_s_record_hears_the_lab_as_well(
    make: Callable[..., Lab],
) -> None:
    lab = make()
    with Record() as mine:
        assert lab.run(epochs=1).epochs == 1
        assert mine.running
    ran = set(lab.record.ops()["op"].tolist())
    assert ran
    assert ran <= set(mine.ops()["op"].tolist())


def test_views_share_the_run_and_its_selection(make: Callable[..., Lab]) -> None:
    lab = make(epochs=1)
    lab.run()
    op = int(lab.record.ops()["op"][5])
    lab.select(op)
    assert {view.run.selected for view in (lab.engine, lab.memory, lab.monitor)} == {op}
    data, _ = lab._repr_mimebundle_()
    assert data["text/plain"] == repr(lab)
    assert data["image/svg+xml"].count("<svg") == 5
    assert "application/vnd.jupyter.widget-view+json" in data


def test_closing_stops_everything(make: Callable[..., Lab]) -> None:
    lab = make(epochs=1000)
    lab.train()
    lab.close()
    assert not lab.record.running
    names = {thread.name for thread in threading.enumerate()}
    assert "minimx training" not in names
    assert not {name for name in names if name.startswith("minimx views")}


def test_buttons_do_what_they_say(make: Callable[..., Lab]) -> None:
    lab = make(epochs=1000)
    lab.command("step")
    lab.wait()
    assert lab.session.state == "paused"
    lab.command("train")
    assert lab.session.state == "training"
    lab.command("pause")
    assert lab.wait(20)
    lab.command("stop")
    lab.session.stop()
    assert lab.session.state == "stopped"
    lab.command("dance")
    assert lab.session.state == "stopped"


def test_an_interrupted_run_is_paused_and_goes_on(
    make: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make(epochs=2)

    def interrupted(timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lab.session, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lab.run()
    lab.wait()
    assert lab.session.state in ("paused", "done")
    lab.train()
    lab.wait()
    assert lab.session.state == "done"


def test_a_view_is_there_while_its_drawer_is_open(make: Callable[..., Lab]) -> None:
    lab = make(epochs=1)
    lab.run()
    assert lab.drawers.view is None
    view = lab.drawers.pull(POOL)
    assert view.record is lab.record and view in lab._run.views
    assert repr(view).startswith("PoolMap(cpu(0) Naive, reserved=")
    account = lab.drawers.pull(ACCOUNT)
    assert view not in lab._run.views
    shown = [box.children for box in lab.drawers.children]
    assert shown == [(), (account,), (), (), (), (), ()]
    lab.drawers.pull(None)
    assert lab.drawers.view is None
    assert not any(box.children for box in lab.drawers.children)
    assert lab._run.views == [lab.monitor, lab.engine, lab.memory]


def test_the_overview_follows_the_training(make: Callable[..., Lab]) -> None:
    lab = make()
    view = lab.drawers.pull(ACCOUNT)
    assert repr(view).startswith("Overview(0 operations")
    lab.run(epochs=1)
    view.refresh()
    assert view.record is lab.record
    blocks = [each["path"] for each in view.state["blocks"]]
    assert any(path.count("/") for path in blocks)
    assert lab.overview.state["count"] == view.state["count"] > 100


def test_its_numbers_are_looked_at_once_somebody_asks(make: Callable[..., Lab]) -> None:
    lab = make(epochs=2)
    lab.run()
    assert not len(lab.record.tensors())
    view = lab.numbers
    assert view.run is lab.engine.run
    lab.run()
    assert view.steps == [1, 11]  # of sixteen
    assert [row.label for row in view.rows()] == ["dense0", "dense1"]
    assert view.shares()["normal"] > 0.9
    assert lab.fit is not None and not lab.fit._trainer._watchers
    before = lab.record.rows("tensors")
    lab.numbers  # noqa: B018 (asking twice looks once)
    lab.run()
    assert lab.record.rows("tensors") == before


def test_numbers_are_counted_while_their_drawer_is_open(
    make: Callable[..., Lab],
) -> None:
    lab = make(epochs=50)

    def steps(count: int) -> None:
        for _ in range(count):
            lab.step()
            lab.wait()

    steps(3)
    assert not len(lab.record.tensors())
    view = lab.drawers.pull(NUMBERS)
    steps(9)  # what is counted in the eleventh is read in the twelfth
    assert view.steps == [11]
    assert lab.fit is not None and len(lab.fit._trainer._watchers) == 1
    lab.drawers.pull(None)
    steps(1)
    assert not lab.fit._trainer._watchers
    assert not any(block._forward_hooks for block in lab.net._children.values())
    before = lab.record.rows("tensors")
    steps(10)
    assert lab.record.rows("tensors") == before


def test_the_convolutions_of_the_settings_are_in_their_drawer(
    make: Callable[..., Lab],
) -> None:
    lab = make(network="lenet", epochs=1)
    view = lab.drawers.pull(CONVOLUTIONS)
    assert view.state["layers"] == ["lenet_conv0_fwd", "lenet_conv1_fwd"]
    assert view.state["shape"].startswith("32 × 1 → 16 channels, 8×8")
    assert view.state["device"] == "cpu"
    lab.set("learning_rate", "0.1")
    assert lab.drawers.view is view
    lab.set("batch_size", "16")
    lab.set("dtype", "float16")
    lab.set("device", "gpu(0)")
    assert lab.drawers.view is not view
    view = lab.drawers.view
    assert view.state["shape"].startswith("16 × 1") and "float16" in view.state["shape"]
    assert view.state["device"] == "gpu"
    lab.set("network", "mlp")
    assert "has no convolution" in lab.drawers.view.value
    lab.set("network", "lenet")
    lab.run()
    view = lab.drawers.view
    view.show("lenet_conv1_fwd")
    record = lab.record
    at = record.ops()["op"].tolist().index(lab.engine.run.selected)
    row = record.ops()[at : at + 1]
    assert record.texts(row["name"]) == ["Convolution"]
    assert record.texts(row["layer"]) == ["lenet/conv1"]
    assert view.layer == "lenet_conv1_fwd"
    first = record.texts(record.ops()["layer"]).index("lenet/conv0")
    view._selected(int(record.ops()["op"][first]))
    assert view.layer == "lenet_conv0_fwd"
