"""Notebook 02: who must wait for whom, and what goes wrong for one that does not.

Programs are run by `minimx_widgets.scheduler`, on the queues of the real engine. The
race is made on the engine itself: an operation that does not say what it reads. Both
checks compare an attempt with those queues: the faded exercise with `Var`, the free one
with what ten functions really touch.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.engine.var import Claim, Var, append, release
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code
from minimx_widgets.course.working import MS, push
from minimx_widgets.scheduler.lines import Line, run
from minimx_widgets.scheduler.program import Hazard, Operation, Program, op
from minimx_widgets.scheduler.view import SchedulerStepper

#: a(2) b(3) c=a+b(1) d=2a(2) a+=1(1) e=c+d(1)
STEP = Program.of(
    op("A", writes="a", cost=2),
    op("B", writes="b", cost=3),
    op("C", reads="a b", writes="c", cost=1),
    op("D", reads="a", writes="d", cost=2),
    op("A+", writes="a", cost=1),
    op("E", reads="c d", writes="e", cost=1),
    name="six lines",
)
LINES = ("a = load()", "b = load()", "c = a + b", "d = 2 * a", "a += 1", "e = c + d")

SENTENCE = (
    "It has to say each variable that it reads and each that it writes, because the "
    "engine sees only these sets, and lets two operations run side by side wherever no "
    "variable that one of them writes is used by the other."
)

HINTS = (
    "Read each function twice: first what is to the right of the equals sign, then "
    "what is to the left. In <code>x += 1</code>, <code>x</code> is on both sides.",
    "A variable that is declared although the function never uses it costs time: an "
    "operation waits without a reason. Which of your sets names more than the line "
    "does?",
    "The similar problem, worked:"
    + code(
        """
        def blend():
            v["mix"] = v["left"] + v["right"]
        declared["blend"] = (["left", "right"], ["mix"])
        """
    ),
)


def finish(program: Program, workers: int) -> int:
    """After how many µs a program is done, all of it pushed at once."""
    return run(program, workers, push=0).makespan


def at_once(program: Program, workers: int) -> Line:
    """The engine's moves, where pushing takes no time."""
    return run(program, workers, push=0)


# -- the race -------------------------------------------------------------------------

GARBAGE, WEIGHT = "garbage", "weights of layer 1"
#: Seconds: long enough for a busy machine to do something else meanwhile.
LOADING = 0.2


def race(
    *, declared: bool, workers: int = 2, sleep: float = 0.0, kind: str = ""
) -> str:
    """What a reader sees that does, or does not, say that it reads.

    A first operation fills a buffer, which takes 200 ms; a second one reads it.
    declared: whether the second says so to the engine. sleep: seconds that the main
    thread waits between the two pushes. kind: of engine, by default that in force.
    """
    buffer = {"w": GARBAGE}
    seen: list[str] = []

    def load() -> None:
        time.sleep(LOADING)
        buffer["w"] = WEIGHT

    weights, result = Var(), Var()
    changes: dict[str, Any] = {"MXNET_CPU_WORKER_NTHREADS": workers}
    if kind:
        changes["MXNET_ENGINE_TYPE"] = kind
    engine.wait_all()
    with knobs(**changes):
        engine.push(load, cpu(), [], [weights], "load")
        if sleep:
            time.sleep(sleep)
        reads = [weights] if declared else []
        engine.push(lambda: seen.append(buffer["w"]), cpu(), reads, [result], "use")
        engine.wait_all()
    return seen[0]


# -- the faded exercise: one variable's queue -----------------------------------------

Grants = list[str]


@check
def check_queue(attempt: Callable[[], Any]) -> Feedback:
    """The faded exercise: a class with `append(who, writes)` and `release(who)`.

    append returns whether the variable was granted at once; release the list of those
    that were granted by it. Compared with `Var` on random claims.
    """
    draw = random.Random(2)
    claims = 0
    for _ in range(120):
        mine, real = attempt(), _Real()
        holding: list[str] = []
        history: list[str] = []
        for number in range(draw.randint(2, 12)):
            if holding and draw.random() < 0.45:
                who = draw.choice(holding)
                holding.remove(who)
                history.append(f"release({who})")
                seen, right = mine.release(who), real.release(who)
                if list(seen or []) != right:
                    return _differs(history, seen, right)
                holding += right
            else:
                who, writes = f"{'W' if (w := draw.random() < 0.4) else 'R'}{number}", w
                history.append(f"append({who}, writes={writes})")
                got, wanted = mine.append(who, writes), real.append(who, writes)
                if bool(got) != wanted or got is Ellipsis:
                    return _differs(history, got, wanted)
                holding += [who] if wanted else []
                claims += 1
    return Feedback(True, f"the same grants as the engine's own queue, {claims} claims")


class _Real:
    """The engine's queue of one variable, with names."""

    def __init__(self) -> None:
        self.var = Var()
        self.claims: dict[str, Claim] = {}

    def append(self, who: str, writes: bool) -> bool:
        reads = () if writes else (self.var,)
        claim = Claim(reads, (self.var,) if writes else (), adds=1)
        self.claims[who] = claim
        return append(claim)

    def release(self, who: str) -> Grants:
        names = {id(claim): name for name, claim in self.claims.items()}
        return [names[id(claim)] for claim in release(self.claims[who]) or ()]


def _differs(history: Sequence[str], seen: Any, right: Any) -> Feedback:
    tail = ", ".join(history[-6:])
    last = history[-1]
    writes = last.endswith("True)")
    if last.startswith("append"):
        idea = (
            "a write is granted alone: no other operation may read or write"
            if writes
            else "a read shares with reads, but not once a write is in the queue: "
            "it would overtake, and a stream of reads would starve the write"
        )
    else:
        idea = (
            "after a write come all reads up to the next write, or one write; after "
            "the last of several reads comes the write that waits"
        )
    return Feedback(False, f"{tail} gave {seen!r}", f"{right!r}", idea)


# -- the free exercise: ten operations ------------------------------------------------


def ten(v: dict[str, float]) -> dict[str, Callable[[], None]]:
    """Ten operations on the variables in `v`, in the order of the program."""

    def load() -> None:
        v["x"] = v["disk"]

    def scale() -> None:
        v["x"] = v["x"] / 4

    def hidden() -> None:
        v["h"] = v["x"] * v["w"]

    def clip() -> None:
        v["y"] = max(v["h"], 0.0)

    def fetch() -> None:
        v["disk"] = v["disk"] + 1

    def loss() -> None:
        v["l"] = v["y"] - v["t"]

    def grad() -> None:
        v["g"] = v["l"] * v["x"]

    def decay() -> None:
        v["w"] = v["w"] * 0.5

    def update() -> None:
        v["w"] = v["w"] - 0.1 * v["g"]

    def note() -> None:
        v["log"] = v["l"]

    made = (load, scale, hidden, clip, fetch, loss, grad, decay, update, note)
    return {one.__name__: one for one in made}


START = {"disk": 8.0, "w": 3.0, "t": 1.0}
COSTS = {"load": 3, "hidden": 4, "grad": 4, "fetch": 3}


class _Watched(dict[str, float]):
    """Variables that note who reads and who writes."""

    def __init__(self) -> None:
        super().__init__(START)
        self.reads: list[str] = []
        self.writes: list[str] = []

    def __getitem__(self, name: str) -> float:
        self.reads.append(name)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: float) -> None:
        self.writes.append(name)
        super().__setitem__(name, value)


def true_program() -> Program:
    """The ten operations with what they were seen to read and write."""
    v = _Watched()
    found = []
    for name, function in ten(v).items():
        v.reads, v.writes = [], []
        function()
        cost = COSTS.get(name, 1)
        found.append(op(name, reads=v.reads, writes=v.writes, cost=cost))
    return Program.of(*found, name="ten operations")


def declared_program(declared: Mapping[str, Any]) -> Program:
    """The ten operations with given sets: name -> (reads, writes)."""
    found: list[Operation] = []
    for one in true_program().operations:
        reads, writes = declared[one.name]
        found.append(op(one.name, reads=reads, writes=writes, cost=one.cost))
    return Program.of(*found, name="as declared")


@check
def check_declared(attempt: Mapping[str, Any]) -> Feedback:
    """The free exercise: operation -> (what it reads, what it writes).

    Refused are a pair that must wait and need not by the sets (with an order that the
    sets allow, and the wrong value that comes of it), and a pair that waits for
    nothing (with the time that is lost).
    """
    right = true_program()
    names = [one.name for one in right.operations]
    if not isinstance(attempt, Mapping) or set(attempt) != set(names):
        given = sorted(map(str, attempt)) if isinstance(attempt, Mapping) else attempt
        return Feedback(False, f"{given}", f"sets for {', '.join(names)}")
    if any(len(pair) != 2 for pair in attempt.values()):
        return Feedback(False, "not a pair", "for each operation (reads, writes)")
    mine = declared_program(attempt)
    missing = sorted(right.ordered() - mine.ordered())
    if missing:
        return _missing(right, mine, missing)
    extra = sorted(mine.ordered() - right.ordered())
    if extra:
        return _superfluous(right, mine, extra)
    for one, other in zip(right.operations, mine.operations, strict=True):
        odd = {*one.reads, *one.writes} ^ {*other.reads, *other.writes}
        if odd or set(one.writes) != set(other.writes):
            return _unequal(one, odd)
    workers = 3
    took, serial = finish(mine, workers), right.work
    return Feedback(
        True,
        f"{len(right.ordered())} pairs wait, none too many; {took} µs on {workers} "
        f"workers, {serial} µs one after the other, and the same numbers",
    )


def _unequal(one: Operation, odd: set[str]) -> Feedback:
    """The same pairs wait, but the sets are not what the function touches."""
    names = ", ".join(sorted(odd)) or ", ".join(one.writes)
    return Feedback(
        False,
        f"the right pairs wait, but the sets of {one.name} are wrong about {names}",
        "what the function touches, neither more nor less",
        "an eleventh operation: the sets are a promise about this function, whatever "
        "others do",
    )


def _missing(
    right: Program, mine: Program, missing: Sequence[tuple[int, int]]
) -> Feedback:
    """A pair that may be swapped, and what comes of it."""
    direct = {(h.first, h.second): h for h in all_hazards(right)}
    wanted = outcome(range(len(right.operations)))
    candidates = [pair for pair in missing if pair in direct]
    results = {pair: outcome(_order(mine, pair)) for pair in candidates}
    pair = next((k for k in candidates if results[k] != wanted), candidates[0])
    hazard, seen = direct[pair], results[pair]
    first, second = (right.operations[k].name for k in pair)
    wrong = [name for name in wanted if seen[name] != wanted[name]]
    result = (
        f"{wrong[0]} is {seen[wrong[0]]:g} instead of {wanted[wrong[0]]:g}"
        if wrong
        else "this time nothing else changed, which is luck"
    )
    return Feedback(
        False,
        f"by these sets {second} may run before {first}; then {result}",
        f"{second} waits for {first} ({hazard.kind} on {hazard.var})",
        f"what {first} and {second} do with `{hazard.var}`",
    )


def _superfluous(
    right: Program, mine: Program, extra: Sequence[tuple[int, int]]
) -> Feedback:
    """A pair that waits for nothing, and the time that is lost."""
    direct = {(h.first, h.second): h for h in all_hazards(mine)}
    pair = next(one for one in extra if one in direct)
    hazard = direct[pair]
    first, second = (right.operations[k].name for k in pair)
    workers = 3
    took, could = finish(mine, workers), finish(right, workers)
    lost = (
        f"{took} µs on {workers} workers" if took > could else "correct, but too tight"
    )
    return Feedback(
        False,
        f"{second} waits for {first} ({hazard.kind} on {hazard.var}): {lost}",
        f"no wait between the two; {could} µs on {workers} workers",
        f"whether {first} and {second} both really touch `{hazard.var}`, and whether "
        "one of them writes it",
    )


def all_hazards(program: Program) -> list[Hazard]:
    """Every pair that shares a variable which one of the two writes."""
    found = []
    for b, second in enumerate(program.operations):
        for a, first in enumerate(program.operations[:b]):
            for var in (*second.reads, *second.writes):
                if var in second.writes and var in first.reads:
                    found.append(Hazard("WAR", var, a, b))
                elif var in first.writes:
                    kind = "WAW" if var in second.writes else "RAW"
                    found.append(Hazard(kind, var, a, b))
    return found


def _order(program: Program, swapped: tuple[int, int]) -> list[int]:
    """An order that a program's sets allow, with the second of a pair first."""
    before = program.ordered()
    first, second = swapped
    early = {a for a, b in before if b == second} | {second}
    rest = [k for k in range(len(program.operations)) if k not in early]
    return [*sorted(early - {second}), second, *rest]


def outcome(order: Any) -> dict[str, float]:
    """The variables after the ten operations were done in an order."""
    v = dict(START)
    for name in ("x", "h", "y", "l", "g", "log"):
        v[name] = 0.0  # memory that no operation has written yet
    functions = list(ten(v).values())
    for number in order:
        functions[number]()
    return v


@check
def check_level(attempt: SchedulerStepper) -> Feedback:
    """Whether a line of moves of one's own ends as early as any schedule can."""
    engine = attempt.lines[0].line.makespan
    best = f"{attempt.best} µs, which is proved to be the best"
    if attempt.reached:
        return Feedback(True, f"{attempt.best} µs, where the engine needs {engine} µs")
    own = [one.line for one in attempt.lines if one.line.own >= 0]
    ended = [line.makespan for line in own if line.over]
    if not ended:
        said = "a line that is not done yet" if own else "only the engine's line"
        return Feedback(False, said, best, "move something, then let the engine go on")
    return Feedback(
        False, f"{min(ended)} µs, and the engine needs {engine} µs", best,
        "the operation with the longest path after it, and a worker that waits for it",
    )  # fmt: skip


# -- claims ---------------------------------------------------------------------------


def lanes(kind: str) -> float:
    """The ms that two independent operations of 3 ms take on cpu(0), one worker."""
    engine.wait_all()
    changes = {"MINIMX_CLOCK": "virtual", "MXNET_CPU_WORKER_NTHREADS": 1}
    with knobs(MXNET_ENGINE_TYPE=kind, **changes):
        with Record() as record:
            for _ in range(2):
                push("work", 3, [], Var())
            engine.wait_all()
        ops = record.ops()
    return (int(ops["t_end"].max()) - int(ops["t_start"].min())) / MS


def runs_unasked() -> bool:
    """Whether an operation runs although its result is never waited for."""
    ran = threading.Event()
    engine.wait_all()
    engine.push(ran.set, cpu(), [], [Var()], "not asked for")
    return ran.wait(10)
