"""Five pointwise operators as one loop, against five loops.

    python -m tests.benchmarks.fused_chain

A light chain moves its numbers through memory and does little else, so one loop should
take at most half of the time where they do not fit into a cache. A heavy chain
computes, and one loop should take no more, but for a tenth. Both run in turns; the
shortest time of each counts. Exit status 1 if one is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.graph.values.specs import every_spec, plan_of
from minimx.core.ops.spec import Spec
from minimx.fast.fusion.fused_operator import FusedOp
from minimx.fast.fusion.groups import fuse
from minimx.symbol import Symbol
from tests.benchmarks.reporting.tables import markdown

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


def shortest(*works: Callable[[], Any], seconds: float) -> list[float]:
    """The shortest time of each in seconds; seconds: how long to try each."""
    best = [float("inf")] * len(works)
    end = time.perf_counter() + seconds * len(works)
    while time.perf_counter() < end:
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def most(chain: Callable[[Symbol], Symbol], size: int) -> float:
    """What one loop may take, by the time of five."""
    return 0.5 if chain is light and size >= 10**6 else 1.1


def table(sizes: Sequence[int], seconds: float = 1) -> str:
    """The times of both chains as Markdown, in µs; misses are marked."""
    rows = [["chain", "elements", "five loops", "one loop", "ratio", ""]]
    rows.append(["---", *["---:"] * 4, "---"])
    for chain in (light, heavy):
        for size in sizes:
            _, together, apart = both(chain, size)
            together(), apart()
            fused, separate = shortest(together, apart, seconds=seconds)
            ratio = fused / separate
            times = [f"{each * 1e6:.1f}" for each in (separate, fused)]
            met = "met" if ratio <= most(chain, size) else "missed"
            rows.append([chain.__name__, f"{size:,}", *times, f"{ratio:.2f}", met])
    return markdown(rows)


if __name__ == "__main__":
    found = table([*map(int, sys.argv[1:])] or SIZES)
    print(found)
    sys.exit("missed" in found)
