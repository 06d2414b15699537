"""What the documents say of threads (notebook 03)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.fast import pinning
from minimx_widgets.course.claims.claim import (
    TIPS,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.working import Task, push, run

LAYERS = (1, 2, 3, 4)


def side_by_side(chained: bool = False) -> Numbers:
    """Milliseconds of eight operations of 3 ms, with one worker and with four."""
    tasks = [Task(str(i), 3, (str(i - 1),) if chained and i else ()) for i in range(8)]
    return {"one": run(tasks, 1).ms, "four": run(tasks, 4).ms}


@claim(
    "03",
    "MXNET_CPU_WORKER_NTHREADS “specifies how many operators can be run in parallel”",
    V2,
    58,
    "virtual",
    side_by_side,
)
def many_in_parallel(one: float, four: float) -> Decision:
    """With four workers independent operations should take a quarter of the time."""
    return (
        if_true(one == 4 * four, "holds", "fails for what needs one another"),
        f"eight independent operations: {one:g} ms with one worker, {four:g} ms with "
        "four. For those that need one another it does nothing",
    )


def next_step(urgent: bool) -> float:
    """The ms from the backward pass to the end of the forward pass that follows.

    The sums of four layers go to one priority thread. urgent: those of the first layer
    first, since they are needed first.
    """
    engine.wait_all()
    with knobs(MINIMX_CLOCK="virtual", MXNET_CPU_PRIORITY_NTHREADS=1):
        with Record() as record:
            signal = engine.Var()
            push("backward", 1, [], signal, device_id=1)
            sums = {i: engine.Var() for i in LAYERS}
            for i in reversed(LAYERS):
                push(f"sum{i}", 3, [signal], sums[i], -i if urgent else 0)
            before = signal
            for i in LAYERS:
                layer = engine.Var()
                push(f"layer{i}", 3, [sums[i], before], layer)
                before = layer
            engine.wait_all()
        ops = record.ops()
        start = ops["t_end"][record.texts(ops["name"]).index("backward")]
        return float(ops["t_end"].max() - start) / 1e6


def prioritized() -> Numbers:
    """A step whose sums come as they arrive, and one whose sums come as needed."""
    return {"arrival": next_step(urgent=False), "need": next_step(urgent=True)}


@claim(
    "03",
    "“The number of threads given to prioritized CPU jobs”",
    V2,
    61,
    "virtual",
    prioritized,
)
def threads_for_urgent_jobs(arrival: float, need: float) -> Decision:
    """Jobs with a higher priority should come first."""
    return (
        if_true(need < arrival),
        f"and their order counts as much: {arrival:g} ms in order of arrival, {need:g} "
        "ms in order of need, with one such thread",
    )


def threads_in_all(processors: int = 16, workers: Sequence[int] = (1, 2, 4)) -> Numbers:
    """How many threads half of the processors are, for each number of workers."""
    asked = {count: count * (processors // 2) for count in workers}
    return {"processors": processors, "asked": asked}


@claim(
    "03",
    "OMP_NUM_THREADS: “Suggested value: vCPUs / 2”",
    TIPS,
    59,
    "planned",
    threads_in_all,
)
def half_of_the_processors(processors: int, asked: dict[int, int]) -> Decision:
    """Half of the processors should leave a processor for each thread."""
    return (
        weighed(
            [threads <= processors for threads in asked.values()],
            "the number of workers",
        ),
        "it is the threads of one operation, and each worker runs one. On "
        f"{processors} processors "
        + ", ".join(
            f"{count} workers ask for {threads}"
            if count > 1
            else f"1 worker asks for {threads} threads"
            for count, threads in asked.items()
        ),
    )


def places(affinity: str = "granularity=fine,compact,1,0") -> Numbers:
    """How many processors each thread of a kernel may use, free and bound."""

    def free() -> list[int]:
        found: list[Sequence[Collection[int]]] = []
        engine.push(lambda: found.append(pinning.team()), cpu(0), [], [], "where")
        engine.wait_all()
        return [len(place) for place in found[0]]

    with knobs(OMP_NUM_THREADS=2):
        before = free()
        with knobs(KMP_AFFINITY=affinity):
            return {"free": before, "bound": free()}


@claim(
    "03",
    "KMP_AFFINITY: “Suggested value: granularity=fine,compact,1,0”",
    TIPS,
    60,
    "measured",
    places,
)
def one_place_each(free: Sequence[int], bound: Sequence[int]) -> Decision:
    """Each thread of a kernel should stay on one processor."""
    return (
        if_true(set(bound) == {1}),
        f"{'each thread has one place' if set(bound) == {1} else 'threads may move'}. "
        "That is what it does; whether it makes a kernel quicker is not measured here",
    )


def two_cpus(second: int = 1) -> Numbers:
    """Milliseconds of two operations of 3 ms: on cpu(0), and on cpu(0) and another."""

    def both(number: int) -> float:
        engine.wait_all()
        with knobs(MINIMX_CLOCK="virtual"), Record() as record:
            signal = engine.Var()
            push("start", 1, [], signal, device_id=9)
            for one in (0, number):
                push("work", 3, [signal], engine.Var(), device_id=one)
            engine.wait_all()
        ops = record.ops()
        return float(ops["t_end"].max() - ops["t_end"].min()) / 1e6

    return {"same": both(0), "other": both(second)}


@claim(
    "03",
    "“MXNet treats all CPUs on a single machine as a single device”",
    TIPS,
    62,
    "virtual",
    two_cpus,
)
def a_single_device(same: float, other: float) -> Decision:
    """Another number should make no difference."""
    return (
        if_true(same == other, "holds", "depends on what is counted"),
        f"two operations of 3 ms take {same:g} ms on cpu(0), and {other:g} ms on "
        "cpu(0) and cpu(1): each number has workers of its own, and memory and cores "
        "are shared",
    )
