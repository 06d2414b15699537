"""`minimx lab`: JupyterLab on a learner's copy of the course.

The notebooks that minimx ships are never worked on. `minimx.commands.cli.copies` copies
them into a folder of the learner's, `my-notebooks` in a checkout and `minimx-course`
elsewhere, and signs the copies: a notebook that is trusted shows its stored pictures,
and after a reload of the page its lab comes back. Beside them it writes `start.ipynb`,
which is opened first: what to do next, the notebooks, what this machine offers.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from minimx.commands.cli import copies
from minimx.core.errors import DataError
from minimx.fast.compiled import why_not

START = "start.ipynb"
#: Writes it; the course is outside minimx.
PAGE = "minimx_widgets.course.starting.writing"
LANGUAGES = "minimx_widgets.course.translating.copies"
FIRST = "00-knob-board.ipynb"
COPIES = "minimx-course"  # where copies go when no folder is named
IN_CHECKOUT = "my-notebooks"  # and there; version control overlooks it


def run(
    folder: str | None,
    no_browser: bool,
    extra: Sequence[str],
    fresh: bool = False,
    language: str | None = None,
) -> int:
    """Open the laboratory and stay until it is closed; 1 if a part is missing.

    fresh: put the course's notebooks in place of those that were worked on, which
    are kept beside them. language: of the copies, as "de"; the folder keeps it.
    """
    for module, name in (("jupyterlab", "JupyterLab"), ("anywidget", "anywidget")):
        if importlib.util.find_spec(module) is None:
            return _missing(f"{name} is not installed. Try: pip install 'minimx[lab]'")
    source = notebooks_folder()
    if source is None:
        return _missing(
            f"the notebooks of the course, {FIRST} among them, are neither in a "
            "checkout nor in this environment. Run from a checkout of minimx."
        )
    root = Path(folder).expanduser().resolve() if folder else default_folder(source)
    if root == source.resolve():
        return _missing(f"{root} is the course itself. Name a folder for your copies.")
    try:
        with importlib.import_module(LANGUAGES).of(language, source, root) as course:
            done = copies.bring(course, root, fresh)
            page = importlib.import_module(PAGE).start_notebook(root, source)
            if kept := copies.place(root, START, page):
                done.kept.append(kept)
    except (OSError, DataError) as error:
        return _missing(
            f"{error}\nNothing of yours was changed. Name a folder that can be written "
            "to: minimx lab DIR"
        )
    except ValueError as error:  # of a language
        return _missing(f"{error}.")
    done.signed = copies.sign(root / name for name in done.shipped)
    copies.sign([root / START])
    if not why_not():  # there is a build, which hides the sources that the course shows
        os.environ.setdefault("MXNET_ENABLE_CYTHON", "0")
    print(f"{root}: {done}")
    flags = ["--no-browser", *extra] if no_browser else list(extra)
    return start(command(root, flags), environment(os.environ))


def notebooks_folder() -> Path | None:
    """The folder with the course: of a checkout if this is one, else the installed."""
    checkout = Path(__file__).resolve().parents[3] / "notebooks"
    installed = Path(sys.prefix) / "share" / "minimx" / "notebooks"
    return next((it for it in (checkout, installed) if (it / FIRST).exists()), None)


def default_folder(source: Path) -> Path:
    """Where copies go when no folder is named."""
    if is_checkout(source):
        return source.resolve().parent / IN_CHECKOUT
    return Path(COPIES).resolve()


def is_checkout(notebooks: Path) -> bool:
    """Whether a notebooks folder lies beside the sources."""
    return (notebooks.parent / "pyproject.toml").exists()


def command(root: Path, extra: Sequence[str]) -> list[str]:
    """The JupyterLab command for a folder; `extra` comes last, so that it wins."""
    as_root = hasattr(os, "getuid") and os.getuid() == 0
    return [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{START}",
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
