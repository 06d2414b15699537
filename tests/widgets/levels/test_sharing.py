"""Blocks that arrays share: rules, refusals, and the optimum against all ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.errors import ArgumentError
from minimx_widgets.levels.game import Cost, best_end
from minimx_widgets.levels.planner_level import drawn as net_of
from minimx_widgets.levels.planner_level import two_sides
from minimx_widgets.levels.planners import PlannerGame
from minimx_widgets.levels.pool_level import drawn, steps_of
from minimx_widgets.levels.pools import PoolGame
from minimx_widgets.levels.sharing import Item, Shared, Sharing


def every_way(items: tuple[Item, ...]) -> Iterator[Cost]:
    """The cost of each way to let arrays share, whatever the order of decisions."""

    def go(number: int, blocks: list[list[Item]]) -> Iterator[Cost]:
        if number == len(items):
            sizes = [max(one.nbytes for one in block) for block in blocks]
            yield sum(sizes), len(sizes)
            return
        one = items[number]
        for block in blocks:
            if all(o.last < one.first or one.last < o.first for o in block):
                block.append(one)
                yield from go(number + 1, blocks)
                block.pop()
        blocks.append([one])
        yield from go(number + 1, blocks)
        blocks.pop()

    return go(0, [])


def end_of(game: Sharing) -> Cost:
    """The cost of the best end, reached by its own choices."""
    best = best_end(game)
    assert best is not None
    state = game.begin()
    for key in best.keys:
        state = game.after(state, key)
    assert game.over(state) and game.cost(state) == best.cost
    return best.cost


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4))
def test_a_pool_has_no_better_end(seed: int, requests: int, live: int) -> None:
    game = PoolGame(drawn(seed, requests, live))
    assert end_of(game) == min(every_way(game.items))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_a_planner_has_no_better_end(seed: int, layers: int, inplace: bool) -> None:
    game = PlannerGame(net_of(seed, layers), inplace=inplace, data=(4, 32))
    assert end_of(game) == min(every_way(game.items))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_end_is_below_the_bound_of_a_state(data: st.DataObject) -> None:
    game = PoolGame(drawn(data.draw(st.integers(0, 10**6)), 7, 3))
    state = game.begin()
    while not game.over(state):
        best = best_end(game, state)
        assert best is not None
        assert all(a <= b for a, b in zip(game.least(state), best.cost, strict=True))
        keys = [one.key for one in game.choices(state) if not one.refused]
        state = game.after(state, data.draw(st.sampled_from(keys)))
    assert game.least(state) == game.cost(state)


@given(st.integers(0, 10**6))
def test_what_is_offered_is_taken_and_what_is_not_is_refused(seed: int) -> None:
    game = PoolGame(drawn(seed, 6, 3))
    state = game.begin()
    while not game.over(state):
        for one in game.choices(state):
            if one.refused:
                with pytest.raises(ArgumentError):
                    game.after(state, one.key)
            else:
                after = game.after(state, one.key)
        state = after


def state_after(game: Sharing, *keys: str) -> Shared:
    state = game.begin()
    for key in keys:
        state = game.after(state, key)
    return state


def refused(game: Sharing, key: str, *before: str) -> str:
    state = state_after(game, *before)
    with pytest.raises(ArgumentError) as lesson:
        game.after(state, key)
    return str(lesson.value)


def test_a_pool_refuses_with_block_and_owner() -> None:
    names = {0: "activation of conv1", 1: "activation of conv2"}
    game = PoolGame(steps_of("a4 b2 -a c8 -b -c"), names=names)
    said = refused(game, "B1", "new")
    assert said.startswith(
        "B1 is still in use: activation of conv1 has it since step 0"
    )
    said = refused(game, "B1", "new", "new")
    assert said.startswith("B1 has 4,096 bytes, and a2 requests 8,192")
    assert "makes no block larger" in said
    assert "2,048 bytes is too small" in refused(game, "new 2048")
    assert "there is no choice 'B7'" in refused(game, "B7", "new")
    same = PoolGame(steps_of("a4 -a b4 -b"))
    said = refused(same, "new", "new")
    assert said.startswith("B1 is idle and has exactly 4,096 bytes")


def test_a_planner_refuses_with_both_results_and_the_reader() -> None:
    game = PlannerGame(two_sides(), inplace=False, data=(32, 32))
    names = [one.name for one in game.items]
    assert names == ["a", "b", "c", "d", "t", "e", "f"]
    assert refused(game, "id 0", "new") == (
        "b and a cannot share id 0: b itself reads a, and would write over it while it "
        "reads."
    )
    said = refused(game, "id 1", "new", "new")
    assert said.startswith("c and b cannot share id 1: ")
    assert "d at node 10 still reads b, which c would have written over" in said


def test_in_place_makes_one_result_of_two() -> None:
    apart = PlannerGame(two_sides(), inplace=False, data=(32, 32))
    over = PlannerGame(two_sides(), inplace=True, data=(32, 32))
    assert len(apart.items) == 7 and len(over.items) == 5
    assert over.items[0].owner == "a, with b written over it"


def test_a_block_of_a_plan_grows_and_one_of_a_pool_does_not() -> None:
    plan = PlannerGame(two_sides(), inplace=False, data=(32, 32))
    state = state_after(plan, "new", "new", "id 0", "new")
    assert [block.nbytes for block in state.blocks] == [8192, 8192, 16384]
    state = plan.after(state, "id 1")  # t, of 16 KiB, where b was
    assert [block.nbytes for block in state.blocks] == [8192, 16384, 16384]
    pool = PoolGame(steps_of("a4 -a b2 -b"))
    state = state_after(pool, "new", "B1")
    assert pool.cost(state) == (4096, 1) and pool.sizes(state) == [4096, 4096]


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ([], "0 arrays"),
        ([(0, 0)], "step 0 frees under number 0"),
        ([(0, 8), (0, 8)], "step 1 requests 8 bytes under number 0"),
        ([(0, 8), (0, 0), (0, 0)], "step 2 frees"),
        ([(0, -8)], "requests -8 bytes"),
        ([(k, 8) for k in range(121)], "121 arrays"),
    ],
)
def test_steps_that_make_no_sense_are_refused(
    steps: list[tuple[int, int]], what: str
) -> None:
    with pytest.raises(ArgumentError, match=what):
        PoolGame(steps)


def test_a_long_trace_is_not_searched_to_the_end_for_ever() -> None:
    game = PoolGame(drawn(0, 100, 10))
    assert best_end(game, most=60) is None
