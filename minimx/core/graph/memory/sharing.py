"""Storage sharing: one pass over a graph that gives every result a storage block.

The problem is that of register allocation. A result is *live* from the node that
computes it to the last node that reads it; results that are never live at the same time
may share memory. The best solution would be a colouring of the graph of conflicts; like
MXNet, this pass is greedy. It takes the nodes in the order in which they run, and for
each result it tries

1. in place: to write it over an input of its node that is read for the last time here;
2. a free block: one whose results have all been read, of about the right size;
3. a new block.

Then the blocks that the node was the last to read are free. A block is a number,
MXNet's *storage id*, with a size in bytes. It has no address yet, so that a free block
that is too small may still grow; `memory.py` lays blocks out one behind the other.

An example: the program y = sum(d), for a variable x of 100 float32.

    n  node              steps                          readers left of    results in
                                                        block 0, 1         block 0, 1
    0  x                 none: x is the caller's
    1  a = exp(x)        new block 0, 400 bytes         2                  a
    2  b = sqrt(a)       new block 1, 400 bytes:        1  1               a  b
                         c reads a later
    3  c = a * b         over a, in block 0             2  0               c
                         free block 1: b was read
    4  d = concat(c, c)  grow block 1 to 800 bytes      0  1               -  d
                         free block 0: c was read
    5  y = sum(d)        none: y is the caller's           0               -  -
                         free block 1: d was read

So two blocks of 1,200 bytes hold four results of 2,000. The readers of a block are
counted, not those of a result: at n = 3 block 0 is left by a and entered by c, which
`concat` reads twice. That is what lets chains of results share one block.

    numbered         the graph as lists of numbers: what the pass reads, counted once
    StorageSharing   the pass, for one match range: every decision is a `Step`, every
                     input that was considered for in place an `Examined`

Nodes and results are numbers here, since the planner tries several match ranges: node
n is the n-th in the order of the graph, result e the e-th that some node makes. The
rule is that of MXNet 1.9's `src/nnvm/plan_memory.cc` and `graph_algorithm.h`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from minimx.core.graph.memory.inplace import Pair, Verdict, ignored, pairs, written_by
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.ops.registry import Op

#: Storage ids that are no blocks: of what is not planned yet; of what lies in memory of
#: the caller, such as variables; of results whose size is not known before they run.
UNPLANNED, EXTERNAL, DYNAMIC = -1, -2, -3


class Step(NamedTuple):
    """One decision: what happened to a block, in the order of the pass.

    kind: "over" (a result is written over an input, in its block), "reuse" (a free
        block fits), "grow" (a free block is made larger), "new", or "free".
    node: the number of the node. entry: the result that the block is for; None for
    "free". wanted: its bytes. before, after: the bytes of the block.
    """

    kind: str
    node: int
    entry: Entry | None
    block: int
    wanted: int
    before: int
    after: int


class Examined(NamedTuple):
    """An output of a node that might lie in the block of an input, and the verdict."""

    node: int
    pair: Pair
    verdict: Verdict


@dataclass(frozen=True)
class NumberedGraph:
    """A graph in numbers; `e` is the number of an entry, `n` that of a node.

    readers[e]: how often nodes read it, and one more for each time that it is an output
    of the graph, which so is never overwritten.
    """

    nodes: tuple[Node, ...]
    entries: list[Entry] = field(default_factory=list)  # by e
    outs: list[range] = field(default_factory=list)  # by n: the entries it makes
    ins: list[list[int]] = field(default_factory=list)  # by n: those of its inputs
    # By n: the inputs that it reads; of the others it only wants the shape.
    reads: list[list[int]] = field(default_factory=list)
    ignored: list[frozenset[int]] = field(default_factory=list)  # by n: their positions
    pairs: list[tuple[Pair, ...]] = field(default_factory=list)  # by n
    devices: list[Hashable] = field(default_factory=list)  # by n
    readers: list[int] = field(default_factory=list)  # by e
    sizes: list[int] = field(default_factory=list)  # by e: elements, -1 if unknown
    itemsizes: list[int] = field(default_factory=list)  # by e: bytes of an element
    nbytes: list[int] = field(default_factory=list)  # by e: -1 if unknown
    dtypes: list[object] = field(default_factory=list)  # by e
    initial: list[int] = field(default_factory=list)  # by e: storage id before the pass
    writers: dict[int, int] = field(default_factory=dict)  # e: the node that changes it


def numbered(
    graph: Graph,
    specs: Specs,
    external: Collection[Entry],
    places: Mapping[Node, Hashable] | None = None,
    item_bytes: int | None = None,
) -> NumberedGraph:
    """Count what the pass needs to know.

    specs: of all entries; one that is missing is DYNAMIC. external: entries in the
    caller's memory, which are not planned; variables never are. places: the device of
    each node, where they differ. item_bytes: the bytes of every element, for comparison
    with MXNet 1.x, which counts 4; None: those of its type.
    """
    found = NumberedGraph(graph.nodes)
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
        reads = [e for place, e in enumerate(ins) if place not in mine[1]]
        for e in reads:
            found.readers[e] += 1
        for place in written_by(node):
            found.writers[ins[place]] = n
        found.ins.append(ins)
        found.reads.append(reads)
        found.pairs.append(mine[0])
        found.ignored.append(mine[1])
        found.devices.append(places.get(node) if places else None)
    for entry in graph.outputs:
        found.readers[number[entry]] += 1
    for entry in external:
        if entry in number:
            found.initial[number[entry]] = EXTERNAL
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
            found.initial.append(EXTERNAL)
        else:
            found.initial.append(DYNAMIC if spec is None else UNPLANNED)
        slot += 1
    found.outs.append(range(first, slot))


class StorageSharing:
    """The pass for one match range; what it decided is in its fields.

    match_range: a free block of b bytes serves a request of w bytes if
    w / match_range <= b <= w * match_range; 0: no block is used twice.
    inplace: whether results may be written over inputs. colours: by node; results of
    different colours share no block, so that they need not wait for each other.

    Decided: storage, the storage id of each entry; written_over, {entry: the position
    of the input in whose block it lies}; unread, the entries without a reader; sizes,
    the bytes of each block, and devices; steps and examined, in their order.

    >>> import minimx as mx
    >>> from minimx.core.dtypes import FLOAT32
    >>> from minimx.core.graph.values.specs import every_spec
    >>> from minimx.core.ops.spec import Spec
    >>> a = mx.sym.exp(mx.sym.var("x"), name="a")
    >>> c = mx.sym.elemwise_mul(a, mx.sym.sqrt(a, name="b"), name="c")
    >>> graph = mx.sym.sum(mx.sym.concat(c, c, dim=0, name="d"), name="y").graph
    >>> specs = every_spec(graph, {graph.variables[0]: Spec.of((100,), FLOAT32)})
    >>> found = StorageSharing(numbered(graph, specs, graph.outputs), 16, True)
    >>> " ".join(f"{step.kind}{step.block}" for step in found.steps)
    'new0 new1 over0 free1 grow1 free0 free1'
    >>> found.storage, found.sizes
    ([-2, 0, 1, 0, 1, -2], [400, 800])
    """

    def __init__(
        self,
        graph: NumberedGraph,
        match_range: int,
        inplace: bool,
        colours: Sequence[int] | None = None,
    ) -> None:
        self.graph = graph
        self.match_range = match_range
        self.inplace = inplace
        self.colours = colours
        self.storage = list(graph.initial)
        self.written_over: dict[int, int] = {}
        self.unread: list[int] = []
        self.steps: list[Step] = []
        self.examined: list[Examined] = []
        self.sizes: list[int] = []
        self.devices: list[Hashable] = []
        # By block: how often its results will still be read, and the node that was the
        # last to read one.
        self._readers_left: list[int] = []
        self._released_by: list[int] = []
        # Free blocks as (bytes, when they were released, block), smallest first.
        self._free: list[tuple[int, int, int]] = []
        for n, node in enumerate(graph.nodes):
            if node.op is not None:
                self._plan_outputs(n)

    @property
    def total(self) -> int:
        """The bytes of all blocks."""
        return sum(self.sizes)

    # -- the pass ---------------------------------------------------------------------

    def _plan_outputs(self, n: int) -> None:
        """Give the outputs of a node blocks, then free those that it read last."""
        graph, storage, left = self.graph, self.storage, self._readers_left
        overwritten: set[int] = set()
        for pair in graph.pairs[n]:
            verdict = self._verdict(n, pair, overwritten)
            self.examined.append(Examined(n, pair, verdict))
            if verdict in (Verdict.GRANTED, Verdict.SAME):
                overwritten.add(pair.input)
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
            left[block] = graph.readers[e]
        for e in graph.reads[n]:
            block = storage[e]
            if block >= 0:
                left[block] -= 1
                if not left[block]:
                    self._release(n, block)
        for e in outs:
            block = storage[e]
            if block >= 0 and not left[block]:
                self._release(n, block)
                self.unread.append(e)

    def _verdict(self, n: int, pair: Pair, overwritten: Collection[int]) -> Verdict:
        """Whether an output may lie in the block of an input.

        overwritten: the inputs that other outputs of the node are written over.
        """
        e_in, e_out = self.graph.ins[n][pair.input], self.graph.outs[n][pair.output]
        block = self.storage[e_in]
        never = self._never(n, pair)
        if never is not None:
            return never
        if pair.input in overwritten:
            return Verdict.INPUT_TAKEN
        if self.storage[e_out] >= 0:
            return Verdict.OUTPUT_TAKEN
        same = pair.unchanged and self.graph.dtypes[e_in] == self.graph.dtypes[e_out]
        read_later = self._readers_left[block] != 1
        if read_later and not same:
            return Verdict.READ
        if self._is_written(e_in, e_out, n, read_later):
            return Verdict.WRITTEN
        return Verdict.SAME if same else Verdict.GRANTED

    def _never(self, n: int, pair: Pair) -> Verdict | None:
        """What forbids to share, in whatever order the nodes run; None if nothing."""
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

    def _is_written(self, e_in: int, e_out: int, n: int, read_later: bool) -> bool:
        """Whether a node changes one of both, such as an optimizer its state.

        Of two in one block the other would change as well, which another node may read.
        """
        writers = self.graph.writers
        if writers.get(e_in) == n:
            return True
        return read_later and (e_in in writers or e_out in writers)

    def _write_over(self, n: int, pair: Pair) -> None:
        graph = self.graph
        e_in, e_out = graph.ins[n][pair.input], graph.outs[n][pair.output]
        block = self.storage[e_out] = self.storage[e_in]
        self._readers_left[block] += graph.readers[e_out]
        self.written_over[e_out] = pair.input
        size = self.sizes[block]
        entry = graph.entries[e_out]
        self.steps.append(
            Step("over", n, entry, block, graph.nbytes[e_out], size, size)
        )

    # -- the free list ----------------------------------------------------------------

    def _request(self, n: int, e: int) -> int:
        """A block for an entry: a free one within the match range, else a new one.

        The smallest that is large enough, else the largest that is not, which grows.
        """
        wanted = self.graph.nbytes[e]
        entry = self.graph.entries[e]
        at = self._match(n, wanted) if self.match_range else None
        if at is None:
            self.sizes.append(wanted)
            self.devices.append(self.graph.devices[n])
            self._released_by.append(n)
            self._readers_left.append(0)
            block = len(self.sizes) - 1
            self.steps.append(Step("new", n, entry, block, wanted, 0, wanted))
            return block
        before, _, block = self._free.pop(at)
        after = self.sizes[block] = max(before, wanted)
        kind = "reuse" if after == before else "grow"
        self.steps.append(Step(kind, n, entry, block, wanted, before, after))
        return block

    def _match(self, n: int, wanted: int) -> int | None:
        """The position in the free list of the block to take; None if none fits."""
        free = self._free
        low = bisect_left(free, (wanted // self.match_range, -1, -1))
        middle = bisect_left(free, (wanted, -1, -1))
        high = bisect_left(free, (wanted * self.match_range + 1, -1, -1))
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
