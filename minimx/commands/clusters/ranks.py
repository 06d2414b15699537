"""The processes of a cluster, from the side that starts them.

This process ─ mpiexec ─ MPI's proxy ─ for each rank: rank.py ─ worker.py

Each rank has three connections to this process: one for messages, and one each for what
it writes to its standard output and error. A thread reads them all into `events`.

No process is left behind: the system kills mpiexec when this process dies, however it
dies (Linux), mpiexec's proxy then kills the ranks, and a rank whose connection closes
ends by itself.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from queue import Queue
from typing import Any, Final

from minimx.commands import rank as around
from minimx.commands.cli import launch
from minimx.commands.clusters import worker
from minimx.core.errors import MXNetError

#: Seconds for all ranks to begin, and for them to end when they are to.
START: Final = 60.0
PATIENCE: Final = 3.0
#: How often a rank's clock is asked for; the quickest answer counts.
PINGS: Final = 7
#: What is kept of what mpiexec itself says.
LINES: Final = 40

#: (rank, kind, content): what a rank sent, wrote, or that a connection has closed.
Event = tuple[int, str, tuple[Any, ...]]


class Ranks:
    """Processes that run until `close`. Raises `MXNetError` if they do not begin.

    environments: of each rank, what it has besides the environment of this process.
    servers: how many of them, the last ones, only serve.

    pids: the ranks' process ids. clocks: by how many nanoseconds each rank's clock is
    ahead of this process's, measured at the start.
    """

    def __init__(
        self, environments: Sequence[Mapping[str, str]], servers: int = 0
    ) -> None:
        self.events: Queue[Event] = Queue()
        self.pids: dict[int, int] = {}
        self.clocks: dict[int, int] = {}
        self.said: deque[str] = deque(maxlen=LINES)
        self._size, self._servers = len(environments), servers
        self._owner = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="minimx-"))  # of this user alone
        self._key = secrets.token_bytes(32)
        self._address = str(self._folder / "socket")
        self._connections: dict[int, Connection] = {}
        self._open: dict[Connection, tuple[int, str]] = {}
        self._process: subprocess.Popen[str] | None = None
        self._begun = False
        self._closed = False
        self._note_settings(environments)
        self._reader = threading.Thread(target=self._read, name="ranks", daemon=True)
        self._launcher = threading.Thread(
            target=self._launch, name="mpiexec", daemon=True
        )
        try:
            self._begin()
        except BaseException:
            self.close(patience=0)
            raise

    def _note_settings(self, environments: Sequence[Mapping[str, str]]) -> None:
        settings = {
            "address": self._address,
            "key": self._key.hex(),
            "path": [str(Path(place).absolute()) for place in sys.path],
            "environment": [dict(one) for one in environments],
            "workers": self._size - self._servers,
        }
        path = self._folder / "job.json"
        path.write_text(json.dumps(settings), encoding="utf-8")

    # -- the beginning ----------------------------------------------------------------

    def _launch(self) -> None:
        """Run mpiexec to its end; it would not outlive this thread."""
        program = [sys.executable, worker.__file__, str(self._folder)]
        command = launch.command(self._size, None, program, str(self._folder))
        guard = [sys.executable, "-I", "-S", around.__file__, "--within"]
        here = str(Path(sys.executable).parent)
        workers = self._size - self._servers
        variables = launch.environment(workers, self._servers, os.environ)
        variables["PATH"] = os.pathsep.join([here, os.environ.get("PATH", "")])
        self._process = subprocess.Popen(
            [*guard, str(self._owner), *command],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C comes to us, once
            text=True,
            errors="replace",
        )
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self.said.extend(line.rstrip() for line in lines)
        self._process.wait()
        if not self._begun:  # `_begin` still waits for a connection
            with suppress(OSError, EOFError, AuthenticationError):
                Client(self._address, "AF_UNIX", self._key).send(("mpiexec", 0, 0))

    def _begin(self) -> None:
        limit = threading.Timer(START, self.kill)
        limit.daemon = True
        limit.start()
        with Listener(self._address, "AF_UNIX", 3 * self._size, self._key) as listener:
            self._launcher.start()
            while len(self._open) < 3 * self._size:
                connection = listener.accept()
                what, rank, pid = connection.recv()
                if what == "mpiexec":
                    raise MXNetError(
                        "the ranks did not begin; mpiexec says:\n"
                        + "\n".join(self.said)
                    )
                if what == "control":
                    self.pids[rank] = pid
                    self.clocks[rank] = ahead(connection)
                    self._connections[rank] = connection
                self._open[connection] = rank, what
            self._begun = True
        limit.cancel()
        self._reader.start()

    # -- messages ---------------------------------------------------------------------

    def send(self, ranks: Sequence[int], kind: str, *content: Any) -> None:
        """Send a message; a rank that has gone is reported by an event."""
        for rank in ranks:
            with suppress(OSError):
                self._connections[rank].send((kind, content))

    def _read(self) -> None:
        """Put what comes from the ranks into `events`, until all have gone."""
        unfinished: dict[Connection, bytes] = {}
        while self._open:
            for one in wait(list(self._open)):
                assert isinstance(one, Connection)
                rank, what = self._open[one]
                try:
                    if what == "control":
                        self.events.put((rank, *one.recv()))
                        continue
                    came = os.read(one.fileno(), 1 << 16)
                    if not came:
                        raise EOFError
                    text = unfinished.get(one, b"") + came
                    *lines, unfinished[one] = text.split(b"\n")
                    self._put_lines(rank, what, lines)
                except (EOFError, OSError):
                    if rest := unfinished.get(one):
                        self._put_lines(rank, what, [rest])
                    del self._open[one]
                    one.close()
                    self.events.put((rank, "closed", (what,)))

    def _put_lines(self, rank: int, what: str, lines: Sequence[bytes]) -> None:
        for line in lines:
            text, end, _ = line.partition(worker.END[:-1])
            if text or not end:
                shown = text.rstrip(b"\r").rpartition(b"\r")[2]  # a line written over
                self.events.put((rank, what, (shown.decode("utf-8", "replace"),)))
            if end:
                self.events.put((rank, "quiet", (what,)))

    def how_ended(self, rank: int) -> str:
        """How a rank's process ended, in words, as the process around it has noted."""
        note = self._folder / f"ended-{rank}"
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            if note.exists() and (code := note.read_text()):
                return around.how(int(code))
            time.sleep(0.01)
        return "has ended"

    # -- the end ----------------------------------------------------------------------

    def close(self, patience: float = PATIENCE) -> None:
        """End all processes, by force after `patience` seconds; twice does no harm."""
        if self._closed or os.getpid() != self._owner:
            return
        self._closed = True
        self.send(list(self._connections), "stop")
        if self._launcher.ident is not None:
            self._launcher.join(patience)
            self.kill()
            self._launcher.join(PATIENCE)
        if self._reader.ident is not None:
            self._reader.join(PATIENCE)
        for rank in {rank for rank, _ in self._open.values()} & set(self.pids):
            with suppress(ProcessLookupError):
                os.kill(self.pids[rank], signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """Kill mpiexec, and with it all ranks."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def ahead(connection: Connection) -> int:
    """By how many nanoseconds the clock at the other end is ahead of ours.

    The answer lies in the middle of the time that it took, to half of that; a
    difference within this error is none, as between processes of one machine.
    """
    best = (1 << 62, 0)
    for _ in range(PINGS):
        begin = time.perf_counter_ns()
        connection.send("clock")
        there = connection.recv()
        took = time.perf_counter_ns() - begin
        best = min(best, (took, there - begin - took // 2))
    connection.send("begin")
    took, offset = best
    return offset if abs(offset) > took / 2 else 0
