"""The rules of a trace: ours keeps them, and each way of breaking one is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minimx.core.errors import ProfilerError
from minimx.profiler import check_trace
from minimx.profiler.check import complaints


def a_slice(name: str, ts: float, dur: float, tid: int = 1) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 0, "tid": tid}


def an_end(phase: str, ts: float, **more: Any) -> dict[str, Any]:
    here = {"ph": phase, "name": "a", "ts": ts, "pid": 0, "tid": 1, "cat": "c"}
    return {**here, **more}


SOUND = [
    {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "cpu/0"}},
    a_slice("outer", 0, 10),
    a_slice("inner", 2, 3),
    a_slice("after", 10, 1),
    a_slice("elsewhere", 5, 20, tid=2),
    an_end("b", 1, id=1),
    an_end("b", 2, id=2),
    an_end("e", 3, id=1),
    an_end("e", 4, id=2),
    an_end("B", 20),
    an_end("E", 21),
    an_end("s", 9, id=7),
    an_end("f", 10, id=7, bp="e"),
    {**an_end("C", 3), "args": {"bytes": 0}},
]

BROKEN = {
    "slices that overlap": ([a_slice("late", 8, 5)], "begins inside 'outer'"),
    "an end without a beginning": ([an_end("E", 30)], "had not begun"),
    "a beginning without an end": ([an_end("B", 30)], "never ends"),
    "ends out of turn": (
        [
            an_end("B", 30),
            an_end("B", 31, name="b"),
            an_end("E", 32),
            an_end("E", 33, name="b"),
        ],
        "out of turn",
    ),
    "an asynchronous end too many": ([an_end("e", 9, id=1)], "had not begun"),
    "an id used twice at a time": (
        [an_end("b", 40, id=9), an_end("b", 41, id=9), an_end("e", 42, id=9)],
        "used twice at a time",
    ),
    "an asynchronous event without an id": ([an_end("b", 9)], "has no id"),
    "an arrow whose id is taken": ([an_end("s", 9, id=7)], "is used twice"),
    "an arrow without bp": (
        [an_end("s", 9, id=8), an_end("f", 10, id=8)],
        "without bp='e'",
    ),
    "an arrow that never ends": ([an_end("s", 9, id=8)], "never ends"),
    "an arrow out of nowhere": ([an_end("f", 9, id=8, bp="e")], "had not begun"),
    "an arrow back in time": (
        [an_end("s", 9, id=8), an_end("f", 5, id=8, bp="e")],
        "goes back in time",
    ),
    "a counter without a number": (
        [{**an_end("C", 3), "args": {"bytes": "many"}}],
        "tells no number",
    ),
    "memory below zero": (
        [{**an_end("C", 3), "name": "Memory: cpu/0", "args": {"x": -1}}],
        "below zero",
    ),
    "two names for a process": (
        [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "gpu/0"}}],
        "'cpu/0' and 'gpu/0'",
    ),
    "an unknown phase": ([an_end("Z", 3)], "is no phase"),
    "a slice without a time": ([a_slice("x", float("nan"), 1)], "is no time"),
    "a slice without a duration": ([a_slice("x", 1, -1)], "is no duration"),
    "an event without a row": ([{**an_end("i", 3), "tid": None}], "names no row"),
}


def test_a_sound_trace_is_sound() -> None:
    assert check_trace(SOUND) == len(SOUND)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_trace_is_found_out(kind: str) -> None:
    events, expected = BROKEN[kind]
    with pytest.raises(ProfilerError, match=expected):
        check_trace([*SOUND, *events])
    assert len(list(complaints([*SOUND, *events]))) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "is not JSON"),
        ("\ufeff\x00", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("3", "no list of events"),
        ('{"traceEvents": {}}', "no list of events"),
        ('{"traceEvents": [1]}', "no list of events"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ProfilerError, match=expected):
        check_trace(path)
    with pytest.raises(ProfilerError, match="no such file"):
        check_trace(tmp_path / "none.json")


def test_a_file_may_be_a_bare_list(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(SOUND))
    assert check_trace(path) == len(SOUND)
