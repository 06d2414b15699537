"""One step of training, on one device and on several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, initializer, nd, optimizer
from minimx.core import autograd, events
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError, DataError, ParameterError
from minimx.core.knobs import knobs
from minimx.gluon import nn
from minimx.lr_scheduler import FactorScheduler


def dense(ctx: Any = None) -> nn.Dense:
    net = nn.Dense(2, in_units=2)
    net.initialize(initializer.Constant(0.5), ctx=ctx)
    return net


def trained(net: Any, **settings: Any) -> gluon.Trainer:
    return gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1, **settings}
    )


def backward(net: Any, numbers: Any = ((1.0, 2.0),), ctx: Any = None) -> None:
    with autograd.record():
        loss = (net(nd.array(numbers, ctx=ctx)) ** 2).sum()
    loss.backward()


def test_a_step_is_that_of_mxnet() -> None:
    net = dense()
    trainer = trained(net, wd=0.1)
    backward(net)
    trainer.step(1)
    np.testing.assert_allclose(
        net.weight.data().asnumpy(), [[0.195, -0.105]] * 2, atol=1e-6
    )
    np.testing.assert_allclose(net.bias.data().asnumpy(), [-0.3, -0.3], atol=1e-6)


def test_the_batch_size_divides_the_gradient() -> None:
    net = dense()
    backward(net)
    trained(net).step(10)
    np.testing.assert_allclose(net.bias.data().asnumpy(), [-0.03, -0.03], atol=1e-7)
    with pytest.raises(ArgumentError, match="batch_size=0"):
        trained(net).step(0)


def test_stale_gradients_stop_the_step_before_it_changes_anything() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=2), nn.Dense(2, in_units=2))
    net.initialize()
    trainer = trained(net)
    backward(net[0])
    before = net[0].weight.data().asnumpy()
    with pytest.raises(UserWarning, match=rf"{net[1].bias.name} on cpu\(0\) is stale"):
        trainer.step(1)
    assert (net[0].weight.data().asnumpy() == before).all()
    unused = net[1].weight.data().asnumpy()
    trainer.step(1, ignore_stale_grad=True)
    assert (net[0].weight.data().asnumpy() != before).all()
    assert (net[1].weight.data().asnumpy() == unused).all()
    with pytest.raises(UserWarning, match="is stale"):
        trainer.step(1)


def test_parameters_are_updated_in_the_order_of_their_names() -> None:
    net = nn.Dense(2, in_units=2, prefix="d_")
    assert [p.name for p in trained(net)._params] == ["d_bias", "d_weight"]


def test_parameters_without_gradient_are_left_alone() -> None:
    net = dense()
    net.bias.grad_req = "null"
    backward(net)
    trained(net).step(1)
    assert net.bias.data().asnumpy().tolist() == [0.0, 0.0]


def test_accumulated_gradients() -> None:
    net = dense()
    net.setattr("grad_req", "add")
    backward(net)
    backward(net)
    trained(net).step(2)
    once = dense()
    backward(once)
    trained(once).step(1)
    np.testing.assert_allclose(
        net.weight.data().asnumpy(), once.weight.data().asnumpy(), rtol=1e-6
    )


@pytest.mark.parametrize("kvstore", ["device", "local", mx.kv.create("teststore")])
@pytest.mark.parametrize("in_store", [None, False])
def test_devices_learn_from_each_other(kvstore: Any, in_store: Any) -> None:
    devices = [cpu(0), gpu(0)]
    net, alone = dense(devices), dense()
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        settings,
        kvstore=kvstore,
        update_on_kvstore=in_store,
    )
    reference = gluon.Trainer(alone.collect_params(), "sgd", settings)
    for step in range(3):
        halves = [((1.0 + step, 2.0),), ((-1.0, 0.5 * step),)]
        for ctx, half in zip(devices, halves, strict=True):
            backward(net, half, ctx)
        trainer.step(2)
        backward(alone, halves[0] + halves[1])
        reference.step(2)
    for ctx in devices:
        np.testing.assert_allclose(
            net.weight.data(ctx).asnumpy(), alone.weight.data().asnumpy(), rtol=1e-5
        )
    assert trainer.optimizer.num_update == 3
    expected = in_store is None and isinstance(kvstore, str)
    assert trainer._update_on_kvstore is expected


def test_without_a_store_every_device_goes_its_own_way() -> None:
    devices = [cpu(0), gpu(0)]
    net = dense(devices)
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=None)
    for number, ctx in enumerate(devices):
        backward(net, ((1.0, number),), ctx)
    trainer.step(1)
    one, other = (net.weight.data(ctx).asnumpy() for ctx in devices)
    assert (one != other).any()
    assert trainer._kvstore is None


def test_reducing_and_updating_apart() -> None:
    devices = [cpu(0), gpu(0)]
    net = dense(devices)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False
    )
    for ctx in devices:
        backward(net, ctx=ctx)
    single = net.weight.grad(cpu(0)).asnumpy()
    trainer.allreduce_grads()
    for ctx in devices:
        np.testing.assert_allclose(net.weight.grad(ctx).asnumpy(), 2 * single)
    trainer.update(2)
    np.testing.assert_allclose(
        net.weight.data(gpu(0)).asnumpy(), 0.5 - 0.1 * single, rtol=1e-6
    )


def test_aggregation_does_not_change_what_is_learnt() -> None:
    found = []
    for size in (1, 4, 60):
        with knobs(MXNET_OPTIMIZER_AGGREGATION_SIZE=size):
            net = nn.Sequential()
            net.add(*(nn.Dense(3, in_units=3) for _ in range(3)))
            net.initialize(initializer.Constant(0.1))
            trainer = trained(net, momentum=0.9)
            for _ in range(2):
                backward(net, ((1.0, 2.0, 3.0),))
                trainer.step(1)
            found.append([p.data().asnumpy() for p in net.collect_params().values()])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_learning_rates() -> None:
    net = dense()
    trainer = trained(net)
    assert trainer.learning_rate == 0.1
    trainer.set_learning_rate(0.3)
    assert trainer.learning_rate == 0.3
    scheduled = trained(net, lr_scheduler=FactorScheduler(1, 0.5))
    for expected in (0.1, 0.05, 0.025):
        backward(net)
        scheduled.step(1)
        assert scheduled.learning_rate == pytest.approx(expected)
    with pytest.raises(UserWarning, match="follows FactorScheduler"):
        scheduled.set_learning_rate(1.0)


def test_a_parameters_own_multipliers() -> None:
    net = dense()
    net.bias.lr_mult = 0.0
    backward(net)
    trained(net).step(1)
    assert net.bias.data().asnumpy().tolist() == [0.0, 0.0]
    assert (net.weight.data().asnumpy() != 0.5).all()


def test_training_goes_on_from_stored_states(tmp_path: Path) -> None:
    first, second = dense(), dense()
    one, other = trained(first, momentum=0.9), trained(second, momentum=0.9)
    backward(first)
    one.step(1)
    first.save_parameters(tmp_path / "net.params")
    one.save_states(tmp_path / "net.states")
    second.load_parameters(tmp_path / "net.params")
    other.load_states(tmp_path / "net.states")
    for net, trainer in ((first, one), (second, other)):
        backward(net)
        trainer.step(1)
    np.testing.assert_array_equal(
        first.weight.data().asnumpy(), second.weight.data().asnumpy()
    )


def test_states_of_a_fresh_trainer_can_be_stored(tmp_path: Path) -> None:
    trained(dense()).save_states(tmp_path / "x.states")
    trained(dense()).load_states(tmp_path / "x.states")


def test_files_that_are_not_there_or_not_states(tmp_path: Path) -> None:
    trainer = trained(dense())
    with pytest.raises(DataError, match=r"nope\.states"):
        trainer.load_states(tmp_path / "nope.states")
    with pytest.raises(DataError, match="cannot write"):
        trainer.save_states(tmp_path / "no" / "such" / "folder")
    (tmp_path / "bad.states").write_bytes(b"\x80\x04pickled, perhaps; never opened")
    with pytest.raises(DataError, match="optimizer states"):
        trainer.load_states(tmp_path / "bad.states")


def test_momentum_moves_with_the_network() -> None:
    net, still = dense(), dense()
    moving, staying = trained(net, momentum=0.9), trained(still, momentum=0.9)
    for ctx in (cpu(0), gpu(0)):
        net.reset_ctx(ctx)
        backward(net, ctx=ctx)
        moving.step(1)
        backward(still)
        staying.step(1)
    np.testing.assert_allclose(
        net.weight.data().asnumpy(), still.weight.data().asnumpy(), rtol=1e-6
    )


def test_states_belong_to_their_layer() -> None:
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2))
    net.initialize()
    trainer = trained(net, momentum=0.9)
    backward(net)
    trainer.step(1)
    (updater,) = trainer._updaters
    owner = updater.states[0].chunk.owner
    assert (owner.layer, owner.phase, owner.category) == (
        "net/dense0",
        "update",
        "optimizer state",
    )
    assert events.attribution.phase == "other"


def test_parameters_in_other_wrappings() -> None:
    net = dense()
    made = optimizer.SGD(learning_rate=1.0)
    for params in (list(net.collect_params().values()), dict(net.collect_params())):
        trainer = gluon.Trainer(params, made)
        assert trainer.optimizer is made
    shared = nn.Dense(2, in_units=2, params=net.params)
    twice = [*net.collect_params().values(), *shared.collect_params().values()]
    assert len(gluon.Trainer(twice, "sgd")._params) == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda net: gluon.Trainer(3, "sgd"), "not a int"),
        (lambda net: gluon.Trainer([3], "sgd"), "holds a int"),
        (lambda net: gluon.Trainer(net.collect_params(), "sdg"), "Did you mean sgd"),
        (lambda net: trained(net, learning_rat=1.0), "learning_rat"),
        (
            lambda net: gluon.Trainer(
                net.collect_params(), "sgd", kvstore="dist_asinc"
            ),
            "no store called 'dist_asinc'.*Did you mean dist_async",
        ),
        (
            lambda net: gluon.Trainer(net.collect_params(), "sgd", kvstore="devise"),
            "Did you mean device",
        ),
        (
            lambda net: gluon.Trainer(
                net.collect_params(),
                "sgd",
                kvstore="local",
                compression_params={"type": "2bit"},
            ),
            "not compressed",
        ),
        (
            lambda net: gluon.Trainer(
                net.collect_params(), "sgd", compression_params={"type": "3bit"}
            ),
            "'2bit' or '1bit'",
        ),
        (
            lambda net: gluon.Trainer(net.collect_params(), optimizer.SGD(), {"wd": 1}),
            "made already",
        ),
        (
            lambda net: gluon.Trainer(
                [gluon.Parameter("w", shape=1), gluon.Parameter("w", shape=1)], "sgd"
            ),
            "same name",
        ),
    ],
)
def test_wrong_arguments_are_explained(make: Any, words: str) -> None:
    with pytest.raises((ArgumentError, TypeError), match=words):
        make(dense())


def test_a_step_before_initialize() -> None:
    net = nn.Dense(2, in_units=2)
    with pytest.raises(ParameterError, match=r"call initialize\(\)"):
        trained(net).step(1)


def two(in_store: bool | None = None, **settings: Any) -> tuple[Any, gluon.Trainer]:
    """A network on two devices, and its trainer."""
    net = dense([cpu(0), gpu(0)])
    settings = {"learning_rate": 0.1, **settings}
    params = net.collect_params()
    return net, gluon.Trainer(params, "sgd", settings, update_on_kvstore=in_store)


def backward_twice(net: Any) -> None:
    for ctx in (cpu(0), gpu(0)):
        backward(net, ctx=ctx)


def test_what_a_store_does_at_once_is_not_done_apart() -> None:
    net, trainer = two()
    backward_twice(net)
    with pytest.raises(AssertionError, match="update_on_kvstore=False"):
        trainer.allreduce_grads()
    with pytest.raises(AssertionError, match="update_on_kvstore=False"):
        trainer.update(1)


@pytest.mark.parametrize("in_store", [True, False])
def test_stale_gradients_on_several_devices(in_store: bool) -> None:
    net, trainer = two(in_store)
    net.bias.grad_req = "null"
    backward(net, ctx=cpu(0))
    with pytest.raises(UserWarning, match=r"on gpu\(0\) is stale"):
        trainer.step(1)
    backward_twice(net)
    trainer.step(1)
    before = net.weight.data(cpu(0)).asnumpy()
    trainer.step(1, ignore_stale_grad=True)
    np.testing.assert_array_equal(net.weight.data(cpu(0)).asnumpy(), before)
    with pytest.raises(UserWarning, match="is stale"):
        trainer.step(1)


@pytest.mark.parametrize("in_store", [True, False])
def test_states_of_several_devices_are_stored(tmp_path: Path, in_store: bool) -> None:
    (first, one), (second, other) = (two(in_store, momentum=0.9) for _ in range(2))
    backward_twice(first)
    one.step(1)
    first.save_parameters(tmp_path / "net.params")
    one.save_states(tmp_path / "net.states")
    second.load_parameters(tmp_path / "net.params", ctx=[cpu(0), gpu(0)])
    other.load_states(tmp_path / "net.states")
    alone = dense()
    alone.load_parameters(tmp_path / "net.params")
    single = trained(alone, momentum=0.9)
    single.load_states(tmp_path / "net.states")
    for net, trainer in ((first, one), (second, other)):
        backward_twice(net)
        trainer.step(1)
    backward(alone, ((1.0, 2.0), (1.0, 2.0)))
    single.step(1)
    for net in (second, alone):
        np.testing.assert_allclose(
            net.weight.data(cpu(0)).asnumpy(),
            first.weight.data(gpu(0)).asnumpy(),
            rtol=1e-6,
        )


@pytest.mark.parametrize("way", ["set_data", "initialize", "cast"])
def test_values_that_are_set_by_hand_reach_the_store(way: str) -> None:
    net, trainer = two()
    backward_twice(net)
    trainer.step(1)
    if way == "set_data":
        net.weight.set_data(nd.zeros((2, 2)))
    elif way == "initialize":
        net.weight.initialize(
            initializer.Zero(), ctx=[cpu(0), gpu(0)], force_reinit=True
        )
    else:
        net.cast("float64")
        net.weight.set_data(nd.zeros((2, 2), dtype="float64"))
    with autograd.record():
        losses = [
            (w * 3).sum() + b.sum()
            for w, b in zip(net.weight.list_data(), net.bias.list_data(), strict=True)
        ]
    autograd.backward(losses)
    trainer.step(1)
    for ctx in (cpu(0), gpu(0)):
        np.testing.assert_allclose(net.weight.data(ctx).asnumpy(), -0.6, rtol=1e-6)


def test_momentum_in_the_store_moves_with_the_network() -> None:
    net, moving = two(momentum=0.9)
    still, staying = two(momentum=0.9)
    for devices in ([cpu(0), gpu(0)], [cpu(0), cpu(1)]):
        net.reset_ctx(devices)
        for ctx, other in zip(devices, (cpu(0), gpu(0)), strict=True):
            backward(net, ctx=ctx)
            backward(still, ctx=other)
        moving.step(1)
        staying.step(1)
    np.testing.assert_allclose(
        net.weight.data(cpu(1)).asnumpy(), still.weight.data(gpu(0)).asnumpy()
    )


@pytest.mark.parametrize("on_store", [True, False])
def test_devices_and_stores_may_change_between_steps(on_store: bool) -> None:
    """Adam divides by what its count of steps says, so every device needs the count."""
    net, still = dense(), dense()
    moving = gluon.Trainer(
        net.collect_params(), "adam", kvstore="local", update_on_kvstore=on_store
    )
    staying = gluon.Trainer(still.collect_params(), "adam")
    devices = [cpu(0)]
    for step in range(6):
        if step == 2:
            devices = [cpu(0), cpu(1)]
            net.reset_ctx(devices)
        if step == 4:
            moving.change_store("device", update_on_kvstore=not on_store)
        for ctx in devices:
            backward(net, ctx=ctx)
        backward(still)
        moving.step(len(devices))
        staying.step(1)
    assert (moving._kvstore.type, moving._update_on_kvstore) == ("device", not on_store)
    for ctx in devices:
        np.testing.assert_allclose(
            net.weight.data(ctx).asnumpy(), still.weight.data().asnumpy(), rtol=1e-6
        )
    with pytest.raises(ArgumentError, match="no store called"):
        moving.change_store("nothing")
    assert moving._kvstore.type == "device"


def test_rows_of_a_table_live_in_the_store(tmp_path: Path) -> None:
    params = gluon.ParameterDict()
    table = params.get("t", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    other = params.get("o", shape=(1,))
    params.initialize(initializer.One(), ctx=[cpu(0), gpu(0)])
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 1})
    assert trainer._update_on_kvstore is None
    with autograd.record():
        losses = []
        for ctx in (cpu(0), gpu(0)):
            asked = [nd.array([0, 1], ctx=ctx), nd.array([1], ctx=ctx)]
            rows = [table.row_sparse_data(numbers) for numbers in asked]
            first, second = (
                nd.Embedding(numbers, weight, 4, 2, sparse_grad=True)
                for numbers, weight in zip(asked, rows, strict=True)
            )
            losses.append((first.sum() + 2 * second.sum()) * other.data(ctx))
    autograd.backward(losses)
    trainer.step(1)
    assert trainer._update_on_kvstore is True
    expected = [[-1, -1], [-5, -5], [1, 1], [1, 1]]
    params.save(tmp_path / "x")
    assert nd.load(tmp_path / "x")["t"].asnumpy().tolist() == expected
    other.set_data(nd.zeros(1))  # the store is made anew, with all rows
    found = table.row_sparse_data(nd.array([1, 2], ctx=gpu(0)))
    assert found.data.asnumpy().tolist() == [[-5, -5], [1, 1]]
    with pytest.raises(RuntimeError, match="one Trainer"):
        gluon.Trainer(params, "sgd")
