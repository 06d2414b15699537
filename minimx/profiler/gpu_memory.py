"""What lives on GPUs, and for whom: the table that MXNet writes beside a trace.

    "Attribute Name","Requested Size","Device","Actual Size","Reuse?"
    "model:forward:dot","1024","0","4096","0"

One row for each block that is in use when the profile is dumped, by name; a name is
the scope (layers and `profiler.scope`) and the operator that asked. Sizes are bytes,
reuse says that an idle block of the pool was used again. MXNet leaves out what was
allocated before the profiler ran; here it is listed.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Final

from minimx.core.record.record import Batch

COLUMNS: Final = (
    "Attribute Name", "Requested Size", "Device", "Actual Size", "Reuse?",
)  # fmt: skip
UNKNOWN: Final = "<unk>:"  # the scope of what was asked for outside of all
#: What MXNet puts before the names of a network's parameters and of their gradients.
PREFIXES: Final = {"parameter": "in_arg:", "gradient": "arg_grad:"}

_gpu: Final = re.compile(r"gpu\((\d+)\)").fullmatch


class GpuMemory:
    """What is in use on all GPUs, followed row by row."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.seen = False  # whether anything was allocated on a GPU
        self._rows: dict[tuple[int, int], tuple[str, int, int, int, int]] = {}

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch."""
        self.texts.extend(batch.strings)
        texts, mem = self.texts, batch["mem"]
        columns = (
            "event", "device", "block", "requested", "rounded", "name", "layer",
            "category",
        )  # fmt: skip
        for row in zip(*(mem[name].tolist() for name in columns), strict=True):
            event, device, block, requested, rounded, name, layer, category = row
            gpu = _gpu(texts[device])
            if gpu is None:
                continue
            number, word = int(gpu[1]), texts[event]
            if word in ("live", "alloc", "hit"):
                where, prefix = UNKNOWN, ""
                if texts[layer]:
                    where = texts[layer].replace("/", ":") + ":"
                    prefix = PREFIXES.get(texts[category], "")
                title = f"{where}{prefix}{texts[name] or 'unknown'}"
                reused = int(word == "hit")
                self._rows[number, block] = title, requested, number, rounded, reused
                self.seen = True
            elif word == "free":
                self._rows.pop((number, block), None)

    def text(self) -> str:
        """The table, as a file holds it."""
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(self._rows.values()))
        return out.getvalue()
