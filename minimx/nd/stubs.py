"""Type stubs of the functions and methods that are written from the registry.

    python -m minimx.nd.stubs

writes the `.pyi` files beside this one, so that editors and type checkers know
`mx.nd.Convolution` and `x.softmax()`. A test compares them with what this room writes.
"""

from __future__ import annotations

import dataclasses
import keyword
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from minimx.nd.functions import FUNCTIONS, INTERNAL, METHODS
from minimx.ops import help
from minimx.ops.registry import ALIASES, REGISTRY, Op

HERE = Path(__file__).parent
HEAD = "# Written by `python -m minimx.nd.stubs` from the data sheets in minimx/ops.\n"
IMPORTS = """\
from collections.abc import Sequence
from typing import Any

from minimx.nd.array import NDArray
"""
ROOMS = ("contrib", "image", "linalg")

_TYPES = {"Shape": "int | Sequence[int]", "Any": "Any", "DType": "Any"}


def files() -> dict[str, str]:
    """The text of every stub file, by its name."""
    return {
        "operators.pyi": _file(_functions()),
        "methods.pyi": _file(_methods()),
        **{f"{room}.pyi": _file(_room(room)) for room in ROOMS},
    }


def sheet_of(function: Callable[..., Any]) -> type[Op]:
    """The data sheet of a generated function."""
    name = function.__name__
    return REGISTRY[ALIASES.get(name, name)]


def definition(name: str, sheet: type[Op], first: str = "") -> str:
    """The head of a function, or with `first="self"` of a method."""
    parameters = [first] if first else []
    inputs = help.inputs_of(sheet)
    if sheet.variadic:
        taken = [] if first else ["*data: NDArray"]
    else:
        fixed = isinstance(getattr(sheet, "inputs", None), tuple)
        taken = [_input(word, fixed) for word in inputs[1 if first else 0 :]]
    parameters += taken
    settings = [_setting(field) for field in _fields(sheet)]
    if sheet.variadic and first:
        parameters.append("*others: NDArray")
    parameters += settings
    if not sheet.variadic:
        parameters.append("*")
    parameters += ["out: Any = None", "name: str | None = None"]
    given = "Any" if sheet.visible != 1 else "NDArray"
    if isinstance(sheet.visible, property):
        given = "Any"
    return f"def {name}({', '.join(parameters)}) -> {given}: ..."


def _input(name: str, required: bool) -> str:
    return f"{name}: NDArray" if required else f"{name}: NDArray | None = None"


def _setting(field: dataclasses.Field[Any]) -> str:
    words = str(field.type)
    kind = " | ".join(_TYPES.get(w.strip(), w.strip()) for w in words.split("|"))
    known = {"int", "float", "bool", "str", "None", "Any", "int | Sequence[int]"}
    if not all(part in known for part in kind.replace(" | None", "").split("|||")):
        kind = "Any"
    default = "..."
    if isinstance(field.default, (int, float, str, bool, tuple, type(None))):
        default = repr(field.default)
        if "inf" in default or "nan" in default:
            default = "..."
        if field.default is None and "None" not in kind and kind != "Any":
            kind += " | None"
    return f"{field.name}: {kind} = {default}"


def _fields(sheet: type[Op]) -> list[dataclasses.Field[Any]]:
    fields = dataclasses.fields(sheet)  # type: ignore[arg-type]
    return [
        f for f in fields if f.name not in INTERNAL and not keyword.iskeyword(f.name)
    ]


def _functions() -> Iterator[str]:
    """The functions of `mx.nd`, without those that its room defines by hand."""
    own = set(vars(import_module("minimx.nd"))["BY_HAND"])
    for name in sorted(FUNCTIONS):
        if not name.startswith("_") and name not in own:
            yield definition(name, sheet_of(FUNCTIONS[name]))


def _methods() -> Iterator[str]:
    array = import_module("minimx.nd.array").NDArray
    yield "class Methods:"
    for name in sorted(METHODS):
        method = vars(array).get(name)
        if method is not None and getattr(method, "from_registry", False):
            yield f"    {definition(name, sheet_of(FUNCTIONS[name]), 'self')}"


def _room(room: str) -> Iterator[str]:
    module = import_module(f"minimx.nd.{room}")
    for name in dir(module):
        found = getattr(module, name)
        where = getattr(found, "__module__", None)
        if where == "minimx.nd":
            yield definition(name, sheet_of(found))
        elif callable(found):
            yield f"from {where} import {found.__name__} as {name}"


def _file(lines: Iterator[str]) -> str:
    return f"{HEAD}{IMPORTS}\n" + "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
