"""A second process that compiles kernels which a program will need soon.

    begin()         start it, if nothing was compiled here yet and a processor is free
    report(file)    the program compiles a kernel of this file

The first step of a network compiles kernel after kernel. Most networks need a loss, and
their layers say which gradients (`after` in `minimx/operators/warm.py`). The second
process compiles these meanwhile, and the program finds them in the cache. It ends with
the program. `minimx compile` has one too, which goes from the last kernel to the first.
"""

from __future__ import annotations

import atexit
import contextlib
import fnmatch
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from minimx.core.kernels import warm_up
from minimx.core.kernels.threads import cache_dir
from minimx.core.knobs import knobs
from minimx.core.knobs.declarations.engine import usable_cores
from minimx.operators.warm import AT_ONCE, CALLS, Call

_COMMAND = "from minimx.fast.ahead import main; main({everything})"
#: The second process, by the one that has begun it: a fork has none, and begins none.
_running: dict[int, subprocess.Popen[bytes] | None] = {}


def begin(everything: bool = False) -> None:
    """Start the second process, once.

    everything: compile all that `warm_up` does, even if the cache is not empty.
    """
    folder = cache_dir()
    if (
        _running
        or not sys.executable
        or usable_cores() < 2
        or not (everything or empty(folder))
    ):
        return
    others = {k: v for k, v in os.environ.items() if k not in knobs}
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "MINIMX_CACHE": str(folder)}
    _running[os.getpid()] = None  # if it may start no process, it compiles alone
    with contextlib.suppress(OSError):
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND.format(everything=everything)],
            stdin=subprocess.PIPE,  # ends with this process, however that ends
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=others | paths,
            bufsize=0,
        )
        _running[os.getpid()] = child
        atexit.register(end, child)


def report(file: str) -> None:
    """Let the second process know of a file whose kernels the program compiles."""
    if (child := _running.get(os.getpid())) and child.stdin:
        try:
            child.stdin.write(f"{file}\n".encode())
        except BrokenPipeError:  # it has ended
            _running[os.getpid()] = None


def empty(folder: Path) -> bool:
    """Whether no kernel was compiled yet."""
    # Unlike rglob, os.walk passes over what another process removes meanwhile.
    return not any(fnmatch.filter(names, "*.nbc") for _, _, names in os.walk(folder))


def end(child: subprocess.Popen[bytes]) -> None:
    """Stop compiling ahead; files that are being written are left out whole."""
    child.kill()
    child.communicate()  # closes the pipe


def main(everything: bool) -> None:
    """Compile what is expected, or everything from the end, until the parent ends."""
    _running[os.getpid()] = None
    said = _Files()
    threading.Thread(target=said.follow, daemon=True).start()
    if everything:
        list(warm_up(backwards=True))
    for call in said.expected():
        call.run()


class _Files:
    """The files of kernels that the program has compiled from, as it says on a pipe."""

    def __init__(self) -> None:
        self.names = {AT_ONCE}
        self.changed = threading.Condition()

    def follow(self) -> None:
        """Read on, and end this process with the program."""
        for line in sys.stdin:
            with self.changed:
                self.names.add(line.strip())
                self.changed.notify()
        os._exit(0)

    def expected(self) -> Iterator[Call]:
        """Calls that the program will need, the most urgent first, as they come up."""
        left = [call for call in CALLS if call.after]
        while left:
            with self.changed:
                self.changed.wait_for(lambda: any(c.after in self.names for c in left))
                call = next(c for c in reversed(left) if c.after in self.names)
            left.remove(call)
            yield call
