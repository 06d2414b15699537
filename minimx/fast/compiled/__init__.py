"""The compiled call path: the way of one call to the engine, built by Cython.

    minimx compile --cython         builds it, into the kernel cache
    python program.py               uses it, as long as it fits the sources

What is built are the files of `MODULES`, the same that run without a build. Beside this
text lie files of types for some of them (`core.arrays.chunk.pxd`): by those Cython
turns their classes into C structures and their functions into C functions. One module
exists in the build only: `launchers.pyx` calls the machine code of small kernels by its
address, which Python has no words for.

A build belongs to one version of Python and to these very sources: both are part of the
name of its folder, so a build that is out of date is not found. A process decides once,
when minimx is imported; `MXNET_ENABLE_CYTHON` and `MXNET_ENFORCE_CYTHON` say how.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

from minimx.core.extensions import provide
from minimx.core.knobs import knobs

#: What is compiled, without `minimx.` before it.
MODULES = (
    "core.arrays.arithmetic",
    "core.arrays.chunk",
    "core.arrays.launch",
    "core.engine.base",
    "core.engine.naive",
    "core.engine.operation",
    "core.engine.threaded",
    "core.engine.var",
    "core.storage.pool",
)
#: The module that only a build has.
LAUNCHERS = "fast.compiled.launchers"
COMMAND = "minimx compile --cython"

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
#: The end of a compiled module's name: it tells the version of Python and the system.
SUFFIX = EXTENSION_SUFFIXES[0]

#: The folder whose modules this process uses; None where it runs plain Python.
used: Path | None = None


def sources() -> list[Path]:
    """The files that a build is made from, and those that say how."""
    python = [ROOT / "minimx" / f"{name.replace('.', '/')}.py" for name in MODULES]
    return [*python, *sorted(HERE.glob("*.p*"))]


def file_of(module: str) -> str:
    """Where a compiled module is inside of the folder of a build."""
    return module + SUFFIX


def builds() -> Path:
    """The folder of all builds."""
    return Path(knobs.get("MINIMX_CACHE")).expanduser() / "calls"


def fitting() -> Path:
    """The folder that the build for these sources and this Python has, or would have.

    It takes a millisecond: the sources are read.
    """
    import hashlib

    texts = [SUFFIX.encode(), *(path.read_bytes() for path in sources())]
    return builds() / hashlib.sha256(b"\0".join(texts)).hexdigest()[:20]


def why_not() -> str:
    """Why a process that starts now would find no build; "" if it would."""
    if not ROOT.is_dir():
        return "its sources are in an archive, as in a page of the book."
    if not builds().is_dir():
        return f"no build is in {builds().parent}. `{COMMAND}` makes one."
    if not fitting().is_dir():
        return (
            f"the builds in {builds()} are of other sources or for another Python. "
            f"`{COMMAND}` makes one that fits."
        )
    return ""


def chosen() -> Path | None:
    """The folder that a process uses that starts now; None for plain Python.

    Raises ImportError where `MXNET_ENFORCE_CYTHON` asks for a build and none fits.
    """
    if not knobs.get("MXNET_ENABLE_CYTHON"):
        return None
    why = why_not()
    if why and knobs.get("MXNET_ENFORCE_CYTHON"):
        raise ImportError(
            f"MXNET_ENFORCE_CYTHON=1 asks for the compiled call path, but {why} "
            "Or set MXNET_ENABLE_CYTHON=0 to run plain Python."
        )
    return None if why else fitting()


class Finder:
    """Finds the modules of a build before Python finds their sources."""

    def __init__(self, folder: Path) -> None:
        self.files = {
            f"minimx.{name}": folder / file_of(name) for name in (*MODULES, LAUNCHERS)
        }

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Where a module of the build is; None for all others."""
        file = self.files.get(name)
        return None if file is None else spec_from_file_location(name, file)


def begin() -> None:
    """Use the build from now on, if there is one; before its modules are imported."""
    global used
    used = chosen()
    if used is not None:
        sys.meta_path.insert(0, Finder(used))
        provide("launchers", f"minimx.{LAUNCHERS}")


def finding() -> tuple[str, str, str]:
    """What `minimx doctor` says: "ok" or "absent", what this process runs, advice."""
    if used is not None:
        return ("ok", f"compiled by Cython, in {used}", "")
    if not knobs.get("MXNET_ENABLE_CYTHON"):
        return ("ok", "plain Python, as MXNET_ENABLE_CYTHON=0 asks", "")
    why = why_not().partition(" `")[0] or "the build is younger than this process."
    advice = f"Faster calls: pip install 'minimx[cython]', then {COMMAND}"
    return ("absent", f"plain Python: {why}", advice)
