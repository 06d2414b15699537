"""The file of a trace, which can be read after every write, and grows.

After every write the file is whole: the end of its JSON is written behind the last
event, and written over by the next ones. If the disk is full, what was there before
stays, and the events that did not fit stay with the caller.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from minimx.core.errors import ProfilerError

_TAIL: Final = b"\n]}\n"
_CHUNK: Final = 4096  # events that are joined before they are written


class Writer:
    """Appends events to a trace file; `facts` stand at its head."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        """Begin the file. Raises `ProfilerError` where none can be made."""
        self.path = path
        self.written = 0
        head = json.dumps({"displayTimeUnit": "ms", "otherData": facts})
        text = f'{head[:-1]}, "traceEvents": ['.encode()
        try:
            path.write_bytes(text + _TAIL)
        except OSError as trouble:
            raise self._refused(trouble) from trouble
        self._end = len(text)  # where the next event goes

    def append(self, events: Iterable[str]) -> int:
        """Add events; returns how many. Raises `ProfilerError` and adds none."""
        count = 0
        try:
            with self.path.open("r+b") as file:
                file.seek(self._end)
                for chunk in _chunks(events):
                    comma = ",\n" if self.written + count else "\n"
                    file.write((comma + ",\n".join(chunk)).encode())
                    count += len(chunk)
                end = file.tell()
                file.write(_TAIL)
                file.truncate()
        except BaseException as trouble:  # Ctrl-C as well
            self._restore()
            if isinstance(trouble, OSError):
                raise self._refused(trouble) from trouble
            raise
        self._end = end
        self.written += count
        return count

    def _restore(self) -> None:
        """Make the file end where it ended before; that needs no disk space."""
        try:
            with self.path.open("r+b") as file:
                file.truncate(self._end)
                file.seek(self._end)
                file.write(_TAIL)
        except OSError:
            return  # there is no file any more; the error on its way says so

    def _refused(self, trouble: OSError) -> ProfilerError:
        return ProfilerError(
            f"profiler: {self.path} cannot be written ({trouble.strerror or trouble}). "
            "Nothing is lost: make room or choose another filename with set_config, "
            "and dump again."
        )


def _chunks(events: Iterable[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    for event in events:
        chunk.append(event)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
