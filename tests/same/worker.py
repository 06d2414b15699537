"""Do a task with one library: `python worker.py minimx|torch NAME TASK.npz`.

Prints what was learnt as JSON, progress on standard error. Runs in the interpreter of
either library, so it finds its neighbours by their folders and imports no package.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np

SHARED = Path(__file__).parents[2] / "widgets" / "minimx_widgets" / "course" / "same"


def main() -> None:
    """Read the task, do it, print the answer."""
    library, name, path = sys.argv[1:]
    sys.path.append(str(SHARED))
    learning = importlib.import_module("learning")
    programs = importlib.import_module(f"in_{library}")
    said: list[str] = []

    def tell(done: int, total: int, words: str) -> None:
        if words not in said:
            said.append(words)
            print(f"{library}: {words} ({done}/{total})", file=sys.stderr, flush=True)

    with np.load(path) as stored:
        task = dict(stored)
    print(json.dumps(learning.learn(programs, name, task, tell=tell)))


if __name__ == "__main__":
    main()
