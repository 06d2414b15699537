"""Trace files, piece by piece: every form of them, and what is made to hurt."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from minimx.core.errors import ProfilerError
from minimx.profiler import reading
from minimx.profiler.reading import Reader

EVENTS = [
    {"ph": "i", "ts": i, "name": f"é{i}", "args": {"a": [i, None]}} for i in range(40)
]


def read(path: Path, content: bytes | str) -> list[dict[str, Any]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(Reader(path).events())


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, packed: bool
) -> None:
    monkeypatch.setattr(reading, "PIECE", piece)
    events = json.dumps(EVENTS, ensure_ascii=False, indent=1)
    forms = {
        "list": events,
        "unfinished list": events.rstrip("]\n ") + ",\n",
        "object": f'{{"schemaVersion": 12, "traceEvents": {events}, "other": {{}}}}',
        "with a mark": "\ufeff" + events,
        "empty": "[]",
    }
    for form, text in forms.items():
        raw = text.encode()
        found = read(tmp_path / "t", gzip.compress(raw) if packed else raw)
        assert found == ([] if form == "empty" else EVENTS), form


def test_facts_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"displayTimeUnit": "ns", "traceEvents": [], "schemaVersion": 1}')
    reader = Reader(path)
    assert list(reader.events()) == []
    assert reader.facts == {"displayTimeUnit": "ns", "schemaVersion": 1}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not JSON"),
        (b"\x00\x01", "is not JSON"),
        (b"\xff\xfe[", "is not JSON"),
        (b'{"traceEvents": [{"ph": "X"}', "after 1 events"),
        (b'{"traceEvents": [{"ph": "X"},', "is not JSON"),
        (b'{"traceEvents": [{"ph": "X"', "is not JSON"),
        (b'[{"ph": "X"', "is not JSON"),
        (b'[{"ph": "X"} {"ph": "X"}]', "',' has to come"),
        (b'{"a" 1}', "':' has to come"),
        (b'{"a": 1, "b": 2}', "no list of events"),
        (b'"text"', "no list of events"),
        (b"[[]]", "no list of events"),
        (b'{"traceEvents": 3}', "no list of events"),
        (b'[{"a":' + b"[" * 100_000, "is not JSON"),
        (b'[{"a":' + b"1" * 10_000 + b"}]", "is not JSON"),
        (gzip.compress(b'[{"ph": "X"}]', mtime=0)[:-9], "cannot be read"),
        (b"\x1f\x8bnothing of the kind", "cannot be read"),
    ],
)
def test_damage_is_told(tmp_path: Path, content: bytes, expected: str) -> None:
    with pytest.raises(ProfilerError, match=expected):
        read(tmp_path / "t", content)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ProfilerError, match="no such file"):
        list(Reader(tmp_path / "none").events())
    with pytest.raises(ProfilerError, match="cannot be read"):
        list(Reader(tmp_path).events())


@pytest.mark.parametrize(
    ("begin", "middle", "expected"),
    [
        (b"[", b" ", "spaces in a row"),
        (b'[{"name": "', b"x", "a single value has more than"),
        (b'{"stackFrames": "', b"x", "a single value has more than"),
        (b'[{"args": [0', b",0", "a single value has more than"),
    ],
)
def test_bombs_end_in_an_error_and_not_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begin: bytes,
    middle: bytes,
    expected: str,
) -> None:
    monkeypatch.setattr(reading, "MOST_OF_A_VALUE", 1 << 18)
    monkeypatch.setattr(reading, "PIECE", 1 << 16)
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(begin)
        for _ in range(32):
            file.write(middle * (1 << 20))
    tracemalloc.start()
    with pytest.raises(ProfilerError, match=expected):
        list(Reader(path).events())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 * reading.MOST_OF_A_VALUE < 32 << 20


def test_too_many_events_and_bytes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_EVENTS", 39)
    with pytest.raises(ProfilerError, match="more than 39 events"):
        read(tmp_path / "t", json.dumps(EVENTS))
    monkeypatch.setattr(reading, "MOST_BYTES", 100)
    monkeypatch.setattr(reading, "PIECE", 64)
    with pytest.raises(ProfilerError, match="more than 100 bytes"):
        read(tmp_path / "t", json.dumps(EVENTS))
