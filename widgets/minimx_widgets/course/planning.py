"""Notebook 06: what lies where, how long, and who may write over whom.

The planner and its verdicts are those of `minimx.core.graph`. `forced` runs twelve
lines on real arrays and writes over inputs wherever a mark says so, allowed or not: so
a wrong mark gives wrong numbers, and the check can show them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from minimx import nd, symbol
from minimx.core.errors import ShapeError
from minimx.core.graph.memory.memory import MemoryPlan, plan_memory
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.graph.values.specs import every_spec
from minimx.core.record import Record
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import Shown, code
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import human_bytes

SENTENCE = (
    "The result may take the place of an input only if no operator reads that input "
    "later, because a later reader would get the new numbers under the old name."
)

HINTS = (
    "Go through the lines, and for each one ask: which line <i>further down</i> reads "
    "its first input? If there is one, this line may not write over it.",
    "Four more questions. Does the input belong to the caller? Is the result handed "
    "out? Is there room for it? And does the operator read an element only before it "
    "writes the one at the same place, as <code>relu</code> does and <code>dot</code> "
    "cannot?",
    "Memory has readers, not names. A reshape gives the same memory a second name, so "
    "the last reader of both names must be done before an operator writes over it. "
    "A worked solution of a similar problem: "
    + code(
        """
        p = exp(x)       # no:  x belongs to the caller
        q = relu(p)      # no:  s still reads p
        r = reshape(q)   # yes: nothing to compute
        s = p + 1        # yes: no line reads p again
        t = r * s        # no:  it is handed out
        marks = {"r", "s"}
        """
    ),
)


def planned(net: Any, *, training: bool = False, **shapes: Any) -> MemoryPlan:
    """The plan of a Symbol or a block under the knobs in force.

    shapes: of the inputs, by name. training: plan the gradients of the rest as well.
    """
    subject = Subject.of(net, shapes, "planned")
    wanted = subject.wanted if training else ()
    return prepare(
        subject.graph,
        subject.variables,
        wanted,
        training=training,
        settings=Settings.now(),
    ).plan


def decisions(plan: MemoryPlan) -> list[tuple[str, str, str]]:
    """(node, "over" or "apart", why) for each pair that the planner was asked about."""
    return [
        (change.nodes[0], change.rule, _in_names_of_lines(change.reason))
        for change in plan.changes
    ]


def _in_names_of_lines(reason: str) -> str:
    return reason.replace("_output", "")


def above(record: Record, device: str = "cpu(0)") -> int:
    """How far the bytes in use rose above those in use when a record began."""
    rows = record.mem()
    began = [
        record.strings[row["event"]] == "live"
        and record.strings[row["device"]] == device
        for row in rows
    ]
    before = int(rows["requested"][began].sum())
    return int(record.memory_curve(device, "requested").peak) - before


# -- the faded exercise: how much is needed at once ----------------------------------


class Result(NamedTuple):
    """One line of a graph: what it is called, its bytes, the results that it reads."""

    name: str
    nbytes: int
    inputs: tuple[str, ...]


def results(plan: MemoryPlan) -> list[Result]:
    """The lines of a plan in their order; what lies outside the arena takes 0 bytes."""
    return [
        Result(
            node.name,
            sum(plan.nbytes.get(Entry(node, k), 0) for k in range(node.visible)),
            tuple(e.node.name for e in node.inputs if plan.storage[e] >= 0),
        )
        for node in plan.graph
        if node.op is not None
    ]


class Case(NamedTuple):
    """A graph to try a function on, and what to look at if it errs."""

    text: str
    plan: MemoryPlan
    too_much: str
    too_little: str


@check
def check_needed(attempt: Callable[[list[Result]], int]) -> Feedback:
    """The faded exercise: `attempt(lines)` gives the most bytes needed at once.

    The answer is the planner's own `peak`, for three small graphs and 200 random ones.
    """
    if not callable(attempt):
        return Feedback(False, f"{attempt!r} is not a function", "a function (lines)")
    count = 0
    for case in _cases():
        count += 1
        answer = attempt(results(case.plan))
        if not isinstance(answer, int | float | np.number):
            return Feedback(False, f"it returned {answer!r}", "a number of bytes")
        if answer != case.plan.peak:
            return _wrong_bytes(case, answer)
    return Feedback(True, f"the planner says the same of {count} graphs")


def _wrong_bytes(case: Case, answer: Any) -> Feedback:
    peak, apart = case.plan.peak, case.plan.bytes_apart
    if answer == 0:
        idea = "measure: `most` is still what it was at the beginning"
    elif answer == apart:
        idea = "release: nothing was ever taken out of `alive`"
    else:
        idea = case.too_much if answer > peak else case.too_little
    return Feedback(False, f"{answer:,} bytes for {case.text}", f"{peak:,} bytes", idea)


def _cases() -> Iterator[Case]:
    """From the plainest graph to random ones."""
    order = "measure after a result is written and before its inputs are released"
    last = "release: not at the first reading, but at the last"
    data = symbol.var("data")
    x = _layers(data, [64, 64, 32, 32, 16, 16, 8, 4, 1, 1])
    yield Case(
        "the chain", _apart(x), "release: as soon as there is no reader left", order
    )
    first = _layers(data, [8])
    skip = symbol.concat(_layers(first, [8, 16, 2]), first, dim=1)
    text = "a result that is read now and again much later"
    yield Case(text, _apart(_layers(skip, [1])), "release: at the last reading", last)
    twice = _layers(symbol.concat(first, first, dim=1), [8, 16, 1])
    text = "a line that reads the same result twice"
    yield Case(text, _apart(twice), "count: such a line counts for two", last)
    chance = random.Random(6)
    for number in range(200):
        yield Case(f"random graph {number}", _random(chance), last, last)


def _layers(x: Any, kibibytes: Iterable[int]) -> Any:
    """Fully connected layers whose outputs have these sizes."""
    for size in kibibytes:
        x = symbol.FullyConnected(x, num_hidden=256 * size, no_bias=True)
    return x


def _random(chance: random.Random) -> MemoryPlan:
    """A graph of up to twelve layers, some of which read two results."""
    made = [_layers(symbol.var("data"), [chance.randint(1, 64)])]
    for _ in range(chance.randint(2, 11)):
        pair = [chance.choice(made[-4:]) for _ in range(chance.choice((1, 1, 2)))]
        read = symbol.concat(*pair, dim=1) if len(pair) > 1 else pair[0]
        made.append(_layers(read, [chance.randint(1, 64)]))
    return _apart(made[-1])


def _apart(net: Any) -> MemoryPlan:
    """A plan in which nothing shares anything: what is left is liveness."""
    subject = Subject.of(net, {"data": (1, 1)}, "check_needed")
    specs = every_spec(subject.graph, subject.variables)
    settings = Settings(enable_inplace=False, match_range=0)
    return plan_memory(subject.graph, specs, subject.graph.outputs, settings)


# -- the free exercise: twelve lines -------------------------------------------------

SIDE = 64


@dataclass(frozen=True)
class Line:
    """One operation: the name of its result, and what it reads."""

    name: str
    op: str
    inputs: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        text = [*self.inputs, *(f"{k}={v}" for k, v in self.settings.items())]
        return f"{self.name} = {self.op}({', '.join(text)})"


#: The caller gives x and w, matrices of 64 × 64, and gets l.
LINES = (
    Line("a", "relu", ("x",)),
    Line("b", "dot", ("a", "w")),
    Line("c", "tanh", ("b",)),
    Line("d", "sigmoid", ("c",)),
    Line("e", "elemwise_mul", ("b", "d")),
    Line("f", "reshape", ("e",), {"shape": (1, SIDE * SIDE)}),
    Line("g", "exp", ("f",)),
    Line("h", "mean", ("g",), {"axis": 1, "keepdims": True}),
    Line("i", "square", ("e",)),
    Line("j", "transpose", ("i",)),
    Line("k", "broadcast_add", ("j", "h")),
    Line("l", "sqrt", ("k",)),
)

#: What to look at for a line that was left out.
LEFT_OUT = {
    "d": "a result with one reader: when that one has read it, who is left?",
    "e": "a result that was read before: only the readers still to come count",
    "f": "a line that computes nothing: the same elements in another shape",
    "i": "a result that was read before: only the readers still to come count",
    "k": "an operator with two inputs, of which one has the size of the result",
}


def listing() -> Shown:
    """The twelve lines, to be read."""
    text = "\n".join(f"{line!s:<38}# {'×'.join(_shape(line))}" for line in LINES)
    return Shown(text, f"```python\n{text}\n```", "text/markdown")


def _shape(line: Line) -> list[str]:
    graph = _graph()
    specs = every_spec(graph, _variables(graph))
    node = next(node for node in graph if node.name == line.name)
    return [str(length) for length in specs[Entry(node)].shape]


def _graph() -> Graph:
    """The twelve lines as a graph, in their order."""
    values = {"x": symbol.var("x"), "w": symbol.var("w")}
    for line in LINES:
        operator = getattr(symbol, line.op)
        inputs = [values[name] for name in line.inputs]
        values[line.name] = operator(*inputs, name=line.name, **line.settings)
    return values[LINES[-1].name].graph.as_made()


def _variables(graph: Graph) -> Any:
    shapes = dict.fromkeys(("x", "w"), (SIDE, SIDE))
    return Subject.of(graph, shapes, "twelve lines").variables


def plan_lines(settings: Settings | None = None) -> MemoryPlan:
    """The planner's own view of the twelve lines; without settings, in-place only."""
    graph = _graph()
    specs = every_spec(graph, _variables(graph))
    settings = settings or replace(Settings(), match_range=0)
    return plan_memory(graph, specs, graph.outputs, settings)


def forced(marks: Collection[str], x: Any, w: Any) -> Any:
    """Run the twelve lines; each marked one is written over its first input.

    x, w: NDArrays of 64 × 64, which a mark may overwrite. Raises ShapeError where a
    result does not have the shape of the input. A marked reshape writes nothing: its
    result is the same memory. Without the mark it is a copy.
    """
    values = {"x": x, "w": w}
    for line in LINES:
        operator = getattr(nd, line.op)
        inputs = [values[name] for name in line.inputs]
        if line.name not in marks:
            made = operator(*inputs, **line.settings)
        elif line.op == "reshape":
            made = inputs[0].reshape(line.settings["shape"])
        else:
            made = operator(*inputs, **line.settings, out=inputs[0])
        values[line.name] = made
    return values[LINES[-1].name]


class Damage(NamedTuple):
    """What a forced run did: wrong elements of the result, of x and of w."""

    result: int
    x: int
    w: int


def damage(marks: Collection[str]) -> Damage:
    """Force some marks on random numbers, and count what differs from a run without."""
    chance = np.random.default_rng(6)
    x, w = (chance.normal(size=(SIDE, SIDE)).astype("float32") / 8 for _ in range(2))
    right = forced((), nd.array(x), nd.array(w)).asnumpy()
    mine_x, mine_w = nd.array(x), nd.array(w)
    seen = forced(marks, mine_x, mine_w).asnumpy()
    pairs = ((seen, right), (mine_x.asnumpy(), x), (mine_w.asnumpy(), w))
    return Damage(*[int(np.count_nonzero(one != other)) for one, other in pairs])


@check
def check_marks(attempt: Any) -> Feedback:
    """The free exercise: the names of the lines that may write over their first input.

    A set, a list, a text or a dictionary of truths. They are forced on real arrays, and
    then compared with what the planner grants.
    """
    marks = _names(attempt)
    if marks is None:
        return Feedback(False, f"{attempt!r}", "a set of names, such as {'a', 'b'}")
    known = [line.name for line in LINES]
    unknown = [name for name in marks if name not in known]
    if unknown:
        return Feedback(
            False, f"there is no line {unknown[0]!r}", f"names from {', '.join(known)}"
        )
    plan = plan_lines()
    granted = {entry.node.name for entry in plan.inplace}
    refused = [line for line in LINES if line.name in {*marks} - granted]
    for line in refused:
        found = _harm(plan, line, granted)
        if found is not None:
            return found
    if refused:
        return _lucky(plan, refused[0])
    own = plan.bytes_apart - sum(
        nbytes for entry, nbytes in plan.nbytes.items() if entry.node.name in marks
    )
    assert damage(marks) == Damage(0, 0, 0), "the planner grants what is not right"
    if own > plan.total:
        idea = next(idea for name, idea in LEFT_OUT.items() if name not in marks)
        text = f"the result is right, and takes {human_bytes(own)}"
        return Feedback(False, text, human_bytes(plan.total), idea)
    return Feedback(
        True,
        f"the same bits with all {len(granted)} of them forced, the planner agrees, "
        f"and {human_bytes(own)} do instead of {human_bytes(plan.bytes_apart)}",
    )


def _names(attempt: Any) -> list[str] | None:
    """The names in an answer, however it was written; None if it is none."""
    if isinstance(attempt, str):
        return re.findall(r"\w+", attempt)
    if isinstance(attempt, Mapping):
        attempt = [name for name, marked in attempt.items() if marked]
    if not isinstance(attempt, Iterable):
        return None
    names = list(attempt)
    return names if all(isinstance(name, str) for name in names) else None


def _harm(plan: MemoryPlan, line: Line, granted: set[str]) -> Feedback | None:
    """What one refused mark does beside the granted ones; None if nothing shows."""
    what = f"`{line}` written over {line.inputs[0]}"
    try:
        found = damage({line.name} | granted)
    except ShapeError as error:
        return Feedback(
            False, f"{what}: {error}", "room for the result", _why_not(plan, line)
        )
    wanted = "the same bits as without, and the caller's arrays untouched"
    if found.result:
        text = f"{what}: {found.result} of {SIDE * SIDE} elements of l are wrong"
    elif found.x or found.w:
        whose = "x" if found.x else "w"
        text = f"{what}: l is right, but the caller's {whose} is overwritten"
    else:
        return None
    return Feedback(False, text, wanted, _why_not(plan, line))


def _lucky(plan: MemoryPlan, line: Line) -> Feedback:
    """A mark that the planner refuses, and that did no harm this time."""
    return Feedback(
        False,
        f"`{line}` written over {line.inputs[0]}: this time the result is right, but "
        "the planner refuses it",
        "only what is right every time",
        _why_not(plan, line),
    )


def _why_not(plan: MemoryPlan, line: Line) -> str:
    """The planner's reason; or, where it was not even asked, the operator's."""
    for name, rule, reason in decisions(plan):
        if (name, rule) == (line.name, "apart"):
            return reason
    sizes = {entry.node.name: nbytes for entry, nbytes in plan.nbytes.items()}
    mine, its = (sizes[name] for name in (line.name, line.inputs[0]))
    if mine != its:
        return (
            f"{line.name} takes {human_bytes(mine)}, {line.inputs[0]} "
            f"{human_bytes(its)}: such a result is never offered the place"
        )
    return (
        f"{line.op} does not promise to read an element before it writes to its place; "
        "at best it makes a hidden copy first, and saves nothing"
    )
