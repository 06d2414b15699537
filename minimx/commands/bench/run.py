"""Fill a table: a child process for each network, which is stopped when it is slow.

On a simulated GPU every batch is rehearsed first: whether it fits is then known before
any memory of the host is touched, and what does not fit is shown as OOM, as MXNet's
document does.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from minimx.commands.bench.document import MODELS
from minimx.commands.bench.result import Cell
from minimx.core.device import cpu
from minimx.core.drivers import driver_for
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.storage.stats import human
from minimx.gluon.model_zoo.vision.network import MODELS as ZOO

#: Called with each cell as soon as it is known.
Tell = Callable[[Cell], None]


@dataclass(frozen=True)
class Plan:
    """What to measure, and how.

    task: `score` or `train`. ctx: `cpu` or `gpu`. card: which one the simulated GPU
        is, a choice of `MINIMX_SIM_GPU_PRESET`; gpu_memory: its memory in bytes. Empty
        and 0 leave them as they are. rehearse: see only what fits.
    image: pixels along a side, 0 for those that the network was published with.
    warm: batches before the timed ones. least, most: timed batches; between them,
        `seconds` decide. limit: seconds for a cell, start of the process included.
    """

    task: str
    models: tuple[str, ...]
    batches: tuple[int, ...]
    ctx: str = "cpu"
    dtype: str = "float32"
    card: str = ""
    gpu_memory: int = 0
    rehearse: bool = False
    classes: int = 1000
    image: int = 0
    warm: int = 2
    least: int = 3
    most: int = 10
    seconds: float = 5.0
    limit: float = 120.0

    def __post_init__(self) -> None:
        """Check what was asked for."""
        for model in self.models:
            if model not in ZOO:
                raise ArgumentError(
                    f"there is no model called {model!r}; `all` are "
                    f"{', '.join(MODELS)}, and the zoo has {', '.join(ZOO)}."
                    + did_you_mean(model, ZOO)
                )
        if not self.batches or min(self.batches) < 1:
            raise ArgumentError(
                f"batch sizes must be whole numbers from 1 on, not {self.batches}."
            )
        if self.ctx == "cpu" and (self.rehearse or self.gpu_memory or self.card):
            raise ArgumentError(
                "only a simulated GPU can be rehearsed, or made another card or of "
                "another size; add --ctx gpu."
            )

    @property
    def settings(self) -> dict[str, Any]:
        """How it is measured, which decides what may be compared."""
        mine = asdict(self)
        for part in ("models", "batches", "limit"):
            del mine[part]
        return mine


def run(plan: Plan, tell: Tell | None = None) -> list[Cell]:
    """Measure every cell of a plan; the smallest batches of each network first."""
    cells = []
    for model in plan.models:
        for cell in _column(plan, model):
            cells.append(cell)
            if tell is not None:
                tell(cell)
    return cells


def _column(plan: Plan, model: str) -> Iterator[Cell]:
    """The cells of one network."""
    waiting = sorted(set(plan.batches))
    fits: dict[int, Cell] = {}
    if plan.ctx == "gpu":
        for cell in _children(plan, model, waiting, rehearse=True):
            fits[cell.batch] = cell
        memory = _host_memory()
        for batch, cell in fits.items():
            if cell.status != "rehearsed" or (cell.peak_bytes or 0) > memory:
                waiting.remove(batch)
                if cell.status == "rehearsed" and not plan.rehearse:
                    note = f"not timed: the host has only {human(memory)} free"
                    fits[batch] = replace(cell, note=note)
    if not plan.rehearse:
        for cell in _children(plan, model, waiting, rehearse=False):
            fits[cell.batch] = cell
    yield from (fits[batch] for batch in sorted(fits))


def _host_memory() -> int:
    """Bytes that a simulated GPU can really have."""
    return driver_for(cpu()).free_bytes


def _children(
    plan: Plan, model: str, batches: Sequence[int], rehearse: bool
) -> Iterator[Cell]:
    """Cells from child processes: one, and another after each that ended early."""
    waiting = list(batches)
    while waiting:
        last = None
        for cell in _child(plan, model, list(waiting), rehearse):
            waiting.remove(cell.batch)
            last = cell
            yield cell
        if last is not None and last.status in ("timeout", "failed"):
            why = f"batch {last.batch} before it: {last.note}"
            for batch in waiting:
                yield Cell(model, batch, "left out", note=why)
            return


def _child(
    plan: Plan, model: str, batches: Sequence[int], rehearse: bool
) -> Iterator[Cell]:
    """Cells from one process, which ends after one that does not fit."""
    settings = {
        **plan.settings,
        "model": model,
        "batches": list(batches),
        "rehearse": rehearse,
    }
    environment = dict(os.environ)
    if plan.card:
        environment["MINIMX_SIM_GPU_PRESET"] = plan.card
    if plan.gpu_memory:
        environment["MINIMX_SIM_GPU_MEMORY"] = str(plan.gpu_memory)
    process = subprocess.Popen(
        [sys.executable, "-m", "minimx.commands.bench.cell", json.dumps(settings)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None and process.stderr is not None
    lines: queue.Queue[str] = queue.Queue()
    output: list[str] = []
    readers = [
        threading.Thread(target=_read, args=(process.stdout, lines.put)),
        threading.Thread(target=_read, args=(process.stderr, output.append)),
    ]
    for reader in readers:
        reader.start()
    try:
        for batch in batches:
            try:
                line = lines.get(timeout=plan.limit)
            except queue.Empty:
                note = f"it took longer than {plan.limit:g} s"
                yield Cell(model, batch, "timeout", note=note)
                return
            if not line:
                readers[1].join()
                note = _last_line(process.wait(), output)
                yield Cell(model, batch, "failed", note=note)
                return
            cell = Cell(**json.loads(line))
            yield cell
            if cell.status == "oom":
                return
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
        process.stdout.close()
        process.stderr.close()


def _read(pipe: Any, put: Callable[[str], object]) -> None:
    """Hand on every line, and an empty one at the end."""
    for line in pipe:
        put(line)
    put("")


def _last_line(code: int, output: list[str]) -> str:
    """Why a process ended."""
    if code < 0:
        return f"the process was ended by signal {-code}; was the host's memory full?"
    stripped = (word.strip() for word in reversed(output))
    return next((word for word in stripped if word), f"the process ended with {code}")
