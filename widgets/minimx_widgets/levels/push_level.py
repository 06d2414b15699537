"""`PushLevel`: be the kvstore, and say which gradient takes the link next."""

from __future__ import annotations

import random
from functools import partial

from minimx_widgets.levels.pushes import Layer, PushGame
from minimx_widgets.levels.view import LevelView

KIB = 1024
WAITS = (
    "a large gradient on the link holds up the urgent one that comes a moment later, "
    "so the link waits for it"
)
SLICES = (
    "between two slices an urgent gradient can overtake, so a large one is begun while "
    "nothing better is there"
)


def layers_of(*rows: tuple[str, int, int, int]) -> tuple[Layer, ...]:
    """Layers from rows: name, KiB, µs of forward, µs of backward."""
    return tuple(Layer(name, kib * KIB, f, b) for name, kib, f, b in rows)


def drawn(seed: int, count: int) -> tuple[Layer, ...]:
    """Layers of 1 to 9 KiB, drawn by a seed."""
    chance = random.Random(seed)
    rows = []
    for k in range(count):
        forward = chance.randint(1, 4)
        row = f"layer{k + 1}", chance.randint(1, 9), forward, 2 * forward
        rows.append(row)
    return layers_of(*rows)


class PushLevel(LevelView):
    """Be the kvstore: gradients share a link, and the next forward waits for weights.

        PushLevel(1)                      # levels 1 to 6
        PushLevel(PushGame(layers, speed=1024, latency=1, piece=2048))

    A choice is the layer whose gradient, or next slice of it, takes the link ("fc2"),
    or to leave it free until the next gradient is there ("wait"). What counts is when
    the next forward ends. `policy()` is a class that sends gradients
    to a store in this order or, of slices, one with priorities for `store.pushpull`.
    """

    title = "Be the kvstore"
    about = (
        "Backward makes the gradient of the last layer first. Each takes the link, "
        "there and back, and a message is not interrupted. The next forward starts a "
        "layer when the one in front is done and its own weights are there."
    )
    levels = (
        partial(
            PushGame,
            layers_of(("conv1", 2, 3, 3), ("conv2", 3, 3, 3), ("fc3", 9, 3, 3)),
            "level 1",
            "the layers in front are waited for first, and the last gradient, which is "
            "there first, can be sent last",
        ),
        partial(PushGame, drawn(36, 4), "level 2", WAITS),
        partial(PushGame, drawn(3, 5), "level 3", WAITS),
        partial(PushGame, drawn(4, 5), "level 4, in slices", SLICES, piece=2 * KIB),
        partial(PushGame, drawn(18, 6), "level 5", WAITS),
        partial(PushGame, drawn(27, 7), "level 6, in slices", SLICES, piece=2 * KIB),
    )
