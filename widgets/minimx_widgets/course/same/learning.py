"""A task done step by step, by whatever library: what is learnt, and how well.

Runs in the interpreter of any of them, so it imports nothing but NumPy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

#: Called after each step with how many are done, of how many, and the latest words.
Tell = Callable[[int, int, str], object]


def learn(
    programs: Any,
    name: str,
    task: Mapping[str, Any],
    *,
    epochs: int | None = None,
    tell: Tell = lambda done, total, text: None,
) -> dict[str, Any]:
    """The loss of every step, and the score of the test after every epoch.

    A score is an accuracy for images, and a perplexity for text. programs: the module
    with a library's `PROGRAMS`. epochs: how many of the task's; all by default.
    """
    count = sum(key.startswith("weight_") for key in task)
    weights = [task[f"weight_{i}"] for i in range(count)]
    program = programs.PROGRAMS[name](weights, float(task["rates"][0]))
    x, y, order, rates = task["x"], task["y"], task["order"], task["rates"][:epochs]
    losses: list[float] = []
    scores: list[float] = []
    text, total, start = f"{name}, epoch 1", len(rates) * len(order), time.time()
    for rate in rates.tolist():
        program.set_rate(rate)
        program.restart()
        for rows in order:
            losses.append(program.step(x[rows], y[rows]))
            tell(len(losses), total, text)
        scores.append(score(program, name, task["test_x"], task["test_y"]))
        text = f"{name}, {len(scores)} epochs: {scores[-1]:.4f}"
    tell(total, total, text)
    return {
        "version": programs.VERSION,
        "losses": losses,
        "scores": scores,
        "seconds": round(time.time() - start, 1),
    }


def score(program: Any, name: str, x: Any, y: Any) -> float:
    """The mean over the batches of the test; for text, to the power of e."""
    program.restart()
    mean = float(np.mean([program.judge(*batch) for batch in zip(x, y, strict=True)]))
    return math.exp(mean) if name == "lstm" else mean
