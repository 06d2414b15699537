"""`MirrorLevel`: be the mirror planner, and say what is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from minimx import symbol
from minimx.symbol import Symbol
from minimx_widgets.levels.mirrors import MirrorGame
from minimx_widgets.levels.view import LevelView


def layers(*rows: tuple[str, int]) -> Symbol:
    """A network of one line, from rows: "fc", "relu", "tanh" or "dropout", and a width.

    The width is that of a fully connected layer; the others have that before them.
    """
    x = symbol.var("data")
    for number, (kind, width) in enumerate(rows, 1):
        name = f"{kind}{number}"
        if kind == "fc":
            x = symbol.FullyConnected(x, num_hidden=width, name=name)
        elif kind == "dropout":
            x = symbol.Dropout(x, p=0.5, name=name)
        else:
            x = symbol.Activation(x, act_type=kind, name=name)
    x = symbol.FullyConnected(x, num_hidden=10, name="last")
    return symbol.SoftmaxOutput(x, name="loss")


def game(
    number: int, lesson: str, budget: float, rows: Sequence[tuple[str, int]]
) -> MirrorGame:
    """The level of a network of one line, 256 rows at once."""
    return MirrorGame(
        layers(*rows), f"level {number}", lesson, budget=budget, data=(256, 32)
    )


class MirrorLevel(LevelView):
    """Be the mirror planner: results are kept for the gradient, or computed again.

        MirrorLevel(1)                    # levels 1 to 6
        MirrorLevel(MirrorGame(net, budget=0.1, data=(256, 32)))

    The results come one by one, and the choices are "keep" and "recompute". What counts
    are the bytes of the plan, within a budget of extra work. `policy()` holds the
    decisions as remarks `force_mirroring` for the symbol, which the runtime obeys.
    """

    title = "Be the mirror planner"
    about = (
        "The gradient reads results of the forward pass. Each is kept until then, or "
        "computed a second time, which is extra work. Until you decide, a result is "
        "kept."
    )
    levels = (
        partial(
            game, 1,
            "the first results are kept longest, so computing them again frees most: "
            "their gradients come last",
            0.08,
            (("fc", 128), ("relu", 0), ("fc", 128), ("tanh", 0), ("fc", 128),
             ("tanh", 0)),
        ),
        partial(
            game, 2,
            "what counts is what is in memory at the worst moment: a result that is "
            "computed again then helps nothing",
            0.15,
            (("fc", 64), ("tanh", 0), ("fc", 16), ("tanh", 0), ("fc", 16), ("relu", 0)),
        ),
        partial(
            game, 3,
            "what draws random numbers is kept, and what is computed from it can begin "
            "there",
            0.08,
            (("fc", 32), ("tanh", 0), ("dropout", 0), ("fc", 16), ("relu", 0),
             ("fc", 16), ("tanh", 0)),
        ),
        partial(
            game, 4,
            "the budget is spent where it frees most bytes for its work",
            0.15,
            (("fc", 64), ("tanh", 0), ("fc", 32), ("relu", 0), ("fc", 128),
             ("relu", 0)),
        ),
        partial(
            game, 5,
            "more work is not less memory: recomputed results are in memory as well, "
            "and late ones at the worst moment",
            0.15,
            (("fc", 64), ("tanh", 0), ("fc", 128), ("relu", 0), ("fc", 128),
             ("tanh", 0)),
        ),
        partial(
            game, 6,
            "computing again starts from what is kept, and ends before what draws "
            "random numbers",
            0.15,
            (("fc", 64), ("tanh", 0), ("dropout", 0), ("fc", 32), ("relu", 0),
             ("fc", 32), ("relu", 0)),
        ),
    )  # fmt: skip
