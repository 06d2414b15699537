"""Where MPI's launcher is."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def mpiexec() -> str:
    """MPI's launcher: the one beside this Python, where pip puts it, or another."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("mpiexec", path=beside) or shutil.which("mpiexec") or ""
