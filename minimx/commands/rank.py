"""The process around one rank of `minimx launch`: starts it, and sees how it ends.

MPI's own launcher would kill all other ranks at once when one dies. This process stands
between them, so that the other ranks have `GRACE` seconds to report who died, and to
save what they have. Then it lets MPI's launcher end all. It runs on each machine as a
file of its own, and imports nothing but the standard library, to start fast.

    python rank.py FOLDER COMMAND…       FOLDER: where the first failure is noted
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

GRACE: Final = 3.0
_PR_SET_PDEATHSIG: Final = 1
_RANKS: Final = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def end_with(parent: int) -> None:
    """Let this process be killed when its parent dies, where the system can (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def how(code: int) -> str:
    """How a process ended, in words.

    >>> how(3), how(-9)
    ('ended with exit code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"


def environment(rank: int, workers: int) -> dict[str, str]:
    """What MXNet's launcher gives to a worker or a server; workers come first."""
    role, name = "worker", "DMLC_WORKER_ID"
    if rank >= workers:
        role, name, rank = "server", "DMLC_SERVER_ID", rank - workers
    return {**os.environ, "DMLC_ROLE": role, name: str(rank)}


def _end(child: subprocess.Popen[bytes], folder: Path, rank: int, workers: int) -> int:
    """The exit code of a rank; 0 of a server that is ended because it was not needed.

    A server begins MPI together with the workers. If these have all come to their end
    and it waits still, they have made no store.
    """
    if rank < workers:
        code = child.wait()
        if code == 0:
            with suppress(OSError):
                (folder / f"done-{rank}").touch()
        return code
    while len(list(folder.glob("done-*"))) < workers:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(0.2)
    try:
        return child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return 0


def _wait_for_others(folder: Path, rank: str) -> None:
    """Give the other ranks `GRACE` seconds, or less if all of this machine ended."""
    with suppress(OSError):
        (folder / f"ended-{rank}").touch()
    here = int(os.environ.get("MPI_LOCALNRANKS", sys.maxsize))
    until = time.monotonic() + GRACE
    while time.monotonic() < until and len(list(folder.glob("ended-*"))) < here:
        time.sleep(0.05)


def main(folder: str, command: list[str]) -> int:
    """Run a rank; returns its exit code, or does not return if it failed."""
    rank = next((os.environ[name] for name in _RANKS if name in os.environ), "0")
    workers = int(os.environ.get("DMLC_NUM_WORKER", sys.maxsize))
    me = os.getpid()
    child = subprocess.Popen(
        command,
        env=environment(int(rank), workers),
        close_fds=False,  # one of them is the way to MPI's launcher
        preexec_fn=lambda: end_with(me),
    )

    def pass_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    code = _end(child, Path(folder), int(rank), workers)
    if code == 0:
        return 0
    # Another rank was first, or the folder is on another machine.
    with suppress(OSError), open(Path(folder) / "failed", "x") as note:
        note.write(str(code if code > 0 else 128 - code))
    print(
        f"minimx launch: rank {rank} (process {child.pid}) {how(code)}.",
        file=sys.stderr,
        flush=True,
    )
    if os.getpgrp() == os.getsid(0):  # ours alone: processes that the rank started
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    _wait_for_others(Path(folder), rank)
    os.kill(me, signal.SIGKILL)  # which makes MPI's launcher end all ranks
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
