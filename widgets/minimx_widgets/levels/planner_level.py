"""`PlannerLevel`: be the memory planner, and give each result its storage id."""

from __future__ import annotations

import random
from functools import partial

from minimx import symbol
from minimx.symbol import Symbol
from minimx_widgets.levels.planners import PlannerGame
from minimx_widgets.levels.view import LevelView

LARGE = (
    "a large result is best kept for a block that must be large anyway; a small one in "
    "its place makes another block grow"
)


def two_sides() -> Symbol:
    """Two branches that are joined: the wide one is computed second."""
    x = symbol.FullyConnected(symbol.var("data"), num_hidden=64, name="a")
    b = symbol.Activation(x, act_type="relu", name="b")
    c = symbol.FullyConnected(b, num_hidden=16, name="c")
    d = symbol.FullyConnected(b, num_hidden=128, name="d")
    joined = symbol.concat(c, symbol.tanh(d, name="t"), dim=1, name="e")
    return symbol.FullyConnected(
        symbol.FullyConnected(joined, num_hidden=64, name="f"), num_hidden=10, name="g"
    )


def drawn(seed: int, layers: int) -> Symbol:
    """Layers of widths from 16 to 128, some joined, drawn by a seed."""
    chance = random.Random(seed)
    made = [symbol.var("data")]
    for k in range(layers):
        parts = [chance.choice(made[-4:]) for _ in range(chance.choice((1, 1, 2)))]
        x = parts[0]
        if len(parts) > 1:
            x = symbol.concat(*parts, dim=1, name=f"join{k}")
        width = 16 * chance.choice((1, 2, 3, 4, 6, 8))
        x = symbol.FullyConnected(x, num_hidden=width, name=f"fc{k}")
        if chance.random() < 0.4:
            x = symbol.Activation(x, act_type="relu", name=f"relu{k}")
        made.append(x)
    return symbol.concat(*made[-2:], dim=1, name="out")


def game(number: int, seed: int, layers: int, inplace: bool) -> PlannerGame:
    """The level of a drawn graph."""
    name = f"level {number}{', in place' if inplace else ''}"
    return PlannerGame(drawn(seed, layers), name, LARGE, inplace=inplace, data=(16, 32))


class PlannerLevel(LevelView):
    """Be the memory planner: results of a graph come one by one, and share memory.

        PlannerLevel(1)                   # levels 1 to 6
        PlannerLevel(PlannerGame(net, data=(16, 32), inplace=False))

    A choice is a storage id that no result needs meanwhile ("id 0"), which grows if it
    must, or a new one ("new"). What counts are the bytes of all, and then how many
    there are. `policy()` is a class for `mx.policies.register_planner`.
    """

    title = "Be the memory planner"
    about = (
        "Each result of a graph gets a storage id. Results that are needed at the same "
        "node must not share one. A block becomes as large as the largest result in it."
    )
    levels = (
        lambda: PlannerGame(
            two_sides(), "level 1", LARGE, inplace=False, data=(32, 32)
        ),
        partial(game, 2, 14, 6, False),
        partial(game, 3, 27, 6, False),
        partial(game, 4, 26, 7, True),
        partial(game, 5, 22, 7, False),
        partial(game, 6, 17, 7, True),
    )
