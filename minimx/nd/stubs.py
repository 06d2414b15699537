"""Type stubs of the functions and methods that are written from the registry.

    python -m minimx.nd.stubs

writes the `.pyi` files beside this one, so that editors and type checkers know
`mx.nd.Convolution` and `x.softmax()`. A test compares them with what this module
writes. `minimx.np.stubs` and `minimx.symbol.stubs` do the same for the other front
ends, with what is here.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from minimx.core.arrays.calls import INTERNAL, METHODS
from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.nd import help
from minimx.nd.binary import PAIRS
from minimx.nd.functions import FUNCTIONS

HERE = Path(__file__).parent
HEAD = "# Written by `python -m minimx.nd.stubs` from the data sheets.\n"
IMPORTS = """\
from collections.abc import Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.device import DeviceLike
"""
NAMESPACES = ("contrib", "image", "linalg")

#: Types as they are called in signatures.
_SIGNED = {
    "Axis": "int | tuple[int, ...] | None", "ShapeLike": "int | Sequence[int]",
    "Arrays": "Sequence[NDArray]",
}  # fmt: skip
#: Types of arguments that go without saying in a table of signatures.
_BY_NAME = dict.fromkeys(("ctx", "device"), "DeviceLike | None")
_KNOWN = {
    "int", "float", "bool", "str", "None", "Any", "tuple", "list", "dict", "ndarray",
    "NDArray", "Symbol", "Sequence", "DeviceLike",
}  # fmt: skip
_TYPES = {"Shape": "int | Sequence[int]", "Any": "Any", "DType": "Any"}


def files() -> dict[str, str]:
    """The text of every stub file, by its name."""
    return {
        "operators.pyi": file_of(_functions()),
        "methods.pyi": file_of(_methods()),
        "sparse/operators_stub.pyi": file_of(_sparse()),
        "random_rows.pyi": file_of(rows_of("minimx.nd.random")),
        **{
            f"{namespace}.pyi": file_of(namespace_of(f"minimx.nd.{namespace}"))
            for namespace in NAMESPACES
        },
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
        parameters.append("*others: NDArray" if first else "*data: NDArray")
    else:
        fixed = isinstance(getattr(sheet, "inputs", None), tuple)
        parameters += [_input(word, fixed) for word in inputs[1 if first else 0 :]]
    parameters += [_setting(field) for field in _fields(sheet)]
    if not sheet.variadic:
        parameters.append("*")
    if sheet.is_view:
        parameters.append("inplace: bool = False")
    parameters += ["out: Any = None", "name: str | None = None"]
    given = "Any" if sheet.visible != 1 else "NDArray"
    if isinstance(sheet.visible, property):
        given = "Any"
    return f"def {name}({', '.join(parameters)}) -> {given}: ..."


def _input(name: str, required: bool) -> str:
    return f"{name}: NDArray" if required else f"{name}: NDArray | None = None"


def from_signature(name: str, function: Callable[..., Any]) -> str:
    """The head of a function that has a signature, in types that a stub knows."""
    signature = inspect.signature(function)
    parameters: list[str] = []
    starred = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred |= parameter.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY)
        parameters.append(_parameter(parameter))
    given = known_type(signature.return_annotation)
    return f"def {name}({', '.join(parameters)}) -> {given}: ..."


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.name == "self":
        return "self"
    name = str(parameter).split(":")[0].split("=")[0]  # with its stars
    bare = parameter.annotation is parameter.empty
    known = _BY_NAME.get(name) if bare else None
    text = f"{name}: {known or known_type(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return text
    plain = isinstance(parameter.default, (int, float, str, bool, type(None)))
    default = repr(parameter.default) if plain else "..."
    return f"{text} = {'...' if default in ('inf', '-inf', 'nan') else default}"


def known_type(annotation: Any) -> str:
    """A type if a stub knows all of its words, else Any."""
    words = str(annotation)
    words = _SIGNED.get(words, words)
    plain = words.replace("...", "")
    for sign in "[]|,":
        plain = plain.replace(sign, " ")
    return words if set(plain.split()) <= _KNOWN else "Any"


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
    """The functions of `mx.nd`, without those that its module defines by hand."""
    own = set(vars(import_module("minimx.nd"))["BY_HAND"])
    for name in sorted(FUNCTIONS):
        if not name.startswith("_") and name not in own and name not in PAIRS:
            yield definition(name, sheet_of(FUNCTIONS[name]))
    for name in sorted(PAIRS):
        yield pair(name)


def pair(name: str) -> str:
    """The head of a function of two arrays, or of an array and a number."""
    return f"def {name}(lhs: NDArray | float, rhs: NDArray | float) -> NDArray: ..."


def _sparse() -> Iterator[str]:
    """The functions of `mx.nd.sparse` that are operators."""
    for name, operator in sorted(import_module("minimx.nd.sparse")._OPERATORS.items()):
        if not name.startswith("_"):
            yield definition(name, REGISTRY[ALIASES.get(operator, operator)])


def _methods() -> Iterator[str]:
    array = import_module("minimx.core.arrays.array").NDArray
    yield "class Methods:"
    for name in sorted(METHODS):
        method = vars(array).get(name)
        if method is not None and getattr(method, "from_registry", False):
            yield f"    {definition(name, sheet_of(FUNCTIONS[name]), 'self')}"


def namespace_of(name: str) -> Iterator[str]:
    """What a module offers that is read off the registry, and what it has itself."""
    module = import_module(name)
    for word in dir(module):
        found = getattr(module, word)
        where = getattr(found, "__module__", None)
        if hasattr(found, "sheet"):
            yield definition(word, found.sheet)
        elif where == name:
            yield from_signature(word, found)
        elif callable(found):
            yield f"from {where} import {found.__name__} as {word}"


def rows_of(
    name: str, of_sheet: Callable[[str, type[Op]], str] = definition
) -> Iterator[str]:
    """What a module writes from its table of signatures, and with it from sheets."""
    for word, found in sorted(import_module(name).ROWS.items()):
        if hasattr(found, "sheet"):
            yield of_sheet(word, found.sheet)
        else:
            yield from_signature(word, found)


def file_of(lines: Iterable[str], imports: str = IMPORTS) -> str:
    """The text of a stub file."""
    return f"{HEAD}{imports}\n" + "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
