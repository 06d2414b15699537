"""What happens around a graph with sparse arrays that is made ready once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd, sym
from minimx.core import engine
from minimx.core.arrays import launch
from minimx.core.errors import DataError, DeviceError, OperatorError, ShapeError
from minimx.core.ops.registry import forget_plans
from minimx.graphs import sparse_runs
from minimx.graphs.sparse_runs import SparseRuns
from tests.graphs.sparse_nets import (
    FEW,
    ROWS,
    WIDE,
    bound,
    by_operators,
    everything,
    fill,
    numbers,
    quiet,
    ready,
    regression,
    shown,
    steps,
)  # fmt: skip

__all__ = ["quiet"]


# -- what users do between calls -------------------------------------------------------


def test_arguments_are_read_as_they_are_when_it_runs() -> None:
    executor, other = bound("regression"), by_operators(bound("regression"))
    for one in (executor, other):
        one.forward(is_train=True)
        one.arg_dict["bias"][:] = 4
        one.arg_arrays[2] = nd.array(numbers(FEW, seed=9))  # the bias, another array
        one.forward(is_train=True)
        one.backward()
    assert [*executor.arg_dict][2] == "bias"
    assert type(executor._ran) is SparseRuns
    assert everything(executor) == everything(other)


def test_arrays_of_other_storage_types_are_computed_with_operators() -> None:
    executor, other = bound("regression"), by_operators(bound("regression"))
    assert ready(executor)
    held = executor.outputs[0]
    for one in (executor, other):
        dense = one.arg_arrays[0].tostype("default")
        one.arg_arrays[0], sparse = dense, one.arg_arrays[0]
        one.forward(is_train=True)
        one.backward()
        assert one._ran is None
        other_way = everything(one)
        one.arg_arrays[0] = sparse
    assert executor.outputs[0] is held
    assert other_way == everything(executor)
    assert ready(executor)
    executor.backward()
    assert executor.outputs[0] is held


def test_a_gradient_that_is_taken_away_is_not_computed() -> None:
    executor = bound("regression")
    assert ready(executor)
    place = [*executor.arg_dict].index("bias")
    kept = executor.grad_arrays[place]
    kept[:] = 9
    executor.grad_arrays[place] = None
    executor.forward(is_train=True)
    executor.backward()
    assert (kept.asnumpy() == 9).all()
    executor.grad_arrays[place] = kept
    assert ready(executor)
    executor.backward()
    assert not (kept.asnumpy() == 9).any()


def test_another_array_for_a_gradient() -> None:
    executor = bound("regression")
    executor.forward(is_train=True)
    executor.backward()
    place = [*executor.arg_dict].index("weight")
    first = executor.grad_arrays[place]
    before = shown(first)
    executor.grad_arrays[place] = nd.sparse.zeros("row_sparse", (WIDE, FEW))
    fill(executor, 7)
    executor.forward(is_train=True)
    executor.backward()
    assert shown(first) == before != shown(executor.grad_arrays[place])


def test_what_a_user_keeps_of_the_outputs_is_what_was_computed_last() -> None:
    executor = bound("regression")
    held = executor.forward()[0]
    copied = held.copy()
    fill(executor, 10)
    executor.forward()
    assert executor.outputs[0] is held
    assert not (held.asnumpy() == copied.asnumpy()).all()


def test_an_executor_for_other_shapes() -> None:
    executor = bound("regression")
    assert ready(executor)
    fewer: Any = {"data": (2, WIDE), "label": (2, FEW)}
    made = executor.reshape(**fewer)
    assert made.arg_dict["weight"] is executor.arg_dict["weight"]
    assert made.grad_dict["weight"] is executor.grad_dict["weight"]
    data = executor.arg_dict["data"]
    made.arg_dict["data"][:] = data[:2]
    assert ready(made)
    made.backward()
    other = regression().simple_bind(mx.cpu(), **fewer)
    other.copy_params_from(made.arg_dict)
    by_operators(other).forward(is_train=True)
    other.backward()
    assert shown(made.outputs[0]) == shown(other.outputs[0])
    for name in ("weight", "bias"):
        assert shown(made.grad_dict[name]) == shown(other.grad_dict[name])
    with pytest.raises(ShapeError, match="partial_shaping"):
        executor.reshape(data=(2, WIDE))


def test_a_module_with_sparse_weights_takes_a_short_batch() -> None:
    module: Any = mx.mod.Module(regression(), ["data"], ["label"])
    module.bind([("data", (ROWS, WIDE))], [("label", (ROWS, FEW))])
    module.init_params(mx.init.One())
    data = nd.array(numbers(2, WIDE)).tostype("csr")
    batch = mx.io.DataBatch([data], [nd.zeros((2, FEW))])
    module.forward_backward(batch)
    (found,) = module.get_outputs()
    sums = numbers(2, WIDE).sum(1, keepdims=True)
    np.testing.assert_allclose(found.asnumpy(), np.tile(sums, FEW), rtol=1e-5)


# -- what goes wrong -------------------------------------------------------------------


def test_a_failure_leaves_everything_to_go_on_with() -> None:
    executor = bound("regression")
    assert ready(executor)
    executor.backward()
    before = everything(executor)
    data = executor.arg_dict["data"]
    good = data.copyto(mx.cpu())
    places = np.array([0, WIDE + 2]), np.array([0, 1, 2, 2, 2])
    bad = nd.sparse.csr_matrix((np.ones(2, np.float32), *places), shape=data.shape)
    place = [*executor.arg_dict].index("data")
    executor.arg_arrays[place] = bad
    with pytest.raises(DataError, match="no column"):
        executor.forward(is_train=True)[0].asnumpy()
    grads = [shown(grad) for grad in executor.grad_arrays]
    assert grads == before[1]
    executor.arg_arrays[place] = good
    executor.forward(is_train=True)
    executor.backward()
    assert everything(executor) == before
    mx.nd.waitall()


def test_an_array_on_another_device_is_refused_as_by_operators() -> None:
    executor = bound("regression")
    assert ready(executor)
    place = [*executor.arg_dict].index("bias")
    executor.arg_arrays[place] = executor.arg_arrays[place].as_in_context(mx.cpu(1))
    with pytest.raises(DeviceError, match="different devices"):
        executor.forward(is_train=True)


@pytest.mark.parametrize(
    "net",
    [
        lambda data, weight: sym.dot(sym.softmax(data), weight),
        lambda data, weight: sym.dot(
            data, sym.cast_storage(weight, stype="row_sparse")
        ),
        lambda data, weight: sym.contrib.foreach(
            lambda x, states: (x * 2, states), sym.dot(data, weight), []
        )[0],
        lambda data, weight: sym.cast_storage(
            sym.dot(data, weight), stype="row_sparse"
        ),
    ],
    ids=["no rule", "no rule for a gradient", "control flow", "sparse output"],
)
def test_what_cannot_be_made_ready_is_computed_with_operators(net: Any) -> None:
    def made() -> Any:
        graph = net(sym.var("data", stype="csr"), sym.var("weight"))
        given = {"data": (ROWS, WIDE)}
        if "weight" in graph.list_arguments():
            given["weight"] = (WIDE, FEW)
        executor = graph.simple_bind(mx.cpu(), **given)
        fill(executor, 0)
        return executor

    executor = made()
    assert not ready(executor)
    assert executor._sparse is None
    other = by_operators(made())
    other.forward(is_train=True)
    assert shown(executor.outputs[0]) == shown(other.outputs[0])


def test_what_an_operator_refuses_is_raised_when_it_runs(monkeypatch: Any) -> None:
    def refuse(op: Any, specs: Any) -> Any:
        raise OperatorError(f"{op.name} cannot be computed for {specs}")

    monkeypatch.setattr(sparse_runs, "planned", refuse)
    executor = bound("regression")
    assert executor._sparse is None
    executor.forward(is_train=True)
    executor.backward()
    monkeypatch.undo()
    other = bound("regression")
    assert ready(other)
    other.backward()
    assert everything(executor) == everything(other)


def test_gradients_in_half_precision_are_added_as_on_the_tape() -> None:
    def made() -> Any:
        scores = sym.dot(sym.var("data", stype="csr"), sym.var("weight"))
        net = sym.sin(scores) + sym.cos(scores) + scores
        types = dict.fromkeys(("data", "weight"), "float16")
        shapes: Any = {"data": (ROWS, WIDE), "weight": (WIDE, FEW)}
        executor = net.simple_bind(
            mx.cpu(), {"weight": "write"}, type_dict=types, **shapes
        )
        fill(executor, 0)
        return executor

    executor = made()
    assert ready(executor)
    assert steps(executor) == steps(by_operators(made()))


# -- what else looks on ----------------------------------------------------------------


def test_a_monitor_sees_the_operators() -> None:
    executor, seen = bound("regression"), []
    assert ready(executor)
    executor.backward()
    before = everything(executor)
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    assert not ready(executor)
    executor.backward()
    assert "out_output" in seen
    assert everything(executor) == before


def test_a_knob_that_kernels_depend_on_makes_it_ready_again() -> None:
    executor = bound("regression")
    assert ready(executor)
    first = executor._sparse._runs[True]
    assert ready(executor) and executor._sparse._runs[True] is first
    forget_plans()  # what such a knob does
    assert ready(executor)
    assert executor._sparse._runs[True] is not first


def test_mixed_precision_converts_what_operators_take() -> None:
    executor = bound("regression")
    assert ready(executor)

    class Mixing:
        def __call__(self, op: Any, inputs: Any) -> Any:
            return inputs

        def in_force(self) -> object:
            return self

    launch.mixing = Mixing()
    try:
        assert not ready(executor)
    finally:
        launch.mixing = None
    assert ready(executor)


def test_the_engine_knows_all_that_is_written(monkeypatch: Any) -> None:
    executor, written = bound("layers"), []
    assert ready(executor)
    push = type(engine.current).push

    def seen(
        self: Any, fn: Any, device: Any, reads: Any, writes: Any, *more: Any
    ) -> Any:
        written.extend(writes)
        assert not {*map(id, reads)} & {*map(id, writes)}
        return push(self, fn, device, reads, writes, *more)

    monkeypatch.setattr(type(engine.current), "push", seen)
    executor.forward(is_train=True)
    arrays = [*executor.aux_arrays, *executor.outputs]
    assert {id(x.chunk) for x in arrays} < {*map(id, written)}
    streams = [var for var in written if type(var) is engine.Var]
    assert len(streams) == 1  # of the random numbers for dropout
    written.clear()
    executor.backward()
    grads = [grad for grad in executor.grad_arrays if grad is not None]
    assert {id(grad.chunk) for grad in grads} < {*map(id, written)}


def test_inner_arrays_take_turns() -> None:
    net = sym.sparse.dot(sym.var("data", stype="csr"), sym.var("weight"))
    for _ in range(10):
        net = sym.sin(net)
    shapes: Any = {"data": (ROWS, WIDE), "weight": (WIDE, FEW)}
    predicts: Any = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
    assert ready(predicts)
    (kept,) = predicts._sparse.shared.values()
    assert len(kept) == 2  # one is read while another one is written
    learns: Any = net.simple_bind(mx.cpu(), grad_req={"weight": "write"}, **shapes)
    assert ready(learns)
    (kept,) = learns._sparse.shared.values()
    assert len(kept) == 10 + 2  # what backward reads stays; a cosine, a product


def test_sparse_inner_results_and_outputs() -> None:
    def made() -> Any:
        rows = [sym.var(name, stype="row_sparse") for name in "ab"]
        total = sym.elemwise_add(sym.square(rows[0]), rows[1])
        net = sym.Group([total, sym.dot(sym.var("data", stype="csr"), total)])
        shapes: Any = {"a": (WIDE, 2), "b": (WIDE, 2), "data": (ROWS, WIDE)}
        executor = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
        fill(executor, 0)
        return executor

    executor = made()
    assert ready(executor)
    other = by_operators(made())
    for seed in (0, 4):
        for one in (executor, other):
            fill(one, seed)
            one.forward()
        assert everything(executor) == everything(other)
    assert executor.outputs[0].stype == "row_sparse"


def test_dense_graphs_have_a_plan_of_memory_instead() -> None:
    executor: Any = (sym.var("a") * 2).simple_bind(mx.cpu(), a=(2,))
    assert executor._sparse is None and executor._bound is not None
