"""NumPy's files of arrays, `.npy` and `.npz`, of which nothing is believed.

What a header declares is compared with the bytes that follow it before memory is asked
for. A packed array may honestly be a thousand times as long as its file, if it is all
zeros; so up to `MOST_FREELY` bytes are unpacked whatever the ratio, more only if the
file is at least a `MOST_RATIO`th of them, and never more than the host has free.
Python objects are refused, as they could only be unpickled, which runs code.
"""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from math import prod
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy

from minimx.core.device import cpu
from minimx.core.dtypes import resolve
from minimx.core.errors import DataError, DTypeError
from minimx.core.storage import human, pool_for

MOST_FREELY: Final = 1 << 30
MOST_RATIO: Final = 100

_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_READABLE: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: What zipfile, zlib and NumPy raise for what is damaged; RuntimeError: encrypted.
_DAMAGED: Final = (
    *(OSError, EOFError, ValueError, TypeError, LookupError, ArithmeticError),
    *(RuntimeError, MemoryError, SyntaxError, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error),
)


def load(path: str | os.PathLike[str]) -> Any:
    """The array of a `.npy` file, or those of a `.npz` file by name, as NumPy's.

    Raises DataError for a file that cannot be read, is damaged, holds something else
    than arrays of minimx's types, or would not fit in the memory of the host.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            packed = file.read(2) == b"PK"
            file.seek(0)
            return _archive(file, size) if packed else _array(file, size)
    except _DAMAGED as reason:
        why = getattr(reason, "strerror", "") or reason or type(reason).__name__
        raise DataError(
            f"{str(path)!r} cannot be read as a file of NumPy's: {why}. Is it whole, "
            "and does it hold arrays of numbers only?"
        ) from reason


def _archive(file: IO[bytes], size: int) -> dict[str, Any]:
    """The arrays of a `.npz` file of so many bytes."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        free = pool_for(cpu()).driver.free_bytes
        if total > min(max(MOST_FREELY, MOST_RATIO * size), free):
            raise ValueError(
                f"its {human(size)} would become {human(total)}; {human(free)} are "
                f"free, and beyond {human(MOST_FREELY)} at most {MOST_RATIO} times the "
                "size of the file is unpacked"
            )
        found = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            known = name in found or name == member.filename
            if known or member.compress_type not in _READABLE:
                raise ValueError(
                    f"{member.filename!r} is no array, is packed in an unknown way, or "
                    "comes twice"
                )
            with archive.open(member) as stream:
                found[name] = _array(stream, member.file_size)
        return found


def _array(stream: IO[bytes], size: int) -> Any:
    """An array, from a `.npy` file of so many bytes."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format is for fields with names")
    shape, by_columns, dtype = _HEADERS[version](stream)
    try:
        native = resolve(dtype.newbyteorder("="))
    except DTypeError:
        raise ValueError(f"its elements are {dtype}, not numbers") from None
    nbytes, left = prod(shape) * dtype.itemsize, size - stream.tell()
    if nbytes != left or min(shape, default=0) < 0:
        raise ValueError(
            f"an array of shape {shape}, {dtype}, needs {nbytes:,} bytes, and "
            f"{left:,} follow"
        )
    content = stream.read(nbytes)
    if len(content) != nbytes or stream.read(1):  # the end of a member: its checksum
        raise ValueError(f"of {nbytes:,} bytes, {len(content):,} are there")
    # A byte other than 0 and 1 is no bool to NumPy; compare instead of trusting it.
    stored = np.frombuffer(content, np.uint8 if dtype.kind == "b" else dtype)
    return stored.astype(native).reshape(shape, order="F" if by_columns else "C")
