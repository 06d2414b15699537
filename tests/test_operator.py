"""Operators that users write in Python: mx.operator and mx.nd.Custom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd
from minimx.core.errors import GradientError, OperatorError, ShapeError


class Scale(mx.operator.CustomOp):
    """Multiplies by a number; counts its calls in an auxiliary state."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(
        self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any
    ) -> None:
        assert not autograd.is_recording()
        aux[0][:] += 1
        self.assign(out_data[0], req[0], in_data[0] * self.factor)

    def backward(
        self,
        req: Any,
        out_grad: Any,
        in_data: Any,
        out_data: Any,
        in_grad: Any,
        aux: Any,
    ) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)


@mx.operator.register("test_scale")
class ScaleProp(mx.operator.CustomOpProp):
    def __init__(self, factor: str = "2") -> None:
        super().__init__()
        assert isinstance(factor, str)
        self.factor = float(factor)

    def list_auxiliary_states(self) -> list[str]:
        return ["calls"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        assert in_dtypes == [np.float32]
        return Scale(self.factor)


class SumAndProduct(mx.operator.CustomOp):
    def forward(
        self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any
    ) -> None:
        a, b = in_data
        self.assign(out_data[0], req[0], a + b)
        self.assign(out_data[1], req[1], a * b)

    def backward(
        self,
        req: Any,
        out_grad: Any,
        in_data: Any,
        out_data: Any,
        in_grad: Any,
        aux: Any,
    ) -> None:
        for mine, other in ((0, 1), (1, 0)):
            found = out_grad[0] + out_grad[1] * in_data[other]
            self.assign(in_grad[mine], req[mine], found)


@mx.operator.register("test_sum_and_product")
class SumAndProductProp(mx.operator.CustomOpProp):
    def list_arguments(self) -> list[str]:
        return ["a", "b"]

    def list_outputs(self) -> list[str]:
        return ["sum", "product"]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return SumAndProduct()


def test_forward_backward_state_and_settings() -> None:
    x = mx.nd.array([1.0, 2.0])
    calls = mx.nd.zeros(1)
    x.attach_grad()
    with autograd.record():
        y = mx.nd.Custom(x, calls, op_type="test_scale", factor=3)
    y.backward(mx.nd.array([1.0, 10.0]))
    np.testing.assert_array_equal(y.asnumpy(), [3, 6])
    np.testing.assert_array_equal(x.grad.asnumpy(), [3, 30])
    mx.nd.Custom(data=x, calls=calls, op_type="test_scale", name="any")
    assert calls.asscalar() == 2


def test_several_outputs_one_of_them_used() -> None:
    a, b = mx.nd.array([2.0, 3.0]), mx.nd.array([5.0, 7.0])
    a.attach_grad()
    b.attach_grad(grad_req="add")
    for _ in range(2):
        with autograd.record():
            total, product = mx.nd.Custom(a, b, op_type="test_sum_and_product")
        product.backward()
    np.testing.assert_array_equal(total.asnumpy(), [7, 10])
    np.testing.assert_array_equal(a.grad.asnumpy(), [5, 7])
    np.testing.assert_array_equal(b.grad.asnumpy(), [4, 6])


def test_in_a_hybridized_block() -> None:
    class Layer(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return F.Custom(x, x, op_type="test_sum_and_product")[1]

    layer = Layer()
    layer.hybridize()
    x = mx.nd.array([3.0])
    x.attach_grad()
    with autograd.record():
        y = layer(x) * 2
    y.backward()
    assert y.asscalar() == 18
    assert x.grad.asscalar() == 12


def test_in_a_graph() -> None:
    x = mx.sym.Variable("x")
    scaled = mx.sym.Custom(x, op_type="test_scale", factor=3, name="scaled")
    net = mx.sym.Custom(scaled, scaled, op_type="test_sum_and_product")[1]
    net = mx.sym.load_json(net.tojson())
    assert net.list_arguments() == ["x"]
    assert net.list_auxiliary_states() == ["scaled_calls"]
    assert net.infer_shape(x=(2,))[2] == [(1,)]
    executor = net.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([1.0, 2.0]))
    executor.backward(mx.nd.ones(2))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), [9, 36])
    gradient: Any = executor.grad_dict["x"]
    np.testing.assert_array_equal(gradient.asnumpy(), [18, 36])
    assert executor.aux_dict["scaled_calls"].asscalar() == 1
    assert scaled.attr_dict()["scaled"] == {"op_type": "test_scale", "factor": "3"}


def test_in_a_graph_a_label_follows_from_the_data() -> None:
    def infer_shape(self: Any, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    name = prop(
        list_arguments=lambda self: ["data", "label"],
        infer_shape=infer_shape,
        create_operator=op(forward=double),
    )
    net = mx.sym.Custom(mx.sym.Variable("data"), op_type=name, name="loss")
    assert net.list_arguments() == ["data", "loss_label"]
    assert net.list_outputs() == ["loss_output"]
    assert net.infer_shape(data=(4, 3)) == ([(4, 3), (4,)], [(4, 3)], [])


def test_out_is_written_to() -> None:
    a = mx.nd.ones(3)
    outs = [mx.nd.zeros(3), mx.nd.zeros(3)]
    mx.nd.Custom(a, a, op_type="test_sum_and_product", out=outs)
    np.testing.assert_array_equal(outs[0].asnumpy(), [2, 2, 2])
    with pytest.raises(ShapeError, match="out="):
        mx.nd.Custom(a, a, op_type="test_sum_and_product", out=outs[:1])


def test_a_second_derivative_is_refused() -> None:
    a = mx.nd.ones(2)
    a.attach_grad()
    with autograd.record():
        y = mx.nd.Custom(a, a, op_type="test_sum_and_product")[1]
        (first,) = autograd.grad(y, a, create_graph=True)
        z = (first * a).sum()
    with pytest.raises(GradientError, match="no second"):
        z.backward()


def prop(**members: Any) -> Any:
    """A registered property made of functions; returns its op_type."""
    made = type("MadeProp", (mx.operator.CustomOpProp,), members)
    mx.operator.register("test_made")(made)
    return "test_made"


def op(**members: Any) -> Any:
    made = type("MadeOp", (mx.operator.CustomOp,), members)
    return lambda self, ctx, in_shapes, in_dtypes: made()


def double(
    self: Any, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any
) -> Any:
    self.assign(out_data[0], req[0], in_data[0] * 2)


def test_registering_again_replaces() -> None:
    x = mx.nd.ones(1)
    name = prop(create_operator=op(forward=double))
    assert mx.nd.Custom(x, op_type=name).asscalar() == 2
    name = prop(
        create_operator=op(
            forward=lambda self, is_train, req, in_data, out_data, aux: self.assign(
                out_data[0], "add", 5
            )
        )
    )
    assert mx.nd.Custom(x, op_type=name).asscalar() == 5


def test_no_inputs() -> None:
    def forward(
        self: Any, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any
    ) -> None:
        self.assign(out_data[0], req[0], np.arange(3))

    name = prop(
        list_arguments=lambda self: [],
        infer_shape=lambda self, in_shape: ([], [(3,)], []),
        infer_type=lambda self, in_type: ([], [np.float32], []),
        create_operator=op(forward=forward),
    )
    found = mx.nd.Custom(op_type=name, ctx=mx.gpu(0))
    assert found.context is mx.gpu(0)
    np.testing.assert_array_equal(found.asnumpy(), [0, 1, 2])


def test_what_forward_raises_is_a_lesson() -> None:
    def forward(*args: Any, **kwargs: Any) -> None:
        raise IndexError("third of two")

    name = prop(create_operator=op(forward=forward))
    with pytest.raises(mx.MXNetError, match="forward raised IndexError: third"):
        mx.nd.Custom(mx.nd.ones(1), op_type=name).wait_to_read()


def test_what_was_not_declared_is_not_there() -> None:
    def backward(
        self: Any,
        req: Any,
        out_grad: Any,
        in_data: Any,
        out_data: Any,
        in_grad: Any,
        aux: Any,
    ) -> None:
        self.assign(in_grad[0], req[0], out_data[0].copy() + in_data[0].copy())

    name = prop(
        declare_backward_dependency=lambda self, dout, ins, outs: dout + outs,
        create_operator=op(forward=double, backward=backward),
    )
    x = mx.nd.ones(1)
    x.attach_grad()
    with autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    with pytest.raises(OperatorError, match=r"uses in_data\[0\]"):
        y.backward()


@pytest.mark.parametrize(
    ("call", "lesson"),
    [
        (lambda x: mx.nd.Custom(x), "needs op_type"),
        (lambda x: mx.nd.Custom(x, op_type="test_scal"), "Did you mean test_scale"),
        (lambda x: mx.nd.Custom(x, op_type="test_scale"), "calls is missing"),
        (lambda x: mx.nd.Custom(x, x, x, op_type="test_scale"), "takes data, calls"),
        (lambda x: mx.nd.Custom(x, x, op_type="test_scale", f=1), "unexpected keyword"),
        (lambda x: mx.nd.Custom(x, x, op_type="test_scale"), "calls has the shape"),
        (lambda x: mx.operator.register("test")(x), "derived from CustomOpProp"),
    ],
)
def test_wrong_calls(call: Any, lesson: str) -> None:
    with pytest.raises(mx.MXNetError, match=lesson):
        call(mx.nd.ones(3))


def test_operators_are_listed() -> None:
    names = mx.operator.get_all_registered_operators()
    assert {"Convolution", "Custom", "broadcast_add"} <= set(names)
    found = mx.operator.get_operator_arguments("FullyConnected")
    assert found.names[:3] == ["data", "weight", "bias"]
    assert found.narg == len(found.types) == len(found.names)
    kinds = mx.operator.get_operator_arguments("Dropout").types
    assert kinds[:3] == [
        "NDArray-or-Symbol",
        "float, optional, default=0.5",
        "{'always', 'training'}, optional, default=training",
    ]


class Softmax(mx.operator.NumpyOp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], [in_shape[0][0]]], [in_shape[0]]

    def forward(self, in_data: Any, out_data: Any) -> None:
        assert isinstance(in_data[0], np.ndarray)
        powers = np.exp(in_data[0])
        out_data[0][:] = powers / powers.sum(axis=1, keepdims=True)

    def backward(
        self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any
    ) -> None:
        assert out_grad == []
        hot = np.eye(in_data[0].shape[1])[in_data[1].astype(int)]
        in_grad[0][:] = out_data[0] - hot


class Times(mx.operator.NDArrayOp):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, in_data: Any, out_data: Any) -> None:
        out_data[0][:] = in_data[0] * self.factor

    def backward(
        self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any
    ) -> None:
        in_grad[0][:] = out_grad[0] * self.factor


def test_operators_from_before_custom_op() -> None:
    data = mx.sym.var("data")
    net = Softmax()(Times(2)(Times(3)(data, name="three"), name="two"), name="softmax")
    assert net.list_arguments() == ["data", "softmax_label"]
    executor = net.simple_bind(data=(2, 3), grad_req={"data": "write"})
    x = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], dtype=np.float32)
    (out,) = executor.forward(True, data=mx.nd.array(x), softmax_label=[0, 1])
    expected = np.exp(6 * x) / np.exp(6 * x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)
    executor.backward()
    hot = np.array([[1, 0, 0], [0, 1, 0]])
    slopes: Any = executor.grad_dict["data"]
    slopes = slopes.asnumpy()
    np.testing.assert_allclose(slopes, 6 * (expected - hot), rtol=1e-5)


def test_an_operator_from_before_custom_op_copies_unless_told() -> None:
    executor = mx.operator.NumpyOp()(mx.sym.var("x"), name="same").simple_bind(x=(2,))
    (out,) = executor.forward(True, x=mx.nd.array([4, 5]))
    executor.backward(mx.nd.array([9, 9]))
    assert out.asnumpy().tolist() == [4, 5]
    slopes: Any = executor.grad_dict["x"]
    assert slopes.asnumpy().tolist() == [1, 1]
