"""Rows for the loss that reads labels out of sequences: every path is walked."""

from __future__ import annotations

from itertools import groupby, product
from typing import Any

import numpy as np

from minimx.operators.layers.ctc import CTCLoss
from tests.core.ops.oracles import softmax
from tests.core.ops.sample import Sample, numbers

STEPS, BATCH, ALPHABET = 4, 3, 3
DATA = numbers(STEPS, BATCH, ALPHABET)
FIRST = np.array([[1, 2, 0], [1, 1, 0], [2, 0, 0]], np.int32)
LAST = np.array([[0, 1, 0], [0, 0, -1], [-1, -1, -1]], np.int32)


def read_as(path: Any, blank: int) -> tuple[int, ...]:
    return tuple(int(k) for k, _ in groupby(path) if k != blank)


def loss(data: Any, label: Any, times: Any, letters: Any, blank: int) -> Any:
    """-log of the summed probability of all paths that read as the label."""
    y, found = softmax(data), np.zeros(len(label))
    for n, row in enumerate(label):
        wanted, total = tuple(int(k) for k in row[: letters[n]]), 0.0
        for path in product(range(data.shape[2]), repeat=int(times[n])):
            if read_as(path, blank) == wanted:
                total += np.prod([y[t, n, k] for t, k in enumerate(path)])
        found[n] = -np.log(total) if total else 0
    return found


def _row(label: Any, blank: str, times: Any = None, letters: Any = None) -> Sample:
    settings = {
        "blank_label": blank,
        "use_data_lengths": times is not None,
        "use_label_lengths": letters is not None,
    }
    ends = 0 if blank == "first" else -1
    counts = letters
    if letters is None:
        counts = [([*row, ends]).index(ends) for row in label.tolist()]
    steps = [STEPS] * BATCH if times is None else times
    number = 0 if blank == "first" else ALPHABET - 1

    def oracle(data: Any, label: Any, *rest: Any) -> Any:
        return loss(data, label, steps, counts, number)

    lengths = [np.array(x, np.int32) for x in (times, letters) if x is not None]
    return Sample("CTCLoss", (DATA, label, *lengths), settings, oracle, tolerance=64)


def _gradient() -> Sample:
    dout = np.zeros(BATCH)
    settings = {"forward": CTCLoss.of()}
    nothing = lambda data, label, dout: 0 * data  # noqa: E731
    return Sample("_backward_ctc_loss", (DATA, FIRST, dout), settings, nothing)


ROWS = [
    _row(FIRST, "first"),
    _row(LAST, "last"),
    _row(FIRST, "first", times=[4, 3, 2]),
    _row(LAST, "last", letters=[2, 1, 0]),
    _row(FIRST, "first", times=[3, 2, 1], letters=[2, 2, 1]),
    _gradient(),
]
