"""Notebook 07: plans and runs of its networks, and what its exercises say."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from minimx import cpu
from minimx.core.errors import KnobError
from minimx.core.knobs import knobs
from minimx_widgets.course.sharing import (
    RANGES,
    SHAPE,
    SHRINKING,
    UNEQUAL,
    branches,
    chain,
    check_choose,
    check_path,
    check_settings,
    check_sizes,
    fork,
    kib,
    planned,
    ran,
)
from minimx_widgets.course.sharing_pictures import phase_map, tradeoff

# Networks and runs


@pytest.mark.parametrize(
    ("net", "totals"),
    [
        (chain(SHRINKING), [237, 237, 165, 141, 133, 129]),
        (chain(SHRINKING[::-1]), [237, 237, 133, 129, 128, 128]),
        (branches(), [432, 180, 62, 68, 92, 108]),
    ],
    ids=["shrinking", "growing", "branches"],
)
def test_the_totals_that_mxnet_prints_in_megabytes(net: Any, totals: list[int]) -> None:
    found = [kib(net, NNVM_EXEC_MATCH_RANGE=reach) for reach in (0, *RANGES)]
    assert found == totals


def test_knobs_are_tried_and_not_turned() -> None:
    told: list[str] = []
    stop = knobs.watch(["NNVM_EXEC_MATCH_RANGE"], lambda name, *_: told.append(name))
    assert kib(branches(), NNVM_EXEC_MATCH_RANGE=2) == 62
    stop()
    assert told == []
    with pytest.raises(KnobError, match="at least 0"):
        kib(branches(), NNVM_EXEC_MATCH_RANGE=-1)
    with pytest.raises(KnobError, match="MXNET_ENGINE_TYPE shapes no plan"):
        kib(branches(), MXNET_ENGINE_TYPE="NaiveEngine")


def test_a_plan_is_that_of_the_executor() -> None:
    with knobs(NNVM_EXEC_NUM_TEMP=3, NNVM_EXEC_MATCH_RANGE=2):
        net = fork(UNEQUAL)
        executor = net.simple_bind(cpu(), grad_req="null", data=SHAPE)
        assert executor._memory().total == planned(net).total


def test_colours_cost_memory_and_win_time_but_change_no_bit() -> None:
    net, runs = fork([64] * 4), []
    for colours in (1, 2, 4):
        with knobs(NNVM_EXEC_NUM_TEMP=colours):
            runs.append(ran(net))
    assert [run.kib for run in runs] == [136, 264, 520]
    times = [run.microseconds for run in runs]
    assert times == sorted(times, reverse=True) and times[0] > 2 * times[-1]
    assert len({run.output for run in runs}) == 1
    assert repr(runs[0]) == f"136 KiB, {times[0]:.1f} µs"
    assert knobs.diff() == {}


# Pictures


@pytest.mark.parametrize("dark", [False, True])
def test_the_map_has_a_number_in_every_cell(dark: bool) -> None:
    shown = phase_map(
        {"falls": chain([8, 4, 2]), "flat": chain([8, 8])}, (0, 4), dark=dark
    )
    assert repr(shown).split("\n") == [
        "match range     0     4",
        "falls          14    12",
        "flat           16    16",
    ]
    tree = ElementTree.fromstring(shown.rich)
    texts = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert {"falls", "flat", "14", "12", "16"} <= {*texts}
    assert "falls, range 4: 12 KiB" in shown.rich


def test_the_plot_has_a_point_for_every_run() -> None:
    run = ran(fork([8]), workers=1)
    shown = tradeoff({"one branch": [run, run]})
    assert repr(shown) == f"one branch, 1 colour: {run}\none branch, 2 colours: {run}"
    assert ElementTree.fromstring(shown.rich) is not None
    assert shown.rich.count("<circle") == 2


# The faded exercise


def choose(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if wanted <= size <= wanted * reach]
    if large:
        return min(large)
    small = [size for size in free if wanted // reach <= size < wanted]
    return max(small) if small else None


def by_sorting(free: list[int], wanted: int, reach: int) -> int | None:
    near = [size for size in free if 1 / reach <= size / wanted <= reach]
    near.sort(key=lambda size: (size < wanted, abs(size - wanted)))
    return near[0] if near else None


@pytest.mark.parametrize("attempt", [choose, by_sorting])
def test_right_rules_plan_like_the_planner(attempt: Any) -> None:
    feedback = check_choose(attempt)
    assert feedback.passed, feedback
    assert "237, 165, 141, 133, 129 KiB" in feedback.seen


def blanks(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if ...]
    if large:
        return min(large)
    small = [size for size in free if ...]
    return max(small) if small else None


def best_fit(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if wanted <= size]
    return min(large) if large else None


def never_grows(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if wanted <= size <= wanted * reach]
    return min(large) if large else None


def without_edges(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if wanted < size < wanted * reach]
    return min(large) if large else None


def nearest(free: list[int], wanted: int, reach: int) -> int | None:
    near = [size for size in free if wanted <= size * reach <= wanted * reach**2]
    return min(near, key=lambda size: abs(size - wanted)) if near else None


def smallest_to_grow(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if wanted <= size <= wanted * reach]
    if large:
        return min(large)
    small = [size for size in free if wanted // reach <= size < wanted]
    return min(small) if small else None


def largest(free: list[int], wanted: int, reach: int) -> int | None:
    large = [size for size in free if wanted <= size <= wanted * reach]
    return max(large) if large else choose(free, wanted, reach)


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (blanks, "the blanks: a block `reach` times too small"),
        (best_fit, "the first blank: at most `reach` times"),
        (never_grows, "the second blank: a block that is too small may grow"),
        (without_edges, "the first blank: a block that is large enough, its edge"),
        (nearest, "the first blank: a block that is too small is not large enough"),
        (smallest_to_grow, "the second blank: of those that are too small, the larg"),
        (largest, "the first blank: of those that are large enough, the smallest"),
        (lambda free, wanted, reach: wanted, "what to return: the size of a free"),
        (lambda free, wanted, reach: "new", "what to return: the size of a free"),
        (lambda free, wanted, reach: 0 if free else None, "what to return"),
    ],
)
def test_wrong_rules_are_told_why(attempt: Any, idea: str) -> None:
    feedback = check_choose(attempt)
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


def test_a_rule_that_is_none() -> None:
    assert check_choose(...).seen == "nothing to check yet"
    assert check_choose(7).seen == "7 is not a function"
    assert "ZeroDivisionError" in check_choose(lambda free, wanted, reach: 1 // 0).seen


# The free exercises


# Colours


def longest(better: Any, first: Any) -> Any:
    """The exercise, with two blanks filled in."""

    def attempt(nodes: list[str], inputs: dict[str, list[str]]) -> list[str]:
        most = dict.fromkeys(nodes, 0)
        following: dict[str, str] = {}
        for node in reversed(nodes):
            most[node] += 1
            for source in inputs[node]:
                if better(most[node], most[source]):
                    most[source], following[source] = most[node], node
        path = [first(nodes, most)]
        while path[-1] in following:
            path.append(following[path[-1]])
        return path

    return attempt


def most_operators(nodes: list[str], most: dict[str, int]) -> str:
    return max(nodes, key=most.__getitem__)


def test_a_longest_path_is_right_whichever_it_is() -> None:
    assert check_path(longest(lambda a, b: a > b, most_operators)).passed
    assert check_path(longest(lambda a, b: a >= b, most_operators)).passed


@pytest.mark.parametrize(
    ("better", "first", "idea"),
    [
        (lambda a, b: a < b, most_operators, "blank"),
        (lambda a, b: a > b, lambda nodes, _: nodes[-1], "the second blank"),
        (lambda a, b: a > b, lambda nodes, _: ..., "the second blank"),
        (lambda a, b: a > b, lambda nodes, most: min(nodes, key=most.get), "second"),
    ],
    ids=["shorter", "last", "open", "fewest"],
)
def test_other_paths_are_not(better: Any, first: Any, idea: str) -> None:
    feedback = check_path(longest(better, first))
    assert not feedback.passed and idea in feedback.idea


def test_what_is_no_path() -> None:
    assert not check_path(lambda nodes, inputs: nodes).passed
    assert "does not read it" in check_path(lambda nodes, inputs: nodes).seen
    assert check_path(7).seen == "7 is not a function"


@pytest.mark.parametrize(
    "sizes", [[16, 1, 1, 16], (64, 1, 4, 64), [64, 2, 1, 4, 64], [1, 16, 2, 2, 16]]
)
def test_sizes_for_which_a_wide_range_loses(sizes: Any) -> None:
    with knobs(MXNET_MEMORY_OPT=1, NNVM_EXEC_NUM_TEMP=4):  # of somebody else's cell
        feedback = check_sizes(sizes)
    assert feedback.passed, feedback


def test_how_much_it_loses_is_said() -> None:
    assert check_sizes([16, 1, 1, 16]).seen == (
        "18 KiB at range 2, 32 KiB at range 16: 1.78 times as much"
    )


@pytest.mark.parametrize(
    ("sizes", "idea"),
    [
        ([64, 32, 16, 4], "the order: where sizes only fall"),
        ([1, 8, 16, 64], "the order: where sizes only fall or only rise"),
        ([8, 8, 8], "the order: "),
        ([64, 8, 4, 2, 4], "the results that come later: here a small result saved"),
        ([64, 1, 64, 1, 64], "the two ranges decided alike"),
        ([6, 48, 4, 32, 16, 3], "the results that come later"),
    ],
)
def test_sizes_for_which_it_does_not(sizes: list[int], idea: str) -> None:
    feedback = check_sizes(sizes)
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


@pytest.mark.parametrize(
    "sizes", [3, [1, 2], [0, 1, 2], [1, 2, 65], [1.0, 2.0, 3.0], [True] * 3, [4] * 7]
)
def test_what_are_no_sizes(sizes: Any) -> None:
    assert check_sizes(sizes).expected == "three to six whole numbers from 1 to 64"


@pytest.mark.parametrize(
    "settings",
    [
        {"NNVM_EXEC_NUM_TEMP": 2, "NNVM_EXEC_MATCH_RANGE": 4},
        {"NNVM_EXEC_NUM_TEMP": 2, "MXNET_MEMORY_OPT": 1},
        {"MXNET_EXEC_NUM_TEMP": 2, "NNVM_EXEC_MATCH_RANGE": 2},
    ],
)
def test_settings_that_reach_both_targets(settings: dict[str, Any]) -> None:
    with knobs(NNVM_EXEC_NUM_TEMP=8, MINIMX_CLOCK="virtual"):
        feedback = check_settings(settings)
    assert feedback.passed, feedback
    assert knobs.diff() == {}


@pytest.mark.parametrize(
    ("settings", "idea"),
    [
        ({}, "the colours: with one"),
        ({"MXNET_MEMORY_OPT": 1}, "the colours: with one"),
        ({"MXNET_EXEC_NUM_TEMP": 4, "MXNET_GPU_WORKER_NTHREADS": 1}, "the colours"),
        ({"NNVM_EXEC_NUM_TEMP": 2}, "the match range: "),
        ({"NNVM_EXEC_MATCH_RANGE": 1}, "the match range: "),
        ({"NNVM_EXEC_NUM_TEMP": 4, "MXNET_MEMORY_OPT": 1}, "the number of colours"),
    ],
)
def test_settings_that_miss_one(settings: dict[str, Any], idea: str) -> None:
    feedback = check_settings(settings)
    assert not feedback.passed
    assert feedback.idea.startswith(idea), feedback


def test_other_knobs_are_not_the_planners() -> None:
    assert "MXNET_CPU_WORKER_NTHREADS is not" in (
        check_settings({"MXNET_CPU_WORKER_NTHREADS": 1}).seen
    )
    assert "Did you mean" in check_settings({"MXNET_EXEC_NUM_TMP": 2}).seen
    assert check_settings([2]).expected == "a dictionary of knobs and values"
