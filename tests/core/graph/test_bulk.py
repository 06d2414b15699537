"""Bulk segments: what is pushed as one."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.core.graph.running.bulk import limits, segments
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Node


def nodes_of(count: int) -> list[Node]:
    y = mx.sym.var("x")
    for _ in range(count):
        y = mx.sym.sin(y)
    return list(y.graph)


@pytest.mark.parametrize(("limit", "pushes"), [(15, 7), (1, 100), (5, 20), (0, 100)])
def test_a_limit_cuts_a_chain(limit: int, pushes: int) -> None:
    nodes = nodes_of(100)
    found = segments(nodes, limit, limit)
    assert len(found) == pushes
    assert [node for part in found for node in part.nodes] == nodes[1:]


def test_forward_and_backward_have_limits_of_their_own_and_never_mix() -> None:
    nodes = nodes_of(20)
    found = segments(nodes, 4, 6, forward=frozenset(nodes[:11]))
    assert [len(part.nodes) for part in found] == [4, 4, 2, 6, 4]
    assert found[2].ended == "the backward pass begins"


def test_what_cannot_be_joined_stands_alone() -> None:
    nodes = nodes_of(10)
    found = segments(nodes, 4, 4, alone={nodes[3], nodes[4]})
    assert [len(part.nodes) for part in found] == [2, 1, 1, 4, 2]
    assert [part.name for part in found][:2] == ["[sin,sin]", "[sin]"]


@pytest.mark.parametrize(
    ("settings", "training", "expected"),
    [
        ({}, True, (15, 15)),
        ({}, False, (None, None)),
        ({"bulk_exec_inference": False}, False, (1, 1)),
        ({"bulk_exec_train": False}, True, (1, 1)),
        ({"bulk_exec_max_node_train_bwd": 3}, True, (15, 3)),
        ({"bulk_exec_max_node_train_fwd": 0}, True, (1, 15)),
    ],
)
def test_the_settings_say_the_limits(
    settings: dict[str, Any], training: bool, expected: tuple[int | None, int | None]
) -> None:
    assert limits(Settings(**settings), training) == expected


def test_prediction_is_one_segment() -> None:
    assert len(segments(nodes_of(100), *limits(Settings(), training=False))) == 1
