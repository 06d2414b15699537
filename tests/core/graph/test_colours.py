"""Colours: paths of nodes that wait for each other."""

from __future__ import annotations

import minimx as mx
from minimx.core.graph.memory.colours import colours, longest_path
from minimx.core.graph.values.ir import Graph


def fork() -> Graph:
    """Three chains of 3, 2 and 1 nodes between one node and another."""
    x = mx.sym.sin(mx.sym.var("x"), name="first")
    ends = []
    for length in (2, 3, 1):
        y = x
        for k in range(length):
            y = mx.sym.sin(y, name=f"n{length}{k}")
        ends.append(y)
    return mx.sym.add_n(*ends, name="last").graph


def test_the_longest_path_goes_through_the_longest_branch() -> None:
    graph = fork()
    path = longest_path(graph, [node for node in graph if node.op is not None])
    assert [node.name for node in path] == ["first", "n30", "n31", "n32", "last"]


def test_each_colour_but_the_last_is_a_path() -> None:
    by_name = {node.name: colour for node, colour in colours(fork(), 3).items()}
    assert [by_name[name] for name in ("first", "n30", "n32", "last")] == [0] * 4
    assert [by_name[name] for name in ("n20", "n21")] == [1] * 2
    assert by_name["n10"] == 2


def test_one_colour_is_all_of_them() -> None:
    assert set(colours(fork(), 1).values()) == {0}


def test_no_more_colours_than_paths_with_something_important() -> None:
    graph = fork()
    some = [node for node in graph if node.name in ("n20", "n21")]
    found = colours(graph, 8, some)
    assert [found[node] for node in some] == [0, 0]
    assert {found[node] for node in graph if node not in some} == {1}
