"""Run examples of knobs in one process, as a reader would, one after the other.

    python -m tests.tools.examples_run NAME...

prints a line of JSON for each: what its program printed, and which functions ran.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import sys
import threading
import traceback
from types import CodeType, FrameType
from typing import Any

CALLED: set[CodeType] = set()


def note(frame: FrameType, event: str, _: Any) -> None:
    """Remember which functions are called, in any thread."""
    if event == "call":
        CALLED.add(frame.f_code)


def resolve(dotted: str) -> Any:
    """The function or method that a dotted name means, without its decorators."""
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = inspect.getattr_static(found, part)
        found = getattr(found, "__func__", getattr(found, "fget", found))
        return inspect.unwrap(found)
    raise ModuleNotFoundError(dotted)


def run(name: str) -> dict[str, Any]:
    """What one example's program prints, and whether its function was called."""
    from minimx.tools import knob_examples as examples

    example = examples.of(name)
    assert example is not None
    program = compile(example.program(name), name, "exec")
    out = io.StringIO()
    CALLED.clear()
    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(out):
            exec(program, {})
    except Exception:
        out.write(traceback.format_exc())
    finally:
        sys.setprofile(None)
    acted = resolve(example.acts_in).__code__ in CALLED
    return {"name": name, "printed": out.getvalue(), "acted": acted}


if __name__ == "__main__":
    threading.setprofile(note)  # for all workers that start from now on
    for knob in sys.argv[1:]:
        print(json.dumps(run(knob)), flush=True)
