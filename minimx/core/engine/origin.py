"""Where in the user's program an operation was pushed: noted at once, described late.

Noting happens on every push, describing when something went wrong. So `capture` keeps
no more than code objects and positions in them: no frames, which would keep everybody's
local variables alive, and no line numbers, which take longer to find than to push.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from pathlib import Path
from types import CodeType, FrameType

from minimx.core.knobs import knobs

# Code and position in it, innermost call first; empty if the program is all minimx.
Origin = tuple[tuple[CodeType, int], ...]

# What is never the user's: minimx, and the frames between a `with` and what it enters.
_OTHERS = (f"{Path(__file__).parents[2]}{os.sep}", contextlib.__file__)

# Whether a file belongs to the user, by its name. Looking it up beats comparing text.
_users: dict[str, bool] = {}

# What `where` said, by code and position; kept with the code, whose id nothing else
# takes then. Records ask for it at each operation.
_places: dict[tuple[int, int], tuple[CodeType, str]] = {}

_depth = 1  # how many calls are noted: the pushing line and its callers


def _set_depth(name: str, new: int, old: int) -> None:
    global _depth
    _depth = 1 + new


_set_depth("", knobs.get("DMLC_LOG_STACK_TRACE_DEPTH"), 0)
knobs.watch("DMLC_LOG_STACK_TRACE_DEPTH", _set_depth)


def capture(depth: int = 2) -> Origin:
    """The innermost call outside minimx on this thread's stack.

    With it come as many of its callers as `DMLC_LOG_STACK_TRACE_DEPTH` says. depth: how
    many calls up it may be at the earliest. Each call that need not be looked at saves
    a tenth of a microsecond, as Python makes a frame object for it.
    """
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:  # a thread that was started with `push` itself
        return ()
    while frame is not None:
        code = frame.f_code
        users = _users.get(code.co_filename)
        if users is None:
            users = _users[code.co_filename] = not code.co_filename.startswith(_OTHERS)
        if users:
            if _depth == 1:
                return ((code, frame.f_lasti),)
            return _several(frame)
        frame = frame.f_back
    return ()


def _several(frame: FrameType | None) -> Origin:
    """The given frame and those that called it, leaving out minimx's own."""
    found: list[tuple[CodeType, int]] = []
    while frame is not None and len(found) < _depth:
        code = frame.f_code
        if not code.co_filename.startswith(_OTHERS):
            found.append((code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def describe(origin: Origin) -> str:
    """The places in words, each with its line of source if it can be found."""
    if not origin:
        return "pushed by minimx itself"
    return "\n".join(
        f"{'pushed' if i == 0 else 'called'} at {_place(code, lasti)}"
        for i, (code, lasti) in enumerate(origin)
    )


def where(origin: Origin) -> str:
    """File and line of the innermost place; empty if the program is all minimx."""
    if not origin:
        return ""
    code, lasti = origin[0]
    known = _places.get((id(code), lasti))
    if known is None:
        place = f"{file_name(code.co_filename)}:{_line_number(code, lasti)}"
        known = _places[id(code), lasti] = (code, place)
    return known[1]


def line(origin: Origin) -> str:
    """The text of the innermost line; empty if it cannot be found."""
    if not origin:
        return ""
    code, lasti = origin[0]
    return linecache.getline(code.co_filename, _line_number(code, lasti)).strip()


def _place(code: CodeType, lasti: int) -> str:
    line = _line_number(code, lasti)
    source = linecache.getline(code.co_filename, line).strip()
    where = f"{file_name(code.co_filename)}:{line} in {code.co_qualname}"
    return f"{where}\n    {source}" if source else where


def _line_number(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


def file_name(path: str) -> str:
    """What the user calls the file: its own name, or the number of a notebook cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        label = shell.compile.format_code_name(path)
        if label is not None:
            return " ".join(label)
    return os.path.basename(path)
