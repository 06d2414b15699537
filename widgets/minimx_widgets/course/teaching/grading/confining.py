"""What the process of an attempt may not do; the kernel refuses it. Linux only.

    missing()                # "" or what this machine lacks
    confine(scratch, read, limits)   # from here on, for this process and its threads

files       Landlock: files may be read below `read`, and written below `scratch` only
network     seccomp: no sockets
processes   seccomp: no child processes, no other programs, no signals to others;
            owners, modes and times of files stay as they are
rights      an attempt that root grades has none of root's capabilities
amounts     rlimits: memory, size of a file, number of files, seconds of the processor

What is not limited: the names of files can be seen, and the processor can be kept busy
until time is over. The rules only become stricter: no code of
the process can take them back.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True)
class Limits:
    """How much an attempt may take.

    seconds: that the check lets it run, as in a notebook. memory: bytes. disk: bytes of
    all its files.
    """

    seconds: float = 30.0
    memory: int = 4 << 30
    disk: int = 64 << 20

    @property
    def deadline(self) -> float:
        """Seconds for all: its cells, the check, and the check of the untouched one."""
        return 3 * self.seconds


class Unconfined(Exception):
    """A machine on which the kernel does not refuse what an attempt may not do."""


# -- Landlock --------------------------------------------------------------------------

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every processor
READ: Final = 0b1101  # execute (libraries are mapped), read files, read folders
OF_FILES: Final = 0b1100000000000111  # the rights that a rule for a file may name
#: The rights that each version of Landlock knows.
RIGHTS: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}


def _landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    version = int(_libc().syscall(CREATE_RULESET, None, 0, 1))
    return max(version, 0)


def _restrict_files(read: Iterable[Path], write: Path) -> None:
    version = _landlock_version()
    known = max(number for number in RIGHTS if number <= version)
    every = RIGHTS[known]
    attribute = struct.pack("=Q", every)
    rules = _call(CREATE_RULESET, attribute, len(attribute), 0)
    null = Path(os.devnull)
    for path, rights in [*((path, READ) for path in read), (write, every), (null, 6)]:
        try:
            at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there need not be read
        allowed = rights if path.is_dir() else rights & OF_FILES & every
        _call(ADD_RULE, rules, 1, struct.pack("=Qi", allowed, at), 0)
        os.close(at)
    _call(RESTRICT_SELF, rules, 0)
    os.close(rules)


# -- seccomp ---------------------------------------------------------------------------

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, 16  # where they lie in what a filter sees
THREAD = 0x10000  # of clone: a thread of this process
#: By processor: its number for the kernel, then system calls by number.
PROCESSORS: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE: Final = {"x86_64": 56, "aarch64": 220}
OWN_ONLY: Final = {"x86_64": (234, 302), "aarch64": (131, 261)}  # tgkill, prlimit64
#: Sockets; fork, vfork, execve, execveat; ptrace and memory of others; kill, tkill and
#: queued signals; lengths, modes, owners, attributes and times of files; shared memory,
#: queues and semaphores that outlive a process; other namespaces; io_uring, which would
#: go round all this; bpf, perf, keys, priorities.
REFUSED: Final = {
    "x86_64": (
        *(41, 57, 58, 59, 322, 101, 310, 311, 62, 200, 129, 297, 424),
        *(76, 90, 91, 268, 452, 92, 93, 94, 260, 188, 189, 190, 197, 198, 199),
        *(132, 235, 261, 280, 29, 64, 68, 240, 272, 308, 425, 321, 298),
        *(248, 249, 250, 141),
    ),
    "aarch64": (
        *(198, 221, 281, 117, 270, 271, 129, 130, 138, 240, 424),
        *(45, 52, 53, 54, 55, 452, 5, 6, 7, 14, 15, 16),
        *(88, 194, 190, 186, 180, 97, 268, 425, 280, 241),
        *(217, 218, 219, 140),
    ),
}
CLONE3 = 435  # whose flags a filter cannot see: libraries then use clone


def _filter(processor: str) -> Iterator[bytes]:
    """The program that the kernel asks about every system call."""

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    yield step(LOAD, ARCHITECTURE)
    yield step(EQUAL, PROCESSORS[processor], yes=1)
    yield step(RETURN, KILL)
    yield step(LOAD, NUMBER)
    yield step(AT_LEAST, 0x40000000, no=1)  # x32: the same calls by other numbers
    yield step(RETURN, ERRNO | errno.EPERM)
    yield step(EQUAL, CLONE3, no=1)
    yield step(RETURN, ERRNO | errno.ENOSYS)
    for number in REFUSED[processor]:
        yield step(EQUAL, number, no=1)
        yield step(RETURN, ERRNO | errno.EPERM)
    yield step(EQUAL, CLONE[processor], no=4)
    yield step(LOAD, ARGUMENT)
    yield step(ANY_BIT, THREAD, no=1)
    yield step(RETURN, ALLOW)
    yield step(RETURN, ERRNO | errno.EPERM)
    for number, own in zip(OWN_ONLY[processor], (os.getpid(), 0), strict=True):
        yield step(EQUAL, number, no=4)
        yield step(LOAD, ARGUMENT)
        yield step(EQUAL, own, no=1)
        yield step(RETURN, ALLOW)
        yield step(RETURN, ERRNO | errno.EPERM)
    yield step(RETURN, ALLOW)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def _refuse_calls() -> None:
    steps = list(_filter(platform.machine()))
    text = ctypes.create_string_buffer(b"".join(steps))
    program = _Program(len(steps), ctypes.addressof(text))
    if _libc().prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


# -- all together ----------------------------------------------------------------------


def missing() -> str:
    """What this machine lacks to confine a process; empty where it lacks nothing."""
    if sys.platform != "linux":
        return f"Linux: {sys.platform} has other means, which minimx does not use"
    if platform.machine() not in PROCESSORS:
        return f"a filter of system calls for {platform.machine()}"
    if not _landlock_version():
        return "Landlock: Linux 5.13 or newer, and a container that does not hide it"
    return ""


def confine(scratch: Path, read: Iterable[Path], limits: Limits) -> None:
    """Confine this process. It must have one thread only, which then starts others.

    scratch: the folder that may be written to. read: what may be read.
    Raises Unconfined where the machine cannot do it; then nothing may be run.
    """
    lacking = missing()
    if lacking:
        raise Unconfined(f"this machine lacks {lacking}")
    import resource  # which is not everywhere

    amounts = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.disk,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_AS: limits.memory + (8 << 30),  # threads reserve much
        resource.RLIMIT_CPU: int(limits.deadline * (os.cpu_count() or 1)) + 1,
    }
    for which, amount in amounts.items():
        most = resource.getrlimit(which)[1]
        amount = amount if most == resource.RLIM_INFINITY else min(amount, most)
        resource.setrlimit(which, (amount, amount))
    _libc().prctl(1, signal.SIGKILL, 0, 0, 0)  # it ends with its parent
    if _libc().prctl(38, 1, 0, 0, 0):  # no program gives this process new rights
        raise OSError(ctypes.get_errno(), "no_new_privs")
    _restrict_files(read, scratch)
    none = struct.pack("=6I", *[0] * 6)
    if _libc().capset(struct.pack("=Ii", 0x20080522, 0), none):
        raise OSError(ctypes.get_errno(), "capset")
    _refuse_calls()


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: Any) -> int:
    answer = int(_libc().syscall(number, *arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return answer
