"""From a decision that a view shows to the lines of the runtime that make it.

    decision("pool", "hit")             # Pool.alloc, where an idle block is taken
    decision("in place", "READ")        # the planner's rule, and the verdict in it

An area has a kind for each word of the runtime's own vocabulary (`KINDS`): a new word
without lines fails a test. The marked lines are found in the text of the functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from minimx.core.engine import bulking, lanes, threaded, trace, urgency, var
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.graph.memory.inplace import Verdict
from minimx.core.graph.memory.sharing import StorageSharing
from minimx.core.graph.passes import mirror_rule, mirror_segments
from minimx.core.graph.passes.gradient import read_by_gradients
from minimx.core.record.record import Record
from minimx.core.storage import policy, rounding
from minimx.core.storage.pool import Block, Pool
from minimx.fast.convolution import tuner
from minimx.graphs import mirror_echo
from minimx.kvstore import policy as store_policy
from minimx.kvstore.planners import flat, partition, placement, ring, tree
from minimx_widgets.code.finding import file_in_project
from minimx_widgets.code.pieces import Code, Piece
from minimx_widgets.code.sources import is_function, source_lines

#: A place: the object, a text that stands in its marked lines, and what they do.
Place = tuple[Any, str, str]

_POOL: Final[dict[str, tuple[Place, ...]]] = {
    "live": ((Record._note_in_use, '"live"', "a record begins with what is in use"),),
    "cached": ((Record._note_in_use, '"cached"', "a record begins with what is idle"),),
    "alloc": (
        (Pool.alloc, '"alloc"', "no idle block has this size"),
        (Pool._grow, "driver.alloc", "the device is asked"),
    ),
    "hit": ((Pool.alloc, "free_list", "an idle block of this size is used again"),),
    "free": (
        (Block.free, "pending_frees", "its owner lets it go"),
        (Pool._drain_pending, "free_list", "and the pool keeps it, idle"),
    ),
    "release": (
        (Pool._drain_pending, "self._return", "it has no free list to wait in"),
    ),
    "flush": (
        (Pool._flush, "_return", "all idle blocks go back to the device"),
        (Pool._grow, "_flush", "when the pool does so by itself"),
    ),
    "oom": ((Pool._last_tries, "out_of_memory", "nothing is left to give back"),),
}
#: What a pool's type adds to each request that it serves.
_POLICIES: Final[dict[str, tuple[Place, ...]]] = {
    "Naive": (
        (policy.naive, "to_multiple", "how Naive rounds a request"),
        (rounding.to_multiple, "", "the rounding"),
    ),
    "Round": (
        (policy.round_power2, "to_power2", "how Round rounds a request"),
        (rounding.to_power2, "", "the rounding"),
    ),
    "Unpooled": ((policy.unpooled, "keeps", "Unpooled keeps nothing"),),
}
_SHARING: Final[dict[str, tuple[Place, ...]]] = {
    "over": ((StorageSharing._write_over, '"over"', "it is written over an input"),),
    "new": (
        (StorageSharing._request, '"new"', "no free block fits"),
        (StorageSharing._match, "match_range", "which of the free ones would"),
    ),
    "reuse": (
        (StorageSharing._match, "match_range", "the free block that fits best"),
        (StorageSharing._request, '"reuse"', "and takes it"),
    ),
    "grow": (
        (StorageSharing._match, "middle - 1", "the largest of those too small"),
        (StorageSharing._request, '"grow"', "and makes it larger"),
    ),
    "free": ((StorageSharing._release, '"free"', "all that was in it is read"),),
}
_SCHEDULER: Final[dict[str, tuple[Place, ...]]] = {
    "begin": ((var.append, "", "how an operation will queue on its variables"),),
    "push": ((var.append, "wait", "it queues on all its variables"),),
    "start": (
        (threaded.ThreadedEngine.submit, "", "what is ready goes to a lane"),
        (lanes.per_device, "", "which lane"),
    ),
    "finish": (
        (var.release, "ready", "it gives its variables back"),
        (var._grant, "ready", "to those that wait for them"),
    ),
    "RAW": (
        (trace.Trace.edges, '"RAW"', "it reads what the other writes"),
        (var.append, "for var in reads", "so it waits behind the writer"),
    ),
    "WAR": (
        (trace.Trace.edges, '"WAR"', "it writes what the other reads"),
        (var.append, "var.readers == 0", "so it waits for the readers"),
    ),
    "WAW": (
        (trace.Trace.edges, '"WAW"', "it writes what the other writes"),
        (var.append, "var.writer is None", "so it waits behind the writer"),
    ),
    "BULK": (
        (bulking.route, "full", "short operations are joined until there are enough"),
        (bulking.Collection.join, "sealed", "which of them may join"),
    ),
    "urgent": ((urgency.marked, "", "who may go first"),),
}
_BY_RULES = ("kept", "recomputed")
_MIRROR: Final[dict[str, tuple[Place, ...]]] = {
    **{
        fate: (
            (mirror_rule, f'"{fate}"', "MXNet's rule"),
            (mirror_segments, f'"{fate}"', "by segments"),
            (mirror_echo, f'"{fate}"', "by what it costs and saves"),
        )
        for fate in _BY_RULES
    },
    "fixed": ((mirror_segments._why_fixed, "return", "what must be kept"),),
    "let go": ((read_by_gradients, "", "what no gradient reads need not be kept"),),
}
_SERVERS: Final[tuple[Place, ...]] = (
    (placement.place, "", "which server gets which part of a key"),
)
_STORE: Final[dict[str, tuple[Place, ...]]] = {
    "local": ((flat.on_host, "", "all send to the host, and get the sum back"),),
    "device": (
        (flat.on_device, "", "all send to one of the devices, and get the sum back"),
        (store_policy.plan_homes, "", "which device is the home of a key"),
    ),
    "ring": ((ring.on_ring, "", "from neighbour to neighbour, a slice at a time"),),
    "tree": (
        (tree.over_trees, "", "up the trees of the links, and down"),
        (partition.halve, "", "how a tree is made: the best cut in two"),
    ),
    "dist_sync": _SERVERS,
    "dist_async": _SERVERS,
    "p3": (
        *_SERVERS,
        (placement.Slicer, "class ", "in slices, first layers first"),
    ),
}
#: Reasons of the planner for each verdict on writing over an input.
_IN_PLACE: Final[dict[str, tuple[Place, ...]]] = {
    one.name: (
        (
            StorageSharing._verdict,
            f"Verdict.{one.name}",
            "whether an input may be written over",
        ),
        (
            StorageSharing._never,
            f"Verdict.{one.name}",
            "what forbids it in any order",
        ),
    )
    for one in Verdict
}

_CONVOLUTION: Final[dict[str, tuple[Place, ...]]] = {
    "chosen": (
        (tuner.choose, "", "the fastest that is left, measured or guessed"),
        (tuner.measured, "", "how they are measured"),
    ),
    "excluded": ((tuner.rules_now, "", "what knobs exclude"),),
}

KINDS: Final = {
    "pool": _POOL,
    "pool type": _POLICIES,
    "sharing": _SHARING,
    "in place": _IN_PLACE,
    "scheduler": _SCHEDULER,
    "mirror": _MIRROR,
    "kvstore": _STORE,
    "convolution": _CONVOLUTION,
}


def decision(area: str, *kinds: str) -> Code:
    """The lines that make a decision of an area, for each of some of its kinds.

    Raises `ArgumentError` for an area or a kind without lines.
    """
    if area not in KINDS:
        near = did_you_mean(area, KINDS)
        raise ArgumentError(f"decision: no area {area!r}; {', '.join(KINDS)}.{near}")
    pieces: list[Piece] = []
    for kind in kinds:
        if kind not in KINDS[area]:
            known = ", ".join(KINDS[area])
            near = did_you_mean(kind, KINDS[area])
            raise ArgumentError(f"decision: {area} has no {kind!r}; {known}.{near}")
        pieces += _pieces(KINDS[area][kind])
    return Code(f"{area}: {' and '.join(kinds)}", tuple(pieces))


def _pieces(places: tuple[Place, ...]) -> Iterator[Piece]:
    """Those of the places in which the text stands; all, if it stands in none."""
    found = [(place, cut(*place)) for place in places]
    marked = [piece for _, piece in found if piece is not None]
    if not marked:
        raise RuntimeError(f"none of {[place[0] for place in places]} has the text")
    yield from marked


def cut(what: Any, text: str, why: str) -> Piece | None:
    """A function, or the one of a module, that has the text; None if there is none.

    text: what marked lines hold; "" marks the first one.
    """
    for function in _functions(what) if inspect.ismodule(what) else (what,):
        path, lines, first = source_lines(function)
        marks = [first + k for k, line in enumerate(lines) if text and text in line]
        if not text:
            marks = [first + next(k for k, s in enumerate(lines) if "def " in s)]
        if marks:
            body = "".join(lines).rstrip()
            return Piece(file_in_project(path), first, body, tuple(marks), why)
    return None


def _functions(module: Any) -> Iterator[Callable[..., Any]]:
    """The functions of a module and the methods of its classes, as they stand there."""
    for one in vars(module).values():
        if getattr(one, "__module__", "") != module.__name__:
            continue
        if is_function(one):
            yield one
        elif inspect.isclass(one):
            yield from (m for m in vars(one).values() if is_function(m))
