"""`Module` trains, predicts and stores symbols."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DataError, ParameterError
from minimx.io import DataBatch, NDArrayIter
from minimx.module import Module

X = np.random.RandomState(0).randn(10, 3).astype("float32")
W = np.array([[1.0, -2.0, 0.5]], dtype="float32")
Y = X @ W.T


def line(**attrs: Any) -> Any:
    """Linear regression without a bias, on `lin_label`."""
    weight = mx.sym.Variable("w_weight", **attrs)
    out = mx.sym.FullyConnected(
        mx.sym.Variable("data"), weight, num_hidden=1, no_bias=True, name="fc"
    )
    return mx.sym.LinearRegressionOutput(out, mx.sym.Variable("lin_label"), name="lin")


def module(symbol: Any = None, **kwargs: Any) -> Module:
    chosen = line() if symbol is None else symbol
    return Module(chosen, label_names=("lin_label",), **kwargs)


def data(batch_size: int = 5) -> NDArrayIter:
    return NDArrayIter(X, Y, batch_size, label_name="lin_label")


def ready(symbol: Any = None, weight: Any = None, **kwargs: Any) -> Module:
    """A bound module of a weight of zeros, or of what is given."""
    made = module(symbol, **kwargs)
    made.bind(data().provide_data, data().provide_label)
    made.set_params(
        {"w_weight": nd.array(np.zeros_like(W) if weight is None else W)}, {}
    )
    return made


def test_fit_finds_the_line_and_tells_how_it_goes() -> None:
    batches, epochs, told = [], [], module()
    told.fit(
        data(), data(), "mse", num_epoch=60, optimizer_params={"learning_rate": 0.5},
        batch_end_callback=lambda param: batches.append((param.epoch, param.nbatch)),
        epoch_end_callback=[lambda epoch, symbol, args, auxs: epochs.append(args)],
    )  # fmt: skip
    np.testing.assert_allclose(told.get_params()[0]["w_weight"].asnumpy(), W, atol=1e-3)
    assert batches[:3] == [(0, 0), (0, 1), (1, 0)] and len(epochs) == 60
    ((name, error),) = told.score(data(), "mse")
    assert name == "mse" and error < 1e-5


def test_a_step_divides_the_gradient_by_the_batch() -> None:
    mod = ready()
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
    batch = next(data())
    mod.forward_backward(batch)
    mod.update()
    expected = 0.1 * (Y[:5].T @ X[:5]) / 5
    found = mod.get_params()[0]["w_weight"].asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_multipliers_and_fixed_parameters() -> None:
    for made in (ready(line(lr_mult=0)), ready(fixed_param_names=["w_weight"])):
        made.init_optimizer()
        made.forward_backward(next(data()))
        made.update()
        assert not made.get_params()[0]["w_weight"].asnumpy().any()


def test_predictions_leave_the_padding_out() -> None:
    mod = ready(weight=W)
    np.testing.assert_allclose(mod.predict(data(4)).asnumpy(), Y, rtol=1e-4, atol=1e-6)
    assert [len(out) for (out,) in mod.predict(data(4), merge_batches=False)] == [
        4,
        4,
        2,
    ]
    assert mod.predict(data(), num_batch=1, always_output_list=True)[0].shape == (5, 1)
    np.testing.assert_allclose(mod.predict(X[:1]).asnumpy(), Y[:1], rtol=1e-4)
    numbers = [number for _, number, _ in mod.iter_predict(data())]
    assert numbers == [0, 1]


def test_a_batch_of_another_size_is_bound_anew_with_the_same_weights() -> None:
    mod = ready(weight=W)
    for rows in (2, 8, 5):
        mod.forward(DataBatch([nd.array(X[:rows])]), is_train=False)
        np.testing.assert_allclose(
            mod.get_outputs()[0].asnumpy(), Y[:rows], rtol=1e-4, atol=1e-6
        )
        assert mod.data_shapes[0].shape == (rows, 3)
    mod.reshape([("data", (7, 3))], [("lin_label", (7, 1))])
    assert mod.output_shapes == [("lin_output", (7, 1))]


def test_gradients_of_the_data() -> None:
    mod = Module(mx.sym.Variable("b") * 2 + mx.sym.Variable("a") * 3, ["b", "a"], None)
    shape = (2, 2)
    mod.bind([("a", shape), ("b", shape)], inputs_need_grad=True)
    mod.init_params()
    mod.forward(DataBatch([nd.ones(shape), nd.ones(shape)]))
    mod.backward([nd.ones(shape)])
    a, b = (grad.asnumpy() for grad in mod.get_input_grads() if grad is not None)
    assert (a == 3).all() and (b == 2).all()


def test_a_checkpoint_goes_on_where_it_was_left(tmp_path: Path) -> None:
    prefix = str(tmp_path / "line")
    settings = {"learning_rate": 0.1, "momentum": 0.9}

    def step(mod: Module) -> Any:
        mod.init_optimizer(optimizer_params=settings)
        mod.forward_backward(next(data()))
        mod.update()
        return mod.get_params()[0]["w_weight"].asnumpy()

    mod = ready()
    step(mod)
    mod.save_checkpoint(prefix, 1, save_optimizer_states=True)
    again = Module.load(prefix, 1, True, label_names=["lin_label"])
    again.bind(data().provide_data, data().provide_label)
    np.testing.assert_array_equal(step(again), step(mod))
    symbol, args, auxs = mx.model.load_checkpoint(prefix, 1)
    assert symbol.list_outputs() == ["lin_output"]
    assert list(args) == ["w_weight"] and auxs == {}
    other = ready()
    other.load_params(f"{prefix}-0001.params")
    np.testing.assert_array_equal(
        other.get_params()[0]["w_weight"].asnumpy(), args["w_weight"].asnumpy()
    )
    nd.save(f"{prefix}-0002.params", {"w": nd.ones(1)})
    with pytest.raises(DataError, match="arg:"):
        mx.model.load_params(prefix, 2)


def test_states_are_kept_apart_from_parameters() -> None:
    out = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=False, name="bn")
    mod = Module(out, label_names=None)
    mod.bind([("data", (4, 3))])
    mod.init_params()
    args, auxs = mod.get_params()
    assert sorted(args) == ["bn_beta", "bn_gamma"]
    assert sorted(auxs) == ["bn_moving_mean", "bn_moving_var"]
    mod.forward(DataBatch([nd.array(X[:4])]))
    assert mod.get_params()[1]["bn_moving_mean"].asnumpy().any()


def test_binding_anew_keeps_the_parameters() -> None:
    mod = ready(weight=W)
    mod.bind([("data", (1, 3))], for_training=False, force_rebind=True)
    np.testing.assert_array_equal(mod.get_params()[0]["w_weight"].asnumpy(), W)
    assert mod.predict(X[:1]).shape == (1, 1)


def test_given_parameters_must_fit_unless_told() -> None:
    mod = ready()
    with pytest.raises(ParameterError, match="no value for w_weight"):
        mod.set_params({}, {})
    with pytest.raises(ArgumentError, match="no argument 'b'"):
        mod.set_params({"b": nd.ones(1)}, {}, allow_missing=True)
    mod.set_params({"b": nd.ones(1)}, {}, allow_missing=True, allow_extra=True)
    mod.init_params(mx.init.One(), force_init=True)
    assert mod.get_params()[0]["w_weight"].asnumpy().tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("error", "said", "act"),
    [
        (ArgumentError, "Did you mean data", lambda: Module(line(), ["dta"])),
        (ArgumentError, "data_names are", lambda: module().bind([("x", (1, 3))])),
        (ArgumentError, "num_epoch", lambda: module().fit(data())),
        (ArgumentError, "work_load_list", lambda: module(work_load_list=[1, 2])),
        (ArgumentError, "dist_asinc", lambda: ready().init_optimizer("dist_asinc")),
        (ParameterError, "bind first", lambda: module().init_params()),
        (ParameterError, "init_params", lambda: module().get_params()),
        (ParameterError, "init_optimizer", lambda: ready().update()),
    ],
)
def test_what_a_module_refuses(error: Any, said: str, act: Any) -> None:
    with pytest.raises(error, match=said):
        act()
