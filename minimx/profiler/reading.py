"""The events of a trace file, one after the other, however long the file is.

A trace is an object with a list of events, or that list alone; packed with gzip or not.
It is read in pieces: what is in memory at a time is one piece and one event, so that a
file made to hurt (a bomb of zeros, a name of a gigabyte, brackets without end) ends in
an error, not in a machine without memory.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import IO, Any, Final

from minimx.core.errors import ProfilerError

PIECE: Final = 1 << 20  # characters that are read at a time
MOST_OF_A_VALUE: Final = 4 << 20  # characters of one event, or of one fact of the head
MOST_BYTES: Final = 4 << 30  # of a whole file, unpacked
MOST_EVENTS: Final = 5_000_000

#: What a trace says of itself beside its events, if that is wanted later.
FACTS: Final = ("displayTimeUnit", "otherData", "schemaVersion", "traceName")

_spaces: Final = re.compile(r"[ \t\n\r]*").match
_GZIP: Final = b"\x1f\x8b"


class Reader:
    """One trace file. `facts` fills while `events` is gone through."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts: dict[str, Any] = {}
        self.count = 0

    def events(self) -> Iterator[dict[str, Any]]:
        """The events in the order of the file. Raises `ProfilerError` for damage."""
        try:
            with self.path.open("rb") as file:
                packed = file.read(2) == _GZIP
                file.seek(0)
                stream: IO[bytes] = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
                yield from self._whole(_Text(stream))
        except FileNotFoundError:
            raise ProfilerError(f"{self.path}: there is no such file.") from None
        except (OSError, EOFError, zlib.error) as trouble:
            raise ProfilerError(
                f"{self.path} cannot be read ({trouble}). It is damaged; take another "
                "copy."
            ) from trouble
        except (ValueError, RecursionError) as trouble:
            if isinstance(trouble, ProfilerError):
                raise
            raise ProfilerError(
                f"{self.path} is not JSON ({trouble}), after {self.count:,} events. It "
                "is damaged, or another kind of file."
            ) from trouble

    def _whole(self, text: _Text) -> Iterator[dict[str, Any]]:
        first = text.next()
        if first == "[":
            yield from self._list(text, may_end_anywhere=True)
        elif first == "{":
            yield from self._object(text)
        else:
            text.value()  # which says so if it is nothing at all
            raise self._no_list()

    def _object(self, text: _Text) -> Iterator[dict[str, Any]]:
        """Facts and events of a trace in the form of an object."""
        text.take("{")
        found = False
        while text.next() != "}":
            key = text.value()
            text.take(":")
            if key == "traceEvents":
                if text.next() != "[":
                    raise self._no_list()
                yield from self._list(text, may_end_anywhere=False)
                found = True
            else:
                value = text.value()
                if key in FACTS:
                    self.facts[key] = value
            if text.next() != "}":
                text.take(",")
        if not found:
            raise self._no_list()

    def _list(self, text: _Text, may_end_anywhere: bool) -> Iterator[dict[str, Any]]:
        """The events. A bare list may lack its end: who writes it may have died."""
        text.take("[")
        sign = text.next()
        while sign != "]":
            if not sign and may_end_anywhere:
                return
            event = text.value()
            if not isinstance(event, dict):
                raise self._no_list()
            self.count += 1
            if self.count > MOST_EVENTS:
                raise ProfilerError(
                    f"{self.path} has more than {MOST_EVENTS:,} events, and no more "
                    "are read. Profile a shorter stretch."
                )
            yield event
            sign = text.next()
            if sign != "]" and (sign or not may_end_anywhere):
                text.take(",")
                sign = text.next()
        text.take("]")

    def _no_list(self) -> ProfilerError:
        return ProfilerError(
            f"{self.path} has no list of events, so it is not a trace."
        )


class _Text:
    """A stream of bytes as text, of which only the next piece is kept."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.text = ""
        self.at = 0  # the next character
        self.ended = False
        self._bytes = 0
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._scan = json.JSONDecoder().raw_decode

    def next(self) -> str:
        """The next character that is no space, which stays; nothing at the end."""
        skipped = 0
        while True:
            found = _spaces(self.text, self.at)
            at = found.end() if found else self.at
            skipped += at - self.at
            self.at = at
            if at < len(self.text):
                return self.text[at]
            if skipped > MOST_OF_A_VALUE:
                raise ValueError(f"more than {MOST_OF_A_VALUE:,} spaces in a row")
            if self.ended:
                return ""
            self._more(PIECE)

    def take(self, sign: str) -> None:
        """Go past a character that has to come."""
        found = self.next()
        if found != sign:
            raise ValueError(f"{sign!r} has to come, {found or 'the end'!r} does")
        self.at += 1

    def value(self) -> Any:
        """Go past the next value, and return it."""
        self.next()
        wanted = PIECE
        while True:
            try:
                found, end = self._scan(self.text, self.at)
                # A number may go on in the next piece.
                if self.ended or end < len(self.text) or isinstance(found, dict):
                    self.at = end
                    return found
            except JSONDecodeError:
                if self.ended:
                    raise
            if len(self.text) - self.at > MOST_OF_A_VALUE:
                raise ValueError(
                    f"a single value has more than {MOST_OF_A_VALUE:,} characters"
                )
            self._more(wanted)
            wanted *= 2

    def _more(self, count: int) -> None:
        piece = self.stream.read(count)
        self._bytes += len(piece)
        if self._bytes > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes, unpacked")
        self.ended = not piece
        self.text = self.text[self.at :] + self._decode(piece, self.ended)
        self.at = 0
