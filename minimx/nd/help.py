"""What `help(mx.nd.Convolution)` says: read off the data sheet, with an example.

The examples stand in `examples.txt`, one for each operator; a test runs them.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from minimx.core.ops.registry import ALIASES, REGISTRY, Op

EXAMPLES = Path(__file__).with_name("examples.txt")


@cache
def examples(file: Path = EXAMPLES) -> dict[str, str]:
    """The text of each example of a file, by the operator's or function's name."""
    blocks = file.read_text(encoding="utf-8").split("\n\n")
    pairs = (block.strip().partition("\n") for block in blocks)
    return {name: text for name, _, text in pairs if text.startswith(">>>")}


@cache
def _also_called() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        names.setdefault(name, []).append(alias)
    return names


def example_of(name: str) -> str:
    """The example of an operator, or of another name of it; "" if there is none."""
    known = examples()
    names = (name, name.removeprefix("_"), *_also_called().get(name, ()))
    return next((known[word] for word in names if word in known), "")


def with_example(doc: str, example: str) -> str:
    """A docstring with an example at its end; one that it has already goes."""
    body = inspect.cleandoc(doc).partition("\nExamples\n--------\n")[0].rstrip()
    return f"{body}\n\nExamples\n--------\n{example}\n" if example else f"{body}\n"


def inputs_of(sheet: type[Op]) -> tuple[str, ...]:
    """All inputs an operator may have, whatever its settings."""
    declared = getattr(sheet, "all_inputs", None) or sheet.inputs
    return () if isinstance(declared, property) else tuple(declared)


def type_of(field: dataclasses.Field[Any]) -> str:
    """The type of a setting in words."""
    words = str(field.type).replace(" | None", "").replace("Any", "any")
    return {"Shape": "tuple of ints", "DType": "dtype"}.get(words, words)


def settings_of(fields: Mapping[str, dataclasses.Field[Any]]) -> list[str]:
    """A line for each setting: its name, type and default."""
    lines = []
    for name, field in fields.items():
        default = ""
        if field.default is not dataclasses.MISSING:
            default = f", default {field.default!r}"
        lines.append(f"{name} : {type_of(field)}{default}")
    return lines


def text(sheet: type[Op], fields: Mapping[str, dataclasses.Field[Any]]) -> str:
    """The help text of the functions of an operator.

    fields: the settings that a caller may give.
    """
    parts = [inspect.cleandoc(sheet.__doc__ or sheet.name)]
    parts.append("Parameters\n----------\n" + "\n".join(_parameters(sheet, fields)))
    remarks = list(_remarks(sheet))
    if remarks:
        parts.append("Notes\n-----\n" + "\n".join(remarks))
    example = example_of(sheet.name)
    if example:
        parts.append(f"Examples\n--------\n{example}")
    return "\n\n".join(parts) + "\n"


def _parameters(
    sheet: type[Op], fields: Mapping[str, dataclasses.Field[Any]]
) -> Sequence[str]:
    if sheet.variadic:
        first = ["*data : any number of arrays"]
    else:
        names = ", ".join(inputs_of(sheet))
        first = [f"{names} : array{'s' if ',' in names else ''}"] if names else []
    return [*first, *settings_of(fields), "out : array to write to, optional"]


def _remarks(sheet: type[Op]) -> Sequence[str]:
    remarks = []
    if not sheet.differentiable:
        remarks.append("No gradient flows through this operator.")
    if isinstance(sheet.mutates, tuple) and sheet.mutates:
        remarks.append(f"It also writes to: {', '.join(sheet.mutates)}.")
    if sheet.needs_rng:
        remarks.append("It draws from the random stream of its device.")
    others = [name for name in _also_called().get(sheet.name, ()) if name[0] != "_"]
    if others:
        remarks.append(f"Also called {', '.join(others)}.")
    return remarks


def public_operators() -> dict[str, type[Op]]:
    """The operators that `mx.nd` and its namespaces offer by name, in order of name.

    Names that begin with an underscore are MXNet's for what Python operators, other
    front ends and modules such as `nd.contrib` reach; only those of a module count.
    """
    found = {
        name: sheet
        for name, sheet in REGISTRY.items()
        if "backward" not in name
        and (
            name.startswith(("_contrib_", "_linalg_", "_image_"))
            or any(word[0] != "_" for word in (name, *_also_called().get(name, ())))
        )
    }
    return dict(sorted(found.items(), key=lambda item: item[0].lower().strip("_")))
