"""Which core each thread stays on: `KMP_AFFINITY`, as Intel's OpenMP reads it.

    [modifier,…]type[,permute][,offset]       granularity=fine,compact,1,0

A *place* is the set of logical processors on which a thread may run. `compact` puts
neighbouring threads close together, `scatter` far apart, `balanced` gives every core
its share of neighbours, `explicit` follows `proclist`, `none` binds no thread.
`permute` moves so many of the innermost levels (hyper-thread, core) to the front of the
order, so that `compact,1` fills all cores before it uses a second hyper-thread.
`offset` skips the first places. With granularity=fine a place is one logical processor,
with core all those of its core.

This is pure: a machine and a text in, places out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minimx.core.errors import KnobError

NAME = "KMP_AFFINITY"
TYPES = ("none", "disabled", "compact", "scatter", "balanced", "explicit")
FINE = ("fine", "thread")
GRANULARITIES = (*FINE, "core")
# What only says how much the library talks, or what is so here in any case.
IDLE = ("verbose", "noverbose", "warnings", "nowarnings", "respect", "norespect")

Place = frozenset[int]


class Processor(NamedTuple):
    """A logical processor: where it sits, and its number to the operating system."""

    package: int
    core: int
    thread: int
    number: int


@dataclass(frozen=True)
class Affinity:
    """A text of `KMP_AFFINITY` taken apart."""

    type: str = "none"
    granularity: str = "core"
    permute: int = 0
    offset: int = 0
    proclist: tuple[Place, ...] = ()

    @property
    def binds(self) -> bool:
        """Whether anybody is bound at all."""
        return self.type not in ("none", "disabled")


def read(text: str) -> Affinity:
    """Take a text apart. Raises `KnobError` for one that says nothing.

    >>> read("granularity=fine,compact,1,0")
    Affinity(type='compact', granularity='fine', permute=1, offset=0, proclist=())
    """
    words = [word.strip() for word in re.split(r",(?![^\[]*\])", text.lower())]
    kind, granularity, numbers = "", "core", list[int]()
    proclist: tuple[Place, ...] = ()
    for word in words:
        name, _, value = word.partition("=")
        if word in TYPES and not kind:
            kind = word
        elif name == "granularity" and value in GRANULARITIES:
            granularity = value
        elif name == "proclist":
            proclist = _read_list(text, value)
        elif word.isdecimal() and kind and len(numbers) < 2:
            numbers.append(int(word))
        elif word and word not in IDLE:
            raise _refused(text, f"{word!r} is not understood.")
    if text.strip() and not kind:
        raise _refused(text, "it names no type.")
    if (kind == "explicit") != bool(proclist):
        raise _refused(text, "explicit and proclist=[…] belong together.")
    permute, offset = (*numbers, 0, 0)[:2]
    return Affinity(kind or "none", granularity, permute, offset, proclist)


def _read_list(text: str, value: str) -> tuple[Place, ...]:
    """Places from `[0,{2,3},4-6]`."""
    whole = re.fullmatch(r"\[(.*)\]", value)
    places: list[Place] = []
    for item in re.split(r",(?![^{]*\})", whole[1] if whole else "?"):
        if found := re.fullmatch(r"(\d+)-(\d+)", item.strip()):
            first, last = int(found[1]), int(found[2])
            places += [frozenset({number}) for number in range(first, last + 1)]
        elif re.fullmatch(r"\d+|\{\s*\d+(\s*,\s*\d+)*\s*\}", item.strip()):
            places.append(frozenset(map(int, re.findall(r"\d+", item))))
        else:
            raise _refused(text, f"{value!r} is no list of processors.")
    return tuple(places)


def _refused(text: str, why: str) -> KnobError:
    return KnobError(
        f"{NAME}={text!r}: {why} Write [modifier,]type[,permute][,offset] with type "
        f"one of {', '.join(TYPES)}, such as granularity=fine,compact,1,0 or "
        "granularity=fine,explicit,proclist=[0,2,4-6]."
    )


def places(wish: Affinity, machine: Sequence[Processor], count: int) -> list[Place]:
    """The places of threads 0 to count - 1; no more than there are, then from anew.

    Raises `KnobError` if `proclist` names a processor that this process may not use.

    >>> two_cores = [Processor(0, n // 2, n % 2, n) for n in range(4)]
    >>> places(read("granularity=fine,compact"), two_cores, 3)
    [frozenset({0}), frozenset({1}), frozenset({2})]
    >>> places(read("granularity=fine,compact,1,0"), two_cores, 3)
    [frozenset({0}), frozenset({2}), frozenset({1})]
    """
    if not wish.binds:
        return [frozenset(one.number for one in machine)] * count
    if wish.type == "explicit":
        order = _allowed(wish, machine)
    else:
        order = [_widened(one, wish, machine) for one in _ordered(wish, machine)]
    if wish.type == "balanced" and count < len(order):
        return [order[i * len(order) // count] for i in range(count)]
    return [order[(i + wish.offset) % len(order)] for i in range(count)]


def _ordered(wish: Affinity, machine: Sequence[Processor]) -> list[Processor]:
    """The processors in the order in which threads take them."""
    levels = 3  # package, core, hyper-thread
    front = min(wish.permute, levels - 1)
    if wish.type == "scatter":
        front = levels - 1 - front

    def key(one: Processor) -> tuple[int, ...]:
        inward = (one.package, one.core, one.thread)
        return (*inward[::-1][:front], *inward[: levels - front])

    return sorted(machine, key=key)


def _widened(one: Processor, wish: Affinity, machine: Sequence[Processor]) -> Place:
    """A processor, or all of its core."""
    if wish.granularity in FINE:
        return frozenset({one.number})
    return frozenset(
        other.number
        for other in machine
        if (other.package, other.core) == (one.package, one.core)
    )


def _allowed(wish: Affinity, machine: Sequence[Processor]) -> list[Place]:
    there = {one.number for one in machine}
    missing = set().union(*wish.proclist) - there
    if missing:
        raise KnobError(
            f"{NAME}: proclist names {sorted(missing)}, and this process may use "
            f"{sorted(there)}. Choose among those."
        )
    return list(wish.proclist)
