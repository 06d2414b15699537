"""How a process begins MPI, and what a launcher says that the job is."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Final

from minimx.core.knobs import knobs
from minimx.core.errors import MXNetError, Unavailable

#: What a launcher of MPI programs puts into the environment of a rank.
LAUNCHED: Final = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_FD")


class JobError(MXNetError):
    """The ranks cannot go on together: one has died, has left, or does otherwise."""


def load_mpi() -> Any:
    """mpi4py's MPI, begun; MPI is ended by `Job.close`."""
    check_installed()
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.finalize = False  # it would wait for ranks that have died
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as reason:
        raise Unavailable(
            f"mpi4py finds no MPI library ({reason}). Install one with: pip install "
            "'minimx[dist]'"
        ) from reason
    return MPI


def check_installed() -> None:
    """Raise `Unavailable` if mpi4py is missing."""
    if importlib.util.find_spec("mpi4py") is None:
        raise Unavailable(
            "stores between processes need mpi4py and an MPI library. Install them "
            "with: pip install 'minimx[dist]'"
        )


def check_launched(ranks: int) -> None:
    """Raise `JobError` if a launcher has set that this job is another one."""
    if knobs.DMLC_ROLE not in ("", "worker"):
        raise JobError(
            f"DMLC_ROLE is {knobs.DMLC_ROLE}, but a rank of minimx is a worker. "
            "Start the job with: minimx launch -n 4 train.py"
        )
    wanted = int(knobs.DMLC_NUM_WORKER)
    if knobs.is_set("DMLC_NUM_WORKER") and ranks != wanted:
        raise JobError(
            f"DMLC_NUM_WORKER is {wanted}, but the job has {ranks} ranks. Start it "
            f"with: minimx launch -n {wanted} train.py"
        )
