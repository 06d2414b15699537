"""What all ranks of a job should have in common, compared before training begins."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.knobs import knobs
from minimx.core.rng import current_seed
from minimx.kvstore.dist.order import named
from minimx.version import __version__

#: These knobs say who a rank is, so they differ.
OWN = ("DMLC_", "PS_")
#: With these different the ranks cannot train together.
MUST_AGREE = ("minimx",)


def facts() -> dict[str, Any]:
    """What this rank is and has, as plain data."""
    changed = {name: str(now) for name, (_, now) in knobs.diff().items()}
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "compared": {
            "minimx": __version__,
            "NumPy": np.__version__,
            "Python": platform.python_version(),
            "seed": str(current_seed()),
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
