"""Build the compiled call path: Cython writes C, and the system's compiler a library.

    for done, total, name in build():       into the kernel cache
        ...                                 unless the build is there already

It compiles copies of the sources, each with its file of types beside it, two or more at
a time, and moves the folder to its place when all are done. No other file is written.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from minimx.core.errors import MXNetError
from minimx.fast import compiled

#: Hints for type checkers are no declarations of C types, and nothing is pickled.
DIRECTIVES = "annotation_typing=False,auto_pickle=False,nonecheck=True"
#: What C compilers are asked for, besides what Python was built with.
FLAGS = ("-O2", "-fPIC", "-fwrapv", "-DNDEBUG", "-w")

#: Calls of compiled code have no frames. The search for the user's line, which passes
#: over those of minimx's own functions, begins there at the nearest.
FRAMES = {"capture(3)": "capture(1)", "capture()": "capture(1)"}


def build() -> Iterator[tuple[int, int, str]]:
    """Make the build for these sources; yields (done, total, name) for each module.

    Raises MXNetError without Cython or a C compiler, or where one of them fails.
    """
    folder = compiled.fitting()
    names = (*compiled.MODULES, compiled.LAUNCHERS)
    if folder.is_dir():
        yield len(names), len(names), names[-1]
        return
    linker = _linker()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as place:
        work, made = Path(place) / "work", Path(place) / "made"
        made.mkdir()
        for name in names:
            _copy(name, work)
        with ThreadPoolExecutor(os.cpu_count()) as several:
            jobs = several.map(partial(_compile, linker, work, made), names)
            for done, name in enumerate(jobs, start=1):
                yield done, len(names), name
        if not folder.is_dir():  # else another process was quicker
            made.rename(folder)


def _linker() -> list[str]:
    """The command that turns C into a module of Python. MXNetError for none."""
    if importlib.util.find_spec("Cython") is None:
        raise MXNetError(
            "a compiled call path is built by Cython, which is not installed: "
            "pip install 'minimx[cython]'."
        )
    command = shlex.split(sysconfig.get_config_var("LDSHARED") or "")
    if not command or shutil.which(command[0]) is None:
        raise MXNetError(
            f"a compiled call path needs a C compiler, and {(command or ['one'])[0]} "
            "is not installed. On Debian and Ubuntu: apt-get install gcc."
        )
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").is_file():
        raise MXNetError(
            f"a compiled call path needs Python's C headers, which are not in "
            f"{headers}. On Debian and Ubuntu: apt-get install python3-dev."
        )
    import numpy as np

    return [*command, *FLAGS, f"-I{headers}", f"-I{np.get_include()}"]


def _copy(name: str, work: Path) -> None:
    """Put a module's source into a tree like ours, its types beside it."""
    relative = Path("minimx", *name.split("."))
    target = work / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    for package in [*relative.parents][:-1]:  # Cython reads off the module's full name
        (work / package / "__init__.py").touch()
    if name == compiled.LAUNCHERS:
        shutil.copy(compiled.HERE / "launchers.pyx", target.with_suffix(".pyx"))
        return
    text = (compiled.ROOT / relative).with_suffix(".py").read_text(encoding="utf-8")
    for plain, frameless in FRAMES.items():
        text = text.replace(plain, frameless)
    target.with_suffix(".py").write_text(text, encoding="utf-8")
    types = compiled.HERE / f"{name}.pxd"
    if types.is_file():
        shutil.copy(types, target.with_suffix(".pxd"))


def _compile(linker: list[str], work: Path, made: Path, name: str) -> str:
    """Compile one module; its name. MXNetError with what a compiler said."""
    source = Path("minimx", *name.split("."))
    kind = ".pyx" if name == compiled.LAUNCHERS else ".py"
    cython = [sys.executable, "-m", "cython", "-3", "-X", DIRECTIVES, "-I", "."]
    library = made / compiled.file_of(name)
    for command in (
        [*cython, str(source.with_suffix(kind))],
        [*linker, str(source.with_suffix(".c")), "-o", str(library)],
    ):
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if done.returncode:
            raise MXNetError(
                f"minimx.{name} could not be compiled: {shlex.join(command)} said\n"
                f"{done.stderr.strip()}\nWithout a build minimx runs plain Python."
            )
    return name
