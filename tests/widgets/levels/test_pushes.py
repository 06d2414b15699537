"""Gradients on one link: the rules, and the optimum against all orders."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.errors import ArgumentError
from minimx_widgets.levels.game import best_end
from minimx_widgets.levels.push_level import drawn, layers_of
from minimx_widgets.levels.pushes import Layer, PushGame


def end_of(game: PushGame, order: tuple[int, ...]) -> int:
    """When forward ends if messages go in this order, each as soon as it can."""
    free, there, left = 0, {}, [list(pieces) for pieces in game.pieces]
    for layer in order:
        free = max(free, game.ready[layer]) + left[layer].pop(0)
        there[layer] = free
    done = 0
    for k, one in enumerate(game.layers):
        done = max(done, there[k]) + one.forward
    return done


def best_of_all(game: PushGame) -> int:
    """Over all orders: one that names a later gradient first waits for it."""
    messages = [k for k, pieces in enumerate(game.pieces) for _ in pieces]
    return min(end_of(game, order) for order in set(permutations(messages)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0, 5 * 1024]))
def test_no_order_is_better(seed: int, layers: int, piece: int) -> None:
    game = PushGame(drawn(seed, layers), piece=piece)
    best = best_end(game)
    assert best is not None and best.cost == (best_of_all(game),)
    state = game.begin()
    for key in best.keys:
        assert game.least(state) <= best.cost
        state = game.after(state, key)
    assert game.over(state) and game.cost(state) == best.cost


def test_what_cannot_go_says_why() -> None:
    game = PushGame(layers_of(("a", 2, 1, 3), ("b", 1, 1, 2)))
    state = game.begin()
    assert state.time == 2 and "b could go" in game.question(state)
    with pytest.raises(ArgumentError) as lesson:
        game.after(state, "a")
    assert str(lesson.value) == (
        "The gradient of a is not there yet: at 2 µs backward has come to b, and it "
        "makes that of a at 5 µs."
    )
    state = game.after(state, "b")
    assert state.time == 5, "nothing could go before"
    with pytest.raises(ArgumentError, match="of b was sent: it was there at 4 µs"):
        game.after(state, "b")
    with pytest.raises(ArgumentError, match="Backward is over"):
        game.after(state, "wait")
    state = game.after(state, "a")
    assert game.over(state) and game.cost(state) == (10,)
    assert game.question(state) == "The next forward ends after 10 µs."


def test_the_simulation_of_the_store_counts_as_the_level_does() -> None:
    for seed in range(12):
        game = PushGame(drawn(seed, 5), piece=2048)
        fixed = game.compared()
        messages = [k for k, pieces in enumerate(game.pieces) for _ in pieces]
        assert fixed["as they come"] == (end_of(game, tuple(messages[::-1])),)
        state = game.begin()  # always the layer in front of all that is there
        while not game.over(state):
            ready = [one for one in game.choices(state) if not one.refused]
            state = game.after(state, ready[0].key)
        assert fixed["the front first (P3)"] == game.cost(state)


def test_slices_let_an_urgent_gradient_overtake() -> None:
    layers = layers_of(("front", 1, 2, 2), ("large", 12, 2, 2))
    whole = best_end(PushGame(layers))
    sliced = best_end(PushGame(layers, piece=2048, latency=0))
    assert whole is not None and sliced is not None
    assert sliced.cost < whole.cost
    assert sliced.keys.index("front") < len(sliced.keys) - 1


@pytest.mark.parametrize(
    ("layers", "more", "what"),
    [
        ((), {}, "0 layers"),
        ((Layer("a", 1, 1, 1), Layer("a", 1, 1, 1)), {}, "same name"),
        ((Layer("a", 0, 1, 1),), {}, "not possible"),
        ((Layer("a", 1, 1, 1),), {"speed": 0}, "speed=0"),
        ((Layer("a", 1, 1, 1),), {"piece": -1}, "piece=-1"),
        ((Layer("a", 201, 1, 1),), {"piece": 1}, "201 messages"),
    ],
)
def test_networks_that_make_no_sense_are_refused(
    layers: tuple[Layer, ...], more: dict[str, Any], what: str
) -> None:
    with pytest.raises(ArgumentError, match=what):
        PushGame(layers, **more)
