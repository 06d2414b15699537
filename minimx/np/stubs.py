"""Type stubs of the functions of `mx.np` and `mx.npx` that are written at run time.

    python -m minimx.np.stubs

writes them; functions written in a module as such need none. A test compares the
files with what this module writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as onp

from minimx.nd import stubs
from minimx.nd.stubs import definition, from_signature, rows_of
from minimx.np.methods import METHODS
from minimx.np.operators import OPERATORS

HOME = Path(__file__).parents[1]
#: What NumPy computes has the signatures of this version.
NUMPY = ".".join(onp.__version__.split(".")[:2])
#: The modules that write functions from a table of signatures.
TABLES = ("np.creation", "np.random", "np.reductions", "npx.layers", "npx.random")
HEAD = "# Written by `python -m minimx.np.stubs` from the functions as they run.\n"
IMPORTS = """\
from collections.abc import Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.device import DeviceLike
from minimx.np.multiarray import ndarray
"""


def files() -> dict[str, str]:
    """The text of every stub file, by its path below `minimx`."""
    np, npx = import_module("minimx.np"), import_module("minimx.npx")
    ufuncs = import_module("minimx.np.ufuncs").FUNCTIONS
    official = import_module("minimx.np.calling.fallback").FUNCTIONS
    operators = import_module("minimx.npx.operators").NAMES
    return {
        "np/elementwise.pyi": _file(
            from_signature(name, ufuncs[name]) for name in sorted(ufuncs)
        ),
        "np/official.pyi": f"# NumPy {NUMPY}\n"
        + _file(from_signature(name, official[name]) for name in sorted(official)),
        "np/array_methods.pyi": _file(_methods(np.ndarray)),
        "npx/functions.pyi": _file(
            _operator(name, getattr(npx, name)) for name in sorted(operators)
        ),
        "npx/image.pyi": _file(
            _operator(name, getattr(npx.image, name)) for name in dir(npx.image)
        ),
        **{
            f"{name.replace('.', '/')}_rows.pyi": _file(rows_of(f"minimx.{name}"))
            for name in TABLES
        },
    }


def _file(lines: Iterable[str]) -> str:
    return HEAD + stubs.file_of(lines, IMPORTS).removeprefix(stubs.HEAD)


def _operator(name: str, function: Any, first: str = "") -> str:
    return definition(name, function.sheet, first).replace("NDArray", "ndarray")


def _methods(cls: type[Any]) -> Iterator[str]:
    """Methods that are functions of `mx.np`, and those read off the registry."""
    yield "# They take and give other types than those of mx.nd's arrays."
    yield '# mypy: disable-error-code="override"'
    yield "class Methods(NDArray):"
    methods: dict[str, Callable[..., Any]] = {
        name: getattr(cls, name) for name in (*METHODS, *_BY_HAND, *OPERATORS)
    }
    for name in sorted(methods):
        yield f"    {from_signature(name, methods[name])}"
    functions = import_module("minimx.nd.functions").FUNCTIONS
    for name in sorted(set(dir(cls)) - set(methods)):
        if getattr(getattr(cls, name), "from_registry", False):
            yield f"    {_operator(name, functions[name], 'self')}"


_BY_HAND = ("clip", "sort", "transpose", "__matmul__", "__rmatmul__")


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (HOME / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
