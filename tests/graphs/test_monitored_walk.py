"""A monitored walk: what is told is what is computed, and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx

sym = mx.sym
a, b = sym.var("a"), sym.var("b")


def ran(symbol: Any, watched: bool, reqs: Any = "write", **kwargs: Any) -> Any:
    """The gradients after two steps from 3, and what was told in the last of them."""
    bound = symbol.simple_bind(mx.cpu(), grad_req=reqs, **kwargs)
    for k, (name, array) in enumerate(sorted(bound.arg_dict.items())):
        array[:] = np.sin(np.arange(array.size) + k).reshape(array.shape)
        if bound.grad_dict.get(name) is not None:
            bound.grad_dict[name][:] = 3
    told: list[tuple[str, np.ndarray]] = []
    if watched:
        bound.set_monitor_callback(lambda name, x: told.append((name, x.asnumpy())))
    for _ in range(2):
        bound.forward(is_train=True)
        told.clear()
        bound.backward([mx.nd.ones_like(out) for out in bound.outputs])
    grads = {n: g.asnumpy() for n, g in bound.grad_dict.items() if g is not None}
    return grads, dict(told)


def dense(x: Any, name: str) -> Any:
    return sym.FullyConnected(x, num_hidden=2, name=name)


def on_two_devices() -> Any:
    with mx.AttrScope(ctx_group="one"):
        first = dense(a, "f1")
    with mx.AttrScope(ctx_group="two"):
        second = dense(sym.tanh(first), "f2")
    return sym.SoftmaxOutput(second + dense(first, "f3"), name="out")


def looped() -> Any:
    out, state = sym.contrib.foreach(lambda x, s: (x * s + s, x + s), a, b)
    return sym.Group([out, state])


def embedded() -> Any:
    taken = sym.Embedding(a, b, input_dim=3, output_dim=2, sparse_grad=True, name="e")
    return sym.elemwise_mul(taken, taken, name="m")


def normalized() -> Any:
    net = sym.GroupNorm(sym.LayerNorm(a, name="layer"), num_groups=2, name="group")
    return sym.contrib.SyncBatchNorm(net * net, key="k", ndev=1, name="sync")


GROUPS = {"one": mx.cpu(0), "two": mx.cpu(1)}


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize(
    ("symbol", "kwargs"),
    [
        (on_two_devices(), {"a": (2, 2), "group2ctx": GROUPS}),
        (looped(), {"a": (3, 2), "b": (2,)}),
        (embedded(), {"a": (3,), "b": (3, 2)}),
        (normalized(), {"a": (2, 4, 3)}),
        (sym.Group([a, sym.tanh(a), sym.BlockGrad(a)]), {"a": (2,)}),
        (sym.elemwise_mul(a, a * a, name="m"), {"a": (3,)}),
        (sym.tanh(sym.elemwise_add(a, b)), {"a": (3,), "b": (3,)}),
    ],
    ids=["devices", "loop", "sparse", "norms", "heads", "powers", "shared"],
)
def test_gradients_are_the_same_to_the_bit(symbol: Any, kwargs: Any, req: str) -> None:
    plain, none = ran(symbol, False, req, **kwargs)
    watched, told = ran(symbol, True, req, **kwargs)
    assert told and not none
    for name, gradient in plain.items():
        np.testing.assert_array_equal(watched[name], gradient)


@pytest.mark.parametrize("req", ["write", "add"])
def test_what_is_told_of_a_variable_is_its_gradient(req: str) -> None:
    net = sym.tanh(dense(a, "fc"), name="t") * dense(a, "gc")
    grads, told = ran(net, True, req, a=(3, 2))
    for k, word in enumerate(("weight", "bias"), 1):
        np.testing.assert_array_equal(
            told[f"fc_backward_output{k}"], grads[f"fc_{word}"]
        )
    np.testing.assert_array_equal(told["sum_grad_output"], grads["a"])
    start = 0 if req == "write" else (grads["a"] - 3) / 2 + 3
    parts = told["fc_backward_output0"] + told["gc_backward_output0"]
    np.testing.assert_allclose(parts + start, grads["a"], rtol=1e-5)


def test_what_nobody_asks_for_is_zero() -> None:
    net = sym.elemwise_mul(a, sym.sin(b, name="s"), name="m")
    grads, told = ran(net, True, {"a": "null", "b": "write"}, a=(2,), b=(2,))
    assert not told["m_backward_output0"].any() and told["m_backward_output1"].any()
    np.testing.assert_array_equal(told["s_backward_output"], grads["b"])


def test_sums_are_told_as_they_grow() -> None:
    t = sym.exp(a, name="t")
    net = sym.elemwise_add(sym.elemwise_add(t, t), t)
    with mx.knobs(MXNET_EXEC_INPLACE_GRAD_SUM_CAP=3):
        _, told = ran(net, True, a=(2,))
    sums = [told[f"sum_grad_{word}_output"][0] for word in ("1", "2", "final")]
    assert sums == [2, 3, 3]


def test_it_is_told_as_the_walk_goes() -> None:
    """Whoever breaks it off has heard what came before."""
    bound = sym.sin(sym.tanh(a, name="t"), name="s").simple_bind(mx.cpu(), a=(2,))
    told: list[str] = []

    def stop(name: str, array: Any) -> None:
        told.append(name)
        if name == "s_backward_output":
            raise KeyboardInterrupt

    bound.set_monitor_callback(stop)
    bound.forward(is_train=True)
    with pytest.raises(KeyboardInterrupt):
        bound.backward(mx.nd.ones((2,)))
    assert told[2:] == ["_head_grad_0_id_output", "s_backward_output"]
    assert not mx.autograd.is_recording()
