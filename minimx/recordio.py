"""`mx.recordio`: files of records, one after the other, as MXNet reads and writes them.

A record is a magic number, a word with its length, its bytes, and zeros up to the next
multiple of four. Where the bytes hold the magic number themselves, at a multiple of
four, the record is cut there into parts without it; two bits beside the length say
which part this is, and a reader puts the magic number back between them. So a reader
that starts in the middle of a file finds the next record by its magic number.

An index is a text file with a line `key<TAB>offset` for each record. An image record
begins with a header of 24 bytes, `IRHeader`, and the numbers of a label with several.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import namedtuple
from collections.abc import Callable
from numbers import Number
from typing import Any, BinaryIO

import numpy as np

from minimx.core.errors import ArgumentError, DataError

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "pack",
    "pack_img",
    "unpack",
    "unpack_img",
]

MAGIC = struct.pack("<I", 0xCED7230A)
#: What the two bits beside the length say of a part.
WHOLE, FIRST, MIDDLE, LAST = range(4)
MOST_BYTES = (1 << 29) - 1  # the length has 29 bits
_HEAD = struct.Struct("<4sI")


class MXRecordIO:
    """A file of records, to be written (`flag="w"`) or read in order (`"r"`).

    A writer keeps nothing back: a record is in the file when `write` returns, whole or
    not at all. In a child process a reader opens the file anew and begins again, and a
    writer refuses, because two would overwrite each other.

    >>> import tempfile, os.path
    >>> path = os.path.join(tempfile.mkdtemp(), "three.rec")
    >>> writer = MXRecordIO(path, "w")
    >>> for word in (b"one", b"two", b"three"):
    ...     writer.write(word)
    >>> writer.close()
    >>> reader = MXRecordIO(path, "r")
    >>> reader.read(), reader.read(), reader.read(), reader.read()
    (b'one', b'two', b'three', None)
    >>> reader.close()
    """

    is_open = False

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        if flag not in ("r", "w"):
            raise ArgumentError(f"recordio: flag={flag!r} must be 'r' or 'w'.")
        self.uri = os.fspath(uri)
        self.flag = flag
        self.writable = flag == "w"
        self.open()

    def open(self) -> None:
        """Open the file; a writer empties it."""
        try:
            self._file = self._opened()
            self._size = os.fstat(self._file.fileno()).st_size
        except OSError as reason:
            raise DataError(
                f"recordio: cannot open {self.uri!r}: {reason.strerror}."
            ) from reason
        self._at = 0
        self._lock = threading.Lock()
        self.pid = os.getpid()
        self.is_open = True

    def _opened(self) -> BinaryIO:
        if self.writable:  # without a buffer, which a fork would copy and write twice
            return open(self.uri, "wb", buffering=0)
        return open(self.uri, "rb", buffering=1 << 17)

    def close(self) -> None:
        """Close the file; `open` opens it again."""
        if self.is_open:
            self.is_open = False
            self._file.close()

    def __del__(self) -> None:
        self.close()

    def reset(self) -> None:
        """Close and open: a reader begins again, a writer empties the file."""
        self.close()
        self.open()

    def __getstate__(self) -> dict[str, Any]:
        if self.writable and self.is_open:
            raise ArgumentError(
                f"recordio: the writer of {self.uri!r} is open and cannot be copied to "
                "another process: both would write to one file. Close it first."
            )
        hidden = ("_file", "_lock", "pid")
        return {name: x for name, x in vars(self).items() if name not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        was_open = state.pop("is_open")
        vars(self).update(state)
        if was_open:
            self.open()

    def _check(self, to_write: bool) -> None:
        """Whether this may be done to this file, in this process."""
        if to_write != self.writable:
            kind, what = ("writer", "read") if self.writable else ("reader", "written")
            raise ArgumentError(
                f"recordio: {self.uri!r} was opened for a {kind}; it cannot be {what}."
            )
        if not self.is_open:
            raise DataError(f"recordio: {self.uri!r} is closed. open() opens it.")
        if self.pid != os.getpid():
            if to_write:
                raise DataError(
                    f"recordio: the writer of {self.uri!r} belongs to process "
                    f"{self.pid}; this child needs a file of its own."
                )
            self.reset()

    def write(self, buf: bytes | bytearray | memoryview) -> None:
        """Append a record, of fewer than 2²⁹ bytes."""
        self._check(to_write=True)
        payload = bytes(buf)
        if len(payload) > MOST_BYTES:
            raise ArgumentError(
                f"recordio: a record of {len(payload)} bytes is too long; the format "
                f"has room for {MOST_BYTES}."
            )
        content = _encoded(payload)
        with self._lock:
            self._append(memoryview(content))
            self._at += len(content)

    def _append(self, content: memoryview) -> None:
        try:
            while content:
                content = content[self._file.write(content) :]
        except OSError as reason:
            os.ftruncate(self._file.fileno(), self._at)
            self._file.seek(self._at)
            raise DataError(
                f"recordio: cannot write {self.uri!r}: {reason.strerror}. What was "
                "written before is whole."
            ) from reason

    def read(self) -> bytes | None:
        """The next record; None at the end. Raises DataError where it is damaged."""
        self._check(to_write=False)
        with self._lock:
            return self._record()

    def read_at(self, place: int) -> bytes | None:
        """The record that begins at a byte; several threads may ask at a time."""
        self._check(to_write=False)
        with self._lock:
            self._file.seek(place)
            self._at = place
            return self._record()

    def _record(self) -> bytes | None:
        start = self._at
        kind, payload = self._part()
        if kind == WHOLE:
            return payload
        if payload is None:
            return None
        parts = [payload]
        wanted = (FIRST,)
        while kind in wanted:
            wanted = (MIDDLE,)
            kind, payload = self._part()
            if payload is None:
                raise self._damage(start, "the file ends in the middle of it")
            parts.append(payload)
            if kind == LAST:
                return MAGIC.join(parts)
        raise self._damage(start, "its parts are out of order")

    def _part(self) -> tuple[int, bytes | None]:
        """What the next part is, and its bytes; None for them at the end."""
        start = self._at
        head = self._file.read(8)
        if not head:
            return LAST, None
        if len(head) < 8 or head[:4] != MAGIC:
            raise self._damage(start, f"it begins with {head[:4].hex(' ')}")
        word = int.from_bytes(head[4:], "little")
        length = word & MOST_BYTES
        padding = -length & 3
        end = start + 8 + length + padding
        if end > self._size:  # asked first, so that no lie makes us allocate
            self._size = os.fstat(
                self._file.fileno()
            ).st_size  # another process may write on
            if end > self._size:
                raise self._damage(start, f"{length} bytes of it do not follow")
        payload = self._file.read(length)
        if padding:
            self._file.read(padding)
        self._at = end
        return word >> 29, payload

    def _damage(self, start: int, what: str) -> DataError:
        self._file.seek(self._at)
        return DataError(
            f"recordio: {self.uri!r} is cut off or damaged, or no file of records: of "
            f"the record at byte {start}, {what}."
        )

    def tell(self) -> int:
        """Where the next record begins, in bytes."""
        return self._at


class MXIndexedRecordIO(MXRecordIO):
    """A file of records that are found by a key, with the help of an index file.

    key_type: makes a key of its text. `keys`: in the order of the index; `idx`: the
    offset of each. Several threads may call `read_idx` at the same time.

    >>> import tempfile, os.path
    >>> path = os.path.join(tempfile.mkdtemp(), "two")
    >>> writer = MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> writer.write_idx(7, b"seven")
    >>> writer.write_idx(3, b"three")
    >>> writer.close()
    >>> reader = MXIndexedRecordIO(path + ".idx", path + ".rec", "r")
    >>> reader.keys, reader.read_idx(3)
    ([7, 3], b'three')
    >>> reader.close()
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[str], Any] = int,
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: BinaryIO | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files, and read the index."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                self.fidx = open(self.idx_path, "wb", 0)  # noqa: SIM115
            else:
                self._read_index()
        except OSError as reason:
            self.close()
            raise DataError(
                f"recordio: cannot open the index {self.idx_path!r}: {reason.strerror}."
            ) from reason
        except DataError:
            self.close()
            raise

    def _read_index(self) -> None:
        with open(self.idx_path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    text, offset = line.decode().rstrip("\r\n").split("\t")
                    key, place = self.key_type(text), int(offset)
                except ValueError as reason:
                    raise DataError(
                        f"recordio: {self.idx_path!r} is no index, or damaged: line "
                        f"{number} is {line[:60]!r}, not a key, a tab and an offset."
                    ) from reason
                if place % 4 or not 0 <= place < self._size:
                    raise DataError(
                        f"recordio: {self.idx_path!r} is not the index of "
                        f"{self.uri!r}, which has {self._size} bytes: line {number} "
                        f"looks for a record at {place}."
                    )
                self.idx[key] = place
                self.keys.append(key)

    def close(self) -> None:
        """Close both files."""
        super().close()
        if self.fidx is not None:
            self.fidx.close()
            self.fidx = None

    def seek(self, idx: Any) -> None:
        """Let `read` go on with the record of a key."""
        self._check(to_write=False)
        with self._lock:
            self._at = self._place(idx)
            self._file.seek(self._at)

    def _place(self, key: Any) -> int:
        """Where the record of a key begins."""
        place = self.idx.get(key)
        if place is None:
            raise DataError(
                f"recordio: {self.idx_path!r} has no record {key!r} among its "
                f"{len(self.idx)}."
            )
        return place

    def read_idx(self, idx: Any) -> bytes | None:
        """The record of a key."""
        self._check(to_write=False)
        return self.read_at(self._place(idx))

    def write_idx(self, idx: Any, buf: bytes | bytearray | memoryview) -> None:
        """Append a record, and its key to the index."""
        self._check(to_write=True)
        assert self.fidx is not None  # a writer that is open has one
        key, place = self.key_type(idx), self.tell()
        self.write(buf)
        try:
            self.fidx.write(f"{key}\t{place}\n".encode())
        except OSError as reason:
            raise DataError(
                f"recordio: cannot write {self.idx_path!r}: {reason.strerror}."
            ) from reason
        self.idx[key] = place
        self.keys.append(key)


def _encoded(payload: bytes) -> bytes:
    """A record as it stands in the file.

    >>> _encoded(b"abc").hex(" ", 4)
    '0a23d7ce 03000000 61626300'
    >>> _encoded(MAGIC + b"xy").hex(" ", 4)
    '0a23d7ce 00000020 0a23d7ce 02000060 78790000'
    """
    parts = []
    begin, place = 0, payload.find(MAGIC)
    while place >= 0:
        if place % 4:
            place = payload.find(MAGIC, place + 1)
            continue
        parts.append(payload[begin:place])
        begin = place + 4
        place = payload.find(MAGIC, begin)
    parts.append(payload[begin:])
    between = len(parts) - 2
    kinds = [WHOLE] if len(parts) == 1 else [FIRST, *[MIDDLE] * between, LAST]
    found = []
    for kind, part in zip(kinds, parts, strict=True):
        found += [_HEAD.pack(MAGIC, kind << 29 | len(part)), part]
    return b"".join([*found, bytes(-len(parts[-1]) & 3)])


#: What stands before the bytes of an image.
#: flag: how many numbers follow the header as its label, or 0; label: the label, if it
#: is one number; id: which image it is; id2: anything.
IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])  # type: ignore[name-match]
_HEADER = struct.Struct("<IfQQ")


def pack(header: tuple[Any, Any, Any, Any], s: bytes) -> bytes:
    """A header and the bytes of an image, as one record.

    header: an `IRHeader`, or its four parts. A label that is no single number is stored
    as float32 numbers after the header.

    >>> unpack(pack((0, [1.0, 2.0], 7, 0), b"image"))
    (HEADER(flag=2, label=array([1., 2.], dtype=float32), id=7, id2=0), b'image')
    """
    head = IRHeader(*header)
    numbers = b""
    if isinstance(head.label, Number):
        head = head._replace(flag=0)
    else:
        label = np.asarray(head.label, dtype="<f4")
        head = head._replace(flag=label.size, label=0)
        numbers = label.tobytes()
    try:
        return _HEADER.pack(*head) + numbers + bytes(s)
    except (struct.error, OverflowError) as reason:
        raise ArgumentError(
            f"recordio.pack: {head} cannot be stored ({reason}): flag, id and id2 are "
            "whole numbers from 0 on, label is a number or several."
        ) from reason


def unpack(s: bytes) -> tuple[Any, bytes]:
    """The header and the bytes of an image, from a record."""
    if len(s) < _HEADER.size:
        raise DataError(
            f"recordio.unpack: a record of {len(s)} bytes has no header of "
            f"{_HEADER.size}. Was it written with recordio.pack?"
        )
    header = IRHeader(*_HEADER.unpack_from(s))
    end = _HEADER.size + 4 * header.flag
    if end > len(s):
        raise DataError(
            f"recordio.unpack: the header claims {header.flag} numbers of a label, but "
            f"{len(s) - _HEADER.size} bytes follow it. Was it written with pack?"
        )
    if header.flag:
        numbers = np.frombuffer(s, "<f4", header.flag, _HEADER.size)
        header = header._replace(label=numbers.astype(np.float32, copy=False))
    return header, s[end:]


def pack_img(
    header: tuple[Any, Any, Any, Any],
    img: Any,
    quality: int = 95,
    img_fmt: str = ".jpg",
) -> bytes:
    """A header and an image, compressed, as one record.

    img: (H, W, 3) of uint8, blue first as in OpenCV, or (H, W). quality: 1 to 100 for
    ".jpg", 0 to 9 (how long to try) for ".png".
    """
    from minimx.image.codec import encode  # OpenCV and Pillow are extras

    return pack(header, encode(img, img_fmt, quality))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[Any, Any]:
    """The header and the image of a record.

    iscolor: 1 for colours, 0 for grey, -1 for what the file has. Returns a NumPy array
    of uint8, (H, W, 3) with blue first, or (H, W).
    """
    from minimx.image.codec import decode

    header, content = unpack(s)
    image = decode(content, iscolor, to_rgb=False)
    return header, image[..., 0] if image.shape[-1] == 1 else image
