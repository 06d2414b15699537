"""A process for each attempt: forked, confined, watched, and stopped where it must be.

The process that grades has imported the course, so that a fork knows it at once. It
runs nothing of a learner's. A fork confines itself, judges one attempt, and writes its
verdict into a pipe, behind a word that was drawn for it. Its folder is deleted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from numba.core import caching  # here, so that no fork has to import it

import minimx
import minimx_datasets
import minimx_widgets
from minimx.core.knobs import knobs
from minimx_widgets.course.teaching.grading.confining import Limits, confine
from minimx_widgets.course.teaching.grading.judging import (
    OPEN,
    REFUSED,
    SOLVED,
    STOPPED,
    Task,
    Verdict,
    judge,
)

LOOKS = 0.05  # seconds from one look at a process to the next
LONGEST = 1 << 16  # bytes of a verdict
#: What every program reads: libraries, the processors, zones of time.
SYSTEM = (
    *("/usr", "/lib", "/lib64", "/opt", "/etc/ld.so.cache", "/etc/localtime"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/dev/urandom"),
    *("/sys/devices/system", "/sys/fs/cgroup"),
)


def readable() -> list[Path]:
    """What an attempt may read: Python, its libraries, minimx and its kernels."""
    packages = (minimx, minimx_widgets, minimx_datasets)
    return [
        *map(Path, SYSTEM),
        *map(Path, {sys.prefix, sys.base_prefix}),
        *(Path(str(package.__file__)).parent for package in packages),
        Path(knobs.get("MINIMX_CACHE")).expanduser(),
    ]


def attempt(task: Task, limits: Limits | None = None) -> Verdict:
    """Judge an attempt in a process of its own; never raises for what it does."""
    limits = limits or Limits()
    scratch = Path(tempfile.mkdtemp(prefix="minimx-grade-"))
    word = secrets.token_hex(16)
    reading, writing = os.pipe()
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS
            process = os.fork()
        if not process:
            _in_child(task, limits, scratch, writing, word)
        os.close(writing)
        try:
            said, stopped = _watched(process, reading, scratch, limits)
        finally:  # also where the grading is interrupted
            _kill(process)
            _, status = os.waitpid(process, 0)
        verdict = _verdict(said, word, stopped, status)
    finally:
        os.close(reading)
        shutil.rmtree(scratch, ignore_errors=True)
    return dataclasses.replace(verdict, took=time.monotonic() - start)


# -- inside ----------------------------------------------------------------------------


def _in_child(
    task: Task, limits: Limits, scratch: Path, writing: int, word: str
) -> None:
    """Judge, tell, and be gone; comes back under no circumstances."""
    try:
        _leave(scratch, writing)
        read = readable()  # with the kernels that there are
        _private_kernels(scratch)
        confine(scratch, read, limits)
        verdict: Any = dataclasses.asdict(judge(task, limits.seconds))
    except BaseException as error:  # ours, or memory was over while judging
        verdict = f"{type(error).__name__}: {error}"
    try:
        os.write(writing, json.dumps([word, verdict]).encode()[:LONGEST])
    finally:
        os._exit(0)


def _leave(scratch: Path, writing: int) -> None:
    """Leave the terminal, the files and the folders of the process that grades."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, writing)
    os.closerange(writing + 1, 4096)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    os.chdir(scratch)
    tempfile.tempdir = str(scratch)
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"):
        os.environ[name] = str(scratch)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _private_kernels(scratch: Path) -> None:
    """A folder of compiled kernels of its own, with links to those that there are.

    What it compiles itself lands in the scratch folder or nowhere: no later attempt
    runs code that this one has written.
    """
    shared, mine = Path(knobs.get("MINIMX_CACHE")).expanduser(), scratch / "kernels"
    mine.mkdir()
    for folder in shared.iterdir() if shared.is_dir() else ():
        if folder.name != "pointwise":  # there, new sources are written
            os.symlink(folder, mine / folder.name)
    knobs.set(MINIMX_CACHE=str(mine))
    # numba would refuse a folder that it cannot write to; code_files.py need not write.
    locator: Any = vars(caching)["_CacheLocator"]
    locator.ensure_cache_path = lambda self: os.makedirs(
        self.get_cache_path(), exist_ok=True
    )


# -- outside ---------------------------------------------------------------------------


def _watched(
    process: int, reading: int, scratch: Path, limits: Limits
) -> tuple[bytes, str]:
    """What a process said until it ended, and why it was stopped, if it was."""
    said, end = b"", time.monotonic() + limits.deadline
    while True:
        if select.select([reading], [], [], LOOKS)[0]:
            part = os.read(reading, LONGEST)
            said += part
            if not part or len(said) > LONGEST:
                break
        why = _too_much(process, scratch, limits)
        if time.monotonic() > end:
            why = f"no verdict after {limits.deadline:g} seconds"
        if why:
            return b"", why
    return said, ""


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _too_much(process: int, scratch: Path, limits: Limits) -> str:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return ""
    if pages * os.sysconf("SC_PAGE_SIZE") > limits.memory:
        return f"it took more than {limits.memory >> 20} MiB of memory"
    if _size(scratch) > limits.disk:
        return f"it wrote more than {limits.disk >> 20} MiB"
    return ""


def _size(folder: Path) -> int:
    """Bytes of the files in a folder, but for compiled kernels."""
    total = 0
    for here, folders, files in os.walk(folder):
        if Path(here) == folder and "kernels" in folders:
            folders.remove("kernels")
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(here, name)).st_size
    return total


def _verdict(said: bytes, word: str, stopped: str, status: int) -> Verdict:
    if stopped:
        return Verdict(STOPPED, stopped, "an attempt that ends within its limits")
    try:
        found, content = json.loads(said)
        if found == word and isinstance(content, str):
            return Verdict(STOPPED, f"it could not be judged: {content}")
        verdict = Verdict(**content)
        if found == word and verdict.result in (SOLVED, OPEN, REFUSED):
            return verdict
    except (ValueError, TypeError):
        pass  # no verdict, or one without the word
    how = f" (signal {os.WTERMSIG(status)})" if os.WIFSIGNALED(status) else ""
    return Verdict(
        STOPPED,
        f"the process ended without a verdict{how}",
        "an attempt that returns to its check",
    )
