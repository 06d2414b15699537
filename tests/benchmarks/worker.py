"""The worker of a measurement: runs inside a peer's interpreter, which lacks ours.

    python worker.py <program file> <library>
    python worker.py <program file> <library> start|memory <case>

The first answers until standard input ends. Every line there names a case, how long to
measure, and which cases to keep prepared; every answer is a line of JSON on standard
output. The second answers once: after the first call of a case, or with the bytes that
some calls add. What the library prints goes to standard error.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[[int], None]
#: Calls until a training run takes as much memory as it ever does.
SETTLED = 3


def measure(run: Run, seconds: float) -> float:
    """The shortest time per call, over repeated loops that fill `seconds`.

    A loop is long enough (a fifth of the time, or one call) that starting and waiting
    for it does not count. The minimum is what the machine can do when nobody disturbs
    it.
    """
    run(1)
    count, took = 1, _time(run, 1)
    while took < seconds / 20 and count < 1_000_000:
        count *= 2 if took > seconds / 200 else 8
        took = _time(run, count)
    best, end = took / count, time.perf_counter() + seconds
    while time.perf_counter() < end:
        best = min(best, _time(run, count) / count)
    return best


def _time(run: Run, count: int) -> float:
    start = time.perf_counter()
    run(count)
    return time.perf_counter() - start


def load(path: str, library: str) -> Any:
    """The program in a file, working with a library."""
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None, path
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program.Program(importlib.import_module(library))


def resident(name: str) -> int:
    """Bytes of this process in memory: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    raise LookupError(f"/proc/self/status has no {name}")


def added(program: Any, case: str) -> int:
    """The most bytes that some calls add to what the import took."""
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the most begins with what is now
    run = getattr(program, case)()
    for _ in range(SETTLED):
        run(1)
    return resident("VmHWM") - before


def once(program: Any, what: str, case: str) -> dict[str, Any]:
    """The answer of a process that measures one thing."""
    if not hasattr(program, case):
        return {"missing": case}
    if what == "memory":
        return {"value": added(program, case)}
    getattr(program, case)()(1)
    return {"value": 0}


def main() -> None:
    """Answer until standard input ends, or once."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    program = load(sys.argv[1], sys.argv[2])
    if sys.argv[3:]:
        answers.write(json.dumps(once(program, *sys.argv[3:])) + "\n")
        answers.flush()
        return
    prepared: dict[str, Run] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        case = asked["case"]
        for name in set(prepared) - {*asked["keep"]}:
            del prepared[name]
            gc.collect()
        if not hasattr(program, case):
            answer: dict[str, Any] = {"missing": case}
        else:
            if case not in prepared:
                prepared[case] = getattr(program, case)()
            answer = {"value": measure(prepared[case], asked["seconds"])}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
