"""`minimx port program.py`: what stops an old MXNet program, and what to write instead.

    program.py:12: np.int is gone since NumPy 1.24. Write int.
    program.py:30: mx.nd has no 'sofmax'. Did you mean softmax?

The program is read, never run. `reading.py` takes files and notebooks apart and finds
out what each name means; `rules.py` knows what has changed in Python and NumPy, and
asks minimx itself for its names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from minimx.commands.port.reading import Part, parts_of
from minimx.commands.port.rules import Finding, findings

__all__ = ["Finding", "findings", "run", "run_program"]


def run(paths: Sequence[str], out: TextIO) -> int:
    """Print what is found in programs, line by line; 1 if any of it stops one.

    paths: of `.py` files, notebooks, and folders of them. 2 if a file cannot be read.
    """
    files = [file for path in paths for file in _files(Path(path))]
    stops = hints = 0
    for file in files:
        try:
            parts: list[Part] = parts_of(file)
        except (OSError, ValueError) as reason:
            print(f"{file}: cannot be read: {reason}", file=out)
            return 2
        for part in parts:
            for found in findings(part):
                print(f"{part.where}:{found.line}: {found.text}", file=out)
                stops += found.stops
                hints += not found.stops
    print(
        f"{len(files)} files: {stops} places would stop them, {hints} hints.", file=out
    )
    return int(stops > 0)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(f for f in path.rglob("*") if f.suffix in (".py", ".ipynb"))


def run_program(words: Sequence[str]) -> int:
    """Run a program in which `import mxnet` means minimx.

    words: the program, then its own arguments. Returns the exit code 0; what the
    program raises goes through.
    """
    import runpy

    from minimx.libraries import as_mxnet

    as_mxnet()
    sys.argv[:] = words
    sys.path.insert(0, str(Path(words[0]).resolve().parent))
    runpy.run_path(words[0], run_name="__main__")
    return 0
