"""The far end of a measurement: runs inside a peer's interpreter, which lacks ours.

Started as `python worker.py <program file> <library>`. Every line on standard input
names a case and how long to measure; every answer is a line of JSON on standard output.
Whatever the library prints goes to standard error.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Run = Callable[[int], None]


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


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    program = load(sys.argv[1], sys.argv[2])
    prepared: dict[str, Run] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        case = asked["case"]
        if not hasattr(program, case):
            answer: dict[str, Any] = {"missing": case}
        else:
            if case not in prepared:
                prepared[case] = getattr(program, case)()
            answer = {"seconds": measure(prepared[case], asked["seconds"])}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
