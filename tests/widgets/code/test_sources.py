"""Lines of functions and classes, as `inspect` finds them, and where it cannot."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from minimx import autograd
from minimx.core.engine.var import Var
from minimx.fast.compiled import MODULES
from minimx_widgets.code.sources import is_function, source_lines


def parts(module: Any) -> Iterator[Any]:
    """What a module defines: functions, classes, and the methods of these."""
    for one in vars(module).values():
        if getattr(one, "__module__", "") == module.__name__ and not hasattr(
            one, "_fields"
        ):
            yield one
            if inspect.isclass(one):
                yield from filter(is_function, vars(one).values())


@pytest.mark.parametrize("name", MODULES)
def test_a_library_and_its_python_file_show_the_same_lines(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"minimx.{name}")
    found = [one for one in parts(module) if is_function(one) or inspect.isclass(one)]
    assert found
    if not str(module.__file__).endswith(".py"):
        assert all(source_lines(one)[1] for one in found)
        return
    expected = [inspect.getsourcelines(inspect.unwrap(one)) for one in found]
    monkeypatch.setattr(module, "__file__", "/somewhere/module.so")
    for one, (lines, first) in zip(found, expected, strict=True):
        path, got, number = source_lines(one)
        assert path.read_text("utf-8").splitlines(True)[first - 1] == lines[0]
        assert ("".join(got).rstrip(), number) == ("".join(lines).rstrip(), first)


def test_what_stands_in_no_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((OSError, TypeError)):
        source_lines(len)
    made = type("Made", (), {"__module__": Var.__module__})
    module = sys.modules[Var.__module__]
    monkeypatch.setattr(module, "__file__", "/somewhere/var.so")
    with pytest.raises(OSError, match="Made stands nowhere in"):
        source_lines(made)


def test_what_counts_as_a_function() -> None:
    assert is_function(autograd.record)
    assert not is_function(len)
    assert not is_function(Var)
