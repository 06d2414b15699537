"""Which machine a number was measured on: without that, it says nothing.

Two results belong together only if all that decides speed is the same. What differs
between them is named; what changes by the minute (the load) is noted, not compared.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.knobs.declarations.engine import usable_cores
from minimx.version import __version__

#: Parts of a description that do not tell machines apart.
PASSING = ("load",)


def describe() -> dict[str, Any]:
    """Processor, cores, threads, memory and versions here, in plain values."""
    import numba

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "processor": processor(),
        "cores": usable_cores(),
        "threads": threads.count(),
        "memory_gib": round(_memory() / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas['version']}",
        "numba": numba.__version__,
        "minimx": __version__,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def processor() -> str:
    """The name of the processor, as its maker spells it."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> int:
    from minimx.core.device import cpu
    from minimx.core.drivers import driver_for

    return driver_for(cpu()).total_bytes


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """What tells two machines apart, in words; empty if they count as one.

    >>> differences({"cores": 2, "load": 0.1}, {"cores": 4, "load": 3.0})
    ['cores: 2 and 4']
    """
    return [
        f"{part}: {a.get(part)} and {b.get(part)}"
        for part in dict.fromkeys([*a, *b])
        if part not in PASSING and a.get(part) != b.get(part)
    ]


def machine_text(machine: dict[str, Any]) -> str:
    """One line."""
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} "
        f"threads, {machine['memory_gib']} GiB; Python {machine['python']}, NumPy "
        f"{machine['numpy']} with {machine['blas']}, numba {machine['numba']}, minimx "
        f"{machine['minimx']}; load {machine['load']}"
    )
