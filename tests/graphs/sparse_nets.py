"""Graphs with sparse arrays, and all that their executors compute, to be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd, sym
from minimx.executor import Executor
from minimx.graphs.sparse_runs import SparseRuns

ROWS, WIDE, FEW = 4, 7, 3


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """For the files that import it: no line for each operator that computes densely."""
    with mx.knobs(MXNET_STORAGE_FALLBACK_LOG_VERBOSE=False):
        yield


def numbers(*shape: int, seed: int = 0, density: float = 0.4) -> Any:
    rng = np.random.default_rng(seed)
    found = rng.uniform(-1, 1, shape) * (rng.uniform(size=shape) < density)
    return found.astype(np.float32)


def regression() -> Any:
    weight = sym.var("weight", stype="row_sparse", shape=(WIDE, FEW))
    scores = sym.sparse.dot(sym.var("data", stype="csr"), weight)
    scores = sym.broadcast_add(scores, sym.var("bias", shape=(FEW,)))
    return sym.LinearRegressionOutput(scores, sym.var("label"), name="out")


def words() -> Any:
    """Two lookups of one table: sparse gradients that are added up."""
    table = sym.var("table", shape=(WIDE, FEW))
    first, second = (
        sym.Embedding(
            sym.var(name), table, input_dim=WIDE, output_dim=FEW, sparse_grad=True
        )
        for name in ("data", "more")
    )
    flat = sym.flatten(first * 2) + sym.flatten(second)
    return sym.FullyConnected(sym.relu(flat), num_hidden=2, name="fc")


def layers() -> Any:
    """Dense layers behind a sparse one: states, random numbers, workspaces, views."""
    net = sym.sparse.dot(sym.var("data", stype="csr"), sym.var("weight"))
    net = sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = sym.Dropout(sym.reshape(net, shape=(-1, 1, FEW, 1)), p=0.5)
    net = sym.Convolution(net, kernel=(1, 1), num_filter=2, name="conv")
    net = sym.FullyConnected(sym.sum(net, axis=(2, 3)), num_hidden=2, name="fc")
    return sym.SoftmaxOutput(net, name="softmax")


def twice() -> Any:
    """Outputs that are arguments, each other, and read by what comes later."""
    scores = sym.sparse.dot(sym.var("data", stype="csr"), sym.var("weight"))
    return sym.Group([scores, sym.var("bias"), scores, sym.square(scores)])


NETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "regression": (regression, {"data": (ROWS, WIDE), "label": (ROWS, FEW)}),
    "words": (words, {"data": (ROWS, 2), "more": (ROWS, 2)}),
    "layers": (layers, {"data": (ROWS, WIDE), "weight": (WIDE, FEW)}),
    "twice": (
        twice,
        {"data": (ROWS, WIDE), "weight": (WIDE, FEW), "bias": (FEW,)},
    ),
}


def bound(name: str, grad_req: Any = None) -> Any:
    make, shapes = NETS[name]
    net = make()
    if grad_req is None:
        inner = {*net.list_arguments()} - {"data", "more", "label", "softmax_label"}
        grad_req = dict.fromkeys(inner, "write")
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes)
    fill(executor, 0)
    return executor


def fill(executor: Any, seed: int) -> None:
    for place, array in enumerate([*executor.arg_arrays, *executor.aux_arrays]):
        name = [*executor.arg_dict, *executor.aux_dict][place]
        found = numbers(*array.shape, seed=seed + place)
        if name in ("data", "more") and array.stype == "default":
            found = np.arange(found.size).reshape(found.shape) * (seed + 3) % WIDE
        if name.endswith("var"):
            found = np.abs(found) + 1
        array[:] = nd.array(found).tostype(array.stype)


def by_operators(executor: Executor) -> Executor:
    """The same executor, which calls operator after operator."""
    executor._sparse = None
    return executor


def shown(array: Any) -> Any:
    """All that an array stores, to be compared to the bit."""
    if array is None:
        return None
    stored = array._stored() if array.stype != "default" else (array.asnumpy(),)
    return array.stype, [(part.dtype, part.shape, part.tobytes()) for part in stored]


def everything(executor: Any) -> Any:
    arrays = (executor.outputs, executor.grad_arrays, executor.aux_arrays)
    return [[shown(x) for x in some] for some in arrays]


def steps(executor: Any, **backward: Any) -> Any:
    found = []
    mx.random.seed(5)
    for seed in (0, 10, 20):
        fill(executor, seed)
        executor.forward(is_train=True)
        executor.backward(**backward)
        found.append(everything(executor))
        executor.forward(is_train=False)
        found.append(everything(executor))
    return found


def ready(executor: Any) -> bool:
    """Whether it is about to run what was made ready, or has just done so."""
    executor.forward(is_train=True)
    return type(executor._ran) is SparseRuns
