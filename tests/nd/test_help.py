"""Help texts: every example runs, and the book's page is what the registry says."""

from __future__ import annotations

import doctest
import inspect

import pytest

import minimx as mx
from minimx.core.ops.registry import REGISTRY, lookup
from minimx.nd import help


@pytest.mark.parametrize("name", help.examples())
def test_the_example_shows_what_it_says(name: str) -> None:
    lookup(name)
    names = {"mx": mx, "np": getattr(mx, "np", None)}
    test = doctest.DocTestParser().get_doctest(
        help.examples()[name] + "\n", names, name, None, None
    )
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.attempted > 0
    assert not result.failed, "".join(said)


def test_help_tells_shapes_settings_and_an_example() -> None:
    text = inspect.getdoc(mx.nd.Convolution) or ""
    for words in ("data (N, C, H, W)", "num_filter : int", "Examples", "num_group"):
        assert words in text
    signature = inspect.signature(mx.nd.Convolution)
    assert signature.parameters["num_group"].default == 1


def test_examples_are_short() -> None:
    long = [line for line in help.EXAMPLES.read_text().splitlines() if len(line) > 88]
    assert long == []


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_operator_has_a_help_text(name: str) -> None:
    assert "Parameters" in help.text(REGISTRY[name], {})


@pytest.mark.parametrize("name", help.public_operators())
def test_every_operator_that_is_called_by_name_has_an_example(name: str) -> None:
    assert help.example_of(name)
