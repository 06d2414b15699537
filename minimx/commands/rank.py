"""The process around one rank of `minimx launch`: starts it, and sees how it ends.

MPI's own launcher would kill all other ranks at once when one dies. This process stands
between them, so that the other ranks have `GRACE` seconds to report who died, and to
save what they have. Then it lets MPI's launcher end all. It runs on each machine as a
file of its own, and imports nothing but the standard library, to start fast.

    python rank.py FOLDER COMMAND…       FOLDER: where failures are noted
    python rank.py --within PID COMMAND…     no rank: killed when process PID dies
"""

from __future__ import annotations

import ctypes
import os
import re
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
#: The variable that names the folder of notes; on other machines there is none.
NOTES: Final = "_MINIMX_LAUNCH_NOTES"
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


def exit_code(code: int) -> int:
    """What a shell would call it.

    >>> exit_code(3), exit_code(-9)
    (3, 137)
    """
    return code if code >= 0 else 128 - code


def note_failure(folder: Path, code: int) -> None:
    """Note the exit code of the job: of the rank that failed first.

    One that was killed comes before those that ended because of it, which may be seen
    earlier; not one that was asked to end.
    """
    killed = code > 128 and code not in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    with suppress(OSError), open(folder / "failed", "w" if killed else "x") as note:
        note.write(str(code))


def died(line: str) -> tuple[int, str, int] | None:
    """Read in a line of output that a rank died: its number, host and exit code.

    >>> died("minimx launch: rank 1 (process 7 on far) was killed by SIGKILL.")
    (1, 'far', 137)
    >>> died("minimx launch: rank 0 (process 8 on far) ended with exit code 3.")
    (0, 'far', 3)
    """
    found = re.search(
        r"minimx launch: rank (\d+) \(process \d+ on (.+)\) "
        r"(?:was killed by (SIG\w+)|ended with exit code (\d+))\.$",
        line,
    )
    if found is None:
        return None
    rank, host, killed, ended = found.groups()
    return int(rank), host, exit_code(-signal.Signals[killed] if killed else int(ended))


def environment(rank: int, workers: int, folder: str) -> dict[str, str]:
    """What MXNet's launcher gives to a worker or a server, and where deaths are noted.

    Workers come first.
    """
    role, name, number = "worker", "DMLC_WORKER_ID", rank
    if rank >= workers:
        role, name, number = "server", "DMLC_SERVER_ID", rank - workers
    own = {"DMLC_ROLE": role, name: str(number), NOTES: folder}
    return {**os.environ, **own}


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


def _wait_for_others(folder: Path) -> None:
    """Give the other ranks `GRACE` seconds, or less if all of this machine ended."""
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
        env=environment(int(rank), workers, folder),
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
    # The folder may be on another machine; or another rank was first.
    with suppress(OSError):
        (Path(folder) / f"ended-{rank}").write_text(str(code))
    note_failure(Path(folder), exit_code(code))
    host = os.uname().nodename
    print(
        f"minimx launch: rank {rank} (process {child.pid} on {host}) {how(code)}.",
        file=sys.stderr,
        flush=True,
    )
    if os.getpgrp() == os.getsid(0):  # ours alone: processes that the rank started
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    _wait_for_others(Path(folder))
    os.kill(me, signal.SIGKILL)  # which makes MPI's launcher end all ranks
    return 1


if __name__ == "__main__":
    if sys.argv[1] == "--within":
        end_with(int(sys.argv[2]))
        os.execv(sys.argv[3], sys.argv[3:])
    sys.exit(main(sys.argv[1], sys.argv[2:]))
