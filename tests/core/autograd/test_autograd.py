from typing import Any

import numpy as np
import pytest

from minimx import nd
from minimx.core import autograd
from minimx.core.device import cpu, gpu
from minimx.core.errors import GradientError


def variable(numbers: Any, grad_req: Any = "write") -> Any:
    x = nd.array(numbers)
    x.attach_grad(grad_req)
    return x


def test_a_simple_gradient() -> None:
    x = variable([1.0, 2.0, 3.0])
    with autograd.record():
        y = x * x + 2 * x
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [4, 6, 8])


def test_head_gradients() -> None:
    x = variable([1.0, 2.0])
    with autograd.record():
        y = x * 3
    y.backward(nd.array([10.0, 100.0]))
    np.testing.assert_allclose(x.grad.asnumpy(), [30, 300])
    with autograd.record():
        y = x * 3
    with pytest.raises(GradientError, match="head gradient"):
        y.backward(nd.ones((1, 2)))
    y.backward(nd.array([1.0, 2.0, 3.0]))  # a longer one: its first rows
    np.testing.assert_allclose(x.grad.asnumpy(), [3, 6])


def test_what_is_given_for_a_head_without_a_gradient_is_not_looked_at() -> None:
    x = nd.array([[1.0, 2.0, 3.0]])
    x.attach_grad()
    x.grad[:] = 7
    with autograd.record():
        heads = [x.argmax(axis=1), x.shape_array(), x * 2]
    autograd.backward(heads, [nd.ones(5), nd.ones((2, 2)), nd.ones((1, 3))])
    assert (x.grad.asnumpy() == 2).all()


@pytest.mark.parametrize(
    "rest", [lambda x, y: x % y, lambda x, y: x % 3, lambda x, y: 7 % x]
)
def test_between_integers_the_rest_of_a_division_has_no_slope(rest: Any) -> None:
    x, y = nd.array([5, -7, 0], dtype="int32"), nd.array([3, 0, 4], dtype="int32")
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        z = rest(x, y)
    z.backward()
    assert x.grad.asnumpy().tolist() == y.grad.asnumpy().tolist() == [0, 0, 0]


def test_modes_nest_and_return() -> None:
    assert not autograd.is_recording()
    with autograd.record():
        assert autograd.is_recording()
        assert autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording()
            assert not autograd.is_training()
        with autograd.predict_mode():
            assert autograd.is_recording()
            assert not autograd.is_training()
    with autograd.record(train_mode=False):
        assert not autograd.is_training()
        with autograd.train_mode():
            assert autograd.is_training()
    assert not autograd.is_recording()
    assert autograd.set_training(True) is False
    assert autograd.set_training(False) is True


def test_modes_return_after_an_exception() -> None:
    with pytest.raises(RuntimeError), autograd.record():
        raise RuntimeError
    assert not autograd.is_recording()


def test_values_used_twice_add_their_gradients() -> None:
    x = variable([2.0])
    with autograd.record():
        y = x * 3
        z = y * y + y + x
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [2 * 6 * 3 + 3 + 1])


def test_grad_req_add_accumulates() -> None:
    x = variable([1.0], "add")
    for _ in range(3):
        with autograd.record():
            y = x * 5
        y.backward()
    assert x.grad.asscalar() == 15
    with pytest.raises(GradientError, match="grad_req"):
        variable([1.0], "sum")


def test_gradient_buffer_keeps_its_identity() -> None:
    x = variable([1.0])
    buffer = x.grad
    with autograd.record():
        y = x * 5
    y.backward()
    assert x.grad is buffer
    assert buffer.asscalar() == 5


def test_walking_twice_needs_retain_graph() -> None:
    x = variable([3.0])
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(GradientError, match="retain_graph"):
        y.backward()
    assert x.grad.asscalar() == 6


def test_what_was_not_recorded_has_no_gradient() -> None:
    x = variable([1.0])
    y = x * 2
    with pytest.raises(GradientError, match="record"):
        y.backward()


def test_detach_and_blockgrad_stop_the_gradient() -> None:
    x = variable([2.0])
    with autograd.record():
        y = (x * x).detach() * x + nd.BlockGrad(x * x)
    y.backward()
    assert x.grad.asscalar() == 4


def test_pause_inside_record_makes_constants() -> None:
    x = variable([2.0])
    with autograd.record():
        with autograd.pause():
            factor = x * 10
        y = x * factor
    y.backward()
    assert x.grad.asscalar() == 20


def test_grad_of_one_variable_is_a_list_too() -> None:
    x = variable([1.0, 2.0])
    with autograd.record():
        y = x * x
    found = autograd.grad(y, x)
    assert isinstance(found, list)
    assert found[0].asnumpy().tolist() == [2, 4]


def test_grad_returns_instead_of_storing() -> None:
    x, w = variable([1.0, 2.0]), variable([3.0, 4.0])
    with autograd.record():
        y = (x * w).sum()
    dx, dw = autograd.grad(y, [x, w])
    np.testing.assert_allclose(dx.asnumpy(), [3, 4])
    np.testing.assert_allclose(dw.asnumpy(), [1, 2])
    assert x.grad.asnumpy().sum() == 0


@pytest.mark.parametrize(
    ("function", "second", "third"),
    [
        (lambda x: x * x * x, lambda x: 6 * x, lambda x: 6 + 0 * x),
        (nd.sin, lambda x: -np.sin(x), lambda x: -np.cos(x)),
        (nd.exp, np.exp, np.exp),
        (
            nd.tanh,
            lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
            lambda x: (1 - np.tanh(x) ** 2) * (6 * np.tanh(x) ** 2 - 2),
        ),
        (lambda x: 1 / x, lambda x: 2 / x**3, lambda x: -6 / x**4),
    ],
)
def test_gradients_of_gradients(function: Any, second: Any, third: Any) -> None:
    at = np.array([0.5, 1.5])
    x = nd.array(at, dtype="float64")
    x.attach_grad()
    with autograd.record():
        (first,) = autograd.grad(function(x).sum(), x, create_graph=True)
        (twice,) = autograd.grad(first.sum(), x, create_graph=True)
        (thrice,) = autograd.grad(twice.sum(), x, create_graph=True, retain_graph=True)
    np.testing.assert_allclose(twice.asnumpy(), second(at), rtol=1e-9)
    np.testing.assert_allclose(thrice.asnumpy(), third(at), rtol=1e-9)


def test_second_order_through_backward() -> None:
    x = variable([1.0, 2.0])
    with autograd.record():
        (dx,) = autograd.grad((x**3).sum(), x, create_graph=True)
        loss = (dx * dx).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 36 * np.array([1.0, 8.0]))


def test_depth_has_no_limit() -> None:
    x = variable([1.0])
    with autograd.record():
        y = x
        for _ in range(20_000):
            y = y + 1
    y.backward()
    assert x.grad.asscalar() == 1
    with autograd.record():
        y = x
        for _ in range(20_000):
            y = y * 1
    del y  # dropping a long tape must not recurse either


def test_what_was_walked_is_a_constant_afterwards() -> None:
    w = variable([0.5])
    state, seen = nd.zeros((1,)), []
    for _ in range(3):
        with autograd.record():
            state = state * w + 1
        state.backward()
        seen.append(w.grad.asscalar())
    assert seen == [0, 1, 1.5]


def test_what_was_recorded_before_the_walk_is_lost_to_it() -> None:
    x = variable([2.0])
    with autograd.record():
        y = x * 2
        first, second = y * 3, y * 5
    first.backward()
    with pytest.raises(GradientError, match="retain_graph=True"):
        second.backward()


def test_several_heads() -> None:
    x = variable([2.0])
    with autograd.record():
        y, z = x * 3, x * x
    autograd.backward([y, z])
    assert x.grad.asscalar() == 7


def test_head_that_is_a_variable() -> None:
    x = variable([2.0])
    with autograd.record():
        pass
    x.backward()
    assert x.grad.asscalar() == 1


@pytest.mark.parametrize("target", [cpu(0), cpu(1), gpu(0), "float32", "float64"])
def test_gradients_flow_through_copies(target: Any) -> None:
    x = variable([1.0, 2.0])
    with autograd.record():
        if isinstance(target, str):
            target = nd.zeros((2,), dtype=target, ctx=gpu(0))
        y = x.copyto(target) * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3]


def test_a_copy_does_not_overwrite_what_is_recorded() -> None:
    x = variable([1.0])
    with autograd.record():
        y = x * 2
        with pytest.raises(GradientError, match="Inplace operations"):
            x.copyto(y)


def test_marking_variables_by_hand() -> None:
    x, dx = nd.array([3.0]), nd.zeros((1,))
    autograd.mark_variables([x], [dx])
    with autograd.record():
        y = x * x
    y.backward()
    assert dx.asscalar() == 6


class Cube(autograd.Function):
    def forward(self, x: Any) -> Any:
        y = x * x
        self.save_for_backward(x, y)
        return y * x, y

    def backward(self, dcube: Any, dsquare: Any) -> Any:
        x, y = self.saved_tensors
        return 3 * y * dcube + 2 * x * dsquare


def test_custom_functions() -> None:
    x = variable([2.0, 3.0])
    with autograd.record():
        cube, square = Cube()(x * 1)
        y = cube + square
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [3 * 4 + 4, 3 * 9 + 6])


def test_custom_function_with_one_output_unused() -> None:
    x = variable([2.0])
    with autograd.record():
        cube, _ = Cube()(x)
    cube.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [12])


def test_a_custom_function_serves_one_recorded_call() -> None:
    x, cube = variable([2.0]), Cube()
    cube(x)  # nothing is recorded, nothing has to be kept
    with autograd.record():
        cube(x)
        with pytest.raises(GradientError, match=r"Make another one: Cube\(\)"):
            cube(x)


def test_a_custom_function_without_backward() -> None:
    class Forth(autograd.Function):
        def forward(self, x: Any) -> Any:
            return x * 2

    x = variable([2.0])
    with autograd.record():
        y = Forth()(x)
    with pytest.raises(NotImplementedError, match="Forth has no backward"):
        y.backward()


def test_custom_function_must_answer_for_every_input() -> None:
    class Wrong(autograd.Function):
        def forward(self, x: Any, y: Any) -> Any:
            return x * y

        def backward(self, dout: Any) -> Any:
            return dout

    x, y = variable([1.0]), variable([1.0])
    with autograd.record():
        z = Wrong()(x, y)
    with pytest.raises(GradientError, match="1 gradients for 2 inputs"):
        z.backward()


def test_gradient_crosses_devices() -> None:
    import minimx as mx

    x = variable([1.0, 2.0])
    with autograd.record():
        y = (x * 2).as_in_context(mx.gpu(0)) * 3
    y.backward()
    assert x.grad.context == mx.cpu(0)
    np.testing.assert_allclose(x.grad.asnumpy(), [6, 6])


def test_tape_frees_activations_while_it_walks() -> None:
    import minimx as mx

    x = variable(np.ones((256, 256)))
    nd.waitall()
    before = mx.storage.stats(mx.cpu()).live_requested
    with autograd.record():
        y = nd.sin(nd.sin(nd.sin(x)))
    y.backward()
    nd.waitall()
    del y
    assert mx.storage.stats(mx.cpu()).live_requested == before


@pytest.mark.parametrize("name", ["relu", "radians", "negative", "identity"])
def test_the_slope_of_a_constant_slope_is_zero(name: str) -> None:
    x = nd.array([-1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = getattr(nd, name)(x)
        (slope,) = autograd.grad(y, x, create_graph=True, retain_graph=True)
    slope.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]


def test_a_null_gradient_is_let_go_once_it_is_computed_with() -> None:
    x, y = nd.ones((2,)), nd.ones((2,))
    x.attach_grad("null")
    y.attach_grad()
    assert x.grad.asnumpy().tolist() == [0, 0]
    with autograd.record():
        z = x * y
    z.backward()
    assert x.grad is None
    assert y.grad.asnumpy().tolist() == [1, 1]
