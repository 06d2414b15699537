"""What is profiled, and where it goes: the settings of `set_config`, checked."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from minimx.core.errors import ProfilerError, did_you_mean
from minimx.core.knobs import knobs

# The bits of MXNET_PROFILER_MODE, as the 2.0 document numbers them.
SYMBOLIC: Final = 1
IMPERATIVE: Final = 2
API: Final = 4
MEMORY: Final = 8
EVERYTHING: Final = SYMBOLIC | IMPERATIVE | API | MEMORY


@dataclass(frozen=True)
class Settings:
    """The keywords of `set_config`, with MXNet's defaults.

    profile_all: everything below. profile_symbolic: pieces of graphs.
    profile_imperative: operators called one by one. profile_memory: what lives on each
    device. profile_api: calls of the interface. filename: the trace. continuous_dump:
    write every `dump_period` seconds what is new. aggregate_stats: nothing to switch
    on here, `dumps` always knows. gpu_memory_profile_filename_prefix: a dump writes
    what lives on GPUs to a table of this name and the number of the process.
    profile_dependencies (ours): arrows from each operation to those that waited for it.
    """

    profile_all: bool = False
    profile_symbolic: bool = True
    profile_imperative: bool = True
    profile_memory: bool = True
    profile_api: bool = True
    filename: str = "profile.json"
    continuous_dump: bool = True
    dump_period: float = 1.0
    aggregate_stats: bool = False
    gpu_memory_profile_filename_prefix: str = "gpu_memory_profile"
    profile_dependencies: bool = False

    @property
    def mode(self) -> int:
        """What is profiled, as a sum of bits."""
        if self.profile_all:
            return EVERYTHING
        return (
            SYMBOLIC * self.profile_symbolic
            + IMPERATIVE * self.profile_imperative
            + API * self.profile_api
            + MEMORY * self.profile_memory
        )

    @property
    def path(self) -> Path:
        """Where the trace goes."""
        return Path(self.filename)


#: Older spellings of settings, as programs still write them.
_ALIASES = {"file_name": "filename"}


def checked(**given: Any) -> Settings:
    """The settings that keywords ask for; what is not named has its default.

    Raises `ProfilerError` for an unknown name and a value that cannot be.
    """
    known = {each.name: each for each in fields(Settings)}
    found: dict[str, Any] = {}
    for name, value in given.items():
        name = _ALIASES.get(name, name)
        if name not in known:
            raise ProfilerError(
                f"profiler.set_config: {name!r} is not a setting."
                f"{did_you_mean(name, known)} There are {', '.join(known)}."
            )
        found[name] = _value(name, value, type(known[name].default))
    return Settings(**found)


def _value(name: str, value: Any, kind: type) -> Any:
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind is float and isinstance(value, int | float) and value > 0:
        return float(value)
    if kind is str and isinstance(value, str | Path) and str(value):
        return str(value)
    wanted = {bool: "True or False", float: "seconds above 0", str: "a file's name"}
    raise ProfilerError(f"profiler.set_config: {name}={value!r}; give {wanted[kind]}.")


def of_mode(mode: int) -> Settings:
    """The settings that MXNET_PROFILER_MODE asks for at the start of a program.

    In the 2.0 document it is a sum of bits; in the 1.x document 0 means pieces of
    graphs and 1 all operators. MINIMX_PROFILER_MODE_OF says which document holds.
    """
    if knobs.get("MINIMX_PROFILER_MODE_OF") == "1.x":
        mode = SYMBOLIC if mode == 0 else SYMBOLIC | IMPERATIVE
    return replace(
        Settings(),
        profile_symbolic=bool(mode & SYMBOLIC),
        profile_imperative=bool(mode & IMPERATIVE),
        profile_api=bool(mode & API),
        profile_memory=bool(mode & MEMORY),
    )
