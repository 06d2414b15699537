"""`minimx lab`: JupyterLab, opened on the first notebook of the course.

In a checkout the notebooks are worked on where they are. Elsewhere, or when a folder is
named, they are copied there first; a notebook that exists already is never touched, so
that nobody's work is lost.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

FIRST = "00-knob-board.ipynb"
COPIES = "minimx-course"  # where copies go when no folder is named


def run(folder: str | None, no_browser: bool, extra: Sequence[str]) -> int:
    """Open the laboratory and stay until it is closed; 1 if a part is missing."""
    if importlib.util.find_spec("jupyterlab") is None:
        return _missing("JupyterLab is not installed. Try: pip install 'minimx[lab]'")
    source = notebooks_folder()
    if source is None:
        return _missing(
            f"the notebooks of the course, {FIRST} among them, are neither in a "
            "checkout nor in this environment. Run from a checkout of minimx."
        )
    root = source
    if folder is not None or not is_checkout(source):
        root = Path(folder or COPIES).expanduser().resolve()
        copied = copy_missing(source, root)
        print(f"{root}: {copied} files copied; what was there already is untouched.")
    flags = ["--no-browser", *extra] if no_browser else list(extra)
    return start(command(root, flags), environment(os.environ))


def notebooks_folder() -> Path | None:
    """The folder with the course: of a checkout if this is one, else the installed."""
    checkout = Path(__file__).resolve().parents[2] / "notebooks"
    installed = Path(sys.prefix) / "share" / "minimx" / "notebooks"
    return next((it for it in (checkout, installed) if (it / FIRST).exists()), None)


def is_checkout(notebooks: Path) -> bool:
    """Whether a notebooks folder lies beside the sources."""
    return (notebooks.parent / "pyproject.toml").exists()


def copy_missing(source: Path, target: Path) -> int:
    """Copy the files that `target` does not have; returns how many that were."""
    copied = 0
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        hidden = any(part.startswith((".", "__")) for part in relative.parts)
        if path.is_file() and not hidden and not (target / relative).exists():
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / relative)
            copied += 1
    return copied


def command(root: Path, extra: Sequence[str]) -> list[str]:
    """The JupyterLab command for a folder; `extra` comes last, so that it wins."""
    as_root = hasattr(os, "getuid") and os.getuid() == 0
    return [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{FIRST}",
        *(["--allow-root"] if as_root else []),
        *extra,
    ]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with the programs beside this Python (mpiexec, …) first."""
    programs = str(Path(sys.executable).parent)
    path = environ.get("PATH", "")
    others = [part for part in path.split(os.pathsep) if part and part != programs]
    return {**environ, "PATH": os.pathsep.join([programs, *others])}


def start(command: list[str], environ: dict[str, str]) -> int:
    """Become JupyterLab, so that signals and the terminal are its own."""
    if sys.platform != "win32":
        os.execve(command[0], command, environ)
    return subprocess.call(command, env=environ)


def _missing(what: str) -> int:
    print(f"minimx lab: {what}", file=sys.stderr)
    return 1
