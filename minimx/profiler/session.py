"""The one profiler of this process: a record that comes and goes, and its file.

    stop ──run──▶ run ◀──pause, resume──▶ paused        dump(finished=True) ends it all

What is recorded is taken in now and then (`absorb`): by a thread while
`continuous_dump` is on, and by requests for a table or a file.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Final

from minimx.core import engine
from minimx.core.errors import DataError, ProfilerError
from minimx.core.files import write_whole
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.record.record import Cursor
from minimx.core.record.several import leave
from minimx.profiler import settings as rules
from minimx.profiler.aggregate import Aggregate
from minimx.profiler.gpu_memory import GpuMemory
from minimx.profiler.settings import Settings
from minimx.profiler.trace import SOURCE, Trace
from minimx.profiler.writer import Writer

#: So many rows of each kind wait at most; older ones are lost, and counted.
CAPACITY: Final = 1_000_000


class ProfilerWarning(UserWarning):
    """The profiler was asked for something that leaves it as it was."""


class Profile:
    """What is recorded from the first `run` to the last `dump`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.record = Record(CAPACITY, calls=True)
        self.record.start()
        self.trace = Trace(settings, self.record.conditions.t_start)
        self.sums = Aggregate(settings)
        self.gpus = GpuMemory()
        self.lost = 0
        self._cursor: Cursor | None = None
        self._unwritten: list[str] = []
        self._writer: Writer | None = None
        self._busy = threading.RLock()
        self._facts: dict[str, Any] = {
            "source": SOURCE,
            "clock": self.record.conditions.clock,
            "began_unix_us": time.time_ns() // 1000,
            "process": os.getpid(),
        }

    def absorb(self) -> None:
        """Take in what is new."""
        with self._busy:
            batch = self.record.since(self._cursor)
            self._unwritten.extend(self.trace.events(batch))
            self.sums.add(batch)
            self.gpus.add(batch)
            self._cursor = batch.cursor
            if batch.lost:
                self._tell_of_losses(sum(batch.lost.values()))

    def write(self) -> None:
        """Take in what is new, and add it to the file."""
        with self._busy:
            self.absorb()
            if self._writer is None:
                self._writer = Writer(self.settings.path, self._facts)
            self._writer.append(self._unwritten)
            self._unwritten.clear()

    def write_gpu_memory(self) -> None:
        """Write what lives on GPUs, if there are any and memory is profiled."""
        with self._busy:
            if not (self.gpus.seen and self.settings.mode & rules.MEMORY):
                return
            prefix = self.settings.gpu_memory_profile_filename_prefix
            path = f"{prefix}-pid_{os.getpid()}.csv"
            try:
                write_whole(path, self.gpus.text().encode(), "profiler.dump")
            except DataError as trouble:
                raise ProfilerError(str(trouble)) from trouble

    def obey(self, settings: Settings) -> None:
        """Profile under other settings from now on."""
        with self._busy:
            self.absorb()
            moved = settings.path != self.settings.path
            if moved and (self._unwritten or self._writer):
                self._leave(settings.path)
            self.settings = self.trace.settings = self.sums.settings = settings

    def _leave(self, path: Path) -> None:
        """Finish the file; what it does not take goes to the next one, `path`."""
        begun = self._writer is not None
        try:
            self.write()
        except ProfilerError as trouble:
            if begun:  # the names of rows stand in the file that is left
                self._unwritten[:0] = self.trace.names()
            self._writer = None
            reason = getattr(trouble.__cause__, "strerror", None) or trouble
            warnings.warn(
                f"profiler: {self.settings.path} cannot be written ({reason}): "
                f"{len(self._unwritten):,} events go to {path} instead.",
                ProfilerWarning,
                stacklevel=5,
            )
        else:
            self._writer = None
            self.trace = self.trace.continued()

    def _tell_of_losses(self, rows: int) -> None:
        self.lost += rows
        warnings.warn(
            f"The profiler lost {rows:,} events: more than {CAPACITY:,} of a kind came "
            "between two looks. Keep continuous_dump on with a shorter dump_period, or "
            "profile a shorter stretch.",
            ProfilerWarning,
            stacklevel=2,
        )


class Profiler:
    """Its state, and what `mx.profiler` may ask of it."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.profile: Profile | None = None
        self.state = "stop"
        self.paused = False
        self._changing = threading.RLock()
        self._bell = threading.Event()
        self._scribe: threading.Thread | None = None

    # Settings and state

    def set_config(self, settings: Settings) -> None:
        """Obey other settings; an old file of that name goes, as with MXNet."""
        with self._changing:
            fresh = self.profile is None or settings.path != self.settings.path
            if self.profile is not None:
                self.profile.obey(settings)
            self.settings = settings
            if fresh and settings.path.is_file():  # never a device such as /dev/null
                settings.path.unlink(missing_ok=True)
            self._follow()

    def set_state(self, state: str) -> None:
        """`run` or `stop`. Raises `ProfilerError` for other words."""
        if state not in ("run", "stop"):
            raise ProfilerError(
                f"profiler.set_state({state!r}): there are 'run' and 'stop'."
            )
        with self._changing:
            if state == "stop" and self.profile is None:
                warnings.warn(
                    "profiler.set_state('stop'): it does not run. 'run' starts it.",
                    ProfilerWarning,
                    stacklevel=3,
                )
            self.state = state
            self.paused = False
            self._follow()

    def pause(self, paused: bool) -> None:
        """Hear nothing, or again, while the state stays `run`."""
        with self._changing:
            self.paused = paused
            self._follow()

    @property
    def listening(self) -> bool:
        """Whether marks are taken down now."""
        return self.profile is not None and self.profile.record.running

    def _follow(self) -> None:
        """Let the record and the scribe do what state and settings say."""
        if self.state == "run" and self.settings.mode:
            if self.profile is None:
                self.profile = Profile(self.settings)
            if self.paused:
                self.profile.record.pause()
            else:
                self.profile.record.resume()
        elif self.profile is not None:
            self.profile.record.pause()
        wanted = self.listening and self.settings.continuous_dump
        if wanted and (self._scribe is None or not self._scribe.is_alive()):
            self._bell.clear()
            self._scribe = threading.Thread(
                target=self._write_now_and_then, name="minimx profiler", daemon=True
            )
            self._scribe.start()
        elif not wanted:
            self._bell.set()

    def _write_now_and_then(self) -> None:
        """What the writing thread does until it is stopped."""
        while not self._bell.wait(self.settings.dump_period):
            profile = self.profile
            if profile is None:
                return
            try:
                profile.write()
            except ProfilerError as trouble:
                warnings.warn(str(trouble), ProfilerWarning, stacklevel=1)
                return  # the next dump says so again, and tries again

    # Results

    def dump(self, finished: bool) -> None:
        """Write everything so far; if `finished`, that was it."""
        with self._changing:
            if self.profile is None:
                warnings.warn(
                    "profiler.dump: there is nothing to write; the profiler has not "
                    "run since the last finished dump. set_state('run') starts it.",
                    ProfilerWarning,
                    stacklevel=3,
                )
                return
            self.profile.write()
            self.profile.write_gpu_memory()
            if finished:
                self.profile.record.stop()
                self.profile, self.state = None, "stop"
                self._follow()

    def dumps(self, reset: bool, style: str, sort_by: str, ascending: bool) -> str:
        """The table of what took how long; then forget it, if asked to."""
        with self._changing:
            profile = self.profile
            if profile is None:
                return Aggregate(self.settings).text(style, sort_by, ascending)
            profile.absorb()
            text = profile.sums.text(style, sort_by, ascending)
            if reset:
                profile.sums.clear()
            return text


profiler = Profiler()


def _autostart() -> None:
    """What MXNET_PROFILER_AUTOSTART asks for; its result is written at the end."""
    if knobs.get("MXNET_PROFILER_AUTOSTART") and profiler.profile is None:
        settings = rules.of_mode(int(knobs.get("MXNET_PROFILER_MODE")))
        profiler.set_config(settings)
        profiler.set_state("run")


def _knob_turned(name: str, new: Any, old: Any) -> None:
    """Turned in a running program, the knobs act at once."""
    if name == "MXNET_PROFILER_AUTOSTART" and not new:
        if profiler.profile is not None:
            engine.wait_all()
            profiler.dump(finished=True)
        return
    if knobs.get("MXNET_PROFILER_AUTOSTART") and profiler.profile is not None:
        profiler.set_config(rules.of_mode(int(knobs.get("MXNET_PROFILER_MODE"))))
    _autostart()


def _at_exit() -> None:
    """A profile that was not dumped is not lost."""
    if profiler.profile is not None and profiler.state == "run":
        profiler.dump(finished=True)


def _forget_in_child() -> None:
    """The profile is the parent's, and so is its file."""
    if profiler.profile is not None:
        leave(profiler.profile.record)
        profiler.profile, profiler.state = None, "stop"


knobs.watch(
    (
        "MXNET_PROFILER_AUTOSTART",
        "MXNET_PROFILER_MODE",
        "MINIMX_PROFILER_MODE_OF",
    ),
    _knob_turned,
)
atexit.register(_at_exit)
_autostart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
