"""Measures the machine that it runs on: `measure_machine()` makes a cluster of it.

Processes are started that compute on one thread each, as ranks do that share cores:
one process for the speed of memory and updates; where MPI is installed, a job of two
ranks and one of four for messages and sums.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.files import write_whole
from minimx.kvstore.simulation import ranks as program
from minimx.kvstore.simulation.cluster import Cluster, Link
from minimx.tools.mpi import mpiexec

#: Jobs of so many ranks are measured.
RANKS: Final = (2, 4)
#: Variables of processes that share cores: each computes on one thread.
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MXNET_CPU_WORKER_NTHREADS": "1",
}
#: Seconds after which a measuring process is given up.
LIMIT: Final = 60.0


def measure_machine(ranks: Sequence[int] = RANKS) -> Cluster:
    """Measure this machine; takes some seconds, in which nothing else should run.

    ranks: for how many ranks sums are measured, if MPI is installed; without, messages
    between ranks count as copies in memory. Raises `MXNetError` if a process fails.
    """
    alone = _run("alone", sys.executable)
    launcher = mpiexec()
    jobs = []
    if launcher and importlib.util.find_spec("mpi4py") is not None:
        jobs = [_run("together", launcher, "-n", str(n), sys.executable) for n in ranks]
    return _cluster(
        {
            **alone,
            "name": "this machine",
            "message": next((job["message"] for job in jobs if "message" in job), None)
            or (0.0, alone["memory"]),
            "sums": {str(job["ranks"]): job["sum"] for job in jobs},
        }
    )


def _run(what: str, *start: str) -> dict[str, Any]:
    """What a measuring process printed."""
    root = str(Path(program.__file__).parents[3])
    paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MXNET_", "DMLC_", "PMI", "OMPI_"))
    }
    done = subprocess.run(
        [*start, "-m", program.__name__, what],
        env={**inherited, **ONE_THREAD, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or "nothing was printed").splitlines()[-1]
        raise MXNetError(
            f"measuring this machine failed: {' '.join(start)} ended with "
            f"{done.returncode}: {last}"
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# -- as a file ------------------------------------------------------------------------


def save(cluster: Cluster, path: str | Path) -> None:
    """Keep a measured cluster as JSON, for `load`."""
    if not cluster.measured or cluster.update is None:
        raise ArgumentError(
            f"{cluster!r} is described, not measured; a preset or `Cluster(…)` makes "
            "it again. save() is for what measure_machine() found."
        )
    wire = cluster.wire
    facts = {
        "name": cluster.name,
        "cores": cluster.cores,
        "memory": cluster.memory,
        "host_memory": cluster.host_memory,
        "together": cluster.together,
        "update": list(cluster.update),
        "message": [2 * wire.latency, wire.bandwidth],
        "sums": {str(n): list(link) for n, link in cluster.collectives.items()},
    }
    write_whole(path, (json.dumps(facts, indent=1) + "\n").encode(), "measure.save")


def load(path: str | Path) -> Cluster:
    """The cluster that `save` kept; `ArgumentError` for a file that is not one."""
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{path} is no JSON ({error}); save() writes measured machines."
        ) from error
    try:
        return _cluster(facts)
    except ArgumentError as error:
        raise ArgumentError(f"{path} describes no measured machine: {error}") from error


def _cluster(facts: Any) -> Cluster:
    """A cluster from plain data, which is checked."""
    wanted = {"name", "cores", "memory", "host_memory", "together"}
    wanted |= {"update", "message", "sums"}
    if not isinstance(facts, Mapping) or facts.keys() != wanted:
        raise ArgumentError(f"it needs an object with {', '.join(sorted(wanted))}.")
    cores, sums = facts["cores"], facts["sums"]
    if not isinstance(cores, int) or isinstance(cores, bool) or cores < 1:
        raise ArgumentError(f"cores is {cores!r}; give a whole number from 1 on.")
    if not isinstance(sums, Mapping) or not all(
        isinstance(n, str) and n.isdecimal() and int(n) > 1 for n in sums
    ):
        raise ArgumentError(f"sums is {sums!r}; give links by numbers of ranks from 2.")
    latency, bandwidth = _link("message", facts["message"])
    wire = Link(latency / 2, bandwidth)  # a copy passes two wires
    return Cluster(
        name=str(facts["name"]),
        wire=wire,
        host=wire,
        memory=_speed("memory", facts["memory"]),
        host_memory=_speed("host_memory", facts["host_memory"]),
        together=_speed("together", facts["together"]),
        cores=cores,
        update=_link("update", facts["update"]),
        collectives={int(n): _link(f"sums[{n}]", link) for n, link in sums.items()},
        measured=True,
    )


def _link(name: str, value: Any) -> Link:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentError(f"{name} is {value!r}; give [seconds, bytes per second].")
    latency, bandwidth = value
    if latency != 0:
        _speed(f"the latency of {name}", latency)
    return Link(float(latency), _speed(f"the bandwidth of {name}", bandwidth))


def _speed(name: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < sys.float_info.max:
        raise ArgumentError(f"{name} is {value!r}; give a number above 0.")
    return float(value)
