"""The operator page of the book, written from the registry.

    python -m minimx.nd.page > book/operators.md

A test compares the page with what this module writes, so that it cannot grow old.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from importlib import import_module

from minimx.core.arrays.calls import INTERNAL
from minimx.core.kernels import find
from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.nd import help

HEAD = """\
<!-- Written by `python -m minimx.nd.page` from the data sheets. -->

# Operators

Every operator that `mx.nd`, `mx.np`, `mx.sym` and Gluon know, by the file of its data
sheet. One sheet serves them all: it says which shapes and types come out, which kernel
computes them, how gradients flow back and how much work a call is. Each section names
the files: the sheet, the CPU kernels, and where it is said how CUDA kernels are
launched. A family has a folder of the same name in `minimx/operators`,
`minimx/operators/kernels`, `minimx/cuda/kernels` and `minimx/cuda/launches`.

`help(mx.nd.Convolution)`, or `mx.nd.Convolution?` in a notebook, shows the same. Names
with an underscore in front are MXNet's for operators that are reached in another
way: `_contrib_box_nms` is `mx.nd.contrib.box_nms`, `_plus_scalar` is `x + 2`,
`_npi_einsum` is `mx.np.einsum`. Operators named `_backward_…` compute gradients and are
left out here.
"""

#: Where operators are offered that have no example of their own, and under which names:
#: `_npi_einsum` is `mx.np.einsum`. The modules stand on higher floors.
_PLACES = {
    "minimx.np": "mx.np",
    "minimx.np.linalg": "mx.np.linalg",
    "minimx.np.random": "mx.np.random",
    "minimx.npx": "mx.npx",
    "minimx.npx.random": "mx.npx.random",
    "minimx.nd": "mx.nd",
    "minimx.nd.contrib": "mx.nd.contrib",
}
_PREFIXES = ("_npi_", "_np_", "_npx_", "_")
_SUFFIXES = ("_scalar", "_int_axes")
#: Those whose names say too little.
_SPELLINGS = {
    "_npi_powerd": ("minimx.np.random", "power"),
    "_random_bernoulli": ("minimx.npx.random", "bernoulli"),
}


def markdown() -> str:
    """The whole page, with the operators that only symbols have."""
    import_module("minimx.symbol")
    families = _families()
    return "\n".join([HEAD, *_contents(families), *_sections(families)]).rstrip() + "\n"


def _families() -> dict[str, list[str]]:
    """The operators of each module, in the order in which they stand there.

    Those that are functions of `mx.np`, kept as one node in graphs, are left out.
    """
    families: dict[str, list[str]] = {}
    for name, sheet in REGISTRY.items():
        where = sheet.__module__
        ours = where.startswith("minimx.") and not where.startswith("minimx.symbol.")
        if ours and not name.startswith("_backward"):
            families.setdefault(_family_of(sheet), []).append(name)
    return dict(sorted(families.items()))


def _family_of(sheet: type[Op]) -> str:
    """The module that declares a sheet; those made from formulas say where."""
    return str(getattr(sheet, "declared_in", sheet.__module__))


def _contents(families: dict[str, list[str]]) -> Iterator[str]:
    listed = {name for names in families.values() for name in names}
    others = [name for name in ALIASES.values() if name in listed]
    count = len(listed)
    yield f"There are {count} operators, under {count + len(others)} names.\n"
    yield "| room | what it is | operators |"
    yield "| --- | --- | --- |"
    for family, names in families.items():
        title = family.removeprefix("minimx.")
        yield f"| [{title}](#{_anchor(title)}) | {_title(family)} | {len(names)} |"
    yield ""


def _title(family: str) -> str:
    """The first sentence of the room's docstring."""
    doc = inspect.getdoc(import_module(family)) or ""
    return " ".join(doc.split("\n\n")[0].split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.replace(".", "")


def _sections(families: dict[str, list[str]]) -> Iterator[str]:
    for family, names in families.items():
        yield f"## {family.removeprefix('minimx.')}\n"
        yield f"{_title(family)}\n"
        yield (
            "; ".join(f"{what} {files}" for what, files in _files(family, names))
            + ".\n"
        )
        for name in names:
            yield from _entry(name)


def _files(family: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """The files of a section: sheets, CPU kernels, launches on CUDA."""
    from minimx.cuda.launches import makers  # which imports numba's CUDA part

    sheets = import_module(family)
    yield "Data sheets:", _links([sheets.__name__])
    found = re.findall(r'(?:find|_of|_by)\("(\w+\.\w+)"', inspect.getsource(sheets))
    if found:
        kernels = [getattr(find(name), "py_func", find(name)) for name in found]
        yield "CPU kernels:", _links(kernel.__module__ for kernel in kernels)
    launches = [makers()[name].__module__ for name in names if name in makers()]
    if launches:
        yield "launches on CUDA:", _links(launches)


def _links(modules: Iterable[str]) -> str:
    files = sorted({f"{module.replace('.', '/')}.py" for module in modules})
    return ", ".join(f"[{file.removeprefix('minimx/')}](../{file})" for file in files)


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
    if not example and (reached := reached_as(name)):
        place, public = reached
        yield f"Reached as `{_PLACES[place]}.{public}`.\n"
        doc = inspect.getdoc(getattr(import_module(place), public)) or ""
        example = doc.partition("Examples\n--------\n")[2]
    if example:
        yield f"```python\n{example}\n```\n".replace("<BLANKLINE>\n", "")


def reached_as(name: str) -> tuple[str, str] | None:
    """Which module offers an operator without being called like it, and how."""
    if name in _SPELLINGS:
        return _SPELLINGS[name]
    for word in (name, *(other for other, meant in ALIASES.items() if meant == name)):
        prefix = next((p for p in _PREFIXES if word.startswith(p)), "")
        short = word.removeprefix(prefix)
        for suffix in _SUFFIXES:
            short = short.removesuffix(suffix)
        for place in sorted(_PLACES, key=lambda p: ("npx" in p) != (prefix == "_npx_")):
            if prefix and short in dir(import_module(place)):
                return place, short
    return None


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
    if sheet.inplace or sheet.unchanged and not sheet.is_view:
        yield "may be written over its input"
    if isinstance(sheet.mutates, tuple) and sheet.mutates:
        yield f"writes to {', '.join(sheet.mutates)}"
    if sheet.is_view:
        yield "shares the memory of its input"


if __name__ == "__main__":
    print(markdown(), end="")
