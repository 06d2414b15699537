"""One parameter: from a name to arrays on devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.device import cpu, gpu
from minimx.core.errors import (
    DeferredInitializationError,
    DTypeError,
    ParameterError,
    ShapeError,
)
from minimx.gluon import Constant, Parameter
from minimx.initializer import Constant as Fill


def test_a_parameter_is_filled_and_has_a_gradient() -> None:
    parameter = Parameter("w", shape=(2, 3))
    parameter.initialize(Fill(4.0))
    assert parameter.data().asnumpy().tolist() == [[4.0] * 3] * 2
    assert parameter.grad().asnumpy().tolist() == [[0.0] * 3] * 2
    assert parameter.list_ctx() == [cpu(0)]
    assert (
        repr(parameter) == "Parameter w (shape=(2, 3), dtype=<class 'numpy.float32'>)"
    )


def test_its_own_initializer_beats_the_general_one() -> None:
    parameter = Parameter("anything", shape=(2,), init="ones")
    parameter.initialize(default_init=Fill(4.0))
    assert parameter.data().asnumpy().tolist() == [1.0, 1.0]
    parameter.initialize(Fill(5.0), force_reinit=True)
    assert parameter.data().asnumpy().tolist() == [5.0, 5.0]


def test_the_general_initializer_fills_small_random_numbers() -> None:
    parameter = Parameter("whatever", shape=(1000,))
    parameter.initialize()
    numbers = parameter.data().asnumpy()
    assert abs(numbers).max() <= 0.07
    assert numbers.std() == pytest.approx(0.07 / 3**0.5, rel=0.1)


def test_a_second_initialize_is_ignored_with_a_warning() -> None:
    parameter = Parameter("w", shape=(1,))
    parameter.initialize(Fill(1.0))
    with pytest.warns(UserWarning, match="force_reinit=True"):
        parameter.initialize(Fill(2.0))
    assert parameter.data().asscalar() == 1.0


def test_deferred_until_the_shape_is_known() -> None:
    parameter = Parameter("w", shape=(2, 0), allow_deferred_init=True)
    parameter.initialize(Fill(3.0), ctx=[cpu(0), gpu(0)])
    assert parameter.list_ctx() == [cpu(0), gpu(0)]
    with pytest.raises(DeferredInitializationError, match="when the first batch"):
        parameter.data()
    parameter.shape = (2, 5)
    parameter._finish_deferred()
    assert [x.context for x in parameter.list_data()] == [cpu(0), gpu(0)]
    assert parameter.data(gpu(0)).asnumpy().tolist() == [[3.0] * 5] * 2


def test_values_complete_an_open_shape() -> None:
    parameter = Parameter("w", shape=(2, 0), allow_deferred_init=True)
    parameter.initialize()
    parameter.set_data(nd.ones((2, 4)))
    assert parameter.shape == (2, 4)
    assert parameter.data().asnumpy().sum() == 8.0


def test_an_open_shape_must_be_allowed() -> None:
    with pytest.raises(ShapeError, match=r"w cannot be filled.*\(0, 3\)"):
        Parameter("w", shape=(0, 3)).initialize()
    with pytest.raises(ShapeError, match="None is incomplete"):
        Parameter("w").initialize()


def test_use_before_initialize() -> None:
    parameter = Parameter("w", shape=(1,))
    for use in (parameter.data, parameter.grad, parameter.list_ctx):
        with pytest.raises(ParameterError, match=r"call initialize\(\)"):
            use()
    with pytest.raises(ParameterError, match=r"call initialize\(\)"):
        parameter.set_data(nd.ones((1,)))
    with pytest.raises(ParameterError, match=r"call initialize\(\)"):
        parameter.reset_ctx(cpu())


def test_use_on_a_device_where_it_is_not() -> None:
    parameter = Parameter("w", shape=(1,))
    parameter.initialize()
    with pytest.raises(ParameterError, match=r"no values on gpu\(0\).*\[cpu\(0\)\]"):
        parameter.data(gpu(0))


def test_gradients_are_written_added_or_not_kept() -> None:
    x = nd.array([1.0, 2.0])
    for req, expected in (("write", [1.0, 2.0]), ("add", [2.0, 4.0])):
        parameter = Parameter("w", grad_req=req, shape=(2,))
        parameter.initialize()
        for _ in range(2):
            with autograd.record():
                loss = parameter.data() * x
            loss.backward()
        assert parameter.grad().asnumpy().tolist() == expected
        parameter.zero_grad()
        assert parameter.grad().asnumpy().tolist() == [0.0, 0.0]


def test_grad_req_can_change() -> None:
    parameter = Parameter("w", shape=(2,))
    parameter.initialize()
    parameter.grad_req = "null"
    with pytest.raises(ParameterError, match="grad_req is 'null'"):
        parameter.grad()
    with pytest.raises(ParameterError, match="grad_req is 'null'"):
        parameter.list_grad()
    parameter.zero_grad()
    parameter.grad_req = "add"
    assert parameter.grad().shape == (2,)
    with pytest.raises(ParameterError, match="'wirte'.*Did you mean write"):
        parameter.grad_req = "wirte"


def test_what_is_not_differentiable_has_no_gradient() -> None:
    parameter = Parameter("mean", shape=(2,), differentiable=False)
    assert parameter.grad_req == "null"
    parameter.grad_req = "write"
    assert parameter.grad_req == "null"


def test_set_data_writes_every_device() -> None:
    parameter = Parameter("w", shape=(2,))
    parameter.initialize(ctx=[cpu(0), gpu(0)])
    parameter.set_data(nd.array([7.0, 8.0]))
    for array in parameter.list_data():
        assert array.asnumpy().tolist() == [7.0, 8.0]
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        parameter.set_data(nd.ones((3,)))


def test_moving_averages_the_copies() -> None:
    parameter = Parameter("w", shape=(1,))
    parameter.initialize(Fill(0.0), ctx=[cpu(0), gpu(0)])
    parameter.data(cpu(0))[:] = 4.0
    parameter.reset_ctx(gpu(0))
    assert parameter.list_ctx() == [gpu(0)]
    assert parameter.data().asscalar() == 2.0
    assert parameter.grad().context is gpu(0)


def test_moving_before_the_shape_is_known() -> None:
    parameter = Parameter("w", shape=(0,), allow_deferred_init=True)
    parameter.initialize()
    parameter.reset_device([gpu(0)])
    assert parameter.list_device() == [gpu(0)]


def test_cast_converts_values_and_gradients() -> None:
    parameter = Parameter("w", shape=(2,))
    parameter.initialize(Fill(1.5))
    parameter.cast("float64")
    assert parameter.data().dtype is np.float64
    with autograd.record():
        loss = parameter.data() * 2.0
    loss.backward()
    assert parameter.grad().dtype is np.float64
    assert parameter.grad().asnumpy().tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Parameter("w", grad_req="foo"), ParameterError),
        (lambda: Parameter("w", dtype="float31"), DTypeError),
        (lambda: Parameter("w", stype="rows"), ParameterError),
    ],
)
def test_wrong_settings_are_refused(make: Any, error: Any) -> None:
    with pytest.raises(error):
        make()


def test_a_constant_is_not_learnt() -> None:
    constant = Constant("c", [[1, 2], [3, 4]])
    constant.initialize()
    assert constant.data().asnumpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert constant.grad_req == "null"
    with pytest.warns(UserWarning, match="'write' was ignored"):
        constant.grad_req = "write"


def test_rows_are_asked_for_with_an_array() -> None:
    """By a list MXNet fails with an error that names an attribute."""
    params = mx.gluon.ParameterDict()
    weight = params.get("weight", shape=(6, 2), stype="row_sparse", init=mx.init.One())
    params.initialize()
    mx.gluon.Trainer(params, "sgd")
    wrong: tuple[Any, ...] = ([3, 1], np.array([3, 1]), 3, None)
    for row_id in wrong:
        with pytest.raises(TypeError, match="row_id is an array"):
            weight.row_sparse_data(row_id)
        with pytest.raises(TypeError, match="row_id is an array"):
            weight.list_row_sparse_data(row_id)
    assert weight.row_sparse_data(mx.nd.array([3, 1])).indices.asnumpy().tolist() == [
        1,
        3,
    ]


def test_errors_are_of_the_kinds_that_mxnets_programs_catch() -> None:
    empty = mx.gluon.Parameter("w", shape=(2,))
    for ask in (empty.data, empty.list_ctx, lambda: empty.reset_ctx(mx.cpu())):
        with pytest.raises(ValueError, match="has no values"):
            ask()
        with pytest.raises(RuntimeError):
            ask()
    with pytest.raises(AssertionError, match="choose one of"):
        empty.grad_req = "sometimes"
    with pytest.raises(AssertionError, match="does not fit"):
        empty.set_data(mx.nd.ones(3))
    params = mx.gluon.ParameterDict()
    params.get("w", shape=(2,))
    with pytest.raises(AssertionError, match="is shared"):
        params.get("w", shape=(3,))


def test_a_constructor_that_asks_for_values_is_named() -> None:
    class Eager(mx.gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.scale = self.params.get("scale", shape=(1,))
            self.start = self.scale.data()

    with pytest.raises(ValueError, match="while Eager is being made: its __init__"):
        Eager()


def test_a_device_that_is_named_twice_has_one_copy() -> None:
    """As libraries do that try data parallelism on a machine with one device."""
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize(ctx=[mx.cpu(0), mx.cpu(0)])
    assert net.weight.list_ctx() == [mx.cpu(0)]
    net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1), mx.cpu(0)])
    assert net.weight.list_ctx() == [mx.cpu(0), mx.cpu(1)]


def test_a_parameter_of_a_library_that_changes_what_it_reads() -> None:
    """As GluonNLP drops weights: it copies what there is, and overrides `data`."""

    class Halved(Parameter):
        def __init__(self, other: Any) -> None:
            self._deferred_init = other._deferred_init
            super().__init__(name=other.name, shape=other._shape, dtype=other.dtype)
            self._data, self._grad, self._var = other._data, other._grad, other._var
            self._ctx_list, self._ctx_map = other._ctx_list, other._ctx_map

        def data(self, ctx: Any = None) -> Any:
            return self._check_and_get(self._data, ctx) / 2

    plain = Parameter("w", shape=(2,))
    plain.initialize(Fill(3.0), ctx=[cpu(0), cpu(1)])
    halved: Any = Halved(plain)
    assert halved.data(cpu(1)).asnumpy().tolist() == [1.5, 1.5]
    assert [x.context for x in halved._check_and_get(halved._data, list)] == [
        cpu(0),
        cpu(1),
    ]
    assert halved._check_and_get(halved._grad, cpu(0)) is plain.grad(cpu(0))
