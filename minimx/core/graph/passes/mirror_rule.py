"""MXNet's rule for mirroring: everything but a few expensive operators.

legacy    as in MXNet 1.x: gradients of nodes that are not recomputed read the first
          values, so that the input of every convolution is kept all the same
remap     they read the recomputed values
marked    the other way round: turns a decision into remarks of the nodes
"""

from __future__ import annotations

from collections.abc import Sequence

from minimx.core.graph.passes.recompute import Keep, Recomputation
from minimx.core.graph.passes.report import Change
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.graph.values.specs import Specs

#: Too much work to do twice, or nothing gained: MXNet's list.
NEVER = ("Convolution", "FullyConnected", "Concat", "SoftmaxOutput")
_TRUE, _FALSE = ("true", "1"), ("false", "0")


def legacy(
    graph: Graph, specs: Specs, everywhere: bool = True, step: int = 100
) -> Keep:
    """MXNet 1.x: recompute what the rule allows; gradients of other nodes keep theirs.

    everywhere: MXNET_BACKWARD_DO_MIRROR; without it only nodes with the remark
    `force_mirroring`. step: every so many a node is kept, as MXNet did until 0.8.
    """
    rule = _MirrorRule(graph, specs, everywhere, step, obeys_false=False)
    return Keep(rule.recompute, remap=False, changes=rule.changes, name="1.x")


def remap(graph: Graph, specs: Specs, everywhere: bool = True, step: int = 100) -> Keep:
    """The same rule, and every gradient reads recomputed values.

    everywhere, step: as in `legacy`. A node with the remark `force_mirroring=False` is
    kept, so that a plan made by hand is not changed; outputs of the graph are kept in
    any case.
    """
    rule = _MirrorRule(graph, specs, everywhere, step, obeys_false=True)
    return Keep(rule.recompute, remap=True, changes=rule.changes, name="remap")


def forced(node: Node) -> bool | None:
    """What a node says itself: `force_mirroring`, true or false; None if nothing."""
    value = node.attrs.get("__force_mirroring__", "").lower()
    return True if value in _TRUE else False if value in _FALSE else None


def marked(graph: Graph, keep: Keep) -> Graph:
    """A graph whose operators all have the remark `force_mirroring`, as `keep` decides.

    So a plan is kept in the graph, also in its file, as those of the tool memonger are:
    prepared with MXNET_BACKWARD_DO_MIRROR off it does what `keep` says. Variables stay
    the same nodes.
    """

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is None:
            return None
        made = node.with_inputs(inputs)
        made.attrs["__force_mirroring__"] = str(node in keep.recompute)
        return outputs_of(made)

    return rewritten(graph, change)


class _MirrorRule:
    """Decides on every node, from the first to the last; obeys_false: see `remap`."""

    def __init__(
        self,
        graph: Graph,
        specs: Specs,
        everywhere: bool,
        step: int,
        obeys_false: bool,
    ) -> None:
        self._everywhere, self._step, self._obeys_false = everywhere, step, obeys_false
        self._recomputation = Recomputation(graph, specs)
        self._outputs = {entry.node for entry in graph.outputs}
        self._count = 0
        found: list[Node] = []
        changes: list[Change] = []
        for node in graph:
            if node.op is None:
                continue
            recomputed, reason = self._decide(node)
            changes.append(
                Change("recomputed" if recomputed else "kept", (node.name,), reason)
            )
            if recomputed:
                found.append(node)
        self.recompute = frozenset(found)
        self.changes = tuple(changes)

    def _decide(self, node: Node) -> tuple[bool, str]:
        assert node.op is not None
        why_not = self._recomputation.why_not(node)
        if why_not is not None:
            return False, f"it cannot be computed a second time: {why_not}"
        value = forced(node)
        if value:
            return True, "it says force_mirroring itself."
        if self._obeys_false and value is False:
            return False, "it says force_mirroring=False itself."
        if not self._everywhere:
            return False, "MXNET_BACKWARD_DO_MIRROR is off, and it does not ask for it."
        if node.op.name in NEVER:
            return False, f"{node.op.name} is too much work to do twice."
        if self._obeys_false and node in self._outputs:
            return False, "it is an output, and stays anyway."
        self._count += 1
        if self._count % self._step == 0:
            return False, (
                f"MXNET_BACKWARD_MIRROR_STEP={self._step}: each {self._step}th is a "
                "checkpoint."
            )
        return True, f"{node.op.name} is cheap to compute again."
