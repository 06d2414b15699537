"""The part of the book's page on a real GPU, as `tests.benchmarks.cuda` saved it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.cuda import Row
from tests.benchmarks.reporting.results import RESULTS
from tests.benchmarks.reporting.tables import markdown

TEXT = """## A GPU

CUDA kernels beside PyTorch and CuPy on the same card, in one run: float32, without
TF32. Each is the median of some calls, each waited for. A share is the other's time
divided by ours: above 1 ours is faster. *tiles* are our products of matrices in shared
memory. The operator `dot` calls cuBLAS where CuPy is installed. *implicit* and *direct*
are our two algorithms for convolutions. Their share is of cuDNN's choice. A copy moves
two bytes for each that it copies. Numbers of a card say nothing of another one.
"""


def newest(folder: Path = RESULTS) -> Path | None:
    """The file of the newest measurement."""
    return max(folder.glob("gpu-*.json"), default=None)


def section(path: Path | None) -> Iterator[str]:
    """The text and the table; nothing where there is no measurement."""
    if path is None:
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    yield TEXT.strip()
    yield f"{found['date']}, {found['card'].strip('<>')}."
    head = ["what", "time", "rate", "share", ""]
    rows = [Row(**row).words() for row in found["rows"]]
    yield markdown([head, ["---", "---:", "---:", "---", "---"], *rows])
