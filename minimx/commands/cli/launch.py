"""`minimx launch`: run a program in several processes that train together.

    minimx launch -n 4 train.py --epochs 3
    minimx launch -n 8 --hostfile hosts python -m my.training
    minimx launch -n 4 -s 2 train.py          (and two processes that only serve)

It starts MPI's `mpiexec`; each process is a rank of one job, and a store that
`mx.kv.create("dist_sync")` makes finds the others. The environment, so all knobs, goes
on to every rank. If a rank fails, it says which and how; the others have a few seconds
to report and to end, then they are ended. The exit code is that of the rank that failed
first.

On several machines, mpiexec reaches the others over ssh without a password; minimx and
the program lie at the same paths on all of them. What ranks write to standard error
passes through here, so a rank's death is known on this machine a moment later, and rank
0, which should be on this machine, sends it to all others. A machine that vanishes is
noticed a minute later, as processes on several machines say every few seconds that they
live (PS_HEARTBEAT_INTERVAL, PS_HEARTBEAT_TIMEOUT).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from minimx.commands import rank
from minimx.tools.mpi import mpiexec

#: Seconds for mpiexec to end all ranks after Ctrl-C, before it is killed.
PATIENCE: Final = 5.0
INTERRUPTED: Final = 128 + signal.SIGINT
FIX: Final = "Install it with: pip install 'minimx[dist]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what may be written after `minimx launch`."""
    parser.add_argument(
        "-n", type=int, required=True, metavar="N", help="how many worker processes"
    )
    parser.add_argument(
        "-s",
        type=int,
        default=0,
        metavar="S",
        help="how many processes that keep parameters; by default every worker does",
    )
    parser.add_argument(
        "--hostfile",
        metavar="F",
        help="machines, one a line, as HOST or HOST:PROCESSES",
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM …",
        help="train.py and its arguments, or another command",
    )


def run(options: argparse.Namespace) -> int:
    """Run the job; returns the exit code of the rank that failed first, else 0."""
    if problem := _problem(options):
        print(f"minimx launch: {problem}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="minimx-launch-") as folder:
        ranks = options.n + options.s
        words = command(ranks, options.hostfile, options.program, folder)
        notes = Path(folder) if options.hostfile else None
        code = _wait(words, environment(options.n, options.s, os.environ), notes)
        if code == INTERRUPTED:
            print("minimx launch: interrupted; all ranks have ended.", file=sys.stderr)
            return code
        failed = Path(folder) / "failed"
        return int(failed.read_text(encoding="utf-8")) if failed.exists() else code


def _problem(options: argparse.Namespace) -> str:
    if options.n < 1:
        return f"-n {options.n}: give the number of processes, from 1."
    if options.s < 0:
        return f"-s {options.s}: give the number of servers, from 0."
    if not options.program:
        return "which program? As in: minimx launch -n 2 train.py"
    if options.hostfile and not Path(options.hostfile).is_file():
        return f"there is no file {options.hostfile!r} of hosts."
    first = options.program[0]
    if first.endswith(".py") and not Path(first).is_file():
        return f"there is no program {first!r}."
    if importlib.util.find_spec("mpi4py") is None:
        return f"the package mpi4py is missing. {FIX}"
    if not mpiexec():
        return f"the program mpiexec is missing. {FIX}"
    return ""


def command(
    ranks: int, hostfile: str | None, program: Sequence[str], folder: str
) -> list[str]:
    """What is run: mpiexec, around each rank `rank.py`, and this Python."""
    words = list(program)
    if words[0].endswith(".py"):
        words.insert(0, sys.executable)
    elif words[0] in ("python", "python3"):
        words[0] = sys.executable
    hosts = ["-f", hostfile] if hostfile else []
    around = [sys.executable, "-I", "-S", str(Path(rank.__file__).resolve()), folder]
    return [mpiexec(), *hosts, "-n", str(ranks), *around, *words]


def environment(
    workers: int, servers: int, inherited: Mapping[str, str]
) -> dict[str, str]:
    """The environment of all ranks; `rank.py` adds what is a rank's own.

    MXNet's launcher sets the address of a scheduler as well. MPI needs none, so it is
    the address of this machine, unless it is set already.
    """
    address = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "9091"}
    counts = {"DMLC_NUM_WORKER": str(workers)}
    if servers:
        counts["DMLC_NUM_SERVER"] = str(servers)
    return {**address, **inherited, **counts}


def _wait(words: list[str], variables: dict[str, str], notes: Path | None) -> int:
    """Run mpiexec to its end; Ctrl-C ends all ranks.

    notes: where it is noted which ranks of other machines have died.
    """
    me = os.getpid()
    child = subprocess.Popen(
        words,
        env=variables,
        stderr=None if notes is None else subprocess.PIPE,
        start_new_session=True,  # Ctrl-C comes to us, once
        preexec_fn=lambda: rank.end_with(me),
    )
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        if notes is not None and child.stderr is not None:
            watch(child.stderr.fileno(), 2, notes)
        code = child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
    return rank.exit_code(code)


def watch(errors: int, to: int, notes: Path) -> None:
    """Pass standard error on, and note the ranks that it says have died.

    A rank on another machine has no other way to let those on this one know.
    """
    unfinished = b""
    while came := os.read(errors, 1 << 16):
        os.write(to, came)
        *lines, unfinished = (unfinished + came).split(b"\n")
        for line in lines:
            if found := rank.died(line.decode(errors="replace").rstrip()):
                number, host, code = found
                rank.note_failure(notes, code)
                (notes / f"died-{number}").write_text(host)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
