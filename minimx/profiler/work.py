"""Who did the work of a record: operators, and the layers that they worked for. Pure.

An operation that was joined of several counts for each of them: its time is shared by
what they would take on a machine with `RIDGE` operations a byte, to the nanosecond.
What ran inside of another operation on the same thread counts for that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from minimx.core.record.tables import Array
from minimx.profiler.roofs import Roof
from minimx.profiler.shares import KINDS, covered, present

#: Operations per byte above which arithmetic is taken to be what takes the time.
RIDGE: Final = 8
#: The layer of work outside of blocks.
NO_LAYER: Final = ""

Roofs = Callable[[str, str], Roof | None]  # by device and dtype


@dataclass(frozen=True)
class OperatorWork:
    """All calls of an operator on one device, in one type.

    ns: their time; guessed: how much of it is a share of what joined operations took.
    flops, nbytes: what their data sheets declare. op: the longest call. roof: of that
    device and type, or None where it is not known.
    """

    name: str
    dtype: str
    device: str
    kind: str
    calls: int
    ns: int
    guessed: int
    flops: int
    nbytes: int
    op: int
    roof: Roof | None = None

    @property
    def rate(self) -> float:
        """Floating-point operations per second."""
        return 1e9 * self.flops / self.ns if self.ns else 0.0

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return 1e9 * self.nbytes / self.ns if self.ns else 0.0

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.nbytes if self.nbytes else 0.0

    @property
    def fraction(self) -> float | None:
        """The least time under the roof, as a share of the time it took.

        None if time, cost or roof are not known. More than one: the bytes came from
        caches, which are faster than the memory under which the roof was measured.
        """
        if self.roof is None or not self.ns or not (self.flops or self.nbytes):
            return None
        return float(self.roof.ns(self.flops, self.nbytes)) / self.ns

    @property
    def bound(self) -> str:
        """What its least time hangs on: "compute" or "memory", "" if unknown."""
        if self.roof is None or not (self.flops or self.nbytes):
            return ""
        return "compute" if self.intensity > self.roof.ridge else "memory"


@dataclass
class Module:
    """A block with all blocks inside of it.

    name: the last part of its path. ns, flops, nbytes: of everything in it, `ns` by
    phase. parameters: bytes of them at the peak of memory. op: its longest operation.
    """

    name: str
    path: str
    ns: dict[str, int] = field(default_factory=dict)
    flops: int = 0
    nbytes: int = 0
    parameters: int = 0
    op: int = 0
    longest: int = 0
    children: list[Module] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Nanoseconds of all phases."""
        return sum(self.ns.values())

    def walk(self, depth: int = 0) -> list[tuple[int, Module]]:
        """Itself and all inside, each with its depth, in order of appearance."""
        found = [(depth, self)]
        for child in self.children:
            found += child.walk(depth + 1)
        return found


@dataclass(frozen=True, eq=False)
class Pieces:
    """Operators as they ran, (n,) each; text columns hold numbers of the string table.

    row: of the operation in `ops` that it is, or is a part of.
    """

    row: Array
    name: Array
    layer: Array
    dtype: Array
    flops: Array
    nbytes: Array
    ns: Array

    def __len__(self) -> int:
        return len(self.row)


def kinds(ops: Array, texts: Sequence[str]) -> Array:
    """What kind of work each operation is, as numbers of `KINDS`.

    Copies have names of their own; between GPUs, or while parameters are updated, they
    are communication. What works in the phase of data is data.
    """
    names, phases = (
        {texts[n]: n for n in present(ops[column])} for column in ("name", "phase")
    )
    copies = [n for name, n in names.items() if name.startswith("Copy")]
    is_copy = np.isin(ops["name"], copies)
    across = ops["name"] == names.get("CopyGPU2GPU", -1)
    update = ops["phase"] == phases.get("update", -1)
    kind = np.full(len(ops), KINDS.index("compute"))
    kind[ops["phase"] == phases.get("data", -1)] = KINDS.index("data")
    kind[is_copy] = KINDS.index("copy")
    kind[is_copy & (across | update)] = KINDS.index("communication")
    return kind


def own_ns(ops: Array) -> Array:
    """What each operation adds to the time in which its worker was busy."""
    took = np.zeros(len(ops), np.int64)
    order = np.lexsort((ops["t_start"], ops["worker"]))
    borders = np.flatnonzero(np.diff(ops["worker"][order])) + 1
    for mine in np.split(order, borders):
        took[mine] = covered(ops["t_start"][mine], ops["t_end"][mine])
    return took


def pieces(ops: Array, parts: Array) -> Pieces:
    """The operators of some operations; joined ones are taken apart."""
    took = own_ns(ops)
    parts = parts[np.argsort(parts["work"], kind="stable")]
    work, first, size = np.unique(parts["work"], return_index=True, return_counts=True)
    place = np.searchsorted(work, ops["work"])
    joined = np.flatnonzero((ops["work"] > 0) & np.isin(ops["work"], work))
    alone = np.setdiff1d(np.arange(len(ops)), joined, assume_unique=True)
    counts = size[place[joined]]
    row = np.repeat(joined, counts)
    begin = np.cumsum(counts) - counts
    inner = np.arange(len(row)) - np.repeat(begin, counts)
    part = np.repeat(first[place[joined]], counts) + inner
    low, high = _bounds(parts, first, size)
    whole = took[row].astype(np.float64)
    ns = np.floor(whole * high[part]) - np.floor(whole * low[part])

    def both(column: str) -> Array:
        return np.concatenate([ops[column][alone], parts[column][part]])

    times = np.concatenate([took[alone], ns.astype(np.int64)])
    name, layer, dtype, flops, nbytes = map(
        both, ("name", "layer", "dtype", "flops", "nbytes")
    )
    row = np.concatenate([alone, row])
    return Pieces(row, name, layer, dtype, flops, nbytes, times)


def _bounds(parts: Array, first: Array, size: Array) -> tuple[Array, Array]:
    """Where each part begins and ends in the time of its operation, from 0 to 1."""
    weight = np.maximum(parts["flops"] / RIDGE, parts["nbytes"]) + 1e-9
    upto = np.cumsum(weight)
    origin = np.repeat(upto[first] - weight[first], size)
    whole = np.repeat(np.add.reduceat(weight, first) if len(first) else upto, size)
    high = (upto - origin) / whole
    last = first + size - 1
    high[last] = 1.0
    low = np.concatenate([[0.0], high[:-1]])[: len(high)]
    low[first] = 0.0
    return low, high


def operators(
    ops: Array, kind: Array, found: Pieces, texts: Sequence[str], roofs: Roofs
) -> list[OperatorWork]:
    """All operators, those that took longest first."""
    most = len(texts) + 1
    device = ops["device"][found.row].astype(np.int64)
    key = (found.name.astype(np.int64) * most + found.dtype) * most + device
    key = key * len(KINDS) + kind[found.row]
    keys, group, calls = np.unique(key, return_inverse=True, return_counts=True)
    flops, nbytes, ns = (_sums(group, x, len(keys)) for x in _amounts(found))
    shared = np.where(ops["work"][found.row] > 0, found.ns, 0)
    guessed = _sums(group, shared, len(keys))
    longest = _longest(group, found.ns, len(keys))
    rows = []
    for i, each in enumerate(keys.tolist()):
        each, what = divmod(each, len(KINDS))
        each, where = divmod(each, most)
        name, dtype = divmod(each, most)
        place, number = texts[where], texts[dtype]
        op = int(ops["op"][found.row[longest[i]]])
        took, mine, done, moved = (int(x[i]) for x in (ns, guessed, flops, nbytes))
        rows.append(
            OperatorWork(
                texts[name],
                number,
                place,
                KINDS[what],
                int(calls[i]),
                took,
                mine,
                done,
                moved,
                op,
                roofs(place, number),
            )
        )
    return sorted(rows, key=lambda each: (-each.ns, each.name, each.dtype))


def _amounts(found: Pieces) -> tuple[Array, Array, Array]:
    return found.flops, found.nbytes, found.ns


def _sums(group: Array, amount: Array, count: int) -> Array:
    """The sum of each group, of whole numbers."""
    total = np.zeros(count, np.int64)
    np.add.at(total, group, amount)
    return total


def _longest(group: Array, ns: Array, count: int) -> Array:
    """Of each group, the first piece that took longest."""
    most = np.zeros(count, np.int64)
    np.maximum.at(most, group, ns)
    among = np.flatnonzero(ns == most[group])
    found = np.zeros(count, np.int64)
    found[group[among[::-1]]] = among[::-1]
    return found


def modules(
    ops: Array, found: Pieces, texts: Sequence[str], parameters: Mapping[str, int]
) -> Module:
    """The tree of blocks, by the paths under which operators worked.

    parameters: bytes by path. The root has everything; what belongs to no block is a
    child of it without a path.
    """
    root = Module("everything", "")
    known: dict[str, Module] = {}
    phase = ops["phase"][found.row].astype(np.int64)
    key = found.layer.astype(np.int64) * (len(texts) + 1) + phase
    keys, group = np.unique(key, return_inverse=True)
    flops, nbytes, ns = (_sums(group, x, len(keys)) for x in _amounts(found))
    longest = _longest(group, found.ns, len(keys))
    order = np.argsort(_first(group, found.row), kind="stable")
    for i in order.tolist():
        layer, what = (texts[n] for n in divmod(int(keys[i]), len(texts) + 1))
        piece = longest[i]
        op, most = int(ops["op"][found.row[piece]]), int(found.ns[piece])
        for module in _line(root, known, layer):
            module.ns[what] = module.ns.get(what, 0) + int(ns[i])
            module.flops += int(flops[i])
            module.nbytes += int(nbytes[i])
            if most >= module.longest:
                module.op, module.longest = op, most
    for layer, count in parameters.items():
        for module in _line(root, known, layer):
            module.parameters += count
    return root


def _first(group: Array, row: Array) -> Array:
    """Of each group, the place of its first piece in the order of rows."""
    return np.unique(group[np.argsort(row, kind="stable")], return_index=True)[1]


def _line(root: Module, known: dict[str, Module], layer: str) -> list[Module]:
    """The blocks that a layer lies in, from the root to itself; new ones are made."""
    if layer == NO_LAYER:
        outside: Any = known.get(NO_LAYER)
        if outside is None:
            outside = known[NO_LAYER] = Module("outside of blocks", NO_LAYER)
            root.children.append(outside)
        return [root, outside]
    line, path = [root], ""
    for word in layer.split("/"):
        path = f"{path}/{word}" if path else word
        module = known.get(path)
        if module is None:
            module = known[path] = Module(word, path)
            line[-1].children.append(module)
        line.append(module)
    return line
