"""The watch for the first number that is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.errors import MXNetError
from minimx.core.record import Record
from minimx.monitor import FiniteWatch

ENGINES = ("NaiveEngine", "ThreadedEnginePerDevice")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    with mx.knobs(MXNET_ENGINE_TYPE=request.param):
        yield request.param


def chain(length: int, at: int) -> list[str]:
    """Operators that keep 1 within [0.5, 2], but for a logarithm of 0 at one place."""
    return ["zero_log" if k == at else ("square", "sqrt")[k % 2] for k in range(length)]


@settings(deadline=None, max_examples=30)
@given(st.data(), st.sampled_from(ENGINES))
def test_the_first_bad_operation_is_found_wherever_it_is(data: Any, kind: str) -> None:
    length = data.draw(st.integers(1, 12))
    at = data.draw(st.integers(0, length - 1))
    with mx.knobs(MXNET_ENGINE_TYPE=kind), FiniteWatch() as watch:
        x = nd.ones((3, 2))
        for word in chain(length, at):
            x = nd.log(x * 0) if word == "zero_log" else getattr(nd, word)(x)
    first = watch.first
    assert first is not None
    assert (first.operator, first.born, first.infinities, first.nans) == (
        "log",
        True,
        6,
        0,
    )
    assert [one.born for one in watch.findings[1:]] == [False] * (watch.total - 1)
    assert watch.total == length - at  # all that come after it inherit it


def test_nothing_is_found_where_everything_is_finite(engine: str) -> None:
    with FiniteWatch() as watch:
        (nd.ones((2, 2)) * 3).sum().wait_to_read()
    assert (watch.first, watch.total, watch.findings) == (None, 0, [])


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_is_found_with_its_layer_and_its_forward_call(
    engine: str, hybridized: bool
) -> None:
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(8, activation="relu"),
        gluon.nn.HybridLambda(lambda F, x: F.sqrt(x)),
        gluon.nn.Dense(1),
    )
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = nd.random.normal(shape=(16, 4))
    with Record() as record, FiniteWatch() as watch:
        for _ in range(2):
            with autograd.record():
                loss = net(x).sum()
            loss.backward()
            trainer.step(16)
        first = watch.first
    assert first is not None
    assert (first.phase, first.step, first.born) == ("backward", 0, True)
    assert first.layer.endswith(net[1].name)
    assert "gradient of sqrt" in first.forward
    assert first.line.startswith("test_finite.py:")
    (name,) = record.texts(record.ops()[record.ops()["op"] == first.op]["name"])
    assert name == first.operator
    assert {step for step, _, _ in watch.cells} == {0, 1}
    assert watch.cells[0, "backward", first.layer].bad == 1


def test_what_comes_in_with_data_was_not_born_in_an_operation(engine: str) -> None:
    with FiniteWatch() as watch:
        nd.array(np.array([1.0, np.nan])) + 1
    assert watch.first is not None
    assert (watch.first.operator, watch.first.born) == ("_plus_scalar", False)


def test_an_update_in_place_knows_what_it_was_given(engine: str) -> None:
    weight, gradient = nd.ones((2,)), nd.array([np.inf, 1.0])
    with FiniteWatch() as watch:
        nd.sgd_update(weight, gradient, out=weight, lr=0.1)
        nd.sgd_update(weight, nd.ones((2,)), out=weight, lr=0.1)
        large = nd.full((2,), 3e38)
        nd.sgd_update(large, nd.full((2,), -3e38), out=large, lr=1.0)
    found = [one for one in watch.findings if one.operator == "sgd_update"]
    assert [one.born for one in found] == [False, False, True]
    assert found[2].largest == pytest.approx(3e38)


def test_states_that_an_operator_writes_are_looked_at(engine: str) -> None:
    weight, momentum = nd.ones((1,)), nd.full((1,), 3e38)
    with FiniteWatch() as watch:
        nd.sgd_mom_update(
            weight, nd.ones((1,)), momentum, out=weight, lr=0.0, momentum=10.0
        )
    assert watch.first is not None and watch.first.operator == "sgd_mom_update"


def test_infinity_can_be_meant(engine: str) -> None:
    with FiniteWatch(nan_only=True) as watch:
        masked = nd.array([-np.inf, 1.0]) * 2
        masked - masked
    assert watch.first is not None
    assert (watch.first.operator, watch.first.nans) == ("broadcast_sub", 1)
    assert watch.first.born


def test_float16_overflow_shows_its_size(engine: str) -> None:
    with FiniteWatch() as watch:
        nd.full((4,), 300.0, dtype="float16") ** 2
    first = watch.first
    assert first is not None
    assert (first.dtype, first.largest, first.infinities) == ("float16", 300.0, 4)
    assert "4 infinite of 4 float16, from finite inputs" in repr(first)


def test_numbers_are_the_same_with_a_watch(engine: str) -> None:
    def train() -> Any:
        mx.random.seed(3)
        net = gluon.nn.Dense(3)
        net.initialize()
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam")
        x = nd.random.normal(shape=(8, 5))
        for _ in range(3):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        return net.weight.data().asnumpy()

    plain = train()
    with FiniteWatch():
        watched = train()
    assert np.array_equal(plain, watched)


def test_a_bound_symbol_is_looked_into() -> None:
    out = mx.sym.log(mx.sym.sin(mx.sym.var("x"), name="s") * 0, name="l")
    bound = out.simple_bind(mx.cpu(), x=(2,))
    bound.arg_dict["x"][:] = 1
    with FiniteWatch() as watch:
        bound.forward(is_train=True)
        bound.backward()
    assert watch.first is not None and watch.first.operator == "log"
    assert np.isfinite(bound.forward()[0].asnumpy()).sum() == 0  # bound again
    bound.backward()


def test_one_watch_at_a_time() -> None:
    watch = FiniteWatch().start()
    with pytest.raises(MXNetError, match="a watch is on already"):
        FiniteWatch().start()
    assert watch.stop() is watch.stop()  # twice does no harm
    nd.log(nd.zeros((1,))).wait_to_read()
    assert watch.total == 0


def test_more_than_is_kept_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minimx.tools.finite.KEPT", 2)
    with FiniteWatch() as watch:
        for _ in range(5):
            nd.log(nd.zeros((1,)))
    assert (len(watch.findings), watch.total) == (2, 5)
    assert repr(watch).startswith("FiniteWatch(5 not finite, first: log (")


def test_what_several_devices_did_is_told_apart_and_together() -> None:
    with mx.knobs(MINIMX_SIM_GPUS=2), FiniteWatch() as watch:
        for place, factor in ((0, 1.0), (1, 0.0)):
            x = nd.ones((2, 2), ctx=mx.gpu(place)) * 3
            nd.log(x * factor).wait_to_read()
        del x  # a GPU cannot be taken away while something is on it
        first = watch.first
        assert first is not None
        assert (first.device, first.operator, first.born) == ("gpu(1)", "log", True)
        assert "(step 0, gpu(1), " in repr(first)
        assert watch.devices == ["gpu(0)", "gpu(1)"]
        one, other = (watch.cells_of(mx.gpu(i)) for i in range(2))
        assert list(one) == list(other) == list(watch.cells)
        (key,) = one
        assert (one[key].bad, other[key].bad) == (0, 1)
        both = watch.cells[key]
        assert (both.calls, both.bad) == (one[key].calls + other[key].calls, 1)
        assert both.largest == max(one[key].largest, other[key].largest) == 3.0
        assert watch.cells_of("cpu(0)") == {}
