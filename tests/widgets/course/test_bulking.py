"""The exercises of notebook 05: right rules and blocks pass, typical wrong ones not."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from minimx import gluon, nd
from minimx.core import autograd, engine
from minimx.core.knobs import knobs
from minimx.gluon import HybridBlock
from minimx_widgets.course import bulking
from minimx_widgets.course.bulking import (
    check_cut,
    check_limiter,
    pool_requests,
    pushed,
)

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("knobs_at_rest")]

Pieces = list[list[str]]


class Chain(HybridBlock):
    """Nodes one after the other."""

    def __init__(self, nodes: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.nodes = nodes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for _ in range(self.nodes):
            x = F.tanh(x)
        return x


# Probes


@pytest.mark.parametrize(("limit", "pushes"), [(15, 7), (1, 100), (5, 20), (100, 1)])
def test_pushes_of_a_hundred_nodes(limit: int, pushes: int) -> None:
    net, x = Chain(100), nd.ones((2, 2))
    x.attach_grad()
    net.hybridize()

    def train() -> None:
        with autograd.record():
            net(x)

    with knobs(MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN=limit):
        assert len(pushed(train)) == pushes
    assert len(pushed(lambda: net(x))) == 1


def test_parts_of_a_joined_operation_are_not_counted_again() -> None:
    x = nd.ones((2, 2))

    def work() -> None:
        nd.sin(x)
        with engine.bulk(10):
            nd.tanh(nd.cos(x))
        nd.exp(x)

    assert pushed(work) == ["sin", "ImperativeBulk", "exp"]


def test_a_graph_that_keeps_its_memory_asks_for_none_the_second_time() -> None:
    x = nd.ones((2, 2))
    found = {}
    for keeps in (False, True):
        net = Chain(10)
        net.hybridize(static_alloc=keeps)
        found[keeps] = [pool_requests(partial(net, x)) for _ in range(3)]
    assert found == {False: [2, 2, 2], True: [2, 0, 0]}
    assert pool_requests(lambda: Chain(10)(x)) == 10


# The faded exercise


def right(nodes: Sequence[str], limit: int, alone: Sequence[str] = ()) -> Pieces:
    pieces: Pieces = []
    run: list[str] = []
    for node in nodes:
        if node in alone:
            if run:
                pieces.append(run)
                run = []
            pieces.append([node])
            continue
        run.append(node)
        if len(run) == limit:
            pieces.append(run)
            run = []
    if run:
        pieces.append(run)
    return pieces


def otherwise(nodes: Sequence[str], limit: int, alone: Sequence[str] = ()) -> Any:
    pieces: Pieces = []
    for node in nodes:
        room = pieces and len(pieces[-1]) < limit and pieces[-1][0] not in alone
        if room and node not in alone:
            pieces[-1].append(node)
        else:
            pieces.append([node])
    return tuple(map(tuple, pieces))


@pytest.mark.parametrize("cut", [right, otherwise])
def test_a_right_rule_passes_however_it_is_written(cut: Any) -> None:
    feedback = check_cut(cut)
    assert feedback.passed, feedback


def blanks(
    first: Callable[[Pieces, list[str], str], list[str]],
    full: Callable[[list[str], int], bool],
) -> Any:
    """The exercise with its blanks filled in; `first` gives what is collected then."""

    def cut(nodes: Sequence[str], limit: int, alone: Sequence[str] = ()) -> Pieces:
        pieces: Pieces = []
        run: list[str] = []
        for node in nodes:
            if node in alone:
                run = first(pieces, run, node)
                continue
            run.append(node)
            if full(run, limit):
                pieces.append(run)
                run = []
        if run:
            pieces.append(run)
        return pieces

    return cut


def hand_over(pieces: Pieces, run: list[str], node: str) -> list[str]:
    pieces += [run, [node]] if run else [[node]]
    return []


def only_the_node(pieces: Pieces, run: list[str], node: str) -> list[str]:
    pieces.append([node])
    return run


def only_the_run(pieces: Pieces, run: list[str], node: str) -> list[str]:
    pieces += [run] if run else []
    return []


def forgets_the_run(pieces: Pieces, run: list[str], node: str) -> list[str]:
    pieces.append([node])
    return []


def always_both(pieces: Pieces, run: list[str], node: str) -> list[str]:
    pieces += [run, [node]]
    return []


def joins_it(pieces: Pieces, run: list[str], node: str) -> list[str]:
    pieces.append([*run, node])
    return []


def is_full(run: list[str], limit: int) -> bool:
    return len(run) >= limit


WRONG_CUTS = {
    "as given": (lambda pieces, run, node: run, lambda run, limit: True, "the second"),
    "one too many": (hand_over, lambda run, limit: len(run) > limit, "the second"),
    "one too few": (hand_over, lambda run, limit: len(run) >= limit - 1, "the second"),
    "order": (only_the_node, is_full, "the first blank: what was collected"),
    "node lost": (only_the_run, is_full, "the first blank: a node that is alone"),
    "run lost": (forgets_the_run, is_full, "what was collected before: a"),
    "empty piece": (always_both, is_full, "the first blank: an empty piece"),
    "joined": (joins_it, is_full, "the first blank: nothing is joined"),
}


@pytest.mark.parametrize("name", WRONG_CUTS)
def test_a_wrong_rule_is_told_why(name: str) -> None:
    first, full, idea = WRONG_CUTS[name]
    feedback = check_cut(blanks(first, full))
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


def test_a_rule_that_gives_something_else() -> None:
    assert check_cut(lambda nodes, limit, alone: 3).idea.startswith("the last line")
    assert check_cut(lambda nodes, limit, alone: nodes).seen.endswith("['a', 'b', 'c']")
    assert check_cut(...).seen == "nothing to check yet"


# The free exercise


def block(forward: Callable[..., Any]) -> type[HybridBlock]:
    return type("Attempt", (HybridBlock,), {"hybrid_forward": forward})


def largest(self: Any, F: Any, x: Any) -> Any:
    return F.broadcast_div(x, F.maximum(F.max(F.abs(x)), 1))


def both(self: Any, F: Any, x: Any) -> Any:
    top = F.max(F.abs(x))
    return F.where(F.broadcast_like(top > 1, x), F.broadcast_div(x, top), x)


def excess(self: Any, F: Any, x: Any) -> Any:
    return F.broadcast_div(x, 1 + F.relu(F.max(F.abs(x)) - 1))


class Modern(HybridBlock):
    """In the manner of MXNet 2."""

    def forward(self, x: Any) -> Any:
        return x / nd.maximum(nd.abs(x).max(), 1)


RIGHT_BLOCKS = [block(largest), block(both), block(excess), Modern]


@pytest.mark.parametrize("attempt", RIGHT_BLOCKS, ids=["max", "where", "relu", "2.0"])
def test_a_block_without_the_question_passes(attempt: type[HybridBlock]) -> None:
    feedback = check_limiter(attempt)
    assert feedback.passed, feedback


def as_found(self: Any, F: Any, x: Any) -> Any:
    top = F.max(F.abs(x))
    if top > 1:
        x = F.broadcast_div(x, top)
    return x


def as_number(self: Any, F: Any, x: Any) -> Any:
    top = F.max(F.abs(x)).asscalar()
    return x / top if top > 1 else x


def always(self: Any, F: Any, x: Any) -> Any:
    return F.broadcast_div(x, F.max(F.abs(x)))


def by_element(self: Any, F: Any, x: Any) -> Any:
    return F.clip(x, -1, 1)


def by_row(self: Any, F: Any, x: Any) -> Any:
    top = F.max(F.abs(x), axis=1, keepdims=True)
    return F.broadcast_div(x, F.maximum(top, 1))


def without_sign(self: Any, F: Any, x: Any) -> Any:
    return F.broadcast_div(x, F.maximum(F.max(x), 1))


def only_by_hand(self: Any, F: Any, x: Any) -> Any:
    return largest(self, F, x) if F is nd else x


def cut_off(self: Any, F: Any, x: Any) -> Any:
    return F.broadcast_div(x, F.BlockGrad(F.maximum(F.max(F.abs(x)), 1)))


def branch(self: Any, F: Any, x: Any) -> Any:
    top = F.max(F.abs(x))
    return F.contrib.cond(
        top > 1, lambda: F.broadcast_div(x, top), lambda: F.identity(x)
    )


WRONG_BLOCKS = [
    (as_found, "it refuses", "the line `if top > 1:`"),
    (as_number, "it refuses", "the line `top = F.max(F.abs(x)).asscalar()`"),
    (always, "other numbers for a quiet batch", "batches whose loudest value is 1"),
    (
        by_element,
        "other numbers for a loud batch",
        "all values are divided by the same",
    ),
    (by_row, "other numbers for a loud batch", "all values are divided by the same"),
    (without_sign, "other numbers for a negative batch", "-4 is louder than 1"),
    (
        only_by_hand,
        "other numbers for a loud batch after quiet",
        "what Python decided for the first",
    ),
    (cut_off, "other numbers for the gradient of a loud", "the divisor depends"),
    (branch, "right numbers, in 6 pushes", "a step that waits for a number"),
]


@pytest.mark.parametrize(
    ("forward", "seen", "idea"),
    WRONG_BLOCKS,
    ids=[row[0].__name__ for row in WRONG_BLOCKS],
)
def test_a_block_that_still_asks_is_told_why(
    forward: Any, seen: str, idea: str
) -> None:
    feedback = check_limiter(block(forward))
    assert not feedback.passed
    assert feedback.seen.startswith(seen), feedback
    assert feedback.idea.startswith(idea), feedback


def test_something_else_than_a_block() -> None:
    assert check_limiter(largest).expected.startswith("a class derived")
    assert check_limiter(gluon.Block).expected.startswith("a class derived")


def test_turned_knobs_do_not_change_the_verdict() -> None:
    with knobs(MXNET_EXEC_BULK_EXEC_INFERENCE=0, MXNET_ENGINE_TYPE="NaiveEngine"):
        assert check_limiter(block(largest)).passed


def test_the_last_hint_is_a_block_that_runs_as_a_graph() -> None:
    found = re.search(r"<pre[^>]*>(.*)</pre>", bulking.HINTS[-1], re.DOTALL)
    assert found is not None
    room: dict[str, Any] = {"gluon": gluon}
    exec(html.unescape(found.group(1)), room)
    net = room["Upright"]()
    net.hybridize()
    for sign in (1, -1, 1):
        x = nd.array([3, -1]) * sign
        assert net(x).asnumpy().tolist() == [3, -1]
