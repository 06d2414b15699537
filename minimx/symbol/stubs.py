"""Type stubs of `mx.sym`: its functions and methods are written from the registry.

    python -m minimx.symbol.stubs

writes the `.pyi` files beside this one. A test compares them with what this module
writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from minimx.core.arrays.calls import METHODS
from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.nd import stubs
from minimx.symbol import arithmetic
from minimx.symbol.binary import PAIRS
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol

HERE = Path(__file__).parent
HEAD = "# Written by `python -m minimx.symbol.stubs` from the data sheets.\n"
IMPORTS = """\
from collections.abc import Sequence
from typing import Any

from minimx.core.device import DeviceLike
from minimx.symbol.symbol import Symbol
"""
NAMESPACES = ("contrib", "image", "linalg", "sparse", "np", "npx")


def files() -> dict[str, str]:
    """The text of every stub file, by its name."""
    return {
        "operators.pyi": _file(_functions()),
        "methods.pyi": _file(_methods()),
        **{
            f"{name}_rows.pyi": _file(
                stubs.rows_of(f"minimx.symbol.{name}", definition)
            )
            for name in ("creation", "random")
        },
        **{
            f"{namespace}.pyi": _file(_namespace(namespace)) for namespace in NAMESPACES
        },
    }


def _file(lines: Iterable[str]) -> str:
    return HEAD + stubs.file_of(lines, IMPORTS).removeprefix(stubs.HEAD)


def definition(name: str, sheet: type[Op], first: str = "") -> str:
    """The head of a function of symbols, or with `first="self"` of a method.

    An input that is not given becomes a variable, and outputs are one symbol.
    """
    text = stubs.definition(name, sheet, first).replace("-> Any", "-> Symbol")
    text = text.replace("out: Any = None, name: str", "attr: Any = None, name: str")
    text = text.replace("inplace: bool = False, ", "")
    text = re.sub(r"(?<!\*)(\b\w+): NDArray(?=[,)])", r"\1: Symbol | None = None", text)
    return text.replace("NDArray", "Symbol")


def _sheet(name: str) -> type[Op]:
    return REGISTRY[ALIASES.get(name, name)]


def _functions() -> Iterator[str]:
    """The functions of `mx.sym`, without those that its module defines by hand."""
    own = set(vars(import_module("minimx.symbol"))["BY_HAND"])
    for name in sorted(FUNCTIONS):
        if not name.startswith("_") and name not in own and name not in PAIRS:
            yield definition(name, _sheet(name))
    for name in sorted(set(PAIRS) - own):
        yield stubs.pair(name).replace("NDArray", "Symbol")


def _methods() -> Iterator[str]:
    yield "class Methods:"
    for name in sorted(arithmetic.METHODS):
        yield f"    {stubs.from_signature(name, arithmetic.METHODS[name])}"
    for name in sorted(METHODS):
        if getattr(vars(Symbol).get(name), "from_registry", False):
            yield f"    {definition(name, _sheet(name), 'self')}"


def _namespace(namespace: str) -> Iterator[str]:
    """What a module offers, read off the registry or its own."""
    module = import_module(f"minimx.symbol.{namespace}")
    names = dir(module)
    if namespace == "sparse":  # every operator is offered there as well
        yield "from minimx.symbol.operators import *"
        names = [name for name in names if f"_sparse_{name}" in FUNCTIONS]
    for name in names:
        found = getattr(module, name)
        where = getattr(found, "__module__", module.__name__)
        if hasattr(found, "sheet"):
            yield definition(name, found.sheet)
        elif not callable(found):
            yield f"{name}: Any"
        elif where == module.__name__:
            yield stubs.from_signature(name, found)
        else:
            yield f"from {where} import {found.__name__} as {name}"


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
