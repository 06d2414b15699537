"""The public names of minimx, compared with the list that we promise.

`python tests/test_names.py > tests/public_names.txt` writes the list anew, once a
change of it is meant. A name that goes away breaks somebody's program; one that comes
is a promise.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import minimx

LIST = Path(__file__).with_name("public_names.txt")


def public(module: ModuleType) -> list[str]:
    """What a module offers: its `__all__`, else what it defines without underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    )


def walk() -> Iterator[tuple[str, ModuleType, str, Any]]:
    """(path, module, name, value) of every public name, from the front door on."""
    waiting: list[tuple[str, ModuleType]] = [("mx", minimx)]
    seen = {minimx}
    while waiting:
        path, module = waiting.pop()
        for name in public(module):
            value = getattr(module, name)
            yield f"{path}.{name}", module, name, value
            ours = isinstance(value, ModuleType) and value.__name__ in sys.modules
            if ours and value.__name__.startswith("minimx") and value not in seen:
                seen.add(value)
                waiting.append((f"{path}.{name}", value))


def names() -> list[str]:
    """Every public name, sorted."""
    return sorted(path for path, *_ in walk())


def test_the_public_names_are_those_that_we_promise() -> None:
    promised = set(LIST.read_text(encoding="utf-8").split())
    present = set(names())
    assert present - promised == set(), "new names; see this file's docstring"
    assert promised - present == set(), "names that went away"


def test_no_name_is_listed_twice() -> None:
    for module in {module for _, module, *_ in walk()}:
        listed = list(getattr(module, "__all__", []))
        assert len(listed) == len(set(listed)), module.__name__


def test_every_public_function_and_class_says_what_it_does() -> None:
    silent = [
        path
        for path, _, _, value in walk()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and not inspect.getdoc(value)
    ]
    assert silent == []


def test_what_is_ours_and_not_listed_is_private() -> None:
    """A name defined in a package's own `__init__` is public, or has an underscore."""
    for module in {module for _, module, *_ in walk()}:
        offered = set(public(module))
        own = {
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == module.__name__
            and not name.startswith("_")
        }
        assert own - offered == set(), module.__name__


if __name__ == "__main__":
    print("\n".join(names()))
