"""Five pointwise operators as one loop, against five loops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.graph.values.specs import every_spec, plan_of
from minimx.core.ops.spec import Spec
from minimx.fast.fusion.fused_operator import FusedOp
from minimx.fast.fusion.groups import fuse
from minimx.symbol import Symbol

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)


def light(x: Symbol) -> Symbol:
    return mx.sym.sqrt(mx.sym.square(mx.sym.relu(x * 2) + 1))


def heavy(x: Symbol) -> Symbol:
    return mx.sym.tanh(mx.sym.exp(mx.sym.sigmoid(mx.sym.tanh(x) * 2)))


def both(chain: Callable[[Symbol], Symbol], size: int) -> tuple[FusedOp, Any, Any]:
    """The fused operator; calls of its kernel, and of those of the five."""
    graph = chain(mx.sym.var("x")).graph
    specs = every_spec(graph, {graph.variables[0]: Spec.of((size,), FLOAT32)})
    after = fuse(graph, specs).after
    (op,) = [node.op for node in after if isinstance(node.op, FusedOp)]
    x = np.random.default_rng(0).random(size, np.float32)
    arrays = {node: np.empty_like(x) for node in graph}
    arrays[graph.variables[0]] = x
    steps = [
        (plan_of(n, specs).kernel, arrays[n.inputs[0].node], arrays[n])
        for n in graph
        if n.op is not None
    ]
    out, kernel = np.empty_like(x), op.kernel(*op.specs)

    def apart() -> Any:
        for run, source, target in steps:
            run(source, target)
        return arrays[graph.outputs[0].node]

    def together() -> Any:
        kernel(x, out)
        return out

    return op, together, apart


def shortest(*works: Callable[[], Any], seconds: float = 0.3) -> list[float]:
    best = [float("inf")] * len(works)
    end = time.perf_counter() + seconds * len(works)
    while time.perf_counter() < end:
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


@pytest.mark.parametrize("chain", [light, heavy])
def test_a_fifth_of_the_bytes_is_moved(chain: Callable[[Symbol], Symbol]) -> None:
    op, together, apart = both(chain, 10**4)
    assert op.unfused.bytes_moved == 5 * op.cost(*op.specs).bytes_moved
    np.testing.assert_array_equal(together(), apart())


@pytest.mark.alone
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chain", [light, heavy])
def test_one_loop_is_never_slower(chain: Callable[[Symbol], Symbol], size: int) -> None:
    _, together, apart = both(chain, size)
    together(), apart()
    # Large arrays need more time for as many tries: the shortest of ten is chance.
    fused, separate = shortest(together, apart, seconds=1.5 if size == 10**7 else 0.3)
    print(f"{chain.__name__} {size:>8}: {separate * 1e6:9.1f} → {fused * 1e6:9.1f} µs")
    assert fused <= 1.1 * separate
    if chain is light and size >= 10**6:
        assert fused <= 0.5 * separate
