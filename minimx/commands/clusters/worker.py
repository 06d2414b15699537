"""What each rank of a cluster runs: functions that come from the notebook, in turn.

    python worker.py FOLDER         (within `rank.py`, within mpiexec)

Its output goes into sockets of the notebook as it is written, so nothing of it is lost
if the rank is killed. The main thread runs functions; another one listens, so that the
rank can be interrupted, can say where it is, and ends when the notebook has gone.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, cast

#: Written after the last output of a run, as a line.
END: Final = b"\0\n"
STREAMS: Final = {"out": 1, "err": 2}


class Worker:
    """One rank's side of the connection to the notebook."""

    def __init__(self, settings: dict[str, Any], rank: int) -> None:
        self.rank = rank
        self._place = settings["address"], bytes.fromhex(settings["key"])
        self._runs: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._sending = threading.Lock()
        self._busy = False
        self._connection = self._connect("control")
        while self._connection.recv() == "clock":
            self._connection.send(time.perf_counter_ns())
        for name, descriptor in STREAMS.items():
            with self._connect(name) as stream:
                os.dup2(stream.fileno(), descriptor)
        # Nothing may wait in this process to be lost.
        for text in (sys.stdout, sys.stderr):
            cast(io.TextIOWrapper, text).reconfigure(
                encoding="utf-8", errors="replace", write_through=True
            )

    def _connect(self, what: str) -> Connection:
        address, key = self._place
        connection = Client(address, "AF_UNIX", key)
        connection.send((what, self.rank, os.getpid()))
        return connection

    def send(self, kind: str, *content: Any) -> None:
        """Send plain data to the notebook; without one, this process ends."""
        try:
            with self._sending:
                self._connection.send((kind, content))
        except OSError:
            os._exit(1)

    def listen(self) -> None:
        """Take what the notebook sends, until it has gone."""
        while True:
            try:
                kind, content = self._connection.recv()
            except (EOFError, OSError):
                os._exit(1)
            if kind == "run":
                self._runs.put(content)
            elif kind == "stop":
                self._runs.put(None)
            elif kind in ("begin", "end"):
                self._record_server(kind == "begin", *content)
            elif kind == "where":
                self.send("where", _position())
            elif kind == "interrupt" and self._busy:
                main = threading.main_thread().ident
                assert main is not None
                signal.pthread_kill(main, signal.SIGINT)

    def _record_server(self, begin: bool, wanted: bool = True) -> None:
        """Record what this server does while ranks run, if that is wanted."""
        from minimx.core.record import Record
        from minimx.tools.record_merge import contents

        if begin and wanted:
            self._record = Record().start()
        elif not begin:
            self.send("record", contents(self._record.stop()))

    def serve(self) -> None:
        """Run what comes, until the end."""
        from minimx.commands.clusters import progress

        progress.report = lambda done, total: self.send("progress", done, total)
        while (job := self._runs.get()) is not None:
            self._busy = True
            kind, content, record = perform(*job)
            self._busy = False
            if record is not None:
                self.send("record", record)
            self.send(kind, *content)
            _end_output()


def perform(
    payload: bytes, cells: dict[str, str], recorded: bool
) -> tuple[str, tuple[Any, ...], Any]:
    """Run a function: the kind of the message, its content, and the record.

    After a failure this rank has left the job, so that the others do not wait for it,
    and makes a new one with them in the next run.

    payload: (function, arguments, keywords), pickled. cells: the texts of notebook
    cells, by the names that tracebacks have for them.
    """
    import cloudpickle

    from minimx.commands.clusters.shipping import know
    from minimx.core import engine
    from minimx.core.record import Record
    from minimx.kvstore.dist.job import job
    from minimx.kvstore.dist.start import JobError
    from minimx.tools.record_merge import contents

    know(cells)
    record = Record()
    try:
        job()
        function, arguments, keywords = cloudpickle.loads(payload)
        if recorded:
            record.start()
        try:
            value = function(*arguments, **keywords)
            engine.wait_all()
        finally:
            record.stop()
        result = cloudpickle.dumps(value)
        job().agree("the end of the run")
        return "result", (result,), contents(record) if recorded else None
    except BaseException as failure:
        kind = f"{type(failure).__name__}: {failure}"
        where = "".join(traceback.format_exception(_inside(failure)))
        follows = isinstance(failure, JobError)
        leave(failure)
        with suppress(Exception):  # what failed with it is not for the next run
            engine.wait_all()
        content = (kind, where, follows)
        return "error", content, contents(record) if recorded else None


def leave(failure: BaseException) -> None:
    """Leave the job; the other ranks are sent the reason, and fail by it."""
    from minimx.kvstore.dist import job as jobs

    left, jobs._job = jobs._job, None
    if left is not None and left.size > 1:
        left.abandon(failure)
        atexit.unregister(left.close)


def _inside(failure: BaseException) -> BaseException:
    """The exception without the frames of this file."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return failure.with_traceback(trace)


def _position() -> str:
    """Where the main thread is, as a traceback."""
    main = threading.main_thread().ident
    assert main is not None
    frames = traceback.extract_stack(sys._current_frames()[main])
    return "".join(traceback.format_list([f for f in frames if f.filename != __file__]))


def _end_output() -> None:
    """Mark the end of a run in both streams, after what C libraries hold back."""
    import ctypes

    ctypes.CDLL(None).fflush(None)
    for text, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        text.flush()
        os.write(descriptor, END)


def main(folder: str) -> None:
    """Connect, make the job, and serve."""
    settings = json.loads(Path(folder, "job.json").read_text(encoding="utf-8"))
    if os.environ["DMLC_ROLE"] == "server":  # servers are numbered after the ranks
        rank = settings["workers"] + int(os.environ["DMLC_SERVER_ID"])
    else:
        rank = int(os.environ["DMLC_WORKER_ID"])
    sys.path[:] = settings["path"]
    os.environ.update(settings["environment"][rank])
    worker = Worker(settings, rank)
    threading.Thread(target=worker.listen, name="notebook", daemon=True).start()
    from minimx.kvstore.dist.job import job  # a server serves here, to its end

    try:
        size = job().size
    except BaseException as failure:
        worker.send("error", f"{type(failure).__name__}: {failure}", "", False)
        raise
    worker.send("ready", size)
    worker.serve()


if __name__ == "__main__":
    # As a module it can be imported by functions and by `engines.py`; there is one.
    sys.modules["minimx.commands.clusters.worker"] = sys.modules["__main__"]
    main(sys.argv[1])
