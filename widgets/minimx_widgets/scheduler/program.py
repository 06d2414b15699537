"""Programs for the scheduler: operations that say what they read and write.

    program = Program.of(
        op("P", reads="a", writes="b", cost=3),
        op("Q", reads="a", writes="c", cost=2),
        op("R", reads="b c", writes="a", cost=1),
    )

Costs are whole microseconds of a virtual clock, so the same program gives the same
numbers on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.core.record import Record

#: A page shows each operation, and each step of each; more are a blur.
MOST = 120


@dataclass(frozen=True)
class Operation:
    """One operation: its name, the variables it reads and writes, its cost in µs.

    priority: of operations that are ready at once the highest starts first.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    cost: int = 1
    priority: int = 0

    def __str__(self) -> str:
        read, written = ", ".join(self.reads), ", ".join(self.writes)
        return f"{written} ← {self.name}({read})" if written else f"{self.name}({read})"


def op(
    name: str,
    *,
    reads: str | Iterable[str] = (),
    writes: str | Iterable[str] = (),
    cost: int = 1,
    priority: int = 0,
) -> Operation:
    """An operation; `reads` and `writes` are names, or one text with spaces between.

    A variable that is written counts as written only, as in the engine. cost: in µs, at
    least 1. Raises `ArgumentError` for a bad name or cost.
    """
    written = _names(name, "writes", writes)
    read = tuple(one for one in _names(name, "reads", reads) if one not in written)
    if not str(name).strip():
        raise ArgumentError("op: an operation needs a name.")
    if isinstance(cost, bool) or not isinstance(cost, int) or not 1 <= cost <= 10**6:
        raise ArgumentError(
            f"op {name}: cost={cost!r} is not a whole number of µs from 1 to 1,000,000."
        )
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise ArgumentError(f"op {name}: priority={priority!r} is not a whole number.")
    return Operation(str(name), read, written, cost, priority)


def _names(name: str, what: str, given: str | Iterable[str]) -> tuple[str, ...]:
    found = given.replace(",", " ").split() if isinstance(given, str) else list(given)
    if not all(isinstance(one, str) and one.strip() for one in found):
        raise ArgumentError(f"op {name}: {what}={given!r} are not names of variables.")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Program:
    """Operations in the order in which the main thread pushes them.

    nbytes: how large the variables are; a variable takes memory from the start of the
    first operation that uses it to the end of the last one.
    """

    operations: tuple[Operation, ...]
    nbytes: Mapping[str, int] = field(default_factory=dict)
    name: str = "program"

    @classmethod
    def of(
        cls,
        *operations: Operation,
        nbytes: Mapping[str, int] | None = None,
        name: str = "program",
    ) -> Program:
        """A program of these operations. Raises `ArgumentError` where one is unfit.

        nbytes: of variables; those that it does not name take 1,024 bytes.
        """
        if not operations:
            raise ArgumentError("Program: there is no operation; give some with op(…).")
        if len(operations) > MOST:
            raise ArgumentError(
                f"Program: {len(operations):,} operations are more than a page can "
                f"show; give at most {MOST}."
            )
        names = [one.name for one in operations]
        for name_, count in ((one, names.count(one)) for one in names):
            if count > 1:
                raise ArgumentError(
                    f"Program: {count} operations are called {name_!r}; moves and "
                    "messages tell them apart by name, so give each its own."
                )
        variables = _variables(operations)
        unknown = [one for one in nbytes or {} if one not in variables]
        if unknown:
            raise ArgumentError(
                f"Program: nbytes names {unknown[0]!r}, which no operation uses. The "
                f"variables are {', '.join(variables)}."
            )
        sizes = dict.fromkeys(variables, 1024) | dict(nbytes or {})
        bad = [one for one, size in sizes.items() if not 0 <= int(size) <= 1 << 50]
        if bad:
            raise ArgumentError(f"Program: {sizes[bad[0]]} bytes for {bad[0]!r}.")
        return cls(tuple(operations), {k: int(v) for k, v in sizes.items()}, name)

    @classmethod
    def generated(cls, seed: int, operations: int = 6, variables: int = 4) -> Program:
        """A small program drawn by a seed: the same one on every machine.

        operations: 2 to 26, called P, Q, R… variables: 2 to 8, called a, b, c…
        """
        if not 2 <= operations <= 26 or not 2 <= variables <= 8:
            raise ArgumentError(
                f"Program.generated: operations={operations}, variables={variables}: "
                "give 2 to 26 operations on 2 to 8 variables."
            )
        draw = random.Random(seed)
        every = [chr(ord("a") + k) for k in range(variables)]
        letters = [chr(ord("A") + (15 + k) % 26) for k in range(operations)]
        found = []
        for letter in letters:
            written = draw.choice(every)
            others = [one for one in every if one != written]
            read = sorted(draw.sample(others, draw.randint(1, min(2, len(others)))))
            found.append(
                op(letter, reads=read, writes=[written], cost=draw.randint(1, 4))
            )
        return cls.of(*found, name=f"program {seed}")

    @classmethod
    def recorded(cls, record: Record, first: int = 0, count: int = 40) -> Program:
        """Operations of a record, in the order in which they were pushed.

        Costs are the measured ones, rounded up to whole µs. A record keeps which
        operation waited for which, not the variables themselves: each operation writes
        a variable of its own name, and where it had to wait for readers, one per pair.
        first: how many operations are left out; count: how many are taken, at most
        120. Raises `ArgumentError` if there are none.
        """
        if not 1 <= count <= MOST or first < 0:
            raise ArgumentError(
                f"Program.recorded: first={first}, count={count}: give a count from 1 "
                f"to {MOST} and a first operation from 0."
            )
        rows = record.pushes()
        rows = rows[rows["t_push"].argsort(kind="stable")][first : first + count]
        if not len(rows):
            raise ArgumentError(
                f"Program.recorded: the record has {len(record.ops()):,} operations, "
                f"and none from number {first:,} on."
            )
        strings = record.strings
        names = _unique([strings[row["name"]] for row in rows])
        place = {int(row["op"]): k for k, row in enumerate(rows)}
        reads: list[list[str]] = [[] for _ in names]
        writes = [[f"{name}"] for name in names]
        for edge in record.deps():
            src, dst = place.get(int(edge["src"])), place.get(int(edge["dst"]))
            if src is None or dst is None:
                continue
            kind = strings[edge["kind"]]
            if kind == "RAW":
                reads[dst].append(names[src])
            elif kind == "WAW":
                writes[dst].append(names[src])
            else:
                shared = f"{names[src]}→{names[dst]}"
                reads[src].append(shared)
                writes[dst].append(shared)
        costs = [max(1, -(-int(r["t_end"] - r["t_start"]) // 1000)) for r in rows]
        made = [
            op(name, reads=read, writes=written, cost=min(cost, 10**6))
            for name, read, written, cost in zip(
                names, reads, writes, costs, strict=True
            )
        ]
        return cls.of(*made, name="recorded")

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of their first use."""
        return _variables(self.operations)

    @property
    def work(self) -> int:
        """The µs of all operations together."""
        return sum(one.cost for one in self.operations)

    def number(self, name: str) -> int:
        """Which operation has a name, from 0. Raises `ArgumentError` if none has."""
        for number, one in enumerate(self.operations):
            if one.name == name:
                return number
        names = ", ".join(one.name for one in self.operations[:12])
        raise ArgumentError(f"there is no operation {name!r}; there are {names}.")

    def hazards(self) -> tuple[Hazard, ...]:
        """Which operation must wait for which, because of which variable.

        Only direct ones: an operation waits for the last write before it (RAW, WAW),
        and a write for all reads since then (WAR).
        """
        found: list[Hazard] = []
        written: dict[str, int] = {}
        read: dict[str, list[int]] = {}
        for number, one in enumerate(self.operations):
            for var in one.reads:
                if var in written:
                    found.append(Hazard("RAW", var, written[var], number))
                read.setdefault(var, []).append(number)
            for var in one.writes:
                since = read.pop(var, [])
                if not since and var in written:
                    found.append(Hazard("WAW", var, written[var], number))
                found += [Hazard("WAR", var, earlier, number) for earlier in since]
                written[var] = number
        return tuple(found)

    def ordered(self) -> frozenset[tuple[int, int]]:
        """The pairs of which the first must be done before the second may start."""
        before: list[set[int]] = [set() for _ in self.operations]
        for hazard in self.hazards():
            before[hazard.second] |= before[hazard.first] | {hazard.first}
        return frozenset((a, b) for b, those in enumerate(before) for a in those)

    def critical_path(self) -> tuple[int, ...]:
        """The operations that one must wait for another and that take longest so."""
        longest: list[tuple[int, int]] = []  # µs until its end, and the one before it
        for number, one in enumerate(self.operations):
            waits = [h.first for h in self.hazards() if h.second == number]
            before = max(waits, key=lambda k: longest[k][0], default=-1)
            start = longest[before][0] if waits else 0
            longest.append((start + one.cost, before))
        last = max(range(len(longest)), key=lambda k: longest[k][0])
        path = [last]
        while longest[path[-1]][1] >= 0:
            path.append(longest[path[-1]][1])
        return tuple(reversed(path))

    def __repr__(self) -> str:
        size = f"{len(self.operations)} operations, {len(self.variables)} variables"
        path = sum(self.operations[k].cost for k in self.critical_path())
        return f"Program({size}, {self.work} µs of work, critical path {path} µs)"


@dataclass(frozen=True)
class Hazard:
    """Why an operation waits: kind (RAW, WAR, WAW), variable, the two operations."""

    kind: str
    var: str
    first: int
    second: int


def _variables(operations: Sequence[Operation]) -> tuple[str, ...]:
    every = (var for one in operations for var in (*one.reads, *one.writes))
    return tuple(dict.fromkeys(every))


def _unique(names: Sequence[Any]) -> list[str]:
    """Names with numbers behind those that repeat."""
    seen: dict[str, int] = {}
    found = []
    for name in map(str, names):
        seen[name] = seen.get(name, 0) + 1
        found.append(f"{name}.{seen[name]}" if seen[name] > 1 else name)
    return found
