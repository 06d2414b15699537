"""`PoolLevel`: be the pool, and give each request its block."""

from __future__ import annotations

import random
from functools import partial

from minimx import symbol
from minimx.policies.networks import BATCH
from minimx_widgets.levels.planners import network_of
from minimx_widgets.levels.pools import PoolGame, Steps
from minimx_widgets.levels.view import LevelView

KIB = 1024
AHEAD = (
    "who knows what comes asks for blocks as large as those that they will hold later, "
    "and gives each request the smallest that is idle"
)


def steps_of(text: str) -> Steps:
    """Steps from words: "a8" requests 8 KiB as array 0, "-a" frees it.

    >>> steps_of("a8 -a")
    [(0, 8192), (0, 0)]
    """
    return [
        (ord(word[1]) - 97, 0)
        if word[0] == "-"
        else (ord(word[0]) - 97, int(word[1:]) * KIB)
        for word in text.split()
    ]


def drawn(seed: int, requests: int, live: int) -> Steps:
    """Requests of 1 to 12 KiB drawn by a seed, of which at most `live` are in use."""
    chance = random.Random(seed)
    steps: list[tuple[int, int]] = []
    held: list[int] = []
    for key in range(requests):
        while len(held) >= chance.randint(1, live):
            steps.append((held.pop(chance.randrange(len(held))), 0))
        steps.append((key, KIB * chance.randint(1, 12)))
        held.append(key)
    return [*steps, *((key, 0) for key in held)]


def training() -> PoolGame:
    """A step of training of three layers: what its graph requests, 64 rows at once."""
    x = symbol.FullyConnected(symbol.var("data"), num_hidden=32, name="fc1")
    x = symbol.Activation(x, act_type="relu", name="relu1")
    x = symbol.FullyConnected(x, num_hidden=64, name="fc2")
    x = symbol.Activation(x, act_type="tanh", name="tanh2")
    x = symbol.FullyConnected(x, num_hidden=10, name="fc3")
    net = symbol.SoftmaxOutput(x, name="loss")
    graph = network_of(net, {"data": (BATCH, 24)}, training=True)
    steps = list(graph.memory(64))
    entries = graph.numbers.entries
    names: dict[int, str] = {}
    for key, _ in steps:
        entry = entries[key]
        more = f" {entry.slot}" if entry.slot else ""
        names[key] = f"{entry.node.name}{more}"
    return PoolGame(
        steps,
        "level 6, a step of training",
        "gradients have the sizes of what went forward, so its blocks serve them again",
        names=names,
        ahead=6,
    )


class PoolLevel(LevelView):
    """Be the pool: requests come one by one, and each wants a block.

        PoolLevel(1)                      # levels 1 to 6
        PoolLevel(PoolGame.recorded(record))

    A choice is a block that is idle and large enough ("B1"), a new one from the driver
    ("new"), or a larger new one ("new 8192") that later requests can use as well. What
    counts are the bytes reserved and the driver calls. `policy()` is a class for
    `mx.storage.register_pool`.
    """

    title = "Be the pool"
    about = (
        "Arrays are requested and freed one by one. A request gets an idle block that "
        "is large enough, or a new one from the driver. The pool keeps freed "
        "blocks; it never splits one and never makes one larger."
    )
    levels = (
        partial(
            PoolGame,
            steps_of("a8 b4 -a -b c4 d8 -c -d"),
            "level 1",
            "the smallest block that is large enough leaves the large one for what is "
            "large",
        ),
        partial(
            PoolGame,
            steps_of("a4 b2 -a c8 -b d2 -c e12 -d -e"),
            "level 2",
            "a block that is too large now can serve all that is larger later",
        ),
        partial(PoolGame, drawn(8, 8, 3), "level 3", AHEAD),
        partial(PoolGame, drawn(1, 11, 4), "level 4", AHEAD, ahead=5),
        partial(PoolGame, drawn(0, 14, 5), "level 5", AHEAD, ahead=3),
        training,
    )
