"""What is computed again: the plan of the runtime, the budget, the optimum."""

from __future__ import annotations

from itertools import product

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx_widgets.levels.game import best_end
from minimx_widgets.levels.mirror_level import layers
from minimx_widgets.levels.mirrors import MirrorGame

NET = layers(("fc", 64), ("relu", 0), ("dropout", 0), ("fc", 16), ("tanh", 0))


@pytest.fixture(scope="module")
def game() -> MirrorGame:
    return MirrorGame(NET, budget=0.1, data=(64, 32))


def test_no_decisions_within_the_budget_are_better(game: MirrorGame) -> None:
    found = []
    for whole in product((False, True), repeat=len(game.nodes)):
        one = game.outcome(whole)
        possible = not any(a and n for a, n in zip(whole, game.never, strict=True))
        if possible and one.work <= game.outcome(()).work * 1.1:
            found.append((one.peak, one.work))
    best = best_end(game)
    assert best is not None and best.cost == min(found)


def test_what_cannot_be_computed_again_says_why(game: MirrorGame) -> None:
    state = game.begin()
    for _ in range(2):
        state = game.after(state, "keep")
    with pytest.raises(
        ArgumentError, match="dropout3 cannot be computed a second time"
    ):
        game.after(state, "recompute")


def test_beyond_the_budget_says_by_how_much(game: MirrorGame) -> None:
    tight = MirrorGame(NET, budget=0.0, data=(64, 32))
    with pytest.raises(ArgumentError, match=r"from 0 % to .* the budget is 0 %"):
        tight.after((False,), "recompute")


def test_a_marked_symbol_trains_to_the_same_gradients(game: MirrorGame) -> None:
    net = layers(("fc", 64), ("relu", 0), ("fc", 16), ("tanh", 0))
    level = MirrorGame(net, budget=1.0, data=(8, 32))
    state: tuple[bool, ...] = (True, True, False, False, False)
    made: dict[str, type] = {}
    exec(level.policy(state, "Mine"), made)
    assert level.ran(made["Mine"]) == level.cost(state)

    def gradients(symbol: mx.sym.Symbol) -> dict[str, list[float]]:
        mx.random.seed(3)
        bound = symbol.simple_bind(mx.cpu(), grad_req="write", data=(8, 32))
        for name, array in bound.arg_dict.items():
            if name == "loss_label":
                array[:] = 1
            else:
                array[:] = mx.nd.random.uniform(-1, 1, shape=array.shape)
        bound.forward(is_train=True)
        bound.backward()
        found = bound.grad_dict.items()
        return {n: g.asnumpy().tolist() for n, g in found if g is not None}

    marked = made["Mine"]().mark(mx.sym.load_json(net.tojson()))
    assert gradients(marked) == gradients(net)


def test_a_large_network_is_refused() -> None:
    many = layers(*[("fc", 8), ("relu", 0)] * 5)
    with pytest.raises(ArgumentError, match="11 results to decide on"):
        MirrorGame(many, data=(4, 4))
