"""Sheets that users write: mx.ops.register."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit

import minimx as mx
from minimx.core.errors import MXNetError, OperatorError
from minimx.core.ops.registry import REGISTRY
from minimx.ops import Op, Spec, register, unregister
from minimx.test_utils import check_numeric_gradient


@njit(nogil=True)
def shrink(x: Any, limit: float, out: Any) -> None:
    for i in range(x.size):
        v = x.flat[i]
        out.flat[i] = v - limit if v > limit else v + limit if v < -limit else 0.0


@dataclass(frozen=True)
class SoftShrink(Op):
    """Move every number towards zero by `limit`: out has the shape of data."""

    limit: float = 0.5
    saves = ("data",)

    def infer(self, data: Spec) -> Spec:  # type: ignore[override]
        return data

    def kernel(self, data: Spec) -> Any:  # type: ignore[override]
        return lambda x, out: shrink(x, self.limit, out)

    def grad(self, at: Any, dout: Any, data: Any) -> Any:
        return (dout * (data.abs() > self.limit),)


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    before = set(REGISTRY)
    yield
    for name in set(REGISTRY) - before:
        unregister(name)


def entered(*names: str, sheet: type[Op] = SoftShrink, **members: Any) -> type[Op]:
    members.setdefault("__doc__", sheet.__doc__)
    members["__module__"] = __name__
    return register(*names)(type("Mine", (sheet,), members))


def test_it_is_an_operator_like_any_other() -> None:
    entered("soft_shrink", "shrunk")
    x = mx.nd.array([[-1.0, 0.1], [0.7, 2.0]])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.soft_shrink(x, limit="0.25")
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), [[-0.75, 0], [0.45, 1.75]], rtol=1e-6)
    np.testing.assert_array_equal(x.grad.asnumpy(), [[1, 0], [1, 1]])
    np.testing.assert_array_equal(mx.nd.shrunk(x, 0.25).asnumpy(), y.asnumpy())
    assert "soft_shrink" in dir(mx.nd)
    assert "Move every number" in mx.nd.soft_shrink.__doc__
    assert "limit" in str(mx.nd.soft_shrink.__signature__)


def test_in_symbols_and_hybridized_blocks() -> None:
    entered("soft_shrink")

    class Layer(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return F.soft_shrink(x, limit=1)

    net = mx.sym.soft_shrink(mx.sym.Variable("x"), limit=0.3)
    check_numeric_gradient(net, [np.array([-1.0, 0.1, 0.7])], dtype=np.float64)
    assert "soft_shrink" in dir(mx.sym)
    layer = Layer()
    layer.hybridize()
    assert layer(mx.nd.array([3.0])).asscalar() == 2


def test_a_cell_may_be_run_again() -> None:
    entered("soft_shrink", "old_alias")
    x = mx.nd.array([3.0])
    assert mx.nd.soft_shrink(x).asscalar() == 2.5
    assert mx.sym.soft_shrink is not None
    entered("soft_shrink", infer=lambda self, data: data.with_shape((2, 1)))
    assert mx.nd.soft_shrink(x).shape == (2, 1)
    assert mx.sym.soft_shrink(mx.sym.var("x")).infer_shape(x=(1,))[1] == [(2, 1)]
    with pytest.raises(AttributeError, match="no 'old_alias'"):
        mx.nd.old_alias  # noqa: B018


def test_it_can_be_taken_out() -> None:
    entered("soft_shrink")
    assert mx.nd.soft_shrink(mx.nd.zeros(1)).asscalar() == 0
    unregister("soft_shrink")
    assert "soft_shrink" not in dir(mx.nd)
    with pytest.raises(AttributeError, match="no 'soft_shrink'"):
        mx.nd.soft_shrink  # noqa: B018
    with pytest.raises(OperatorError, match="own operators"):
        unregister("relu")


def test_names_that_are_taken() -> None:
    with pytest.raises(OperatorError, match="already, from minimx"):
        entered("relu")
    with pytest.raises(OperatorError, match="already, from minimx"):
        entered("soft_shrink", "softmax")
    with pytest.raises(OperatorError, match="name of a function"):
        entered("soft-shrink")


def returning(found: Any) -> Any:
    return lambda self, *specs: found


@pytest.mark.parametrize(
    ("members", "lesson"),
    [
        ({"infer": returning((2, 3))}, "infer returned .2, 3.. It returns a Spec"),
        ({"infer": lambda self, a, b: a}, "called with 1 Specs"),
        ({"kernel": returning(None)}, "kernel returned None, which cannot be called"),
        ({"kernel": returning(lambda x: None)}, r"called with float32\[1\], float32"),
        ({"kernel": returning(lambda x, out: x * 2)}, "kernel returned ndarray"),
        ({"visible": 2}, "visible = 2"),
    ],
)
def test_wrong_sheets_are_lessons(members: dict[str, Any], lesson: str) -> None:
    entered("soft_shrink", **members)
    with pytest.raises(MXNetError, match=lesson):
        mx.nd.soft_shrink(mx.nd.ones(1)).wait_to_read()


def test_unfinished_sheets_are_refused() -> None:
    with pytest.raises(OperatorError, match=r"no infer\(\)"):
        entered("mine", sheet=Op)
    with pytest.raises(OperatorError, match=r"no kernel\(\)"):
        entered("mine", sheet=Op, infer=lambda self, data: data)
    with pytest.raises(OperatorError, match="without a type"):
        entered("mine", inputs=("a", "b"), __annotations__={"inputs": "tuple"})
    with pytest.raises(OperatorError, match=r"derived from mx\.ops\.Op"):
        register("mine")(int)  # type: ignore[type-var]


def test_annotations_that_are_no_text() -> None:
    entered("soft_shrink", limit=0.5, __annotations__={"limit": float})
    assert mx.nd.soft_shrink(mx.nd.ones(1), limit="0.75").asscalar() == 0.25
    with pytest.raises(OperatorError, match="not a value of type float"):
        mx.nd.soft_shrink(mx.nd.ones(1), limit="much")


def test_without_a_gradient_backward_says_so() -> None:
    entered("soft_shrink", grad=Op.grad)
    x = mx.nd.ones(1)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.soft_shrink(x)
    with pytest.raises(OperatorError, match="has no gradient"):
        y.backward()
