"""The knobs of graph passes move graphs, as symbols and as hybridized blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.graph.values.ir import Graph
from minimx.fast.fusion import loop as fused
from minimx.gluon import HybridBlock, nn
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

# A network, as a function of the namespace of operators and an array or symbol.
Network = Callable[[Any, Any], Any]
# Runs it once in prediction; gives the graph that ran and what came out.
Way = Callable[[Network, tuple[int, ...]], tuple[Graph, Any]]


def as_symbol(network: Network, shape: tuple[int, ...]) -> tuple[Graph, Any]:
    made = network(mx.sym, mx.sym.var("x")).simple_bind(mx.cpu(), "null", x=shape)
    made.forward(x=mx.nd.array(np.ones(shape)))
    assert made._bound is not None
    run = made._bound.run_for(False, False)
    return run.prepared.graph, made.outputs[0].asnumpy()


def as_block(network: Network, shape: tuple[int, ...]) -> tuple[Graph, Any]:
    class Net(HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return network(F, x)

    return _called(Net(), shape)


def _called(net: HybridBlock, shape: tuple[int, ...]) -> tuple[Graph, Any]:
    net.hybridize()
    out = net(mx.nd.array(np.ones(shape))).asnumpy()
    (ready,) = net._graphs.values()
    (variant,) = ready.op._variants.values()
    assert variant is not None
    return variant.prepared.graph, out


def operators(graph: Graph) -> list[str]:
    return [node.op.name for node in graph if node.op is not None]


both = pytest.mark.parametrize("way", [as_symbol, as_block])


def chain(space: Any, x: Any) -> Any:
    return space.sin(space.relu(x * 2)) + 1


@both
@proves("MXNET_USE_FUSION")
def test_a_chain_is_one_kernel_or_several(way: Way) -> None:
    def observe() -> list[str]:
        return operators(way(chain, (128, 64))[0])

    alone = ["_mul_scalar", "relu", "sin", "_plus_scalar"]
    assert turned(observe, MXNET_USE_FUSION=False) == (["_FusedOp"], alone)


@both
@proves("MINIMX_FUSION_LEAST")
def test_small_arrays_are_joined_where_that_is_wanted(way: Way) -> None:
    def observe() -> int:
        return len(operators(way(chain, (8, 8))[0]))

    assert turned(observe, MINIMX_FUSION_LEAST=64) == (4, 1)
    assert turned(observe, MINIMX_FUSION_LEAST=65) == (4, 4)


@both
@proves("MXNET_FUSION_VERBOSE")
def test_the_source_of_a_fused_kernel_is_printed(
    way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    def observe() -> bool:
        way(chain, (128, 64))
        return "t1 = float32(select((t0 <= " in capsys.readouterr().out

    assert turned(observe, MXNET_FUSION_VERBOSE=True) == (False, True)


@both
@proves("MXNET_RTC_VERBOSE")
def test_so_is_the_time_to_compile_it(
    way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    def observe() -> tuple[bool, bool]:
        way(chain, (128, 64))
        told = capsys.readouterr().out
        return "t2 = float32(sin(t1))" in told, "compiled in" in told

    expected = (False, False), (True, True)
    assert turned(observe, MXNET_RTC_VERBOSE=True) == expected


@both
@proves("MXNET_RTC_SIZE_WARNING")
def test_very_many_kernels_are_worth_a_warning(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "MANY", 1)

    def observe() -> int:
        monkeypatch.setattr(fused, "_texts", set())
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            way(chain, (128, 64))
        return len([w for w in seen if "kernels have been generated" in str(w.message)])

    assert turned(observe, MXNET_RTC_SIZE_WARNING=False) == (1, 0)


@both
@proves("MXNET_ELIMINATE_COMMON_EXPR")
def test_equal_parts_are_computed_once_or_twice(way: Way) -> None:
    def twice(space: Any, x: Any) -> Any:
        dropped = space.Dropout(x, mode="always") * space.Dropout(x, mode="always")
        return space.softmax(x) + space.softmax(x) + dropped

    def observe() -> tuple[int, int]:
        names = operators(way(twice, (4, 4))[0])
        return names.count("softmax"), names.count("Dropout")

    expected = (1, 2), (2, 2)
    assert turned(observe, MXNET_ELIMINATE_COMMON_EXPR=False) == expected


@both
@proves("MXNET_NODE_ELIMINATION")
def test_nodes_that_change_nothing_go_or_stay(way: Way) -> None:
    def idle(space: Any, x: Any) -> Any:
        x = space.identity(space.Dropout(space.exp(x), p=0.5))
        return space.sin(space.cast(x.reshape((0, -1)), dtype="float32"))

    def observe() -> list[str]:
        return operators(way(idle, (4, 4))[0])

    before, during = turned(observe, MXNET_NODE_ELIMINATION=False)
    assert before == ["exp", "sin"]
    assert during == ["exp", "Dropout", "_copy", "Reshape", "cast", "sin"]


@both
@proves("MXNET_NODE_ELIMINATION")
def test_what_depends_on_no_input_is_computed_once_or_always(way: Way) -> None:
    def shifted(space: Any, x: Any) -> Any:
        return space.broadcast_add(x, space.sqrt(space.arange(4) * 2), name="out")

    def observe() -> tuple[list[str], bytes]:
        graph, out = way(shifted, (3, 4))
        return operators(graph), out.tobytes()

    (before, bits), (during, same) = turned(observe, MXNET_NODE_ELIMINATION=False)
    assert before == ["_constant", "broadcast_add"]
    assert during == ["_arange", "_mul_scalar", "sqrt", "broadcast_add"]
    assert bits == same


def convolved(space: Any, x: Any) -> Any:
    """Only for symbols: blocks have layers."""
    x = space.Convolution(x, kernel=(3, 3), num_filter=4, name="c")
    return space.relu(space.BatchNorm(x, name="n"))


def as_layers(network: Network, shape: tuple[int, ...]) -> tuple[Graph, Any]:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"))
    net.initialize()
    return _called(net, shape)


with_layers = pytest.mark.parametrize("way", [as_symbol, as_layers])


@with_layers
@proves("MXNET_SUBGRAPH_BACKEND")
def test_a_backend_folds_normalizations(way: Way) -> None:
    def observe() -> list[str]:
        return operators(way(convolved, (1, 3, 8, 8))[0])

    before, during = turned(observe, MXNET_SUBGRAPH_BACKEND="MINIMX")
    assert before[:2] == ["Convolution", "BatchNorm"] and len(before) == 3
    assert during == ["_sg_minimx_conv"]


@with_layers
@proves("MXNET_SUBGRAPH_VERBOSE")
def test_the_use_of_a_backend_is_told(
    way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    def observe() -> str:
        with mx.knobs(MXNET_SUBGRAPH_BACKEND="MINIMX"):
            way(convolved, (1, 3, 8, 8))
        return capsys.readouterr().out

    before, during = turned(observe, MXNET_SUBGRAPH_VERBOSE=False)
    assert before.startswith("Subgraph backend MINIMX is activated: 1 patterns, ")
    assert during == ""


def test_the_passes_do_not_change_what_comes_out() -> None:
    for way in (as_symbol, as_block):
        _, out = way(chain, (128, 64))
        with mx.knobs(MXNET_USE_FUSION=False, MXNET_NODE_ELIMINATION=False):
            _, plain = way(chain, (128, 64))
        np.testing.assert_array_equal(out, plain)
