"""The operator page of the book, written from the registry.

    python -m minimx.nd.page > book/operators.md

A test compares the page with what this room writes, so that it cannot grow old.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module

from minimx.nd.functions import INTERNAL
from minimx.ops import help
from minimx.ops.registry import ALIASES, REGISTRY, Op

HEAD = """\
<!-- Written by `python -m minimx.nd.page` from the data sheets in minimx/ops. -->

# Operators

Every operator that `mx.nd`, `mx.np`, `mx.sym` and Gluon know, by the room in
`minimx/ops` where its data sheet stands. One sheet serves them all: it says which
shapes and types come out, which kernel computes them, how gradients flow back and how
much work a call is.

`help(mx.nd.Convolution)`, or `mx.nd.Convolution?` in a notebook, shows the same. Names
with an underscore in front are MXNet's for operators that are reached in another
way: `_contrib_box_nms` is `mx.nd.contrib.box_nms`, `_plus_scalar` is `x + 2`,
`_npi_einsum` is `mx.np.einsum`. Operators named `_backward_…` compute gradients and are
left out here.
"""


def markdown() -> str:
    """The whole page."""
    rooms = _rooms()
    return "\n".join([HEAD, *_contents(rooms), *_sections(rooms)]).rstrip() + "\n"


def _rooms() -> dict[str, list[str]]:
    """The operators of each module, in the order in which they stand there."""
    rooms: dict[str, list[str]] = {}
    for name, sheet in REGISTRY.items():
        if not name.startswith("_backward"):
            rooms.setdefault(_room_of(sheet), []).append(name)
    return dict(sorted(rooms.items()))


def _room_of(sheet: type[Op]) -> str:
    """The module that declares a sheet; those made from formulas say where."""
    return str(getattr(sheet, "declared_in", sheet.__module__))


def _contents(rooms: dict[str, list[str]]) -> Iterator[str]:
    count = sum(len(names) for names in rooms.values())
    yield f"There are {count} operators, under {count + len(ALIASES)} names.\n"
    yield "| room | what it is | operators |"
    yield "| --- | --- | --- |"
    for room, names in rooms.items():
        title = room.removeprefix("minimx.ops.")
        yield f"| [{title}](#{_anchor(title)}) | {_title(room)} | {len(names)} |"
    yield ""


def _title(room: str) -> str:
    """The first sentence of the room's docstring."""
    doc = inspect.getdoc(import_module(room)) or ""
    return " ".join(doc.split("\n\n")[0].split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.replace(".", "").replace("_", "-")


def _sections(rooms: dict[str, list[str]]) -> Iterator[str]:
    for room, names in rooms.items():
        yield f"## {room.removeprefix('minimx.ops.')}\n"
        yield f"{_title(room)}\n"
        for name in names:
            yield from _entry(name)


def _entry(name: str) -> Iterator[str]:
    sheet = REGISTRY[name]
    others = [other for other, meant in ALIASES.items() if meant == name]
    called = f" (also {', '.join(f'`{other}`' for other in others)})" if others else ""
    yield f"### `{name}`\n"
    doc = inspect.cleandoc(sheet.__doc__ or "")
    first, _, rest = doc.partition("\n\n")
    yield f"{' '.join(first.split())}{called}\n"
    if rest:
        yield f"```text\n{rest}\n```\n"
    yield f"- {'; '.join(_facts(sheet))}"
    settings = ", ".join(f"`{line}`" for line in help.settings_of(_fields(sheet)))
    if settings:
        yield f"- settings: {settings}"
    yield ""
    example = help.example_of(name)
    if example:
        yield f"```python\n{example}\n```\n".replace("<BLANKLINE>\n", "")


def _fields(sheet: type[Op]) -> dict[str, dataclasses.Field[object]]:
    fields = dataclasses.fields(sheet)  # type: ignore[arg-type]
    return {field.name: field for field in fields if field.name not in INTERNAL}


def _facts(sheet: type[Op]) -> Iterator[str]:
    names = help.inputs_of(sheet)
    if sheet.variadic:
        yield "any number of inputs"
    elif names:
        yield f"inputs {', '.join(names)}"
    else:
        yield "no inputs"
    yield "has a gradient" if sheet.differentiable else "no gradient"
    saves = sheet.saves
    if sheet.differentiable and isinstance(saves, tuple):
        yield f"saves {', '.join(saves) or 'nothing'} for it"
    if sheet.inplace:
        yield "may be written over its input"
    if isinstance(sheet.mutates, tuple) and sheet.mutates:
        yield f"writes to {', '.join(sheet.mutates)}"
    if sheet.is_view:
        yield "shares the memory of its input"


if __name__ == "__main__":
    print(markdown(), end="")
