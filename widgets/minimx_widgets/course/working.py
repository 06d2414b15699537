"""Notebook 03: how long a program takes on so many workers, and who should go first.

A program is a list of tasks, and `run` pushes them to the real engine on the virtual
clock: what comes out is what the engine's own lanes decide. `bound` is what no order
can beat. Both checks run the engine, too: the first to show that the learner's bound is
never beaten, the second to see which order the learner's priorities lead to.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from minimx import nd
from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.drivers import driver_for
from minimx.core.engine import CPU_PRIORITIZED, NORMAL, Var
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost
from minimx.core.record import Record
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

MS = 1_000_000  # nanoseconds


class Task(NamedTuple):
    """Work of `ms` milliseconds that begins when the tasks it `needs` are done."""

    name: str
    ms: int
    needs: tuple[str, ...] = ()


Tasks = Sequence[Task]

#: A batch is loaded and takes two ways: a chain of three, and three that stand alone.
STEP = (
    Task("load", 2),
    Task("b", 4, ("load",)),
    Task("c", 4, ("load",)),
    Task("d", 4, ("load",)),
    Task("a1", 3, ("load",)),
    Task("a2", 3, ("a1",)),
    Task("a3", 3, ("a2",)),
    Task("join", 1, ("a3", "b", "c", "d")),
)

#: The free exercise, for two workers.
PUZZLE = (
    Task("a", 2),
    Task("b", 2),
    Task("c", 7),
    Task("d", 2, ("a",)),
    Task("e", 5),
    Task("f", 7, ("d",)),
    Task("g", 7),
    Task("h", 7, ("c", "f")),
    Task("i", 6, ("g", "h")),
    Task("j", 3),
)
PUZZLE_WORKERS = 2
PUZZLE_TARGET = 24

SENTENCE = (
    "Two workers halve only what can be shared out: a chain of tasks that need one "
    "another takes as long as its lengths together, with any number of workers."
)

HINTS = (
    "Which task decides when the last one can begin? Follow the arrows backwards from "
    "the end, always to the one that came last. Whatever stands on that way must not "
    "wait for a worker.",
    "A task is urgent if much must still happen <i>after</i> it, along the longest "
    "way. Its own length does not matter, and how many need it matters little.",
    "A worked solution of a similar problem: how far each stop of a bus line is "
    "from the end."
    + code(
        """
        def to_the_end(stop):
            return minutes[stop] + max(map(to_the_end, after[stop]), default=0)
        """
    ),
)


@dataclass(frozen=True)
class Run:
    """A program that was run: its record, and the milliseconds from start to end."""

    record: Record
    ms: float


def run(
    tasks: Tasks, workers: int = 1, priorities: Mapping[str, int] | None = None
) -> Run:
    """Push tasks in their order to the real engine, on the virtual clock.

    Without priorities they go to the lane of `cpu(0)`, in order of arrival; with them
    to the priority lane. Both have as many workers as asked for. All wait for a
    starting signal, so that none has a lead because it was pushed first.
    """
    changes = {
        "MINIMX_CLOCK": "virtual",
        "MXNET_ENGINE_TYPE": None,
        "MXNET_CPU_WORKER_NTHREADS": workers,
        "MXNET_CPU_PRIORITY_NTHREADS": workers,
    }
    engine.wait_all()
    with knobs(**changes):
        with Record() as record:
            signal = Var()
            push("start", 1, [], signal, device_id=1)
            done = {task.name: Var() for task in tasks}
            for task in tasks:
                needs = [signal, *(done[name] for name in task.needs)]
                priority = None if priorities is None else priorities[task.name]
                push(task.name, task.ms, needs, done[task.name], priority)
            engine.wait_all()
        ops = record.ops()
        names = record.texts(ops["name"])
        start = int(ops["t_end"][names.index("start")])
        return Run(record, (int(ops["t_end"].max()) - start) / MS)


def push(
    name: str,
    ms: int,
    reads: list[Var],
    write: Var,
    priority: int | None = None,
    device_id: int = 0,
) -> None:
    """Push work of `ms` milliseconds; with a priority, to the lane for urgent work."""
    device = cpu(device_id)
    costs = driver_for(device).costs
    flops = round((ms * MS - costs.launch_ns) * costs.flops / 1e9)
    engine.push(
        lambda: None,
        device,
        reads,
        [write],
        name,
        priority=priority or 0,
        prop=NORMAL if priority is None else CPU_PRIORITIZED,
        cost=Cost(flops, 0),
    )


def work(tasks: Tasks) -> int:
    """The milliseconds of all tasks together."""
    return sum(task.ms for task in tasks)


def critical_path(tasks: Tasks) -> int:
    """The milliseconds of the longest way along which tasks need one another."""
    ends: dict[str, int] = {}
    for task in tasks:  # a task stands behind those that it needs
        ends[task.name] = task.ms + max((ends[name] for name in task.needs), default=0)
    return max(ends.values(), default=0)


def bound(tasks: Tasks, workers: int) -> float:
    """What no order of the tasks can beat.

    >>> bound(STEP, 1), bound(STEP, 2), bound(STEP, 4)
    (24.0, 12.0, 12)
    """
    return max(work(tasks) / workers, critical_path(tasks))


def random_tasks(rng: random.Random, most: int = 12) -> list[Task]:
    """A random program."""
    tasks: list[Task] = []
    for number in range(rng.randint(1, most)):
        known = [task.name for task in tasks]
        needs = rng.sample(known, min(len(known), rng.choice((0, 0, 1, 1, 2))))
        tasks.append(Task(f"t{number}", rng.randint(1, 9), tuple(sorted(needs))))
    return tasks


@check
def check_bound(attempt: Callable[[Tasks, int], float]) -> Feedback:
    """The faded exercise: `attempt(tasks, workers)` is what no order can beat.

    Compared on random programs; a few of them are run to see that it holds.
    """
    rng = random.Random(3)
    programs = [
        (STEP, 2),
        (STEP, 4),
        *((random_tasks(rng), n % 4 + 1) for n in range(60)),
    ]
    answers = [attempt(tasks, workers) for tasks, workers in programs]
    for (tasks, workers), seen in zip(programs, answers, strict=True):
        if isinstance(seen, bool) or not isinstance(seen, int | float):
            return Feedback(False, f"it returned {seen!r}", "milliseconds, a number")
        right = bound(tasks, workers)
        if abs(seen - right) > 1e-9:
            return Feedback(
                False,
                f"{seen:g} ms for {len(tasks)} tasks of {work(tasks)} ms in all, the "
                f"longest way of {critical_path(tasks)} ms, on {workers} workers",
                f"{right:g} ms",
                _idea_of_bound(programs, answers),
            )
    runs = [(run(tasks, n).ms, bound(tasks, n)) for tasks, n in programs[:8]]
    met = sum(took == least for took, least in runs)
    return Feedback(
        all(took >= least for took, least in runs),
        f"right for {len(programs)} programs; of {len(runs)} that were run none was "
        f"faster, and {met} met it exactly",
    )


_WRONG_BOUNDS: tuple[tuple[Callable[[Tasks, int], float], str], ...] = (
    (
        lambda tasks, workers: work(tasks) / workers,
        "the second part: tasks that need one another cannot be shared out",
    ),
    (
        lambda tasks, workers: critical_path(tasks),
        "the first part: the workers have to do all the work",
    ),
    (
        lambda tasks, workers: min(work(tasks) / workers, critical_path(tasks)),
        "both parts hold at once, so which of the two decides?",
    ),
    (
        lambda tasks, workers: work(tasks) / workers + critical_path(tasks),
        "the parts overlap in time; neither waits for the other",
    ),
    (
        lambda tasks, workers: max(work(tasks) // workers, critical_path(tasks)),
        "the division: half a millisecond counts",
    ),
)


def _idea_of_bound(
    programs: Sequence[tuple[Tasks, int]], answers: Sequence[float]
) -> str:
    """The misconception that explains all answers."""
    for formula, idea in _WRONG_BOUNDS:
        given = (formula(*program) for program in programs)
        if all(abs(a - b) < 1e-9 for a, b in zip(given, answers, strict=True)):
            return idea
    return "total work divided by workers, and the length of the longest way"


@check
def check_priorities(attempt: Mapping[str, int]) -> Feedback:
    """The free exercise: task -> priority, so that the puzzle takes its target."""
    if not isinstance(attempt, Mapping):
        return Feedback(
            False, f"{type(attempt).__name__}", "a dictionary, task: priority"
        )
    names = {task.name for task in PUZZLE}
    if set(attempt) != names:
        odd = sorted(map(str, set(attempt) ^ names))
        return Feedback(
            False, f"missing or unknown: {', '.join(odd)}", "a priority for each task"
        )
    if not all(isinstance(one, int) for one in attempt.values()):
        return Feedback(False, "a priority that is no whole number", "whole numbers")
    took = run(PUZZLE, PUZZLE_WORKERS, attempt).ms
    if took <= PUZZLE_TARGET:
        return Feedback(
            True, f"{took:g} ms on {PUZZLE_WORKERS} workers: no order can beat that"
        )
    return Feedback(
        False, f"{took:g} ms", f"{PUZZLE_TARGET} ms", _idea_of_priorities(attempt)
    )


def _idea_of_priorities(attempt: Mapping[str, int]) -> str:
    turned = {name: -priority for name, priority in attempt.items()}
    if run(PUZZLE, PUZZLE_WORKERS, turned).ms <= PUZZLE_TARGET:
        return "the sign: the larger number goes first"
    if len(set(attempt.values())) == 1:
        return "equal priorities: they are served in order of arrival"
    order = sorted(PUZZLE, key=lambda task: -attempt[task.name])
    if [task.ms for task in order] == sorted(
        (task.ms for task in PUZZLE), reverse=True
    ):
        return "long is not urgent: what counts is how much must happen afterwards"
    needed = {one.name: sum(one.name in two.needs for two in PUZZLE) for one in PUZZLE}
    counts = [needed[task.name] for task in order]
    if counts == sorted(counts, reverse=True):
        return "how many need a task says little; how long the way behind it is, a lot"
    return "the longest way: which of its tasks had to wait for a worker?"


# On the wall clock

OPERATIONS, ELEMENTS, ATTEMPTS = 8, 1 << 20, 5


def seconds(workers: int, threads: int) -> float:
    """How long eight independent operations really take: the best of five attempts.

    workers: operations at the same time. threads: of each operation's kernel.
    """
    x: Any = nd.ones((ELEMENTS,))
    changes = {"MXNET_CPU_WORKER_NTHREADS": workers, "OMP_NUM_THREADS": threads}
    with knobs(MINIMX_CLOCK=None, MXNET_ENGINE_TYPE=None, **changes):
        best = float("inf")
        for _ in range(ATTEMPTS + 1):  # the first one starts the threads
            engine.wait_all()
            start = perf_counter()
            results = [nd.sin(x) for _ in range(OPERATIONS)]
            engine.wait_all()
            best = min(best, perf_counter() - start)
            del results
        return best
