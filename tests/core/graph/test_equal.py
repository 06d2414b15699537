"""Whatever the passes do, the numbers stay the same to the bit.

Random graphs and some networks are trained for two steps, operator by operator and as
programs, under every combination of the six switches that matter most. The others are
set so that any three switches meet in all their positions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd, cached_op
from minimx.core.arrays.array import NDArray
from minimx.core.cached_op import CachedOp, Flags
from minimx.core.graph.running.settings import Settings

GRAPHS = 30
SIDE = 8

#: What a step computes from two square arrays; the result is as large, and moderate.
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: 0.5 * (a + b),
    "difference": lambda a, b: a - b,
    "product": lambda a, b: mx.sym.tanh(a * b),
    "quotient": lambda a, b: a / (1 + b * b),
    "larger": mx.sym.maximum,
    "matrix product": lambda a, b: 0.1 * mx.sym.dot(a, b),
    "transposed": lambda a, b: mx.sym.transpose(a) + b,
    "sigmoid": lambda a, b: mx.sym.sigmoid(a),
    "relu": lambda a, b: mx.sym.relu(a - 0.1),
    "softmax": lambda a, b: mx.sym.softmax(a * 3, axis=1),
    "centred": lambda a, b: mx.sym.broadcast_sub(a, mx.sym.mean(b, 1, keepdims=True)),
    "there and back": lambda a, b: mx.sym.Reshape(
        mx.sym.Reshape(a, shape=(1, -1)) * 2, shape=(-1, SIDE)
    ),
    "halves": lambda a, b: mx.sym.concat(
        mx.sym.slice_axis(a, axis=0, begin=0, end=4),
        mx.sym.slice_axis(b, axis=0, begin=4, end=None), dim=0,
    ),
    "identity": lambda a, b: mx.sym.identity(a) + mx.sym.BlockGrad(b),
    "dropout": lambda a, b: mx.sym.Dropout(a, p=0.3),
    "normalised": lambda a, b: mx.sym.BatchNorm(a, fix_gamma=False) * b,
    "many uses": lambda a, b: mx.sym.add_n(*[a * (k / 20) for k in range(11)]) + b,
    "again": lambda a, b: mx.sym.exp(-a * a) + mx.sym.exp(-a * a),
}  # fmt: skip


def drawn(seed: int) -> Any:
    """A graph of 4 to 14 steps: each uses two of the arrays made last."""
    draw = random.Random(seed)
    values = [mx.sym.var(name) for name in "abc"]
    for _ in range(draw.randint(4, 14)):
        step = draw.choice(sorted(STEPS))
        x, y = (draw.choice(values[-10:]) for _ in range(2))
        values.append(STEPS[step](x, y))
    return mx.sym.Group([values[-1], mx.sym.tanh(values[-2])])


#: Every switch that must not change a number, and its positions.
SWITCHES: dict[str, tuple[Any, Any]] = {
    "enable_inplace": (True, False),
    "eliminate_common_expr": (True, False),
    "use_fusion": (True, False),
    "bulk_exec_train": (True, False),
    "match_range": (16, 0),
    "backward_do_mirror": (True, False),
    "node_elimination": (True, False),
    "inplace_grad_sum_cap": (8, 3),
    "num_temp": (1, 4),
    "memory_opt": (True, False),
    "bulk_exec_max_node_train_bwd": (15, 4),
}
#: So many of the first are tried in every combination.
FIRST = 6
#: The position of each switch.
Row = tuple[int, ...]


def meetings(row: Row) -> set[tuple[tuple[int, ...], Row]]:
    """Which positions of any three switches meet in a row."""
    found = combinations(range(len(row)), 3)
    return {(places, tuple(row[k] for k in places)) for places in found}


def combined() -> list[Row]:
    """The first switches in every combination; with each, positions of the others.

    Those that let most triples of switches meet that have not met before.
    """
    rows: list[Row] = []
    met: set[tuple[tuple[int, ...], Row]] = set()
    for first in product((0, 1), repeat=FIRST):
        others = product((0, 1), repeat=len(SWITCHES) - FIRST)
        tried = [(*first, *rest) for rest in others]
        rows.append(max(tried, key=lambda row: len(meetings(row) - met)))
        met |= meetings(rows[-1])
    return rows


def settings_of(row: Row) -> Settings:
    """The settings with switches in these positions."""
    pairs = zip(SWITCHES.items(), row, strict=True)
    return Settings(**{name: each[position] for (name, each), position in pairs})


ROWS = combined()


def test_every_combination_of_six_is_tried_and_any_three_switches_meet() -> None:
    assert len({row[:FIRST] for row in ROWS}) == len(ROWS) == 2**FIRST
    met = set().union(*map(meetings, ROWS))
    assert len(met) == 8 * len([*combinations(SWITCHES, 3)])


def trained(symbol: Any, flags: Flags, shapes: dict[str, Any]) -> list[bytes]:
    """What two steps and a prediction leave behind: outputs, gradients, states."""
    graph = symbol.graph
    mx.random.seed(3)
    rng = np.random.default_rng(5)
    found, _, states = symbol.infer_shape(**shapes)
    values: list[NDArray] = [
        mx.nd.array(rng.normal(size=shape).astype("float32") * 0.5) for shape in found
    ]
    values += [mx.nd.ones(shape) for shape in states]
    weights = values[: len(graph.arguments)]
    for k, weight in enumerate(weights):
        weight.attach_grad("add" if k == 1 else "write")
    op, seen = CachedOp(graph, flags), []
    for _ in range(2):
        with autograd.record():
            outs = op(values)
            loss = mx.nd.add_n(*[(out * out).sum() for out in outs])
        loss.backward()
        seen += outs
    seen += [*op(values), *[w.grad for w in weights], *values[len(weights) :]]
    return [array.asnumpy().tobytes() for array in seen]


def check(
    symbol: Any,
    shapes: dict[str, Any],
    patch: pytest.MonkeyPatch,
    fusion_least: int = 2048,
) -> None:
    wanted = trained(symbol, Flags(inline_limit=10_000), shapes)
    for number, row in enumerate(ROWS):
        settings = replace(settings_of(row), fusion_least=fusion_least)
        patch.setattr(cached_op, "in_force", lambda now=settings: now)
        flags = Flags(inline_limit=0, static_alloc=number % 2 == 0)
        assert trained(symbol, flags, shapes) == wanted, settings


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_a_random_graph(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    symbol = drawn(seed)
    shapes = {name: (SIDE, SIDE) for name in symbol.list_arguments() if name in "abc"}
    check(symbol, shapes, monkeypatch, fusion_least=1)


def perceptron() -> tuple[Any, dict[str, Any]]:
    x = mx.sym.var("x")
    for width in (64, 32):
        x = mx.sym.Dropout(mx.sym.relu(mx.sym.FullyConnected(x, num_hidden=width)))
    return mx.sym.log_softmax(mx.sym.FullyConnected(x, num_hidden=10)), {"x": (40, 20)}


def lenet() -> tuple[Any, dict[str, Any]]:
    x = mx.sym.var("x")
    for filters in (4, 8):
        x = mx.sym.Convolution(x, num_filter=filters, kernel=(3, 3))
        x = mx.sym.Pooling(mx.sym.tanh(x), kernel=(2, 2), stride=(2, 2))
    x = mx.sym.relu(mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=32))
    return mx.sym.FullyConnected(x, num_hidden=10), {"x": (8, 1, 16, 16)}


def residual() -> tuple[Any, dict[str, Any]]:
    x = mx.sym.Convolution(mx.sym.var("x"), num_filter=4, kernel=(3, 3), pad=(1, 1))
    for _ in range(3):
        y = mx.sym.relu(mx.sym.BatchNorm(x, fix_gamma=False))
        y = mx.sym.Convolution(y, num_filter=4, kernel=(3, 3), pad=(1, 1))
        x = x + y
    return mx.sym.mean(x, axis=(2, 3)), {"x": (4, 2, 12, 12)}


def recurrent() -> tuple[Any, dict[str, Any]]:
    x, h = mx.sym.var("x"), mx.sym.var("h")
    outs = []
    weight = mx.sym.var("weight")
    for t in range(5):
        now = mx.sym.slice_axis(x, axis=0, begin=t, end=t + 1)
        both = mx.sym.concat(mx.sym.Reshape(now, shape=(-3, 0)), h, dim=1)
        h = mx.sym.tanh(
            mx.sym.FullyConnected(both, weight, num_hidden=32, no_bias=True)
        )
        outs.append(h)
    return mx.sym.Group([mx.sym.stack(*outs), h]), {"x": (5, 64, 6), "h": (64, 32)}


def attention() -> tuple[Any, dict[str, Any]]:
    x = mx.sym.LayerNorm(mx.sym.var("x"))
    q, k, v = [mx.sym.FullyConnected(x, num_hidden=16, flatten=False) for _ in range(3)]
    scores = mx.sym.softmax(mx.sym.batch_dot(q, k, transpose_b=True) / 4)
    y = mx.sym.batch_dot(mx.sym.Dropout(scores, p=0.1), v)
    return x + mx.sym.FullyConnected(y, num_hidden=16, flatten=False), {
        "x": (9, 16, 16)
    }


@pytest.mark.parametrize("network", [perceptron, lenet, residual, recurrent, attention])
def test_a_network(
    network: Callable[[], tuple[Any, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(*network(), monkeypatch)
