"""Levels without a page: choices, hints, and decisions that the runtime carries out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

import minimx as mx
import minimx_widgets as views
from minimx.core.device import gpu
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.core.storage import stats
from minimx.gluon import nn
from minimx_widgets.course.pooling import fresh_gpu
from minimx_widgets.levels.game import best_end
from minimx_widgets.levels.planner_level import two_sides
from minimx_widgets.levels.play import Play
from minimx_widgets.levels.pool_level import PoolLevel, drawn, steps_of
from minimx_widgets.levels.pools import PoolGame
from minimx_widgets.levels.view import LevelView

KINDS = [views.PoolLevel, views.PlannerLevel, views.MirrorLevel, views.PushLevel]
LEVELS = [(kind, n) for kind in KINDS for n in range(1, len(kind.levels) + 1)]


@pytest.fixture
def view() -> Iterator[PoolLevel]:
    made = PoolLevel(2)
    yield made
    made.close()


def solved(view: LevelView) -> Any:
    best = best_end(view.game)
    assert best is not None
    view.choose(*best.keys)
    return view


@pytest.mark.parametrize(("kind", "number"), LEVELS)
def test_a_level_has_an_end_that_is_proved_and_no_policy_of_the_runtime_beats(
    kind: type[LevelView], number: int
) -> None:
    view = kind(number)
    assert view.play.exact and not view.reached
    solved(view)
    assert view.reached and view.score == view.best
    rows = dict(view.compare().rows)
    assert rows["the best"] == view.game.says(view.best)
    if kind is not views.MirrorLevel:  # others may do more work than the budget
        best = min(view.game.compared().values())
        assert view.best < best or number == 1 and view.best == best
    if view.game.made_as == "mine":  # priorities cannot make a link wait
        assert rows["mine"] == rows["the best"]
    assert view.game.lesson
    view.close()


def test_its_line_says_what_counts(view: PoolLevel) -> None:
    assert repr(view) == (
        "PoolLevel(level 2; the best is 14 KiB reserved by 2 driver calls; after 0 "
        "choices: 0 B reserved by 0 driver calls)"
    )


def test_one_goes_back_and_on(view: PoolLevel) -> None:
    for move in (view.undo, view.redo):
        with pytest.raises(ArgumentError):
            move()
    view.choose("new", "new")
    view.undo()
    assert list(view.chosen) == ["new"]
    view.redo()
    assert list(view.chosen) == ["new", "new"]
    with pytest.raises(ArgumentError, match="B1 has 4,096 bytes"):
        view.choose("B1")
    assert list(view.chosen) == ["new", "new"], "nothing changed"
    view.restart()
    assert list(view.chosen) == [] and view.score == (0, 0)
    view.redo()
    view.choose("new 8192")
    with pytest.raises(ArgumentError, match="nothing was undone"):
        view.redo()


def test_a_hint_names_the_choice_and_the_way_back(view: PoolLevel) -> None:
    assert view.hint() == (
        "Choose “a new block of 12 KiB”: 14 KiB reserved by 2 driver calls can be "
        "reached from here."
    )
    view.choose("new")
    assert "From here nothing costs less than 18 KiB" in view.hint()
    assert "undo the last choice, to where you chose “new”" in view.hint()
    view.choose("new", "new", "B2", "new")
    said = view.hint()
    assert said.startswith("All is decided: 26 KiB reserved by 4 driver calls.")
    assert "undo 5 choices" in said
    view.restart()
    solved(view)
    assert view.hint().endswith("Nothing costs less.")
    with pytest.raises(ArgumentError, match="all is decided"):
        view.choose("new")


def test_a_level_that_is_too_long_has_a_bound() -> None:
    play = Play(PoolGame(drawn(0, 40, 6)), most=10)
    assert not play.exact
    assert play.target == play.game.least(play.state) == (42 * 1024, 6)
    assert play.hint().startswith("There are too many ways to go on")
    assert "None costs less than 42 KiB reserved" in play.hint()
    while not play.over:
        play.choose("new" if len(play.keys) < 6 else _fitting(play))
    assert play.hint().endswith("The bound is 42 KiB reserved by 6 driver calls.")


def _fitting(play: Play) -> str:
    """The first choice that is not refused: a block if there is one."""
    choices = play.game.choices(play.state)
    return next(one.key for one in choices if not one.refused)


def test_wrong_numbers_and_names_are_refused(view: PoolLevel) -> None:
    for wrong in (0, 7, True, "1", 1.5):
        with pytest.raises(ArgumentError, match="there are 1 to 6"):
            PoolLevel(wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not all is decided"):
        view.policy()
    solved(view)
    with pytest.raises(ArgumentError, match="cannot be a name"):
        view.policy("no name")


def test_what_a_page_asks_is_done_or_refused(view: PoolLevel) -> None:
    sent: list[dict[str, Any]] = []
    view.send = lambda message, buffers=None: sent.append(message)

    def ask(**message: object) -> dict[str, Any]:
        view._hear(view, message, None)
        return sent[-1]

    assert ask(kind="choose", key="new")["ok"]
    assert ask(kind="choose", key="B1") == {
        "kind": "answer",
        "ok": False,
        "text": view.game.choices(view.play.state)[0].refused,
    }
    assert view.state["made"] == 1
    assert "can be reached" in ask(kind="hint")["text"]
    assert ask(kind="undo")["ok"] and not ask(kind="undo")["ok"]
    assert ask(kind="redo")["ok"] and ask(kind="restart")["ok"]
    assert not ask(kind="level", number=9)["ok"] and view.number == 2
    assert ask(kind="level", number=3)["ok"] and view.number == 3
    solved(view)
    assert ask(kind="level", number=2)["ok"] and view.state["done"] == [3]
    assert "<table" in ask(kind="table")["html"]
    assert not ask(kind="choose")["ok"]


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_and_tables_show_the_state(kind: type[LevelView]) -> None:
    view = kind(1)
    for over in (False, True):
        if over:
            solved(view)
        scene = view.game.scene(view.play.state)
        for dark in (False, True):
            tree = ElementTree.fromstring(view.svg(dark=dark))
            texts = [node.text for node in tree.iter() if node.text]
            assert view.title in texts
            assert all(row.label in texts for row in scene.rows)
        assert all(0 <= b.start <= b.end <= scene.end for b in scene.bars)
        assert len(view.state["bars"]) == len(scene.bars)
        assert view.table().parts[-1].rows[-1][0] == "the best"
    view.close()


# -- the runtime carries it out --------------------------------------------------------


def train() -> None:
    """Two batches of different sizes on a simulated GPU."""
    mx.random.seed(1)
    net = nn.Sequential()
    net.add(nn.Dense(64, activation="relu"), nn.Dense(10))
    net.initialize(ctx=mx.gpu())
    for rows in (32, 20):
        x = mx.nd.ones((rows, 100), ctx=mx.gpu())
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        mx.nd.waitall()


def test_the_runtime_allocates_as_one_chose() -> None:
    with fresh_gpu(MXNET_GPU_MEM_POOL_TYPE="Naive"), Record() as record:
        train()
        naive = stats(gpu())
    view = PoolLevel(PoolGame.recorded(record, "gpu(0)", 120))
    # The smallest that fits, and new ones as requested.
    while not view.play.over:
        offered = [c for c in view.game.choices(view.play.state) if not c.refused]
        blocks = view.play.state.blocks
        fits = [c for c in offered if c.key[0] == "B"]
        best = min(fits, key=lambda c: blocks[c.row].nbytes, default=None)
        view.choose(best.key if best is not None else "new")
    made: dict[str, type] = {}
    exec(view.policy("AsChosen"), made)
    mx.storage.register_pool(made["AsChosen"])
    try:
        with fresh_gpu(MXNET_GPU_MEM_POOL_TYPE="AsChosen"):
            train()
            found = stats(gpu())
    finally:
        mx.policies.unregister("AsChosen")
    assert (found.peak_reserved, found.n_malloc) == view.score
    assert found.peak_reserved < naive.peak_reserved
    view.close()


def test_the_runtime_plans_as_one_chose() -> None:
    view = solved(views.PlannerLevel(1))
    made: dict[str, type] = {}
    exec(view.policy("Planned"), made)
    mx.policies.register_planner(made["Planned"])
    knobs = {"MXNET_EXEC_ENABLE_INPLACE": False, "MXNET_USE_FUSION": False}
    totals, outputs = {}, {}
    try:
        for name in ("sharing", "Planned"):
            with mx.knobs(MINIMX_MEMORY_PLANNER=name, **knobs):
                plan = views.MemoryPlan(two_sides(), training=False, data=(32, 32))
                totals[name] = plan.planned.plan.total
                plan.close()
                bound = two_sides().simple_bind(mx.cpu(), data=(32, 32))
                for array in bound.arg_dict.values():
                    array[:] = mx.nd.arange(array.size).reshape(array.shape) % 7 - 3
                outputs[name] = bound.forward()[0].asnumpy().tolist()
    finally:
        mx.policies.unregister("Planned")
    assert totals["Planned"] == view.score[0] < totals["sharing"]
    assert outputs["Planned"] == outputs["sharing"]
    view.close()


def sums_of(record: Record) -> list[tuple[int, int]]:
    """Priority and elements of each sum of a store, in the order of their starts."""
    ops = record.ops()
    rows = [row for row in ops if record.strings[row["name"]] == "KVStoreReduce"]
    rows.sort(key=lambda row: int(row["t_start"]))
    return [(int(row["priority"]), int(row["flops"])) for row in rows]


def test_a_store_sends_in_the_order_that_one_chose() -> None:
    view = solved(views.PushLevel(3))
    made: dict[str, Any] = {}
    exec(view.policy(), made)
    store = mx.kv.create("local")
    gradients = {}
    for number, one in enumerate(view.game.layers):
        gradients[one.name] = mx.nd.ones((100 + number,))
        store.init(one.name, gradients[one.name])
    with Record() as record:
        made["Mine"]().send(store, gradients)
        mx.nd.waitall()
    rows = sorted(record.ops(), key=lambda row: int(row["t_start"]))
    numbers = [int(row["nbytes"]) // 8 - 100 for row in rows]  # read, and written
    sent = [layer for layer, *_ in view.play.state.messages]
    assert list(dict.fromkeys(numbers)) == sent
    assert all(one.asnumpy().max() == 1 for one in gradients.values())
    view.close()


def test_a_store_sends_with_the_priorities_that_one_chose() -> None:
    view = solved(views.PushLevel(4))
    made: dict[str, Any] = {}
    exec(view.policy(), made)
    priority = made["Mine"]().priority
    store = mx.kv.create("local")
    gradients = {}
    for number, one in enumerate(view.game.layers):
        gradients[one.name] = mx.nd.ones((100 + number,))
        store.init(one.name, gradients[one.name])
    with Record() as record:
        for key, gradient in gradients.items():
            store.pushpull(key, [gradient, gradient], priority=priority(key))
        mx.nd.waitall()
    assert all(one.asnumpy().max() == 2 for one in gradients.values())
    numbers = [size - 100 for _, size in sorted(sums_of(record), reverse=True)]
    ends = {layer: end for layer, _, end in view.play.state.messages}
    assert numbers == sorted(ends, key=ends.__getitem__), "the most urgent was first"
    view.close()


@pytest.mark.parametrize("number", [2, 6])
def test_an_exported_pool_keeps_all_rules(number: int) -> None:
    view = solved(PoolLevel(number))
    made: dict[str, type] = {}
    exec(view.policy("Mine"), made)
    mx.policies.check(made["Mine"])
    view.close()


def test_steps_in_words() -> None:
    assert list(steps_of("a1 b2 -a -b")) == [(0, 1024), (1, 2048), (0, 0), (1, 0)]
