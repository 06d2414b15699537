"""Gradients are those of what was computed, whatever is written over it afterwards."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.device import cpu
from minimx.core.record import Record
from tests.core.ops.sample import Sample
from tests.core.ops.test_every_op import ONE_PER_OP, op_of
from tests.core.ops.test_every_op_in_place import arrays_on


def has_gradient(sample: Sample) -> bool:
    op = op_of(sample)
    return (
        op.differentiable
        and bool(op.saves)
        and any(sample.wants())
        and sample.oracle is not None
    )


def gradients(sample: Sample, dtype: str, disturb: bool) -> list[bytes]:
    """Gradients of a call of results; in between they are overwritten, or not."""
    op, arrays = op_of(sample), arrays_on(cpu(), sample, dtype)
    wants = sample.wants()
    marked = [a for a, want in zip(arrays, wants, strict=True) if want]
    for array in marked:
        array.attach_grad()
    with autograd.record(train_mode=True):
        pairs = zip(arrays, wants, strict=True)
        ins = [mx.nd.identity(a) if want else a for a, want in pairs]
        outs = invoke(op, ins, None, cpu(), NDArray)
    outs = outs if isinstance(outs, list) else [outs]
    if disturb:
        results = [a for a, want in zip(ins, wants, strict=True) if want]
        for array in (*outs, *results):
            array[... if array.ndim == 0 else slice(None)] = 3
    autograd.backward([o for o in outs if np.dtype(o.dtype).kind == "f"])
    return [array.grad.asnumpy().tobytes() for array in marked]


@pytest.mark.parametrize("sample", [s for s in ONE_PER_OP if has_gradient(s)], ids=str)
def test_every_gradient_reads_what_was_saved(sample: Sample) -> None:
    dtype = "float32" if "float32" in sample.dtypes else sample.dtypes[0]
    assert gradients(sample, dtype, True) == gradients(sample, dtype, False)


def test_variables_and_data_are_read_as_they_are_when_backward_comes() -> None:
    """As in MXNet 1.9.1, where a weight may be updated before the next backward."""
    x, scale = mx.nd.array([1.0, 2]), mx.nd.array([3.0, 4])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        z = x * scale
    x[:] = 100
    y.backward()
    assert x.grad.asnumpy().tolist() == [200, 200]
    scale[:] = 7
    z.backward()
    assert x.grad.asnumpy().tolist() == [7, 7]


def zero(y: Any) -> None:
    y[:] = 0


def add(y: Any) -> None:
    y += 5


def part(y: Any) -> None:
    y[1:2] = 9


def through_a_view(y: Any) -> None:
    y.reshape((3, 1))[:] = 9


def as_out(y: Any) -> None:
    mx.nd.zeros_like(y, out=y)


def as_state(y: Any) -> None:
    mx.nd.sgd_mom_update(y.ones_like(), y.ones_like(), y, lr=1, momentum=0.5)


def by_copy(y: Any) -> None:
    mx.nd.ones(3).copyto(y)


def by_kvstore(y: Any) -> None:
    store = mx.kv.create("local")
    store.init("y", mx.nd.ones(3))
    store.pull("y", out=y)


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEnginePerDevice"])
@pytest.mark.parametrize(
    "write",
    [zero, add, part, through_a_view, as_out, as_state, by_copy, by_kvstore],
)
def test_every_way_of_writing(write: Callable[[Any], None], engine: str) -> None:
    with mx.knobs(MXNET_ENGINE_TYPE=engine):
        x = mx.nd.array([-1.0, 0.5, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.tanh(x)
        expected = 1 - np.tanh(x.asnumpy()) ** 2
        write(y)
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("static", [False, True])
def test_a_hybridized_call_keeps_results_that_go_in_and_out(static: bool) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="tanh"))
    net.add(mx.gluon.nn.Dense(3, activation="sigmoid"))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=static, static_shape=static)

    def step(disturb: bool) -> list[Any]:
        x = mx.nd.array([[0.1, 0.2]])
        x.attach_grad()
        with mx.autograd.record():
            before = x * 2
            y = net(before)
        if disturb:
            y[:] = 0
            before[:] = 7
        y.backward()
        return [p.grad().asnumpy() for p in net.collect_params().values()]

    net(mx.nd.ones((1, 2)))
    expected = step(disturb=False)
    for found, wanted in zip(step(disturb=True), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("hybridized", [False, True])
def test_what_keeps_numbers_is_part_of_no_cycle(hybridized: bool) -> None:
    """Memory comes back as the last name goes, not when garbage is collected."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="tanh"))
    net.add(mx.gluon.nn.Dense(3, activation="sigmoid"))
    net.initialize()
    net.hybridize(hybridized)
    net(mx.nd.ones((1, 2)))
    gc.collect()
    gc.disable()
    try:
        with mx.autograd.record():
            y = net(mx.nd.ones((1, 2)))
        y.wait_to_read()
        gone = weakref.ref(y)
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_a_function_of_a_users_own() -> None:
    class Tanh(mx.autograd.Function):
        def forward(self, x: Any) -> Any:
            y = mx.nd.tanh(x)
            self.save_for_backward(y, None, 1)
            return y

        def backward(self, dy: Any) -> Any:
            y, _, one = self.saved_tensors
            return dy * (one - y * y)

    x = mx.nd.array([0.5])
    x.attach_grad()
    with mx.autograd.record():
        y = Tanh()(x)
    y[:] = 3
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 1 - np.tanh(0.5) ** 2, rtol=1e-6)


@mx.operator.register("squares_its_input")
class _Squares(mx.operator.CustomOpProp):
    """x · x, whose gradient reads the input."""

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        class Square(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):  # type: ignore[no-untyped-def]
                self.assign(out_data[0], req[0], in_data[0] * in_data[0])

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):  # type: ignore[no-untyped-def]
                self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

        return Square()


def test_an_operator_of_a_users_own() -> None:
    x = mx.nd.array([0.5])
    x.attach_grad()
    with mx.autograd.record():
        before = x * 3
        y = mx.nd.Custom(before, op_type="squares_its_input")
    before[:] = 100
    y.backward()
    assert x.grad.asscalar() == 9


def test_what_sparse_arrays_store() -> None:
    matrix = mx.nd.array([[1, 0], [0, 2]]).tostype("csr")
    w = mx.nd.array([[1.0], [2.0]])
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.sparse.dot(matrix, w)
    kept = matrix.chunk.keep()
    mx.nd.array([[5, 5], [5, 5]]).tostype("csr").copyto(matrix)
    assert matrix._at(kept.chunk).asnumpy().tolist() == [[1, 0], [0, 2]]
    y.backward()  # which reads data as it is now
    np.testing.assert_array_equal(w.grad.asnumpy(), [[10], [10]])


def test_gradients_of_gradients() -> None:
    x = mx.nd.array([0.5])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.exp(x)
        (first,) = mx.autograd.grad(y, [x], create_graph=True)
    y[:] = 0
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(0.5), rtol=1e-6)


def test_nothing_is_copied_where_nothing_is_kept() -> None:
    """After backward, and for what no gradient reads, a write costs no copy."""
    x = mx.nd.ones(3)
    x.attach_grad()
    with Record() as record:
        with mx.autograd.record():
            y = mx.nd.tanh(x)
            z = y + 1
        z[:] = 0
        z.backward()
        gc.collect()
        y[:] = 0
        x += 1
    assert "keep for backward" not in record.texts(record.ops()["name"])
