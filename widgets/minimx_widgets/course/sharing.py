"""Notebook 07 and the case of colours: who gets a free block, and who waits for it.

    chain, fork, branches   networks whose results have sizes that are easy to name
    planned                 the memory plan of one under the knobs in force
    ran                     one run on the virtual clock: bytes, time, record

The checks run the real planner: with the learner's rule for matching in the place of
its own, on the learner's sizes, and under the learner's knobs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from minimx import sym
from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.errors import KnobError
from minimx.core.graph.memory.colours import longest_path
from minimx.core.graph.memory.memory import MemoryPlan
from minimx.core.graph.memory.sharing import StorageSharing, numbered
from minimx.core.graph.passes.prepare import Prepared, prepare
from minimx.core.graph.running.settings import KNOBS, Settings
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code
from minimx_widgets.course.timing import now
from minimx_widgets.training.subject import Subject

#: With so many rows of float32, a layer of width w has a result of w KiB.
ROWS = 256
SHAPE = (ROWS, 16)  # of `data`, in every network here
KIB = 1 << 10
RANGES = (1, 2, 4, 8, 16)

SHRINKING = (64, 64, 32, 32, 16, 16, 8, 4, 1)

#: The field of `Settings` behind each knob.
FIELDS = {knob: field for field, knob in KNOBS.items()}

#: The free exercise: these branches, so many workers, and what to reach.
UNEQUAL = (32, 64, 96, 128)
WORKERS = 4
MICROSECONDS, KIBIBYTES = 450, 470
PLANNERS = (
    "NNVM_EXEC_MATCH_RANGE",
    "NNVM_AUTO_SEARCH_MATCH_RANGE",
    "MXNET_MEMORY_OPT",
    "NNVM_EXEC_NUM_TEMP",
    "MXNET_EXEC_NUM_TEMP",
    "MXNET_GPU_WORKER_NTHREADS",
)

SENTENCE = (
    "A block keeps the size of its largest result, so in a shrinking chain the "
    "requests move away from blocks that stay large, while in a growing chain the "
    "blocks grow along with the requests and only the difference is paid."
)

COLOURS_SENTENCE = (
    "Both results lie in the same block, so the later operation may write only when "
    "the earlier result has been read; a block for each of them ends the waiting and "
    "costs the memory of the second block."
)

HINTS = (
    "A wide range lets a small result take a large block. Which result needs this "
    "block next?",
    "The next <i>large</i> result: the block is taken, and the other free blocks are "
    "small. In a chain a block is free again two layers later, so the small result "
    "must come just before the large one.",
    "A worked solution of a similar problem: sizes for which range 4 needs more than "
    "range 1. "
    + code(
        """
        sizes = [8, 3, 2, 8]
        # 8: new.  3: new, the 8 is still read.  2: the 8 is free and within 4 times 2,
        # so range 4 takes it; range 1 asks for a new block and leaves the 8 alone.
        # 8: range 1 finds the 8, 13 KiB in all. Range 4 finds only the 3, which has
        # to grow to 8: two blocks of 8 are 16 KiB.
        """
    ),
)

SETTINGS_HINTS = (
    "Two targets, two knobs. Which knob decides which branches wait for others, and "
    "which one only how well the blocks fit?",
    "Compare the branches: the widest takes nearly all the time. How many colours does "
    "it take until no other branch waits for it?",
    "A worked solution of a similar problem, for two equal branches: "
    + code(
        """
        equal = sharing.fork([64, 64])
        for colours in (1, 2):
            with mx.knobs(NNVM_EXEC_NUM_TEMP=colours):
                print(colours, sharing.ran(equal, workers=2))
        # Two colours halve the time and double the memory: a third has nothing to do.
        """
    ),
)

# Networks


def chain(sizes: Sequence[int]) -> Any:
    """Layers one after the other whose results have these sizes in KiB, then a sum."""
    y = sym.var("data")
    for k, size in enumerate(sizes, 1):
        y = sym.FullyConnected(y, num_hidden=size, name=f"layer{k}")
    return sym.sum(y, name="out")


def fork(widths: Sequence[int], depth: int = 3) -> Any:
    """A branch for each width, of so many layers, and their sum.

    The results of a branch have as many KiB as it is wide.
    """
    data, ends = sym.var("data"), []
    for branch, width in zip("abcdefgh", widths, strict=False):
        y = data
        for k in range(1, depth + 1):
            y = sym.FullyConnected(y, num_hidden=width, name=f"{branch}{k}")
        ends.append(sym.FullyConnected(y, num_hidden=2, name=f"{branch}_end"))
    return sym.add_n(*ends, name="out")


def branches() -> Any:
    """Six branches of five layers with a sine each, 4, 8, … 24 KiB wide, and a sum.

    The shape of the network whose plans are known from MXNet 1.9.1.
    """
    data, ends = sym.var("data"), []
    for branch, width in zip("abcdef", range(4, 28, 4), strict=True):
        y = data
        for k in range(1, 6):
            y = sym.FullyConnected(y, num_hidden=width, name=f"{branch}{k}")
            y = sym.sin(y, name=f"{branch}{k}_sin")
        ends.append(sym.FullyConnected(y, num_hidden=2, name=f"{branch}_end"))
    return sym.add_n(*ends, name="out")


def planned(net: Any, **tried: Any) -> MemoryPlan:
    """The memory plan of a network that only predicts, under the knobs in force.

    tried: knobs with values to plan with. They are not turned, so nothing else notices.
    Raises KnobError for a value that a knob refuses, or a knob that shapes no plan.
    """
    return _prepared(net, **tried).plan


def kib(net: Any, **tried: Any) -> float:
    """KiB of all blocks of a plan; `tried` as for `planned`."""
    return planned(net, **tried).total / KIB


def _prepared(net: Any, **tried: Any) -> Prepared:
    changes: dict[str, Any] = {}
    for given, value in tried.items():
        name = knobs.resolve(given)
        if name not in FIELDS:
            raise KnobError(f"{name} shapes no plan; {', '.join(FIELDS)} do.")
        changes[FIELDS[name]] = knobs.declared[name].check(value)
    subject = Subject.of(net, {"data": SHAPE}, "planned")
    settings = replace(Settings.now(), **changes)
    return prepare(subject.graph, subject.variables, settings=settings)


# One run


@dataclass(frozen=True)
class Ran:
    """One run on the virtual clock.

    kib: of all blocks. microseconds: from the call to the last result. record: of what
    the workers did. output: the bits of the result.
    """

    kib: float
    microseconds: float
    record: Record
    output: bytes

    def __repr__(self) -> str:
        return f"{self.kib:g} KiB, {self.microseconds:.1f} µs"


def ran(net: Any, workers: int = WORKERS) -> Ran:
    """Run a network once on the CPU, on the virtual clock, under the knobs in force.

    Every operation is pushed alone: joined ones (MXNET_EXEC_BULK_EXEC_INFERENCE) run
    one after the other whatever their memory.
    """
    with knobs(
        MINIMX_CLOCK="virtual",
        MXNET_ENGINE_TYPE=None,
        MXNET_CPU_WORKER_NTHREADS=workers,
        MXNET_EXEC_BULK_EXEC_INFERENCE=0,
    ):
        executor = net.simple_bind(cpu(), grad_req="null", data=SHAPE)
        chance = np.random.default_rng(7)
        for array in executor.arg_arrays:
            array[:] = chance.uniform(-1, 1, array.shape).astype("float32")
        engine.wait_all()
        with Record() as record:
            start = now()
            (output,) = executor.forward(is_train=False)
            engine.wait_all()
            took = now() - start
        bits = output.asnumpy().tobytes()
        return Ran(planned(net).total / KIB, took / 1000, record, bits)


# The faded exercise

#: (sizes of free blocks, bytes wanted, match range) → a size of those, or None.
Choice = Callable[[list[int], int, int], int | None]


@dataclass(frozen=True)
class Request:
    """A block was asked for: what was free, what a rule chose, what the planner does.

    free, wanted, right: bytes; `right` is None where a new block is made.
    """

    free: list[int]
    wanted: int
    reach: int
    chosen: Any
    right: int | None


class _OtherChoice(Exception):
    """A rule chose otherwise than the planner; `args` holds the `Request`."""


def _shared(net: Any, reach: int, choose: Choice) -> StorageSharing:
    """The planner's pass with another rule; raises `_OtherChoice` at a difference.

    All sizes are multiples of 1024 bytes, so that no range divides with a remainder.
    """

    class Chosen(StorageSharing):
        def _match(self, n: int, wanted: int) -> int | None:
            at = super()._match(n, wanted)
            free = [size for size, *_ in self._free]
            right = None if at is None else free[at]
            chosen = choose(list(free), wanted, self.match_range)
            if chosen != right:
                raise _OtherChoice(
                    Request(free, wanted, self.match_range, chosen, right)
                )
            return at

    made = _prepared(net)
    return Chosen(numbered(made.graph, made.specs, made.external), reach, True)


@check
def check_choose(attempt: Choice) -> Feedback:
    """The faded exercise: `attempt(free, wanted, reach)` chooses a free block.

    The real planner asks it, on chains of random sizes and on branches.
    """
    if not callable(attempt):
        return Feedback(
            False, f"{attempt!r} is not a function", "a function (free, wanted, reach)"
        )
    chance = random.Random(7)
    sizes = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    nets = [chain(chance.choices(sizes, k=12)) for _ in range(12)]
    nets += [branches(), chain(SHRINKING[::-1])]
    try:
        for net in nets:
            for reach in RANGES:
                _shared(net, reach, attempt)
        totals = [_shared(chain(SHRINKING), r, attempt).total // KIB for r in RANGES]
    except _OtherChoice as other:
        return _described(*other.args)
    text = ", ".join(map(str, totals))
    return Feedback(
        True,
        f"the planner with your rule needs {text} KiB for the shrinking chain, at "
        f"ranges {', '.join(map(str, RANGES))}",
    )


def _described(request: Request) -> Feedback:
    """The first difference, in KiB, and the idea behind it."""
    free = ", ".join(_kib(size) for size in request.free) or "nothing"
    return Feedback(
        False,
        f"free: {free}; wanted: {_kib(request.wanted)}; range {request.reach}: your "
        f"rule takes {_kib(request.chosen)}",
        _kib(request.right),
        _misconception(request),
    )


def _kib(size: Any) -> str:
    if size is None:
        return "a new block"
    if not isinstance(size, int) or isinstance(size, bool):
        return repr(size)
    return f"{size / KIB:g} KiB"


def _misconception(request: Request) -> str:
    mine, right, wanted = request.chosen, request.right, request.wanted
    if mine is None:
        if right is not None and right >= wanted:
            return "the first blank: a block that is large enough, its edge included"
        return "the second blank: a block that is too small may grow"
    if mine not in request.free:
        return "what to return: the size of a free block, or None for a new one"
    if mine > wanted * request.reach:
        return (
            "the first blank: at most `reach` times what is wanted, or a small result "
            "sits in a block that a large one will miss"
        )
    if mine * request.reach < wanted:
        return (
            "the blanks: a block `reach` times too small, or more, is too small to grow"
        )
    if mine >= wanted:
        return "the first blank: of those that are large enough, the smallest"
    if right is not None and right >= wanted:
        return "the first blank: a block that is too small is not large enough"
    return "the second blank: of those that are too small, the largest"


#: (nodes in the order in which they run, by node the nodes it reads) → a path of them.
Path = Callable[[list[str], dict[str, list[str]]], Sequence[str]]


def operators(net: Any) -> tuple[list[str], dict[str, list[str]]]:
    """The operators of a network in their order, and by operator those it reads."""
    nodes = [node for node in _prepared(net).graph if node.op is not None]
    inputs = {
        node.name: [e.node.name for e in node.inputs if e.node.op is not None]
        for node in nodes
    }
    return [node.name for node in nodes], inputs


@check
def check_path(attempt: Path) -> Feedback:
    """The faded exercise of colours: `attempt(nodes, inputs)` returns a longest path.

    Compared with the planner's own, in forks of several widths and depths and in the
    six branches.
    """
    wanted = "a function (nodes, inputs) that returns a list of nodes"
    if not callable(attempt):
        return Feedback(False, f"{attempt!r} is not a function", wanted)
    nets = [fork([8] * count, depth) for count, depth in ((2, 2), (3, 4), (4, 3))]
    for net in (*nets, branches(), chain(SHRINKING)):
        nodes, inputs = operators(net)
        graph = _prepared(net).graph
        longest = longest_path(graph, [node for node in graph if node.op is not None])
        right = sum(node.op is not None for node in longest)
        path = attempt(list(nodes), {name: list(each) for name, each in inputs.items()})
        if not isinstance(path, list) or not all(name in inputs for name in path):
            idea = "the second blank: a node, such as `nodes[0]`"
            return Feedback(False, f"{path!r}", wanted, idea)
        for earlier, later in pairwise(path):
            if earlier not in inputs[later]:
                return Feedback(
                    False,
                    f"{later} follows {earlier} in the path, and does not read it",
                    "each node of a path reads the one before it",
                    "the loop: `following` leads from a node to one that reads it",
                )
        if len(path) != right:
            idea = (
                "the second blank: the path begins where most operators follow"
                if len(path) < right
                else "the first blank: a node is counted once"
            )
            found = f"{len(path)} of {len(nodes)} operators"
            return Feedback(False, found, f"{right} in the longest path", idea)
    return Feedback(True, "paths as long as those to which the planner gives a colour")


# The free exercises


@check
def check_sizes(attempt: Sequence[int]) -> Feedback:
    """The free exercise: sizes in KiB of a chain that needs more at 16 than at 2."""
    wanted = "three to six whole numbers from 1 to 64"
    sizes = list(attempt) if isinstance(attempt, Sequence) else []
    whole = [type(size) is int and 1 <= size <= 64 for size in sizes]
    if not 3 <= len(sizes) <= 6 or not all(whole):
        return Feedback(False, f"{attempt!r}", wanted)
    with knobs(**dict.fromkeys(KNOBS.values())):
        narrow, wide = (
            planned(chain(sizes), NNVM_EXEC_MATCH_RANGE=reach) for reach in (2, 16)
        )
    text = f"{narrow.total // KIB} KiB at range 2, {wide.total // KIB} KiB at range 16"
    if wide.total > narrow.total:
        return Feedback(True, f"{text}: {wide.total / narrow.total:.2f} times as much")
    return Feedback(False, text, "more at 16 than at 2", _lost(sizes, narrow, wide))


def _lost(sizes: Sequence[int], narrow: MemoryPlan, wide: MemoryPlan) -> str:
    """Why a wide range does no harm to a chain."""
    steps = [pair[1] - pair[0] for pair in pairwise(sizes)]
    if all(step <= 0 for step in steps) or all(step >= 0 for step in steps):
        return (
            "the order: where sizes only fall or only rise, no later result needs the "
            "large block that a small result has taken"
        )
    if wide.total < narrow.total:
        return (
            "the results that come later: here a small result saved a new block, and "
            "no later one needed the large block that it took"
        )
    decisions = [[step[3:] for step in plan.steps] for plan in (narrow, wide)]
    if decisions[0] == decisions[1]:  # block, bytes wanted, before and after
        return (
            "the two ranges decided alike: no request met a free block between 2 and "
            "16 times as large"
        )
    return "the results that come later: what one result lost, another one gained"


@check
def check_settings(attempt: Mapping[str, Any]) -> Feedback:
    """The free exercise of colours: the planner's knobs for `UNEQUAL` branches."""
    if not isinstance(attempt, Mapping):
        return Feedback(False, f"{attempt!r}", "a dictionary of knobs and values")
    others = [name for name in attempt if knobs.resolve(name) not in PLANNERS]
    if others:
        return Feedback(
            False,
            f"{others[0]} is not one of the planner's",
            f"only {', '.join(PLANNERS)}",
        )
    with knobs(**dict.fromkeys(KNOBS.values())), knobs(**attempt):
        net = fork(UNEQUAL)
        seen, plan = ran(net), planned(net)
    target = f"at most {MICROSECONDS} µs in at most {KIBIBYTES} KiB"
    if seen.microseconds <= MICROSECONDS and seen.kib <= KIBIBYTES:
        return Feedback(True, f"{seen}, and the target was {target}")
    return Feedback(False, f"{seen}", target, _advice(seen, plan))


def _advice(seen: Ran, plan: MemoryPlan) -> str:
    """Which of the two knobs to look at again."""
    shades = 1 if plan.colours is None else len({*plan.colours.values()})
    if seen.microseconds > MICROSECONDS:
        if shades > 1:
            return "the time: the widest branch still waits for another one"
        return (
            "the colours: with one, results of all branches share blocks, and branches "
            "that share a block wait for each other"
        )
    if shades > 2:
        return (
            "the number of colours: once the widest branch waits for no other, one "
            "more colour costs memory and saves no time"
        )
    return "the match range: with the branches kept apart, do the blocks still fit?"
