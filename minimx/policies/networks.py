"""Networks drawn from a seed, as training graphs: what traces are made of.

    net = network(7)
    net.memory(batch=32)       # what one step of training allocates and frees
    net.operations()           # what it pushes to the engine

A network is a symbol of a few layers with branches; its training graph is that of the
real pipeline (`prepare`), and sizes and costs are those of the operators' own sheets.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from minimx import symbol
from minimx.core.graph.memory.sharing import NumberedGraph
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.graph.values.specs import Specs, plan_of
from minimx.core.ops.spec import Spec

#: Graphs are made for this batch, which no layer's width is; other batches are scaled.
BATCH: Final = 61


class Work(NamedTuple):
    """One operation: what it costs, and the numbers of the vars that it touches."""

    name: str
    priority: int
    flops: int
    bytes_moved: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """A training graph in numbers, and the spec of each of its results."""

    numbers: NumberedGraph
    specs: Specs

    def memory(self, batch: int) -> Iterator[tuple[int, int]]:
        """(result, bytes) where it is allocated, (result, 0) where it is freed."""
        numbers = self.numbers
        times = Counter(e for reads in numbers.reads for e in reads)
        last = {e: n for n, reads in enumerate(numbers.reads) for e in reads}
        kept = []
        for n, node in enumerate(numbers.nodes):
            outs = numbers.outs[n] if node.op is not None else ()
            for e in outs:
                yield e, self._nbytes(e, batch)
            for e in dict.fromkeys((*numbers.reads[n], *outs)):
                if numbers.readers[e] > times[e]:  # an output of the graph
                    kept += [e] if e in outs else []
                elif last.get(e, n) == n and numbers.entries[e].node.op is not None:
                    yield e, 0
        for e in kept:
            yield e, 0

    def _nbytes(self, e: int, batch: int) -> int:
        spec = self.specs[self.numbers.entries[e]]
        of_batch = spec.shape[:1] == (BATCH,)
        nbytes = self.numbers.nbytes[e]
        return max(nbytes // BATCH * batch if of_batch else nbytes, 1)

    def operations(self) -> list[Work]:
        """The operations of one step, with the results that each reads and writes."""
        found = []
        for n, node in enumerate(self.numbers.nodes):
            if node.op is not None:
                cost = plan_of(node, self.specs).cost
                reads, writes = self.numbers.ins[n], self.numbers.outs[n]
                found.append(
                    Work(
                        node.name,
                        0,
                        cost.flops,
                        cost.bytes_moved,
                        tuple(dict.fromkeys(reads)),
                        tuple(writes),
                    )
                )
        return found


@lru_cache(64)
def branches(seed: int) -> Network:
    """A graph without training: layers of all widths, joined across one another."""
    chance = random.Random(seed)
    made = [symbol.var("data")]
    for number in range(chance.randint(12, 30)):
        picked = [chance.choice(made[-5:]) for _ in range(chance.choice((1, 1, 2)))]
        x = symbol.concat(*picked, dim=1) if len(picked) > 1 else picked[0]
        width = 2 ** chance.randint(2, 10)
        made.append(symbol.FullyConnected(x, num_hidden=width, name=f"fc{number}"))
    return _made(symbol.concat(*made[-3:], dim=1).graph, (BATCH, 32), ())


@lru_cache(64)
def network(seed: int) -> Network:
    """The network of a seed: layers in a line, some of them beside others."""
    chance = random.Random(seed)
    x = symbol.var("data")
    pictures = chance.random() < 0.4
    side = chance.choice((8, 12, 16))
    for number in range(chance.randint(3, 6)):
        x = _block(chance, x, f"b{number}", pictures)
    x = symbol.FullyConnected(x, num_hidden=chance.choice((10, 32)), name="last")
    net = symbol.SoftmaxOutput(x, name="loss")
    shape = (BATCH, 3, side, side) if pictures else (BATCH, chance.choice((64, 256)))
    return _made(net.graph, shape, ("data", "loss_label"))


def _made(graph: Graph, shape: tuple[int, ...], given: tuple[str, ...]) -> Network:
    """The graph that runs; with the gradients of all but what is given, if any is."""
    found = infer(graph, {"data": shape}, {})
    variables: dict[Any, Spec] = {}
    for node in graph.variables:
        spec = found.spec(Entry(node))
        assert spec is not None
        variables[node] = spec
    wanted = [node for node in graph.arguments if given and node.name not in given]
    settings = Settings(use_fusion=False)
    made = prepare(graph, variables, wanted, training=bool(given), settings=settings)
    return Network(made.plan.numbers, made.specs)


def _block(chance: random.Random, x: Any, name: str, pictures: bool) -> Any:
    """A layer, or several beside one another that are added."""
    width = 8 * chance.randint(1, 16 if pictures else 64)
    sides = [
        _layer(x, f"{name}_{k}", width, chance.random() < 0.5, pictures)
        for k in range(chance.choice((1, 1, 2, 3)))
    ]
    return symbol.add_n(*sides, name=f"{name}_sum") if len(sides) > 1 else sides[0]


def _layer(x: Any, name: str, width: int, twice: bool, pictures: bool) -> Any:
    for number in range(2 if twice else 1):
        if pictures:
            x = symbol.Convolution(
                x, kernel=(3, 3), pad=(1, 1), num_filter=width, name=f"{name}{number}"
            )
        else:
            x = symbol.FullyConnected(x, num_hidden=width, name=f"{name}{number}")
        x = symbol.tanh(x) if number else symbol.Activation(x, act_type="relu")
    return x
