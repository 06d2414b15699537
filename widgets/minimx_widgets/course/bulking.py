"""Notebook 05: what reaches the engine when a block runs as a graph.

`pushed` and `pool_requests` count what a piece of work asks of the engine and of the
memory pool. `check_cut` compares the learner's rule with the one that cuts real graphs
(`minimx.core.graph.running.bulk`); `check_limiter` hybridizes the learner's block
inside a network.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minimx import gluon, nd, sym
from minimx.core import autograd, engine
from minimx.core.errors import TracingError
from minimx.core.graph.running.bulk import segments
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.gluon import nn
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

SENTENCE = (
    "The Python code runs once, to write the graph down; later calls run the graph, so "
    "whatever Python decided the first time stays decided."
)

HINTS = (
    "An <code>if</code> needs an answer now, and there are no numbers yet. By what "
    "must a quiet batch be divided, so that it can take the same steps as a loud one?",
    "Dividing by 1 changes nothing. You need a divisor that is 1 for a quiet batch and "
    "the loudest value for a loud one: the larger of two numbers. There is an operator "
    "for it.",
    "A worked solution of a similar problem: change the sign of a batch if its "
    "sum is negative. "
    + code(
        """
        class Upright(gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                # was:  if F.sum(x) < 0: x = -x
                negative = F.sum(x) < 0               # 1 or 0, when it is run
                return F.broadcast_mul(x, 1 - 2 * negative)
        """
    ),
)

Cut = Callable[[Sequence[str], int, Sequence[str]], Any]

# What would change the counts of a check if the learner has it turned.
SETTINGS = (
    "MXNET_ENGINE_TYPE",
    "MXNET_EXEC_BULK_EXEC_INFERENCE",
    "MXNET_EXEC_BULK_EXEC_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
)
PUSHES = 1  # the target of the free exercise
WIDTH = 5


def recorded(work: Callable[[], Any]) -> Record:
    """A record of some work, from an engine at rest until all of it is done."""
    engine.wait_all()
    with Record() as record:
        work()
        engine.wait_all()
    return record


def pushed(work: Callable[[], Any]) -> list[str]:
    """The names of the operations that some work asks the engine for, in order.

    What stands inside a joined operation is not counted again.
    """
    record = recorded(work)
    ops, deps = record.ops(), record.deps()
    bulk = np.array([kind == "BULK" for kind in record.texts(deps["kind"])], bool)
    whole = ~np.isin(ops["op"], deps["dst"][bulk])
    order = np.argsort(ops["op"][whole])
    return record.texts(ops["name"][whole][order])


def pool_requests(work: Callable[[], Any]) -> int:
    """How many blocks of memory some work asks the pool for."""
    record = recorded(work)
    events = record.texts(record.mem()["event"])
    return sum(event in ("alloc", "hit") for event in events)


# -- the faded exercise ----------------------------------------------------------------


@check
def check_cut(attempt: Cut) -> Feedback:
    """The faded exercise: `attempt(nodes, limit, alone)` gives lists of nodes.

    300 random graphs are cut by it and by the rule that cuts real ones.
    """
    for names, limit, alone in _graphs():
        wanted = _real(names, limit, alone)
        seen = attempt(list(names), limit, tuple(alone))
        idea = _wrong(seen, wanted, limit, alone)
        if idea:
            given = f"cut({' '.join(names)}, limit {limit}"
            given += f", alone {' '.join(alone)})" if alone else ")"
            shown = _shown(seen) if _is_cut(seen) else repr(seen)
            return Feedback(False, f"{given} gave {shown}", _shown(wanted), idea)
    return Feedback(True, "300 random graphs are cut as minimx cuts them")


def _graphs() -> Iterator[tuple[list[str], int, list[str]]]:
    """Names of nodes, a limit, and which nodes are alone; the simplest come first."""
    letters = "abcdefghijkl"
    yield list("abc"), 5, []
    yield list("abcde"), 2, []
    yield list("abcd"), 2, []
    yield list("abcde"), 4, ["c"]
    yield list("abc"), 4, ["a"]
    yield list("abcd"), 2, ["c"]
    draw = random.Random(5)
    for _ in range(294):
        names = list(letters[: draw.randint(0, len(letters))])
        alone = [name for name in names if draw.random() < 0.2]
        yield names, draw.randint(1, 6), alone


def _real(names: Sequence[str], limit: int, alone: Sequence[str]) -> list[list[str]]:
    """What `minimx.core.graph.running.bulk.segments` makes of a chain of such nodes."""
    chain = sym.var("data")
    for name in names:
        chain = sym.sin(chain, name=name)
    nodes = [node for node in chain.graph if node.op is not None]
    single = [node for node in nodes if node.name in alone]
    found = segments(nodes, limit, limit, alone=single)
    return [[node.name for node in segment.nodes] for segment in found]


def _is_cut(seen: Any) -> bool:
    return isinstance(seen, list | tuple) and all(
        isinstance(piece, list | tuple) and all(isinstance(name, str) for name in piece)
        for piece in seen
    )


def _shown(pieces: Sequence[Sequence[str]]) -> str:
    return " ".join(f"[{' '.join(piece)}]" for piece in pieces) or "nothing"


def _wrong(seen: Any, wanted: list[list[str]], limit: int, alone: Sequence[str]) -> str:
    """The misconception behind a cut; empty if it is right."""
    if not _is_cut(seen):
        return "the last line: a list of lists of nodes is wanted"
    pieces = [list(piece) for piece in seen]
    if pieces == wanted:
        return ""
    flat, every = (sum(cut, []) for cut in (pieces, wanted))
    lost = [name for name in every if name not in flat]
    if [] in pieces:
        return "the first blank: an empty piece asks the engine for nothing"
    if lost:
        if set(lost) <= {*alone}:
            return "the first blank: a node that is alone makes a piece of its own"
        return f"what was collected before: {lost[0]} is never handed over"
    if flat != every:
        return "the first blank: what was collected so far comes before the node"
    if any(len(piece) > 1 and {*piece} & {*alone} for piece in pieces):
        return "the first blank: nothing is joined with a node that is alone"
    if any(len(piece) > limit for piece in pieces):
        return "the second blank: a piece is full when it holds `limit` nodes"
    return "the second blank: a piece was handed over before it was full"


# -- the free exercise -----------------------------------------------------------------


@check
def check_limiter(attempt: type[gluon.HybridBlock]) -> Feedback:
    """The free exercise: a block like `Limiter`, which does not refuse to be a graph.

    Between two layers, hybridized, it must give the numbers and the gradients of the
    block with the `if`, whichever kind of batch comes first, in one push.
    """
    if not (isinstance(attempt, type) and issubclass(attempt, gluon.HybridBlock)):
        return Feedback(
            False, f"this is {attempt!r}", "a class derived from gluon.HybridBlock"
        )
    with knobs(**dict.fromkeys(SETTINGS)):
        for batches in (("quiet", "loud"), ("loud", "quiet"), ("negative", "quiet")):
            problem = _first_problem(attempt, batches)
            if problem is not None:
                return problem
    return Feedback(
        True,
        "quiet and loud batches have the right numbers and gradients, and the whole "
        "network is one push",
    )


def _batch(kind: str) -> Any:
    """Inputs of a kind; the loudest value stands in the third row, or is negative."""
    values = np.linspace(-0.5, 0.6, 4 * WIDTH, dtype="float32").reshape(4, WIDTH)
    if kind == "loud":
        values[2, 1] = 8
    if kind == "negative":
        values[1, 3] = -4
    return nd.array(values)


def _network(block: gluon.Block) -> Any:
    """The block between a layer that hands its inputs on, and one that mixes them."""
    net = nn.HybridSequential()
    net.add(nn.Dense(WIDTH, use_bias=False, in_units=WIDTH), block)
    net.add(nn.Dense(2, in_units=WIDTH))
    net.initialize()
    net[0].weight.set_data(nd.array(np.eye(WIDTH)))
    net[2].weight.set_data(nd.array(np.arange(2 * WIDTH).reshape(2, WIDTH) - 3))
    return net


class _Wanted(gluon.HybridBlock):
    """What the exercise starts from."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        loudest = F.max(F.abs(x))
        return F.broadcast_div(x, loudest) if loudest > 1 else x


def _first_problem(
    attempt: type[gluon.HybridBlock], kinds: Sequence[str]
) -> Feedback | None:
    """What is wrong with a block that sees such batches one after the other."""
    plain, graph = _network(attempt()), _network(attempt())
    right = _network(_Wanted())
    graph.hybridize()
    for kind in kinds:
        wanted = _answer(right, kind)
        ideas = _ideas(kind, first=kind == kinds[0])
        if not _same(_answer(plain, kind)[0], wanted[0]):
            return _different(f"a {kind} batch, not hybridized", ideas[0])
        try:
            seen = _answer(graph, kind)
        except TracingError as refusal:
            return _refused(refusal)
        if not _same(seen[0], wanted[0]):
            return _different(f"a {kind} batch after {kinds[0]} ones", ideas[1])
        if not _same(seen[1], wanted[1]):
            return _different(f"the gradient of a {kind} batch", ideas[2])
    return _too_many(graph)


def _answer(net: Any, kind: str) -> tuple[Any, Any]:
    """What comes out of a network, and the gradient of what goes in."""
    x = _batch(kind)
    x.attach_grad()
    with autograd.record():
        out = net(x)
    out.backward()
    return net(x).asnumpy(), x.grad.asnumpy()


def _same(seen: Any, wanted: Any) -> bool:
    return seen.shape == wanted.shape and np.allclose(seen, wanted, 1e-4, 1e-5)


def _ideas(kind: str, first: bool) -> tuple[str, str, str]:
    """What to look at again: by itself, as a graph, and in the gradient."""
    alone = {
        "quiet": "batches whose loudest value is 1 or less must stay as they are",
        "loud": "all values are divided by the same number, the loudest of the batch",
        "negative": "-4 is louder than 1: it is the absolute value that counts",
    }[kind]
    graph = (
        "what Python decides while the graph is written"
        if first
        else "what Python decided for the first batch, and the graph keeps for all"
    )
    return alone, graph, "the divisor depends on the input, too: do not cut it off"


def _different(where: str, idea: str) -> Feedback:
    return Feedback(False, f"other numbers for {where}", "those of Limiter", idea)


def _refused(refusal: TracingError) -> Feedback:
    line = linecache.getline(refusal.filename or "", refusal.lineno or 0).strip()
    return Feedback(
        False,
        "it refuses to be made into a graph",
        "steps that are the same for every batch",
        f"the line `{line}`, which asks for a number while there is none",
    )


def _too_many(graph: Any) -> Feedback | None:
    """Whether a prediction takes more pushes than the target."""
    x = _batch("loud")
    names = pushed(lambda: graph(x))
    if len(names) <= PUSHES:
        return None
    return Feedback(
        False,
        f"right numbers, in {len(names)} pushes: {', '.join(names)}",
        f"{PUSHES} push",
        "a step that waits for a number while the graph runs, and cuts it into pieces; "
        "can both kinds of batch take the same steps?",
    )
