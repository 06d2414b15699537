"""The cards that a simulated GPU can be: how much memory, and what work costs on it.

The names are those of MXNet's performance page, the numbers those of NVIDIA's data
sheets: what a card reaches at best. A K80 and an M60 are two GPUs on one board; these
are one of them, as the page measured.

`K80/16` is a sixteenth of a K80: memory, arithmetic and all bandwidths. With images of
a sixteenth of the pixels, 56 by 56 instead of 224 by 224, a network is in the same
trouble on it as on the real card, on a laptop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from minimx.core.drivers.base import Costs
from minimx.core.knobs.declarations.simulated import host_share

GIB: Final = 1 << 30
SHARE: Final = 16  # how much less a scaled card is


@dataclass(frozen=True)
class Card:
    """A kind of GPU: its name, the bytes of its memory, and its costs."""

    name: str
    memory: int
    costs: Costs


# A mid-range card behind sixteen lanes of PCI Express 3. Its driver answers at once, so
# that a makespan does not depend on what the pool has kept from earlier. It has what
# the host can give, so that it refuses no program that the host could run.
GENERIC: Final = Card(
    "generic",
    host_share(),
    Costs(
        launch_ns=5_000,
        flops=5e12,
        memory_bandwidth=500e9,
        host_bandwidth=12e9,
        tensor_flops=40e12,
    ),
)


def _card(
    name: str,
    gibibytes: int,
    teraflops: float,
    gigabytes: float,
    tensor_teraflops: float = 0,
) -> Card:
    """A card by memory, arithmetic and memory bandwidth; asking its driver is slow."""
    costs = Costs(
        launch_ns=5_000,
        flops=teraflops * 1e12,
        memory_bandwidth=gigabytes * 1e9,
        host_bandwidth=12e9,
        driver_call_ns=100_000,
        tensor_flops=tensor_teraflops * 1e12,
    )
    return Card(name, gibibytes * GIB, costs)


def scaled(card: Card, share: int = SHARE) -> Card:
    """A card of which everything but the fixed costs is a fraction.

    >>> scaled(Card("small", GIB, GENERIC.costs)).memory == 64 << 20
    True
    """
    costs = replace(
        card.costs,
        flops=card.costs.flops / share,
        tensor_flops=card.costs.tensor_flops / share,
        memory_bandwidth=card.costs.memory_bandwidth / share,
        host_bandwidth=card.costs.host_bandwidth / share,
        link_speed=card.costs.link_speed / share,
    )
    return Card(f"{card.name}/{share}", card.memory // share, costs)


_WHOLE = (
    _card("K80", 12, 4.37, 240),
    _card("M60", 8, 4.82, 160),
    _card("V100", 16, 15.7, 900, tensor_teraflops=125),
)
CARDS: Final = {card.name: card for card in (GENERIC, *_WHOLE, *map(scaled, _WHOLE))}
