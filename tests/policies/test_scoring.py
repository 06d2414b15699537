"""Scores: on traces that checks did not show, beside the built-ins and the bound."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

import minimx as mx
from minimx.policies import PolicyError, Score, score
from minimx.policies.pools import POOLS
from minimx.policies.registry import CHECKED, KINDS
from tests.policies.examples import MODULES, example_of


class Exact:
    def size(self, nbytes: int, idle: Any) -> int:
        return nbytes


class Naive:
    """As the built-in of that name."""

    def size(self, nbytes: int, idle: Any) -> int:
        size = -(-nbytes // 4096) * 4096
        return size if size <= 2 << 20 else -(-size // (2 << 20)) * (2 << 20)


@pytest.mark.parametrize("module", MODULES, ids=lambda one: one.__name__)
def test_every_kind_has_a_score_that_is_not_below_the_bound(module: Any) -> None:
    policy = example_of(module)
    found = score(policy, traces=1)
    kind = next(one for one in KINDS if one.name == found.kind)
    assert set(found.ratios) == {policy.__name__, *kind.builtins}
    for ratios in found.ratios.values():
        assert set(ratios) == set(kind.families)
        assert all(ratio >= 1 - 1e-9 for ratio in ratios.values())


def test_a_built_in_written_once_more_scores_the_same() -> None:
    found = score(Naive, traces=2)
    assert found.name == "Naive (own)"
    assert found.ratios["Naive (own)"] == found.ratios["Naive"]


def test_a_score_is_the_geometric_mean_and_repeats_itself() -> None:
    first, second = score(Exact, seed=4, traces=2), score(Exact, seed=4, traces=2)
    assert first == second
    ratios = first.ratios["Exact"].values()
    assert first.score == pytest.approx(prod(ratios) ** (1 / 3))
    assert score(Exact, seed=5, traces=2).score != first.score


def test_the_traces_are_none_of_those_that_checks_run() -> None:
    checked = {
        POOLS.trace(one, s).name for one in POOLS.families for s in range(CHECKED)
    }
    scored = {POOLS.trace(one, CHECKED).name for one in POOLS.families}
    assert not checked & scored


def test_the_table_as_text_and_as_html() -> None:
    found = Score(
        name="<Mine>",
        kind="pool",
        seed=0,
        traces=2,
        unit="bytes",
        bound_says="so it is",
        bounds={"a": 2.0, "b": 3.0},
        ratios={"Naive": {"a": 2.0, "b": 2.0}, "<Mine>": {"a": 1.0, "b": 2.25}},
    )
    assert repr(found).splitlines() == [
        "pool             a      b  score",
        "<Mine>       1.000  2.250  1.500",
        "Naive        2.000  2.000  2.000",
        "lower bound  1.000  1.000  1.000",
        "cost divided by the bound; cost: bytes.",
        "the bound: so it is.",
        "2 traces of each family, seed 0.",
    ]
    html = found._repr_html_()
    assert "<th>&lt;Mine&gt;</th><th>1.000</th>" in html
    assert html.count("<tr>") == 4 and "<td>Naive</td>" in html


def test_a_policy_that_breaks_a_rule_has_no_score() -> None:
    class BreaksLate:
        """Keeps the rules in the traces of checks."""

        def size(self, nbytes: int, idle: Any) -> int:
            return 1 if nbytes in hidden else nbytes

    shown = {
        nbytes
        for family in POOLS.families
        for seed in range(CHECKED)
        for _, nbytes in POOLS.trace(family, seed).steps
    }
    trace = POOLS.trace("training", CHECKED)
    hidden = {nbytes for _, nbytes in trace.steps} - shown
    mx.policies.check(BreaksLate)
    with pytest.raises(PolicyError, match=f"training {CHECKED}"):
        score(BreaksLate, traces=1)
