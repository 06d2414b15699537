"""One walk over a graph that gives every result a storage block, as MXNet does it.

    numbered         the graph as lists of numbers: what the walk reads, counted once
    StorageSharing   the walk, for one match range: which result is written over which
                     input, which free block serves which result, which blocks are
                     released; every decision is a `Step`

Nodes and results are numbers here, since the walk is done once for each match range:
node n is the n-th in the order of the graph, result e the e-th that some node makes.
For the graph `y = exp(x + 1)` with a variable x of 100 float32:

    n   node   e   steps                                    storage after it
    0   x      0   none: a variable is the caller's         [-2]
    1   x + 1  1   ("new", block 0, 400 bytes)              [-2, 0]
    2   exp    2   ("over", block 0): exp may write over    [-2, 0, 0]
                   its input, which nothing else reads

The rule is greedy and depends on the order of nodes. A block counts its readers, not
those of one result: that is what lets chains of results share it. Blocks have no offset
yet, so one that is too small may still grow. The rule is that of MXNet 1.9's
`src/nnvm/plan_memory.cc` and `graph_algorithm.h`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from minimx.core.graph.memory.inplace import Pair, Verdict, ignored, pairs, written_by
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.ops.registry import Op

#: Storage ids that are no blocks: to be planned, the caller's, not known beforehand.
UNPLANNED, EXTERNAL, DYNAMIC = -1, -2, -3


class Step(NamedTuple):
    """One decision: what happened to a block, in the order of the walk.

    kind: "over" (an input's place is taken over), "reuse" (a free block fits), "grow"
        (a free block is made larger), "new", or "free".
    node: the place of the node in the order of the graph. entry: the result it is
    about; None for "free". wanted: its bytes. before, after: the bytes of the block.
    """

    kind: str
    node: int
    entry: Entry | None
    block: int
    wanted: int
    before: int
    after: int


class Examined(NamedTuple):
    """A pair that was looked at, and what became of it."""

    node: int
    pair: Pair
    verdict: Verdict


@dataclass(frozen=True)
class NumberedGraph:
    """A graph in numbers; `e` is the number of an entry, `n` that of a node.

    readers[e]: how many inputs wait for it, and one more for each time it is an output.
    """

    nodes: tuple[Node, ...]
    entries: list[Entry]  # by e
    outs: list[range]  # by n: its entries
    ins: list[list[int]]  # by n: the entries that it reads
    waits: list[list[int]]  # by n: those among them that it waits for
    pairs: list[tuple[Pair, ...]]  # by n
    ignored: list[frozenset[int]]  # by n: places of inputs
    devices: list[Hashable]  # by n
    readers: list[int]  # by e
    sizes: list[int]  # by e: elements, -1 if unknown
    itemsizes: list[int]  # by e: bytes of an element
    nbytes: list[int]  # by e: bytes, -1 if unknown
    dtypes: list[object]  # by e
    start: list[int]  # by e: its storage id before the walk
    writers: dict[int, int]  # by e: the node that changes it


def numbered(
    graph: Graph,
    specs: Specs,
    external: Collection[Entry],
    places: Mapping[Node, Hashable] | None = None,
    item_bytes: int | None = None,
) -> NumberedGraph:
    """Count what the walk asks for.

    external: entries that are not planned; variables never are. places: the device of
    each node, where they differ. item_bytes: what every element is said to take, or
    None for the truth.
    """
    found = NumberedGraph(
        graph.nodes, [], [], [], [], [], [], [], [], [], [], [], [], [], {}
    )
    number: dict[Entry, int] = {}
    declared: dict[tuple[Op, int], tuple[tuple[Pair, ...], frozenset[int]]] = {}
    for n, node in enumerate(found.nodes):
        _number_outputs(found, number, node, specs, item_bytes)
        ins = [number[entry] for entry in node.inputs]
        mine: tuple[tuple[Pair, ...], frozenset[int]] = ((), frozenset())
        if node.op is not None:
            key = (node.op, len(ins))
            if key not in declared:
                declared[key] = (pairs(*key), ignored(*key))
            mine = declared[key]
        waits = [e for place, e in enumerate(ins) if place not in mine[1]]
        for e in waits:
            found.readers[e] += 1
        for place in written_by(node):
            found.writers[ins[place]] = n
        found.ins.append(ins)
        found.waits.append(waits)
        found.pairs.append(mine[0])
        found.ignored.append(mine[1])
        found.devices.append(places.get(node) if places else None)
    for entry in graph.outputs:
        found.readers[number[entry]] += 1
    for entry in external:
        if entry in number:
            found.start[number[entry]] = EXTERNAL
    return found


def _number_outputs(
    found: NumberedGraph,
    number: dict[Entry, int],
    node: Node,
    specs: Specs,
    item_bytes: int | None,
) -> None:
    """Enter the outputs of a node: hidden ones too, which `specs` knows."""
    first = slot = len(found.entries)
    while (entry := Entry(node, slot - first)) in specs or slot - first < node.visible:
        spec = specs.get(entry)
        number[entry] = slot
        found.entries.append(entry)
        found.readers.append(0)
        found.sizes.append(-1 if spec is None else spec.size)
        item = 0 if spec is None else spec.dtype.itemsize
        found.itemsizes.append(item)
        found.nbytes.append(-1 if spec is None else spec.size * (item_bytes or item))
        found.dtypes.append(None if spec is None else spec.dtype)
        if node.op is None:
            found.start.append(EXTERNAL)
        else:
            found.start.append(DYNAMIC if spec is None else UNPLANNED)
        slot += 1
    found.outs.append(range(first, slot))


class StorageSharing:
    """The walk for one match range; what it found is in its fields.

    match_range: a free block of b bytes serves a request of w bytes if
    w / match_range <= b <= w * match_range; 0: no block is used twice.
    inplace: whether results may be written over inputs. colours: by node; results of
    different colours share no block.

    Found: storage, the storage id of each entry; over, {entry: the place of the input
    that it is written over}; unread, the entries without a reader; sizes and devices of
    the blocks, in bytes; steps and examined, the decisions in their order.
    """

    def __init__(
        self,
        graph: NumberedGraph,
        match_range: int,
        inplace: bool,
        colours: Sequence[int] | None = None,
    ) -> None:
        self.graph = graph
        self.range = match_range
        self.inplace = inplace
        self.colours = colours
        self.storage = list(graph.start)
        self.over: dict[int, int] = {}
        self.unread: list[int] = []
        self.steps: list[Step] = []
        self.examined: list[Examined] = []
        self.sizes: list[int] = []
        self.devices: list[Hashable] = []
        self._released_by: list[int] = []
        self._live: list[int] = []
        # Free blocks as (bytes, when they were released, block), smallest first.
        self._free: list[tuple[int, int, int]] = []
        for n, node in enumerate(graph.nodes):
            if node.op is not None:
                self._visit(n)

    @property
    def total(self) -> int:
        """The bytes of all blocks."""
        return sum(self.sizes)

    # -- the walk ---------------------------------------------------------------------

    def _visit(self, n: int) -> None:
        """Place the outputs of a node, then release what it was the last to read."""
        graph, storage, live = self.graph, self.storage, self._live
        taken: set[int] = set()
        for pair in graph.pairs[n]:
            verdict = self._verdict(n, pair, taken)
            self.examined.append(Examined(n, pair, verdict))
            if verdict in (Verdict.GRANTED, Verdict.SAME):
                taken.add(pair.input)
                self._write_over(n, pair)
        outs = graph.outs[n]
        waiting: Sequence[int]
        if len(outs) == 1:
            waiting = outs if storage[outs[0]] == UNPLANNED else ()
        else:  # the largest first; of equal ones the last
            waiting = sorted(
                [e for e in outs if storage[e] == UNPLANNED],
                key=lambda e: (-graph.sizes[e], -e),
            )
        for e in waiting:
            block = storage[e] = self._request(n, e)
            live[block] = graph.readers[e]
        for e in graph.waits[n]:
            block = storage[e]
            if block >= 0:
                live[block] -= 1
                if not live[block]:
                    self._release(n, block)
        for e in outs:
            block = storage[e]
            if block >= 0 and not live[block]:
                self._release(n, block)
                self.unread.append(e)

    def _verdict(self, n: int, pair: Pair, taken: Collection[int]) -> Verdict:
        """Whether an output may lie where an input lies."""
        e_in, e_out = self.graph.ins[n][pair.input], self.graph.outs[n][pair.output]
        block = self.storage[e_in]
        never = self._never(n, pair)
        if never is not None:
            return never
        if pair.input in taken:
            return Verdict.INPUT_TAKEN
        if self.storage[e_out] >= 0:
            return Verdict.OUTPUT_TAKEN
        same = pair.unchanged and self.graph.dtypes[e_in] == self.graph.dtypes[e_out]
        shared = self._live[block] != 1
        if shared and not same:
            return Verdict.READ
        if self._is_written(e_in, e_out, n, shared):
            return Verdict.WRITTEN
        return Verdict.SAME if same else Verdict.GRANTED

    def _never(self, n: int, pair: Pair) -> Verdict | None:
        """What stands in the way, whatever the order of nodes."""
        graph, storage = self.graph, self.storage
        e_in, e_out = graph.ins[n][pair.input], graph.outs[n][pair.output]
        block = storage[e_in]
        if not self.inplace:
            return Verdict.OFF
        if storage[e_out] == EXTERNAL:
            return Verdict.OUTPUT_OUTSIDE
        if block == EXTERNAL:
            return Verdict.INPUT_OUTSIDE
        if DYNAMIC in (block, storage[e_out]):
            return Verdict.UNKNOWN
        if graph.sizes[e_in] != graph.sizes[e_out]:
            return Verdict.SIZE
        if graph.itemsizes[e_in] != graph.itemsizes[e_out]:
            return Verdict.ITEMS
        if pair.input in graph.ignored[n]:
            return Verdict.IGNORED
        if not graph.readers[e_out]:
            return Verdict.UNREAD
        if self.devices[block] != graph.devices[n]:
            return Verdict.DEVICE
        return None

    def _is_written(self, e_in: int, e_out: int, n: int, shared: bool) -> bool:
        """Whether a node would change what the other reader of a block reads."""
        writers = self.graph.writers
        if writers.get(e_in) == n:
            return True
        return shared and (e_in in writers or e_out in writers)

    def _write_over(self, n: int, pair: Pair) -> None:
        graph = self.graph
        e_in, e_out = graph.ins[n][pair.input], graph.outs[n][pair.output]
        block = self.storage[e_out] = self.storage[e_in]
        self._live[block] += graph.readers[e_out]
        self.over[e_out] = pair.input
        size = self.sizes[block]
        entry = graph.entries[e_out]
        self.steps.append(
            Step("over", n, entry, block, graph.nbytes[e_out], size, size)
        )

    # -- the free list ----------------------------------------------------------------

    def _request(self, n: int, e: int) -> int:
        """A block for an entry.

        The smallest free one that is large enough, else the largest that is not, which
        grows, both within the match range; else a new one.
        """
        wanted = self.graph.nbytes[e]
        entry = self.graph.entries[e]
        at = self._match(n, wanted) if self.range else None
        if at is None:
            self.sizes.append(wanted)
            self.devices.append(self.graph.devices[n])
            self._released_by.append(n)
            self._live.append(0)
            block = len(self.sizes) - 1
            self.steps.append(Step("new", n, entry, block, wanted, 0, wanted))
            return block
        before, _, block = self._free.pop(at)
        after = self.sizes[block] = max(before, wanted)
        kind = "reuse" if after == before else "grow"
        self.steps.append(Step(kind, n, entry, block, wanted, before, after))
        return block

    def _match(self, n: int, wanted: int) -> int | None:
        """The place in the free list of the block to take."""
        free = self._free
        low = bisect_left(free, (wanted // self.range, -1, -1))
        middle = bisect_left(free, (wanted, -1, -1))
        high = bisect_left(free, (wanted * self.range + 1, -1, -1))
        within: Iterable[int] = chain(
            range(middle, high), range(middle - 1, low - 1, -1)
        )
        for at in within:
            block = free[at][2]
            if self.devices[block] == self.graph.devices[n] and (
                self.colours is None
                or self.colours[self._released_by[block]] == self.colours[n]
            ):
                return at
        return None

    def _release(self, n: int, block: int) -> None:
        size = self.sizes[block]
        self._released_by[block] = n
        insort(self._free, (size, len(self.steps), block))
        self.steps.append(Step("free", n, None, block, 0, size, size))
