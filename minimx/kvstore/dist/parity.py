"""What all ranks of a job should have in common, compared before training begins."""

from __future__ import annotations

import os
import platform
import socket
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.knobs import knobs
from minimx.core.rng import current_seed
from minimx.kvstore.dist.order import named
from minimx.kvstore.dist.start import JobError
from minimx.version import __version__

#: These knobs say who a rank is, so they differ.
OWN = ("DMLC_", "PS_")
#: With these different the ranks cannot train together; MXNet's launcher gives all
#: processes of a job the address of one scheduler.
MUST_AGREE = ("minimx", "scheduler")


def facts() -> dict[str, Any]:
    """What this rank is and has, as plain data."""
    changed = {name: str(now) for name, (_, now) in knobs.diff().items()}
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "role": str(knobs.DMLC_ROLE),
        "compared": {
            "minimx": __version__,
            "NumPy": np.__version__,
            "Python": platform.python_version(),
            "seed": str(current_seed()),
            "scheduler": f"{knobs.DMLC_PS_ROOT_URI}:{knobs.DMLC_PS_ROOT_PORT}",
            **{
                name: value
                for name, value in changed.items()
                if not name.startswith(OWN)
            },
        },
    }


def differences(ranks: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What is not the same on all ranks: its name, and a sentence with the values.

    ranks: of each rank, name -> value; a knob that is not there has its default.

    >>> differences([{"seed": "1"}, {"seed": "2"}, {"seed": "1"}])
    {'seed': "seed is '1' on ranks 0, 2; '2' on rank 1"}
    """
    found = {}
    for name in sorted({name for one in ranks for name in one}):
        values: dict[str, list[int]] = {}
        for rank, one in enumerate(ranks):
            values.setdefault(one.get(name, "default"), []).append(rank)
        if len(values) > 1:
            parts = (f"{value!r} on {named(who)}" for value, who in values.items())
            found[name] = f"{name} is {'; '.join(parts)}"
    return found


def compare(workers: Sequence[dict[str, str]], report: bool) -> None:
    """Raise `JobError` where workers cannot train together.

    workers: of each, what `facts` compares. report: whether to warn of what differs
    without being an error.
    """
    found = differences(workers)
    if any(name in found for name in MUST_AGREE):
        lines = "; ".join(found[name] for name in MUST_AGREE if name in found)
        raise JobError(f"the ranks cannot train together: {lines}.")
    if found and report:
        warnings.warn(
            "the ranks of this job differ, so they may not compute the same: "
            f"{'; '.join(found.values())}.",
            stacklevel=3,
        )
