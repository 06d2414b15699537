"""Results of a benchmark: cells, on which machine they were measured, and how.

They are kept as JSON. Cells of two machines, or measured in two ways, never come into
one file; results of two machines can be compared, and then every line of it says so.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from minimx.commands.bench.fit import Saturation, saturation
from minimx.commands.bench.machine import differences
from minimx.core.errors import DataError
from minimx.core.files import write_whole

FORMAT = "minimx bench 1"
MAX_BYTES = 1 << 24  # a file of results is a few kilobytes
STATUSES = ("ok", "oom", "rehearsed", "timeout", "left out", "failed")


@dataclass(frozen=True)
class Cell:
    """A network at a batch size.

    status: `ok`; `oom`, the device was too small; `rehearsed`, it fits and was not
        timed; `timeout`; `left out`, after a smaller batch took too long; `failed`.
    seconds: of every timed batch. peak_bytes: allocated from the device's pool at most.
    note: why there is no speed.
    """

    model: str
    batch: int
    status: str
    images_per_second: float | None = None
    seconds: Sequence[float] = ()
    peak_bytes: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Result:
    """machine: as `describe` says. settings: how it was measured, see `Plan`."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    cells: list[Cell] = field(default_factory=list)

    @property
    def models(self) -> list[str]:
        """The networks, in the order of their measurement."""
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def batches(self) -> list[int]:
        """All batch sizes."""
        return sorted({cell.batch for cell in self.cells})

    def cell(self, model: str, batch: int) -> Cell | None:
        """A cell, if it is there."""
        for cell in self.cells:
            if (cell.model, cell.batch) == (model, batch):
                return cell
        return None

    def speeds(self, model: str) -> dict[int, float]:
        """Images per second by batch size, where they were measured."""
        return {
            cell.batch: cell.images_per_second
            for cell in self.cells
            if cell.model == model and cell.images_per_second is not None
        }

    def law(self, model: str) -> Saturation | None:
        """The law that fits the speeds of a network, see `saturation`."""
        return saturation(self.speeds(model))


def strangers(a: Result, b: Result) -> list[str]:
    """Why two results must not be mixed: other machine, other settings."""
    return differences(a.machine, b.machine) + differences(a.settings, b.settings)


def merged(old: Result, new: Result) -> Result:
    """Both results as one; new cells replace old ones.

    Raises DataError if they are of two machines or were measured in two ways.
    """
    apart = strangers(old, new)
    if apart:
        raise DataError(
            "the new cells do not belong to the old ones, which were measured "
            f"elsewhere or in another way ({'; '.join(apart)}). Write them to a file "
            "of their own; `minimx bench compare` sets both side by side."
        )
    replaced = {(cell.model, cell.batch) for cell in new.cells}
    kept = [cell for cell in old.cells if (cell.model, cell.batch) not in replaced]
    return replace(new, cells=[*kept, *new.cells])


def save(path: str | os.PathLike[str], result: Result) -> None:
    """Write a result as JSON, whole or not at all."""
    content = {"format": FORMAT, **asdict(result)}
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode(), "bench")


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result. Raises DataError for a file that is none."""
    place = Path(path)
    try:
        if place.stat().st_size > MAX_BYTES:
            raise DataError(f"{place} is too large to be a result of `minimx bench`.")
        content = json.loads(place.read_text())
        if not isinstance(content, dict) or content.pop("format", "") != FORMAT:
            raise DataError(
                f"{place} is no result of `minimx bench`: its format is not {FORMAT!r}."
            )
        return Result(
            dict(content["machine"]),
            dict(content["settings"]),
            [_checked(cell) for cell in content["cells"]],
        )
    except OSError as reason:
        raise DataError(f"cannot read {place}: {reason.strerror}.") from reason
    except (KeyError, TypeError, ValueError, RecursionError) as reason:
        if isinstance(reason, DataError):
            raise
        raise DataError(f"{place} is a damaged result: {reason}.") from reason


def _checked(fields: dict[str, Any]) -> Cell:
    cell = Cell(**fields)
    speed = cell.images_per_second
    numbers = [cell.batch, *cell.seconds, *([] if speed is None else [speed])]
    numbers += [] if cell.peak_bytes is None else [cell.peak_bytes]
    if not all(
        isinstance(n, (int, float)) and math.isfinite(n) and n > 0 for n in numbers
    ):
        raise ValueError(f"the numbers of {cell.model} at batch {cell.batch!r}")
    if cell.status not in STATUSES or not isinstance(cell.batch, int):
        raise ValueError(f"the status {cell.status!r} at batch {cell.batch!r}")
    return cell
