"""How the network of a running training runs: operator by operator, or as graphs.

It may change between any two steps, and so may the knobs that shape a graph: a graph is
bound again at the next call, with the same parameters. `look` says when that happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minimx as mx
from minimx.core import storage
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.values.specs import plan_of

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
        self._net, self._loss = net, loss
        self._devices = [device]  # where graphs were bound so far
        self._made_under: tuple[Any, ...] | None = None
        self._countdown = 0
        self._again = False
        self.way = self.dtype = ""
        self.planned = self.returned = 0
        #: Whether the graphs that were bound last differ from those before.
        self.differs = False
        self.shape: tuple[Any, ...] = ()
        self._most = 0  # the plan for a whole batch; the last of an epoch is smaller

    def change(self, way: str, dtype: str = "float32") -> bool:
        """Run in another way or type from the next call on; returns whether it is one.

        Graphs of the old type, which a block would keep, are forgotten.
        """
        if (way, dtype) == (self.way, self.dtype) and not self._again:
            return False
        self._again = False
        for block in self.blocks:
            block.hybridize(**WAYS[way])
        self.way, self.dtype = way, dtype
        return True

    @property
    def blocks(self) -> list[Any]:
        """The network and the loss, each of which has graphs."""
        return [self._net, self._loss]

    def bind_again(self) -> None:
        """Bind the graphs again at the next step, whatever they were bound under."""
        self._again = True

    def move(self, devices: Sequence[Any]) -> None:
        """Run on these devices from the next call on; graphs are bound again."""
        self._devices = list(dict.fromkeys((*self._devices, *devices)))
        self._again, self._most, self._countdown = True, 0, UNTIL_FREE

    def look(self, whole: bool = True) -> tuple[int, int] | None:
        """After a step: the planned bytes before and now, if graphs were bound again.

        That is so after another knob, another way to run or another type; not for a
        batch of another size. Two steps later the blocks that lie idle in the pool go
        back to the device, as the new plan never asks for their sizes.

        whole: whether the step had a whole batch. The last batch of an epoch is smaller
        and needs less memory: plans are compared at the next step instead.
        """
        if self._countdown:
            self._countdown -= 1
            if not self._countdown:
                self.returned = sum(map(storage.empty_cache, self._devices))
        if not whole:
            return None
        found = self.prepared()
        self.planned = sum(each.plan.total for each in found)
        made_under = (self.way, self.dtype, *(each.settings for each in found))
        known, self._made_under = self._made_under, made_under
        if known == made_under:
            self._most = max(self._most, self.planned)
            return None
        before, self._most = self._most, self.planned
        shape = tuple(map(_shape, found))
        self.differs, self.shape = shape != self.shape, shape
        if known is None:
            return None
        self._countdown = UNTIL_FREE
        return before, self.planned

    @property
    def operators(self) -> frozenset[str]:
        """The names of the operators in the graphs of the latest step."""
        nodes = (node for each in self.prepared() for node in each.graph)
        return frozenset(node.op.name for node in nodes if node.op is not None)

    def prepared(self) -> list[Prepared]:
        """What the graphs of the latest step became; empty where there are none."""
        found: list[Prepared] = []

        def add(block: mx.gluon.Block) -> None:
            if isinstance(block, mx.gluon.HybridBlock) and block.prepared is not None:
                found.append(block.prepared)

        self._net.apply(add)
        self._loss.apply(add)
        return found


def _shape(prepared: Prepared) -> tuple[Any, ...]:
    """What a graph became, for comparison: operators, segments, places in memory."""
    plan = prepared.plan
    nodes = [node for node in prepared.graph if node.op is not None]
    names = tuple(node.op.name for node in nodes if node.op is not None)
    # The bytes of a workspace tell which algorithm computes a convolution.
    scratch = tuple(plan_of(node, prepared.specs).workspace for node in nodes)
    cuts = tuple(len(s.nodes) for s in (*prepared.forward, *prepared.backward))
    return names, scratch, cuts, plan.total, sorted(plan.storage.values())
