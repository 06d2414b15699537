"""How the network of a running training runs: operator by operator, or as graphs.

It may change between any two steps, and so may the knobs that shape a graph: a graph is
bound again at the next call, with the same parameters. `look` says when that happened.
"""

from __future__ import annotations

from typing import Any

import minimx as mx
from minimx import storage
from minimx.graph.prepare import Prepared

#: The arguments of `hybridize` for each way to run.
WAYS: dict[str, dict[str, bool]] = {
    "imperative": {"active": False},
    "hybridized": {"active": True},
    "static": {"active": True, "static_alloc": True, "static_shape": True},
}
#: So many steps after graphs were bound again, nothing uses the memory of the old ones.
UNTIL_FREE = 2


class Binding:
    """The graphs of a network and its loss.

    planned: the bytes of their memory plans for training; 0 where nothing is planned.
    returned: bytes that the pool gave back to the device when the old plan was gone.
    """

    def __init__(self, net: Any, loss: Any, device: Any) -> None:
        self._net, self._loss, self._device = net, loss, device
        self._made_under: tuple[Any, ...] | None = None
        self._countdown = 0
        self.way = ""
        self.planned = self.returned = 0

    def change(self, way: str) -> bool:
        """Run in another way from the next call on; returns whether it is one."""
        if way == self.way:
            return False
        for block in (self._net, self._loss):
            block.hybridize(**WAYS[way])
        self.way = way
        return True

    def look(self, dtype: str = "float32") -> tuple[int, int] | None:
        """After a step: the planned bytes before and now, if graphs were bound again.

        That is so after another knob, another way to run or another type; not for a
        batch of another size. Two steps later the blocks that lie idle in the pool go
        back to the device, as the new plan never asks for their sizes.
        """
        if self._countdown:
            self._countdown -= 1
            if not self._countdown:
                self.returned = storage.pool_for(self._device).release_all()
        found = self.prepared()
        before, self.planned = self.planned, sum(each.plan.total for each in found)
        made_under = (self.way, dtype, *(each.settings for each in found))
        known, self._made_under = self._made_under, made_under
        if known is None or known == made_under:
            return None
        self._countdown = UNTIL_FREE
        return before, self.planned

    def prepared(self) -> list[Prepared]:
        """What the graphs of the latest step became; empty where there are none."""
        found: list[Prepared] = []

        def add(block: mx.gluon.Block) -> None:
            if isinstance(block, mx.gluon.HybridBlock) and block.prepared is not None:
                found.append(block.prepared)

        self._net.apply(add)
        self._loss.apply(add)
        return found
