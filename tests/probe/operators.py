"""Operators with settings that no program means: each call gives an answer or an error.

The calls are those of tests/core/ops/samples, with one setting exchanged at a time for
a number far too large or a value of another kind. A child process runs them with little
address space, so that memory which is asked for beside the pool is refused as well.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

from tests.probe.faults import Fault, ours

#: Bytes of address space that a call may take beside what the process has.
ROOM = 2 << 30
#: Seconds that a call may take, and after which the process is given up.
PATIENCE, LAST = 5, 40

LARGE = [2**31, 10**9, 2**33, 2**62, 2**63, 10**30, -(2**31) - 1, -(10**30), -1, 0]
STRANGE: list[Any] = [
    *(None, (1, 2), [], {}, object(), float("nan"), float("inf"), -1.5, 10**400, b"x"),
    *("(1,", "(" * 5000, "abc", "1e999", "[" * 50 + "]" * 50, "9" * 5000, "\0", ""),
    *((2**33,) * 2, (-1, 2**40), (None, 1), ((1, 2), 3), ("a",), (1,) * 40, {1}),
]


def cases() -> list[tuple[int, str, Any]]:
    """(row of the samples, setting, value): in a fixed order."""
    from minimx.core.ops.registry import lookup
    from tests.compat.operators import samples

    found: list[tuple[int, str, Any]] = []
    seen: dict[str, int] = {}
    for place, row in enumerate(samples()):
        if row.op.startswith(("_backward_", "_deformed", "_advanced", "_basic")):
            continue  # programs do not call these: gradients make them
        seen[row.op] = seen.get(row.op, 0) + 1
        if seen[row.op] > 2:
            continue
        sheet: Any = lookup(row.op)
        for field in dataclasses.fields(sheet):
            for value in (*LARGE, *STRANGE):
                found.append((place, field.name, value))
    return found


class Slow(BaseException):
    """A call takes too long."""


def _stop(*_: Any) -> None:
    raise Slow


def work(begin: int, end: int, every: int, seed: int) -> None:
    """The child: run every so many of the cases, a line of JSON for each fault."""
    import minimx as mx
    from tests.compat.operators import samples

    warnings.simplefilter("ignore")
    import minimx.operators  # noqa: F401

    rows, todo = samples(), cases()
    random.Random(seed).shuffle(todo)
    todo = todo[begin:end:every]
    signal.signal(signal.SIGALRM, _stop)
    mx.nd.ones(3).asnumpy()
    with open("/proc/self/statm", encoding="ascii") as report:
        now = int(report.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, now + ROOM))
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        for number, (place, setting, value) in enumerate(todo):
            print(json.dumps({"at": begin + number * every}), flush=True)
            faulthandler.dump_traceback_later(LAST, exit=True)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            try:
                _call(mx, rows[place], setting, value)
            except BaseException as reason:
                if not ours(reason):
                    what = f"{rows[place].op}({setting}={value!r:.60})"
                    print(json.dumps(Fault.of(what, reason).as_dict()), flush=True)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)


def _call(mx: Any, row: Any, setting: str, value: Any) -> None:
    """Forward and, where that works, backward."""
    from minimx.core.arrays.array import NDArray
    from minimx.core.arrays.calls import Call
    from minimx.core.arrays.launch import invoke
    from minimx.core.device import cpu
    from minimx.core.ops.registry import lookup

    arrays = [mx.nd.array(x, dtype=x.dtype) for x in row.cast(row.dtypes[0])]
    for array in arrays:
        if array.dtype == "float32":
            array.attach_grad()
    with mx.autograd.record():
        settings = row.settings | {setting: value}
        op, values = Call(lookup(row.op)).sort(tuple(arrays), settings)
        made = invoke(op, values, None, cpu(), NDArray)
    found = made if isinstance(made, list) else [made]
    for one in found:
        one.wait_to_read()
    if arrays and op.differentiable:
        mx.autograd.backward(found)
    mx.nd.waitall()


def probe(seed: int = 0, every: int = 1, seconds: float = 1e9) -> Iterator[Fault]:
    """Go through the cases in child processes; yields what went wrong."""
    until = time.monotonic() + seconds
    begin, count = 0, len(cases())
    while begin < count and time.monotonic() < until:
        command = [sys.executable, "-m", "tests.probe.operators"]
        with (
            tempfile.TemporaryFile("w+") as words,
            subprocess.Popen(
                [*command, str(begin), str(count), str(every), str(seed)],
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            ) as child,
        ):
            assert child.stdout is not None
            for line in child.stdout:
                found = json.loads(line)
                if "at" in found:
                    begin = found["at"] + every
                    if time.monotonic() > until:
                        child.kill()
                else:
                    yield Fault(**found)
            died = child.wait() and time.monotonic() < until
            words.seek(0)
            said = words.read()
        if not died:
            return
        yield Fault(_named(seed, begin - every), f"it ended with {died}", said[-1500:])


def _named(seed: int, number: int) -> str:
    """Which case has a number."""
    from tests.compat.operators import samples

    todo = cases()
    random.Random(seed).shuffle(todo)
    place, setting, value = todo[number]
    return f"{samples()[place].op}({setting}={value!r:.60})"


if __name__ == "__main__":
    work(*map(int, sys.argv[1:5]))
