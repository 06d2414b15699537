"""Jobs with servers, as users start them; the programs lie beside this file."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minimx.tools.mpi import mpiexec
from tests.kvstore.dist.test_launched import HERE, SOON, begun, ended

pytestmark = [pytest.mark.alone, pytest.mark.timeout(90)]

LOSSY = {"PS_DROP_MSG": "10", "PS_RESEND": "1", "PS_RESEND_TIMEOUT": "50"}


@pytest.mark.parametrize(
    ("store", "servers", "settings"),
    [("dist_async", 0, LOSSY), ("dist_sync", 2, {})],
)
def test_values_on_servers(
    store: str, servers: int, settings: dict[str, str], tmp_path: Path
) -> None:
    settings = {"MXNET_KVSTORE_BIGARRAY_BOUND": "1000", **settings}
    job = begun("servers.py", store, str(tmp_path), servers=servers, settings=settings)
    code, text = ended(job)
    assert code == 0, text
    for rank in range(2):
        assert f"rank {rank} of 2: servers are right" in text


def test_processes_of_all_roles_in_any_order_under_plain_mpiexec() -> None:
    program = [sys.executable, str(HERE / "slices.py"), "dist_sync"]
    words = [mpiexec()]
    for role, count in (("server", 1), ("worker", 2), ("scheduler", 1)):
        words += ["-n", str(count), "-env", "DMLC_ROLE", role, *program, ":"]
    code, text = ended(begun(command=words[:-1], settings={"DMLC_PS_VAN_TYPE": "p3"}))
    assert code == 0, text
    assert len(re.findall(r"rank [01] of 2: first after", text)) == 2


@pytest.mark.parametrize(
    ("what", "store", "servers", "code", "found"),
    [
        ("kill", "dist_async", 0, 137, ["rank 0 stops: rank 1 died"]),
        ("server", "dist_async", 1, 137, [r"rank \d stops: server 0 died"]),
        (
            "freeze",
            "dist_sync",
            1,
            1,
            [r"(rank|server) 0 stops: rank 1 gave no sign of life"],
        ),
        ("raise", "dist_sync", 1, 1, ["server 0 stops: rank 1 has failed .*torn"]),
        (
            *("barrier", "p3", 0, 1),
            [
                rf"rank {rank} stops: the ranks do not do the same: rank 0: barrier; "
                "rank 1: push of 'w'. Each waits for the other"
                for rank in (0, 1)
            ],
        ),
    ],
)
def test_a_fault_with_servers_is_named_and_ends_all(
    what: str, store: str, servers: int, code: int, found: list[str]
) -> None:
    beats = {"PS_HEARTBEAT_INTERVAL": "1", "PS_HEARTBEAT_TIMEOUT": "3"}
    settings = beats if what == "freeze" else {}
    begin = time.monotonic()
    got, text = ended(
        begun("faults.py", what, store, servers=servers, settings=settings)
    )
    assert got == code, text
    for pattern in found:
        assert re.search(pattern, text), text
    assert time.monotonic() - begin < SOON + 10


def test_servers_end_when_the_workers_have_made_no_store() -> None:
    code, text = ended(begun("faults.py", "nothing", "dist_sync", servers=1))
    assert (code, text) == (0, "")


def test_addresses_of_two_jobs_are_refused() -> None:
    program = [sys.executable, str(HERE / "slices.py"), "p3"]
    words = [mpiexec()]
    for port in ("9091", "9092"):
        words += ["-n", "1", "-env", "DMLC_PS_ROOT_PORT", port, *program, ":"]
    job: subprocess.Popen[str] = begun(command=words[:-1])
    code, text = ended(job)
    assert code != 0
    assert "scheduler is ':9091' on rank 0; ':9092' on rank 1" in text
