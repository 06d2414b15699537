"""Do a task with one library: `python worker.py minimx|torch NAME TASK.npz`.

Prints what was learnt as JSON, progress on standard error. Runs in the interpreter of
either library, so it imports nothing but NumPy and that library's programs.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np


def learn(programs: Any, name: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """The loss of every step, and the score of the test after every epoch.

    A score is an accuracy for images, and a perplexity for text.
    """
    count = sum(key.startswith("weight_") for key in task)
    weights = [task[f"weight_{i}"] for i in range(count)]
    program = programs.PROGRAMS[name](weights, float(task["rates"][0]))
    x, y, order = task["x"], task["y"], task["order"]
    losses, scores, start = [], [], time.perf_counter()
    for epoch, rate in enumerate(task["rates"].tolist()):
        program.set_rate(rate)
        program.restart()
        for rows in order:
            losses.append(program.step(x[rows], y[rows]))
        scores.append(score(program, name, task["test_x"], task["test_y"]))
        took = time.perf_counter() - start
        say = f"{programs.__name__} {name} {epoch}: {scores[-1]:.4f} after {took:.0f} s"
        print(say, file=sys.stderr, flush=True)
    return {
        "version": programs.VERSION,
        "losses": losses,
        "scores": scores,
        "seconds": round(time.perf_counter() - start, 1),
    }


def score(program: Any, name: str, x: Any, y: Any) -> float:
    """The mean over the batches of the test; for text, to the power of e."""
    program.restart()
    mean = float(np.mean([program.judge(*batch) for batch in zip(x, y, strict=True)]))
    return math.exp(mean) if name == "lstm" else mean


def main() -> None:
    """Read the task, do it, print the answer."""
    library, name, path = sys.argv[1:]
    programs = importlib.import_module(f"in_{library}")
    with np.load(path) as stored:
        task = dict(stored)
    print(json.dumps(learn(programs, name, task)))


if __name__ == "__main__":
    main()
