"""How a process begins MPI, and what a launcher says that the job is."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, Final

from minimx.core.errors import MXNetError, Unavailable
from minimx.core.knobs import knobs
from minimx.kvstore.dist.roles import Roles

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


def launched() -> bool:
    """Whether a launcher of MPI programs has started this process."""
    return any(name in os.environ for name in LAUNCHED)


def wanted_servers() -> int | None:
    """How many servers the workers are to run, if that was set."""
    return int(knobs.DMLC_NUM_SERVER) if knobs.is_set("DMLC_NUM_SERVER") else None


def check_launched(roles: Roles) -> None:
    """Raise `JobError` if a launcher has set that this job is another one."""
    workers, servers = len(roles.workers), len(roles.servers)
    if not workers:
        raise JobError(
            f"DMLC_ROLE is {knobs.DMLC_ROLE}, but the job has no worker. Start it "
            "with: minimx launch -n 4 -s 2 train.py"
        )
    wanted = int(knobs.DMLC_NUM_WORKER)
    if knobs.is_set("DMLC_NUM_WORKER") and workers != wanted:
        raise JobError(
            f"DMLC_NUM_WORKER is {wanted}, but the job has {workers} workers. Start it "
            f"with: minimx launch -n {wanted} train.py"
        )
    wanted = int(knobs.DMLC_NUM_SERVER)
    if roles.dedicated and knobs.is_set("DMLC_NUM_SERVER") and servers != wanted:
        raise JobError(
            f"DMLC_NUM_SERVER is {wanted}, but the job has {servers} servers. Start it "
            f"with: minimx launch -n {workers} -s {wanted} train.py"
        )
