"""What to type to see a knob act: one table per group of declarations, in TOML.

    [MXNET_ENGINE_TYPE]
    acts_in = "minimx.core.engine._make"         # the fields of `Example`
    code = "…"                                   # or program = "…": one of [programs]
    fill = { device = "gpu" }                    # what stands for `$device` in it
    needs = "SIMULATED"                          # one of `Needs`
    expect = { "1" = "…", "2" = "…" }

Nothing here is loaded before a card is asked for: `of(name)` reads all tables the
first time. A test runs every example under each of its values, in one process after
the other examples, and compares what is printed.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Template
from typing import Any

from minimx.core.knobs.example import Example

__all__ = ["TABLES", "Example", "Needs", "function_of", "of"]

#: The files of this package, named like those of the declarations.
TABLES = (
    "engine",
    "memory",
    "bulking",
    "kernels",
    "planner",
    "convolution",
    "kvstore",
    "distributed",
    "onednn",
    "profiler",
    "library",
    "simulated",
    "ours",
    "policies",
)


class Needs(StrEnum):
    """What an example needs of the machine, as its card words it."""

    SIMULATED = "a simulated GPU (MINIMX_CUDA=off where there is a CUDA device)"
    CUDA = "a CUDA device, or NUMBA_ENABLE_CUDASIM=1 in the environment"
    ONEDNN = "oneDNN (pip install 'minimx[onednn]')"
    OURS = "minimx's own kernels (MXNET_ONEDNN_ENABLED=0 where oneDNN is installed)"
    OPENCV = "OpenCV (pip install opencv-python-headless)"
    LINUX = "Linux and two cores"
    MPI = "mpi4py and an MPI library (pip install 'minimx[dist]')"


def of(name: str) -> Example | None:
    """The example of a knob, by the name under which it is declared."""
    return _all().get(name)


def function_of(dotted: str) -> Any:
    """The function or method that `acts_in` names, without its decorators.

    Raises ModuleNotFoundError where there is no module of that name.
    """
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = inspect.getattr_static(found, part)
        found = getattr(found, "__func__", getattr(found, "fget", found))
        return inspect.unwrap(found)
    raise ModuleNotFoundError(dotted)


@cache
def _all() -> dict[str, Example]:
    return dict(pair for table in TABLES for pair in _examples(table))


def _examples(table: str) -> Iterator[tuple[str, Example]]:
    """(knob's name, example) of every entry of a file."""
    path = Path(__file__).with_name(f"{table}.toml")
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    programs = entries.pop("programs", {})
    each = entries.pop("each", ())
    for name, entry in entries.items():
        for fill in each if "$" in name else ({},):
            yield Template(name).substitute(fill), _example(entry, programs, fill)


def _example(
    entry: dict[str, Any], programs: dict[str, str], fill: dict[str, str]
) -> Example:
    fields = dict(entry)
    code = fields.pop("code", None) or programs[fields.pop("program")]
    code = Template(code).substitute(fill, **fields.pop("fill", {}))
    needs = fields.pop("needs", None)
    return Example(code=code, needs=Needs[needs].value if needs else "", **fields)
