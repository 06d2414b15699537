"""Settings and knobs that a lab takes up while it trains, and what they change."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.knobs import knobs
from minimx_widgets import Lab, NumericsMonitor
from minimx_widgets.lab.turns import Turn
from minimx_widgets.training.meter import DRIVER_CALLS, PEAK, PLANNED, PUSHES
from tests.widgets.image_data import pictures
from tests.widgets.lab.stepping import losses, metric, steps

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


@pytest.fixture
def make() -> Iterator[Callable[..., Lab]]:
    made: list[Lab] = []
    gc.collect()  # what other tests left would be freed in the middle of this one

    def one(**settings: Any) -> Lab:
        chosen = {"network": "mlp", "data": pictures(), "batch_size": 32, "epochs": 0}
        made.append(Lab(**{**chosen, **settings}))
        return made[-1]

    yield one
    for lab in made:
        lab.close()


def known(value: float | None) -> float:
    assert value is not None
    return value


def last(lab: Lab) -> Turn:
    turn = lab.turns.last
    assert turn is not None
    return turn


def test_it_trains_until_it_is_stopped(make: Callable[..., Lab]) -> None:
    lab = make()
    steps(lab, 20)
    assert lab.fit is not None
    assert lab.fit.epoch == 3, "8 steps are one epoch"
    assert repr(lab).startswith("Lab(mlp on (given), cpu(0), paused, epoch 3, test=")
    assert "left" not in lab.session.progress.text
    assert lab.run().epochs == 5


@pytest.mark.parametrize("network", ["mlp", "lenet", "resnet"])
def test_the_way_to_run_changes_nothing_but_time_and_memory(
    make: Callable[..., Lab], network: str
) -> None:
    curves = []
    for ways in (["imperative"], ["hybridized"], ["static"], ["static", "imperative"]):
        lab = make(network=network, graph=ways[0])
        for way in ways:
            lab.set("graph", way)
            steps(lab, 6)
        curves.append(losses(lab)[:6])
        assert lab.fit is not None
        assert bool(lab.fit.binding.planned) == (ways[-1] != "imperative")
    assert len(curves[0]) >= 5
    assert all(curve[:5] == curves[0][:5] for curve in curves)


def test_knobs_of_graphs_bind_again_at_the_next_step(make: Callable[..., Lab]) -> None:
    lab = make(network="lenet", batch_size=64)
    steps(lab, 8)
    for knob, worse in (
        ("MXNET_EXEC_ENABLE_INPLACE", "0"),
        ("NNVM_EXEC_MATCH_RANGE", "0"),
    ):
        with knobs(**{knob: worse}):
            steps(lab, 1)
            assert lab.fit is not None
            more = lab.fit.binding.planned
            assert f"at step {lab.fit.step}" in last(lab).note
            steps(lab, 6)
        turn = last(lab)
        steps(lab, 7)
        assert more > lab.fit.binding.planned, knob
        undone, turned = lab.turns.all[-1], lab.turns.all[-2]
        assert turned.note.startswith("bound again at step")
        assert "planned" in turned.note
        assert turned.before and turned.after and undone.after
        assert turned.after.planned == more
        assert known(turned.after.peak) > 1.02 * known(turned.before.peak)
        assert undone.after.peak == pytest.approx(turned.before.peak, rel=0.02)
        assert turn.name == knob


def test_the_small_batch_at_the_end_of_an_epoch_is_not_another_plan(
    make: Callable[..., Lab],
) -> None:
    lab = make(batch_size=100)  # 256 samples: the third step has 56
    steps(lab, 7)
    assert len(set(metric(lab, PLANNED))) == 1
    steps(lab, 1)
    with knobs(MXNET_EXEC_ENABLE_INPLACE=False):
        steps(lab, 1)  # the small batch
        assert last(lab).note == ""
        steps(lab, 1)
        assert last(lab).note.startswith("bound again at step 10, planned ")


def test_mirroring_lowers_the_peak_of_a_step(make: Callable[..., Lab]) -> None:
    lab = make(network="resnet", data=pictures(side=28), batch_size=64)
    steps(lab, 8)
    with knobs(MXNET_BACKWARD_DO_MIRROR=True, MINIMX_MIRROR="best"):
        steps(lab, 8)
        turn = last(lab)
    assert turn.before and turn.after
    assert known(turn.after.peak) < 0.75 * known(turn.before.peak)
    assert known(turn.after.planned) < 0.7 * known(turn.before.planned)
    steps(lab, 8)
    again = last(lab).after
    assert again is not None
    assert again.peak == pytest.approx(turn.before.peak, rel=0.05)


def test_in_an_imperative_run_knobs_of_graphs_say_why_they_cannot_act(
    make: Callable[..., Lab],
) -> None:
    lab = make(graph="imperative")
    steps(lab, 2)
    with knobs(MXNET_EXEC_ENABLE_INPLACE=False):
        assert last(lab).note == "acts on graphs; this network runs imperatively"
    lab.set("graph", "hybridized")
    steps(lab, 2)
    assert last(lab).note.startswith("bound again at step 3, planned 0 B → ")
    assert len(metric(lab, PLANNED)) == 2, "nothing was planned before"


def test_each_step_says_what_it_cost(make: Callable[..., Lab]) -> None:
    lab = make(network="lenet", graph="imperative")
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        steps(lab, 6)
        pushes, peaks = metric(lab, PUSHES), metric(lab, PEAK)
        before = len(lab.record.pushes())
        steps(lab, 1)
        new = lab.record.pushes()[before:]
        training = [p for p in lab.record.texts(new["phase"]) if p != "evaluate"]
        assert len(training) == pushes[4] == pushes[5]
        assert max(peaks) == lab.record.memory_curve("cpu(0)").peak
        assert metric(lab, DRIVER_CALLS)[4] == 0
        knobs.set(MXNET_CPU_MEM_POOL_TYPE="Unpooled")
        steps(lab, 3)
    assert metric(lab, DRIVER_CALLS)[-1] > 20


# Mixed precision


@pytest.mark.parametrize("graph", ["imperative", "hybridized", "static"])
def test_the_type_changes_between_two_steps_and_back(
    make: Callable[..., Lab], graph: str
) -> None:
    lab, plain = make(graph=graph), make(graph=graph)
    steps(plain, 3)
    steps(lab, 3)
    assert losses(lab)[:2] == losses(plain)[:2]
    assert lab.net is not None
    before = {name: p.data().asnumpy() for name, p in lab.net.collect_params().items()}
    lab.set("dtype", "float16")
    for name, p in lab.net.collect_params().items():
        assert np.array_equal(p.data().asnumpy(), before[name])
    rows = lab.record.rows("ops")
    steps(lab, 4)
    names = lab.record.texts(lab.record.ops()["name"][rows:])
    assert any("amp_cast" in name for name in names)
    assert lab.fit is not None and lab.fit.precision.scaler is not None
    assert all(
        np.dtype(p.dtype) == "float32" for p in lab.net.collect_params().values()
    )
    lab.set("dtype", "bfloat16")
    steps(lab, 2)
    assert lab.fit.precision.scaler is None
    lab.set("dtype", "float32")
    steps(lab, 2)
    rows = lab.record.rows("ops")
    steps(lab, 2)
    names = lab.record.texts(lab.record.ops()["name"][rows:])
    assert not any("amp_cast" in name for name in names)
    assert lab.fit.step == 13, "none of them began afresh"
    assert [t.name for t in lab.turns.all] == ["dtype"] * 3
    turned = lab.record.texts(lab.record.knobs()["name"])
    assert turned == ["dtype"] * 3


def test_mixed_precision_is_that_of_the_training_alone(
    make: Callable[..., Lab],
) -> None:
    lab = make(dtype="float16")
    steps(lab, 3)
    assert not mx.amp.is_active()
    layer = mx.gluon.nn.Dense(2)
    layer.initialize()
    assert layer(mx.nd.ones((1, 2))).dtype == np.float32
    assert lab.net(mx.nd.ones((1, 1, 8, 8))).dtype == np.float32
    mx.amp.init("bfloat16")
    try:
        steps(lab, 1)
        assert lab.fit is not None
        out = lab.fit.predict(mx.nd.ones((1, 1, 8, 8)))
        assert out.dtype == np.float16
        assert mx.amp.is_active()
    finally:
        mx.amp.shutdown()


def test_the_scale_of_the_loss_and_skipped_steps_are_seen(
    make: Callable[..., Lab],
) -> None:
    lab = make(dtype="float16", epochs=6)
    assert repr(lab) == "Lab(mlp on (given), cpu(0) float16, ready)"
    lab.numbers  # noqa: B018
    result = lab.run()
    assert result.test_accuracy > 0.9
    scalings = lab.record.scalings()
    assert len(scalings) == result.steps
    assert result.skipped == int(scalings["skipped"].sum()) > 0
    assert metric(lab, "skipped")[-1] == result.skipped
    words = f"{result.skipped} step{'s' * (result.skipped != 1)} skipped"
    assert result.text.endswith(words)
    assert lab.fit is not None
    scale = f"loss scale {2.0 ** (16 - result.skipped):,.0f}, {words}"
    assert scale in lab.fit._progress().text
    assert {row.dtype for row in NumericsMonitor(lab.record).rows()} == {"float16"}
    lab.set("dtype", "bfloat16")
    assert lab.run().test_accuracy > 0.9
    assert not len(lab.record.scalings())
    assert lab.result.skipped == 0


def test_a_static_scale_stays_and_no_scale_is_one(make: Callable[..., Lab]) -> None:
    lab = make(dtype="float16", scaling="static")
    steps(lab, 3)
    assert metric(lab, "loss scale")[-1] == 1024
    lab.set("scaling", "off")
    steps(lab, 2)
    assert lab.fit is not None
    assert lab.fit.precision.loss_scale == 1
    assert metric(lab, "loss scale")[-1] == 1
    lab.set("scaling", "dynamic")
    steps(lab, 2)
    assert metric(lab, "loss scale")[-1] == 2**16


def test_float16_halves_the_bytes_of_activations(make: Callable[..., Lab]) -> None:
    lab = make(network="lenet", batch_size=128, graph="imperative")

    def activations() -> int:
        """Bytes asked for as activations in one step after another was warm."""
        steps(lab, 2)
        rows = lab.record.rows("mem")
        steps(lab, 1)
        mem = lab.record.mem()[rows:]
        texts = np.array(lab.record.texts(mem["category"]))
        events = np.array(lab.record.texts(mem["event"]))
        names = np.array(lab.record.texts(mem["name"]))
        taken = np.isin(events, ("alloc", "hit")) & (names == "Convolution")
        return int(mem["requested"][taken & (texts == "activation")].sum())

    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        single = activations()
        lab.set("dtype", "float16")
        assert 2 * activations() == single > 0


# Going back


def test_a_turn_can_be_gone_back_to(make: Callable[..., Lab]) -> None:
    lab = make()
    steps(lab, 2)
    knobs.set(MXNET_EXEC_ENABLE_INPLACE="0")
    lab.set("dtype", "float16")
    steps(lab, 2)
    first, second = lab.turns.all
    lab.go_back(first.number)
    assert knobs.get("MXNET_EXEC_ENABLE_INPLACE") is True
    lab.go_back(second.number)
    assert lab.settings.dtype == "float32"
    assert len(lab.turns.all) == 4
    with pytest.raises(mx.base.MXNetError, match="no turn 9"):
        lab.go_back(9)


def test_a_setting_that_begins_afresh_can_be_undone(make: Callable[..., Lab]) -> None:
    lab, plain = make(), make()
    steps(plain, 20)
    steps(lab, 11)
    lab.set("optimizer", "sgd")
    assert lab.fit is None
    assert lab.session.state == "ready"
    steps(lab, 2)
    lab.undo()
    assert lab.settings.optimizer == "adam"
    steps(lab, 9)
    assert lab.fit is not None and lab.fit.step == 20
    assert losses(lab)[:19] == losses(plain)[:19], "it went on where it was"
    lab.undo()
    assert lab.settings.optimizer == "sgd", "the training that was left now"
    assert lab.fit is not None and lab.fit.step == 2
    lab.undo()
    assert lab.fit is not None and lab.fit.step == 20
    with pytest.raises(mx.base.MXNetError, match=r"Lab\.undo"):
        make().undo()


def test_a_lab_that_made_way_goes_on_where_it_was(make: Callable[..., Lab]) -> None:
    lab, other = make(), make()
    steps(lab, 5)
    steps(other, 5)
    assert not lab.record.running
    steps(lab, 5)
    steps(other, 5)
    assert losses(lab)[:9] == losses(other)[:9]


# Any knob, at any time


def turnable() -> dict[str, tuple[str, ...]]:
    """Knobs that promise the same numbers, with values to choose from."""
    on_off = ("0", "1")
    return {
        "MXNET_ENGINE_TYPE": (
            "NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice",
        ),
        "MXNET_CPU_MEM_POOL_TYPE": ("Naive", "Round", "Unpooled"),
        "MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF": ("20", "24"),
        "MXNET_CPU_WORKER_NTHREADS": ("1", "2", "4"),
        "MXNET_EXEC_ENABLE_INPLACE": on_off,
        "MXNET_BACKWARD_DO_MIRROR": on_off,
        "MINIMX_MIRROR": ("remap", "1.x", "segments", "sqrt", "best"),
        "NNVM_EXEC_MATCH_RANGE": ("0", "1", "16"),
        "MXNET_EXEC_NUM_TEMP": ("1", "4"),
        "MXNET_USE_FUSION": on_off,
        "MXNET_ELIMINATE_COMMON_EXPR": on_off,
        "MXNET_NODE_ELIMINATION": on_off,
        "MXNET_EXEC_BULK_EXEC_TRAIN": on_off,
        "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": ("1", "4", "15"),
        "MXNET_MEMORY_OPT": on_off,
        "MXNET_CPU_TEMP_COPY": ("1", "4"),
        "MXNET_OPTIMIZER_AGGREGATION_SIZE": ("1", "4", "60"),
    }  # fmt: skip


def bytes_in_use() -> int:
    mx.nd.waitall()
    gc.collect()
    return mx.storage.stats(mx.cpu()).live_requested


def test_200_turns_at_random_change_no_loss_and_leave_no_memory(
    make: Callable[..., Lab],
) -> None:
    count = 200
    chosen = {"network": "resnet", "batch_size": 16, "data": pictures(512)}
    before = bytes_in_use()
    plain = make(**chosen)
    plain.run(epochs=4)
    expected = losses(plain)
    needed = bytes_in_use() - before
    random = np.random.default_rng(0)
    lab = make(**chosen, epochs=4)
    choices = turnable()
    names = list(choices)
    steps(lab, 3)
    for turned in range(count):
        name = names[random.integers(len(names))]
        value = choices[name][random.integers(len(choices[name]))]
        knobs.set(**{name: value})
        if turned % 10 == 0:
            lab.set("graph", ("imperative", "hybridized", "static")[turned // 10 % 3])
        if turned % 2:
            steps(lab, 1)
    lab.set("graph", "hybridized")
    knobs.reset(*names)
    lab.train()
    assert lab.wait(120)
    assert losses(lab) == expected
    assert len(lab.turns) > count / 2
    assert bytes_in_use() - before == 2 * needed, "that of two finished trainings"
