"""Run examples of knobs in one process, as a reader would, one after the other.

    python -m tests.tools.examples_run NAME...

prints a line of JSON for each: what its program printed, what the first value printed
once more afterwards, and whether the function that obeys the knob was called.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import threading
import traceback
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

CALLED: set[CodeType] = set()


def note(frame: FrameType, event: str, _: Any) -> None:
    """Remember which functions are called, in any thread."""
    if event == "call":
        CALLED.add(frame.f_code)


def printed(program: str) -> str:
    """What a program prints, with its traceback if it fails."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(program, "example", "exec"), {})
    except Exception:
        out.write(traceback.format_exc())
    return out.getvalue()


def run(name: str) -> dict[str, Any]:
    """What one example prints under all values, and under the first once more."""
    from minimx.tools import knob_examples as examples

    example = examples.of(name)
    assert example is not None
    CALLED.clear()
    sys.setprofile(note)
    try:
        found = printed(example.program(name))
    finally:
        sys.setprofile(None)
    first = dict([*example.expect.items()][:1])
    return {
        "name": name,
        "printed": found,
        "turned_back": printed(replace(example, expect=first).program(name)),
        "acted": examples.function_of(example.acts_in).__code__ in CALLED,
    }


if __name__ == "__main__":
    threading.setprofile(note)  # for all workers that start from now on
    for knob in sys.argv[1:]:
        print(json.dumps(run(knob)), flush=True)
