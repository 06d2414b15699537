"""The checks of each kind: built-ins pass them, wrong policies do not, bounds hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.core.graph.memory.sharing import StorageSharing
from minimx.kvstore.planners.steps import Copy, Plan, Sum
from minimx.policies.asking import Asked, Broken
from minimx.policies.planners import PLANNERS, BySize, check_plan
from minimx.policies.pools import POOLS, _take
from minimx.policies.registry import KINDS, kind_of, run
from minimx.policies.schedulers import SCHEDULERS, Trace, check_schedule
from minimx.policies.trees import TREES, check_sum
from tests.policies.examples import MODULES, example_of

BUILTINS = [
    pytest.param(kind, name, id=f"{kind.name}: {name}")
    for kind in KINDS
    for name in kind.builtins
]


@pytest.mark.parametrize(("kind", "name"), BUILTINS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_built_in_keeps_the_rules_and_never_beats_the_bound(
    kind: Any, name: str, data: Any
) -> None:
    family = data.draw(st.sampled_from(kind.families))
    trace = kind.trace(family, data.draw(st.integers(0, 5)))
    bound = kind.bound(trace)
    assert 0 < bound <= kind.run(kind.builtins[name], trace) * (1 + 1e-6)


@pytest.mark.parametrize("module", MODULES, ids=lambda one: one.__name__)
def test_the_worked_example_of_a_docstring_passes(module: Any) -> None:
    mx.policies.check(example_of(module))


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.name)
def test_a_trace_is_the_same_for_the_same_seed_and_another_for_another(
    kind: Any,
) -> None:
    for family in kind.families:
        assert kind.trace(family, 3) == kind.trace(family, 3)
    assert len({str(kind.trace(kind.families[-1], seed)) for seed in range(5)}) > 1


# -- wrong policies, and the words of the lesson ---------------------------------------


class TooSmall:
    def size(self, nbytes: int, idle: Any) -> int:
        return 1 << (nbytes.bit_length() - 1)


class AnyIdle:
    """Takes an idle block without a look at its size."""

    def size(self, nbytes: int, idle: Any) -> int:
        return min(idle, default=nbytes)


class HalfBytes:
    def size(self, nbytes: int, idle: Any) -> Any:
        return nbytes * 1.5


class Immense:
    def size(self, nbytes: int, idle: Any) -> int:
        return nbytes << 40


class Remembers:
    """What one instance saw, the next one knows."""

    seen: list[int] = []

    def size(self, nbytes: int, idle: Any) -> int:
        self.seen.append(nbytes)
        return max(nbytes, len(self.seen) * 4096)


class OneTooMany:
    def pick(self, ready: Sequence[Any]) -> int:
        return len(ready)


class Nothing:
    def pick(self, ready: Sequence[Any]) -> None:
        return None


class OneBlock:
    def assign(self, results: Sequence[Any]) -> list[int]:
        return [0] * len(results)


class TooSoon:
    """A block is free again at the very node that reads it last."""

    def assign(self, results: Sequence[Any]) -> list[int]:
        ends: list[int] = []
        found = []
        for one in results:
            free = [k for k, end in enumerate(ends) if end <= one.first]
            block = free[0] if free else len(ends)
            ends[block : block + 1] = [one.last]
            found.append(block)
        return found


class TooShort:
    def assign(self, results: Sequence[Any]) -> list[int]:
        return [*range(len(results) - 1)]


class Circle:
    def parents(self, links: Any, root: int) -> list[int]:
        count = len(links)
        found = [(device + 1) % count for device in range(count)]
        found[root] = root
        others = [device for device in range(count) if device != root]
        found[others[0]], found[others[1]] = others[1], others[0]
        return found


class NoLink:
    """Sends over links that are not there."""

    def parents(self, links: Any, root: int) -> list[int]:
        return [root] * len(links)


class NoRoot:
    def parents(self, links: Any, root: int) -> list[int]:
        return [0 if root else 1] * len(links)


class NeverLess:
    def scale(self, scale: float, good: int, overflow: bool) -> float:
        return scale * 0.75 if overflow else scale


class ToZero:
    def scale(self, scale: float, good: int, overflow: bool) -> float:
        return 0.0 if overflow else scale


class WithoutEnd:
    def scale(self, scale: float, good: int, overflow: bool) -> float:
        return scale / 2 if overflow else scale * 2


WRONG: dict[type, str] = {
    TooSmall: "a block has at least the bytes",
    AnyIdle: "a block has at least the bytes",
    HalfBytes: "a size is a whole number",
    Immense: "not larger than the device",
    Remembers: "the same state gives the same decision",
    OneTooMany: "a position among the",
    Nothing: "a position among the",
    OneBlock: "needed at the same node lie in different blocks",
    TooSoon: "needed at the same node lie in different blocks",
    TooShort: "one a result",
    Circle: "each device counts once",
    NoLink: "sends follow links",
    NoRoot: "the root keeps the sum",
    NeverLess: "after an overflow the scale is at most half",
    ToZero: "a scale is above 0",
    WithoutEnd: "at most 2",
}


@pytest.mark.parametrize("policy", WRONG, ids=lambda one: one.__name__)
def test_a_wrong_policy_gets_a_lesson_with_step_objects_and_rule(policy: type) -> None:
    with pytest.raises(mx.policies.PolicyError) as lesson:
        mx.policies.check(policy)
    text = str(lesson.value)
    assert f"{policy.__name__} breaks a rule of every {kind_of(policy).name}" in text
    assert WRONG[policy] in text.split("The rule: ")[1]
    assert "trace “" in text
    asked = f"{kind_of(policy).method}("
    assert asked in text or "holds result" in text


# -- the checks find what the mechanism itself would have to do wrong ------------------


def test_blocks_that_overlap_are_found() -> None:
    taken: list[tuple[int, int]] = []

    class Region:
        def __init__(self, address: int, size: int) -> None:
            self.address, self.size = address, size

    _take(taken, Region(0, 512))  # type: ignore[arg-type]
    _take(taken, Region(1024, 512))  # type: ignore[arg-type]
    _take(taken, Region(512, 512))  # type: ignore[arg-type]
    for start, size in ((1535, 1), (0, 4096), (511, 2)):
        with pytest.raises(Broken, match="do not overlap"):
            _take(taken, Region(start, size))  # type: ignore[arg-type]
    assert taken == [(0, 512), (512, 1024), (1024, 1536)]


def test_a_schedule_that_breaks_a_hazard_is_found() -> None:
    trace = SCHEDULERS.trace("training", 0)
    size = len(trace.operations)
    one_by_one = [(k, k + 1) for k in range(size)]
    check_schedule(trace, one_by_one)
    with pytest.raises(Broken, match="never ran"):
        check_schedule(trace, [*one_by_one[:-1], None])
    with pytest.raises(Broken, match="keep the order of the program"):
        check_schedule(trace, one_by_one[::-1])
    free = Trace("free", tuple(SCHEDULERS.trace("adversarial", 1).operations), 2)
    at_once = [(0, 1)] * len(free.operations)
    with pytest.raises(Broken, match="one at a time|keep the order"):
        check_schedule(free, at_once)


def test_a_plan_that_writes_over_what_is_read_is_found() -> None:
    numbers = PLANNERS.trace("training", 0).numbers
    found = StorageSharing(numbers, 16, inplace=True)
    check_plan(found)
    blocks = [block for block in found.storage if block >= 0]
    assert len(set(blocks)) > 2
    found.storage = [min(block, 0) for block in found.storage]
    with pytest.raises(Broken, match="block 0"):
        check_plan(found)
    small = StorageSharing(numbers, 16, inplace=True)
    small.sizes = [size // 2 for size in small.sizes]
    with pytest.raises(Broken, match="as large as its largest result"):
        check_plan(small)


def test_a_sum_that_counts_twice_or_not_at_all_is_found() -> None:
    right = Plan((Copy(1, 0), Sum(0, (0, 1))), (Copy(0, 1),), {})
    check_sum(right, devices=2, rows=1)
    for wrong in (
        right._replace(broadcast=()),
        right._replace(reduce=(Copy(1, 0), Copy(1, 0), Sum(0, (0, 1)), Copy(1, 0))),
        right._replace(reduce=(*right.reduce, *right.reduce)),
    ):
        with pytest.raises(Broken):
            check_sum(wrong, devices=2, rows=1)


def test_a_planner_that_looks_ahead_shares_as_the_runtime_does() -> None:
    trace = PLANNERS.trace("branches", 2)
    cost = run(PLANNERS, Asked(BySize(), "assign"), trace)
    assert cost == PLANNERS.run(PLANNERS.builtins["by_size"], trace)
    assert cost < PLANNERS.run(
        lambda found: StorageSharing(found.graph, 0, inplace=True), trace
    )


def test_colours_and_devices_share_nothing() -> None:
    numbers = PLANNERS.trace("training", 1).numbers
    shades = [n % 2 for n in range(len(numbers.nodes))]
    plan = PLANNERS.builtins["by_size"]
    found = plan(StorageSharing(numbers, 16, True, shades))
    check_plan(found)
    by_block: dict[int, set[int]] = {}
    writer = {e: n for n, outs in enumerate(numbers.outs) for e in outs}
    for e, block in enumerate(found.storage):
        if block >= 0 and e not in found.written_over:
            by_block.setdefault(block, set()).add(shades[writer[e]])
    assert all(len(found) == 1 for found in by_block.values())
    assert found.total >= plan(StorageSharing(numbers, 16, True)).total


def test_pools_reserve_what_the_policy_says() -> None:
    trace = POOLS.trace("adversarial", 0)
    requests = sum(nbytes > 0 for _, nbytes in trace.steps)
    frees = len(trace.steps) - requests
    cost = POOLS.run(POOLS.builtins["Unpooled"], trace)
    assert cost == pytest.approx(1 + (requests + frees) / requests, rel=1e-3)


def test_trees_of_the_links_of_a_machine() -> None:
    trace = TREES.trace("machines", 2)
    assert len(trace.ranks) == 8
    direct = TREES.run(TREES.builtins["direct"], trace)
    assert TREES.bound(trace) <= direct < TREES.run(TREES.builtins["mxnet"], trace)
