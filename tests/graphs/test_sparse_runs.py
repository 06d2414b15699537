"""A graph with sparse arrays that is made ready once computes what the tape does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd, sym
from minimx.core.errors import GradientError
from minimx.core.record import Record
from minimx.graphs.sparse_runs import SparseRuns
from tests.graphs.sparse_nets import (
    FEW,
    NETS,
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

REQS: list[Any] = [
    "null",
    {"bias": "write"},
    {"weight": "add", "bias": "add"},
    {"weight": "write", "label": "write"},
]


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEnginePerDevice"])
@pytest.mark.parametrize("name", NETS)
def test_the_numbers_are_those_of_the_operators(name: str, engine: str) -> None:
    with mx.knobs(MXNET_ENGINE_TYPE=engine):
        executor = bound(name)
        assert ready(executor)
        found = steps(executor)
        assert found == steps(by_operators(bound(name)))
        assert found[0] != found[2]


@pytest.mark.parametrize("req", REQS, ids=str)
def test_whatever_is_done_with_gradients(req: Any) -> None:
    executor = bound("regression", req)
    found = steps(executor)
    assert type(executor._ran) is SparseRuns
    assert found == steps(by_operators(bound("regression", req)))


@pytest.mark.parametrize(
    "knob",
    [
        {"MXNET_EXEC_BULK_EXEC_TRAIN": False, "MXNET_EXEC_BULK_EXEC_INFERENCE": False},
        {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": 2},
    ],
    ids=str,
)
def test_however_calls_are_joined(knob: Any) -> None:
    with mx.knobs(**knob):
        executor = bound("layers")
        assert ready(executor)
        assert steps(executor) == steps(by_operators(bound("layers")))


def test_calls_are_joined_as_the_knobs_say() -> None:
    def pushed() -> list[str]:
        executor = bound("regression")
        executor.forward(is_train=True)
        executor.backward()
        with Record() as record:
            executor.forward(is_train=True)
            executor.backward()
            mx.nd.waitall()
        rows = np.sort(record.ops(), order="op")
        return [record.strings[row["name"]] for row in rows]

    joined = pushed()
    assert joined[0] == "[dot,broadcast_add,LinearRegressionOutput]"
    assert len(joined) == 2
    with mx.knobs(MXNET_EXEC_BULK_EXEC_TRAIN=False):
        assert pushed()[:3] == ["dot", "broadcast_add", "LinearRegressionOutput"]


# -- gradients of outputs --------------------------------------------------------------


def linear(grad_req: Any = "write") -> Any:
    net = sym.sparse.dot(sym.var("data", stype="csr"), sym.var("weight"))
    shapes: Any = {"data": (ROWS, WIDE), "weight": (WIDE, FEW)}
    executor = net.simple_bind(mx.cpu(), grad_req={"weight": grad_req}, **shapes)
    fill(executor, 0)
    return executor


@pytest.mark.parametrize(
    "given",
    [
        None,
        nd.array(numbers(ROWS, FEW, seed=3)),
        nd.array(numbers(ROWS + 2, FEW, seed=3)),
        nd.array(numbers(ROWS, FEW, seed=3), dtype="float64"),
    ],
    ids=["none", "given", "longer", "float64"],
)
def test_gradients_of_outputs(given: Any) -> None:
    executor, other = linear(), by_operators(linear())
    assert ready(executor)
    other.forward(is_train=True)
    for one in (executor, other):
        one.backward(given)
    for found, wanted in zip(executor.grad_arrays, other.grad_arrays, strict=True):
        assert shown(found) == shown(wanted)


def test_a_sparse_gradient_of_an_output_is_made_dense_as_in_mxnet() -> None:
    executor = linear()
    assert ready(executor)
    given = numbers(ROWS, FEW, seed=3)
    given[1:] = 0
    executor.backward(nd.array(given).tostype("row_sparse"))
    found = executor.grad_dict["weight"]
    data = executor.arg_dict["data"].asnumpy()
    np.testing.assert_allclose(found.asnumpy(), data.T @ given, rtol=1e-6)
    # Not only the columns that the first row of data has.
    assert found.indices.asnumpy().tolist() == np.flatnonzero(data.any(0)).tolist()


@pytest.mark.parametrize("shape", [(ROWS - 1, FEW), (ROWS, FEW + 1)])
def test_a_gradient_of_another_shape_is_refused(shape: Any) -> None:
    executor = linear()
    assert ready(executor)
    with pytest.raises(GradientError, match="does not have the shape"):
        executor.backward(nd.ones(shape))


def test_backward_may_be_asked_twice_and_after_a_prediction() -> None:
    executor, other = bound("layers", "add"), by_operators(bound("layers", "add"))
    for one in (executor, other):
        mx.random.seed(1)
        one.forward(is_train=True)
        one.backward()
        one.backward()
        one.forward(is_train=False)
        one.backward()
    assert type(executor._ran) is SparseRuns
    assert everything(executor) == everything(other)


def test_where_nothing_flows_a_written_gradient_is_zero() -> None:
    for req, left in (("write", 0), ("add", 9)):
        net = sym.BlockGrad(regression())
        shapes: Any = NETS["regression"][1]
        executor: Any = net.simple_bind(mx.cpu(), grad_req={"weight": req}, **shapes)
        fill(executor, 0)
        executor.grad_dict["weight"][:] = 9
        assert ready(executor)
        executor.backward(nd.ones((ROWS, FEW)))
        assert (executor.grad_dict["weight"].asnumpy() == left).all()


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_gradients_are_stored_as_their_arrays_are(req: str, stype: str) -> None:
    def made() -> Any:
        arrays = {
            "data": nd.array(numbers(ROWS, WIDE)).tostype("csr"),
            "weight": nd.array(numbers(WIDE, FEW, seed=1)),
        }
        grad = nd.ones((WIDE, FEW)).tostype(stype)
        net = sym.sparse.dot(sym.var("data"), sym.var("weight"))
        return net.bind(mx.cpu(), arrays, {"weight": grad}, req)

    executor, other = made(), by_operators(made())
    assert ready(executor)
    other.forward(is_train=True)
    for one in (executor, other):
        one.backward()
    (found,) = [x for x in executor.grad_arrays if x is not None]
    (wanted,) = [x for x in other.grad_arrays if x is not None]
    assert shown(found) == shown(wanted)
    assert found.stype == stype and found._fresh_grad


# -- random graphs ---------------------------------------------------------------------


def random_net(seed: int) -> Any:
    """A graph on matrices of WIDE rows and columns, of which some are sparse."""
    draw = random.Random(seed)
    stypes = {"a": "csr", "b": "row_sparse", "c": "default"}
    a, b, c = (
        sym.var(name, stype=stype, shape=(WIDE, WIDE)) for name, stype in stypes.items()
    )
    values = [c, sym.dot(a, b), sym.dot(a, c)]
    if draw.random() < 0.3:
        values.append(sym.elemwise_add(b, sym.square(b)))
    for _ in range(draw.randint(3, 9)):
        x, y, z = draw.choices(values, k=3)
        which = draw.choice(["one", "two", "dot", "view", "sum", "drop", "block"])
        if which == "one":
            values.append(draw.choice([sym.sin, sym.relu, sym.abs, sym.square])(x))
        elif which == "two":
            values.append(draw.choice([sym.elemwise_add, sym.broadcast_mul])(x, y))
        elif which == "dot":
            values.append(sym.dot(a, x, transpose_a=draw.random() < 0.5))
        elif which == "view":
            flat = sym.reshape(x, shape=(-1,))
            values.append(sym.reshape(flat, shape=(WIDE, WIDE)))
        elif which == "sum":
            values.append(sym.add_n(x, y, z))
        else:
            values.append(
                sym.Dropout(x, p=0.4) if which == "drop" else sym.BlockGrad(x)
            )
    return sym.Group(draw.sample(values[1:], k=draw.randint(1, 2)))


@pytest.mark.parametrize("some", range(8))
def test_random_graphs(some: int) -> None:
    prepared = 0
    for seed in range(8 * some, 8 * some + 8):
        found = []
        for whole in (True, False):
            net, draw = random_net(seed), random.Random(seed)
            reqs = {n: draw.choice(["write", "add", "null"]) for n in "bc"}
            executor: Any = net.simple_bind(mx.cpu(), grad_req=reqs)
            found.append(steps(executor if whole else by_operators(executor)))
            prepared += type(executor._ran) is SparseRuns
        assert found[0] == found[1], seed
    assert prepared  # some have operators without a sparse rule
