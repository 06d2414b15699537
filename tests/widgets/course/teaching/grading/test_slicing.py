"""Of a notebook, an attempt gets what it needs, and no more."""

from __future__ import annotations

import ast

import pytest

from minimx_widgets.course.teaching.grading.slicing import needed, plain

CELLS = [
    "import math\nfrom collections import Counter\n%env A=1\nx = 3",
    "net = slow_training()\nnet.run()",
    "def helper(n):\n    return math.sqrt(n) + table['a']",
    "table = {}\ntable['a'] = 1\nfor k in range(2):\n    table[k] = k\nx = 4",
    "def attempt(n):\n    x = helper(n)\n    return x\n\ncheck_it(attempt)",
]


def said(cells: list[str], last: int) -> list[str]:
    return [ast.unparse(line.node).split("\n")[0] for line in needed(cells, last)]


def test_what_is_needed_is_found_through_other_cells() -> None:
    assert said(CELLS, 4) == [
        "import math",
        "def helper(n):",
        "table = {}",
        "table['a'] = 1",
        "def attempt(n):",
    ]


def test_the_last_binding_above_counts() -> None:
    cells = ["x = 1", "x = 2\nx += 5", "y = x", "x = 9"]
    assert said(cells, 2) == ["x = 2", "x += 5", "y = x"]


def test_calls_on_imports_are_no_changes_of_them() -> None:
    cells = ["import minimx as mx", "mx.nd.waitall()", "z = mx.nd.ones(3)"]
    assert said(cells, 2) == ["import minimx as mx", "z = mx.nd.ones(3)"]


def test_names_of_the_check_are_needed_as_well() -> None:
    cells = ["limit = 3", "other = 4", "def f(): pass"]
    found = needed(cells, 2, ["limit"])
    assert [ast.unparse(line.node) for line in found][0] == "limit = 3"


def test_a_cell_that_is_no_python_is_left_out_above_and_told_below() -> None:
    assert said(["x = (", "y = 1"], 1) == ["y = 1"]
    with pytest.raises(SyntaxError):
        needed(["x = 1", "y = ("], 1)


def test_commands_of_the_notebook_are_no_python() -> None:
    assert plain("%env A=1\n!ls\nmx.nd?\nx = 1  # why?") == "\n\n\nx = 1  # why?"
    assert plain("%%bash\nls") == ""
