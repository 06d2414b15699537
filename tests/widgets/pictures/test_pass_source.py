"""A decision's source is the function that made it, found in the text itself."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import minimx
from minimx.core.graph.passes import cse, simplify
from minimx_widgets.pictures.pass_source import Source, source_of


def found(passed: str, rule: str = "") -> Source:
    source = source_of(passed, rule)
    assert source is not None
    return source


def test_a_pass_is_the_function_that_gives_its_account() -> None:
    source = found("share")
    assert source.text == inspect.getsource(cse.share).rstrip()
    assert source.file == "minimx/core/graph/passes/cse.py"


def test_a_rule_is_the_function_that_decides_by_it() -> None:
    assert found("share", "merged").text == inspect.getsource(cse._merged).rstrip()


def test_the_line_is_where_the_function_begins() -> None:
    source = found("fold_constants")
    path = Path(minimx.__file__).parents[1] / source.file
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[source.line - 1] == "def fold_constants(graph: Graph, specs: Specs, " \
        "largest: int = LARGEST) -> Passed:"  # fmt: skip
    assert source.text == inspect.getsource(simplify.fold_constants).rstrip()


def test_an_account_put_together_by_a_method_belongs_to_the_main_function() -> None:
    assert found("gradient").text.startswith("def differentiate(")


def test_an_unknown_rule_shows_the_pass_and_an_unknown_pass_nothing() -> None:
    assert found("share", "no such rule") == found("share")
    assert source_of("a reader's own") is None


@pytest.mark.parametrize("name", ["share", "eliminate", "fold_constants", "gradient"])
def test_every_pass_is_found(name: str) -> None:
    assert found(name).text.startswith("def ")
