"""Files of arrays: MXNet's `.params` format, byte for byte.

    u64 0x112 | u64 0 | u64 n | array * n | u64 n or 0 | (u64 length, utf-8 name) * n

    array (V2):  u32 0xF993FAC9 | i32 storage type | shape | i32 device type, i32 id |
                 i32 dtype code | the numbers, row by row
    shape:       i32 ndim | i64 * ndim
    sparse (V2): u32 magic | i32 storage type | shape of the values | shape |
                 i32 device type, i32 id | i32 dtype code |
                 (i32 dtype code | shape) * lists of places | the values | the lists

A row_sparse array has one list, the row numbers; csr two, indptr and the columns.
Everything is little endian. `save` writes V2, or V3 with np_shape on; `load` also reads
the older V0 and V1. V3 differs in what a length of 0 means: before, an axis that is not
known yet; in V3, one without elements. An array with such an axis is read only where 0
means the same.

A file is checked while it is read: no claim in it is believed before the bytes that
back it have been seen, so a damaged or hostile file gives a DataError and never a huge
allocation.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minimx.core import engine, np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array as make_array
from minimx.core.device import cpu
from minimx.core.dtypes import DType, code_of, resolve
from minimx.core.errors import ArgumentError, DataError, DTypeError
from minimx.core.files import read_whole, write_whole
from minimx.core.ops.stypes import CSR, ROW_SPARSE, Entries, Rows, SparseSpec, spec_of
from minimx.core.shapes import Shape
from minimx.nd.sparse.array import BaseSparseNDArray, from_parts, outside

FILE_MAGIC = 0x112
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
MAX_NDIM = 32
_STORAGE_TYPES = {1: ROW_SPARSE, 2: CSR}
_STORAGE_CODES = {stype: code for code, stype in _STORAGE_TYPES.items()}
_UNSUPPORTED_CODES = {
    8: "int16",
    9: "uint16",
    10: "uint32",
    11: "uint64",
}

Arrays = list[NDArray] | dict[str, NDArray]


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Write arrays to a file.

    What the file held before stays as it is until all is written.

    data: one array, a list of arrays, or a dict of arrays by name.
    """
    write_whole(fname, dumps(data), "nd.save")


def load(fname: str | os.PathLike[str]) -> Arrays:
    """Read the arrays of a file: a dict if it stores names, else a list."""
    return loads(read_whole(fname, "nd.load"), repr(str(fname)))


def load_frombuffer(buf: bytes | bytearray | memoryview) -> Arrays:
    """Read arrays from the bytes of a file."""
    return loads(bytes(buf), "the buffer")


def dumps(data: Any) -> bytes:
    """The bytes that `save` writes."""
    names: list[str] = []
    arrays: Sequence[Any]
    if isinstance(data, NDArray):
        arrays = [data]
    elif isinstance(data, dict):
        names, arrays = list(data), list(data.values())
        if not all(isinstance(name, str) for name in names):
            raise ArgumentError(f"nd.save: names must be text, not all of {names}.")
    elif isinstance(data, (list, tuple)):
        arrays = data
    else:
        arrays = [data]
    for item in arrays:
        if not isinstance(item, NDArray):
            raise ArgumentError(
                f"nd.save stores NDArrays, not {type(item).__name__}. Give an array, a "
                "list of arrays, or a dict of arrays by name."
            )
    parts = [struct.pack("<QQQ", FILE_MAGIC, 0, len(arrays))]
    parts += [_pack_array(item) for item in arrays]
    parts.append(struct.pack("<Q", len(names)))
    for name in names:
        encoded = name.encode()
        parts += [struct.pack("<Q", len(encoded)), encoded]
    return b"".join(parts)


def _pack_shape(shape: Shape) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _little(numbers: Any) -> bytes:
    """The numbers, row by row, in little endian."""
    content: bytes = numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()
    return content


def _pack_sparse(item: BaseSparseNDArray) -> bytes:
    """A sparse array: what it stores, and between two heads, of which types it is."""
    stored = item._stored()
    places = [stored.indices]
    if item.stype == CSR:
        places.insert(0, stored.indptr)
    parts = [
        struct.pack("<Ii", V2, _STORAGE_CODES[item.stype]),
        _pack_shape(stored.data.shape),
        _pack_shape(item.shape),
        struct.pack("<iii", 1, 0, code_of(stored.data.dtype)),
    ]
    for place in places:
        parts += [struct.pack("<i", code_of(place.dtype)), _pack_shape(place.shape)]
    parts += [_little(numbers) for numbers in (stored.data, *places)]
    return b"".join(parts)


def _pack_array(item: NDArray) -> bytes:
    if isinstance(item, BaseSparseNDArray):
        return _pack_sparse(item)
    numbers = np.ascontiguousarray(item.asnumpy())
    shape = item.shape
    magic = V3 if np_semantics.is_np_shape() or not shape else V2
    head = struct.pack(f"<Iii{len(shape)}q", magic, 0, len(shape), *shape)
    where = struct.pack("<iii", 1, 0, code_of(numbers.dtype))
    return head + where + numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()


def restore(target: NDArray, state: Any) -> None:
    """Let an array be the one of a state that MXNet's `__getstate__` made.

    state: {"handle": the bytes of one array, as in a file}; it is put on the CPU.
    """
    handle = state.get("handle") if isinstance(state, dict) else None
    if not isinstance(handle, (bytes, bytearray)):
        raise DataError(
            "__setstate__ takes MXNet's state of an array: a dict with its bytes as "
            "'handle'."
        )
    reader = _Reader(bytes(handle), "the state")
    found = _read_array(reader)
    if reader.left:
        reader.fail(f"{reader.left} bytes follow its end")
    if hasattr(target, "chunk"):  # operations under way know the array, not its memory
        engine.wait_to_write(target.chunk)
    target.__init__(found.chunk, found.spec, found.offset)  # type: ignore[misc]


setattr(NDArray, "__setstate__", restore)  # noqa: B010 (not declared in the class)


def loads(content: bytes, source: str = "the buffer") -> Arrays:
    """Arrays from the bytes of a file; `source` names it in errors."""
    reader = _Reader(content, source)
    magic, _, count = reader.take("<QQQ")
    if magic != FILE_MAGIC:
        raise DataError(
            f"{source} is not a file of arrays: it starts with {magic:#x} instead of "
            f"{FILE_MAGIC:#x}. Was it written by nd.save or save_parameters?"
        )
    # The least that an array can take up (a V0 shape without axes) is four bytes.
    reader.expect(4 * count, f"{count} arrays")
    arrays = [_read_array(reader) for _ in range(count)]
    (named,) = reader.take("<Q")
    if named not in (0, count):
        reader.fail(f"it has {count} arrays but {named} names")
    reader.expect(8 * named, f"{named} names")
    names = [reader.text() for _ in range(named)]
    if reader.left:
        reader.fail(f"{reader.left} bytes follow its end")
    if len(set(names)) != len(names):
        reader.fail("it stores two arrays under one name")
    return dict(zip(names, arrays, strict=True)) if names else arrays


class _Reader:
    """Bytes, and how far we have come; every step is checked."""

    def __init__(self, content: bytes, source: str) -> None:
        self._content = memoryview(content)
        self._at = 0
        self.source = source

    @property
    def left(self) -> int:
        """How many bytes have not been read yet."""
        return len(self._content) - self._at

    def fail(self, why: str) -> Any:
        """Refuse the file."""
        raise DataError(
            f"{self.source} is damaged at byte {self._at}: {why}. "
            "Get or save the file again."
        )

    def expect(self, nbytes: int, what: str) -> None:
        """Check that so many bytes are still to come."""
        if nbytes > self.left:
            self.fail(f"{what} need {nbytes} bytes, {self.left} are left")

    def take(self, layout: str) -> tuple[Any, ...]:
        """The next few numbers."""
        return struct.unpack(layout, self.raw(struct.calcsize(layout), "numbers"))

    def raw(self, nbytes: int, what: str) -> memoryview:
        """The next few bytes."""
        self.expect(nbytes, what)
        self._at += nbytes
        return self._content[self._at - nbytes : self._at]

    def text(self) -> str:
        """The next name."""
        (length,) = self.take("<Q")
        encoded = bytes(self.raw(length, "a name"))
        try:
            return encoded.decode()
        except UnicodeDecodeError:
            return str(self.fail(f"the name {encoded[:40]!r} is not UTF-8 text"))


def _read_array(reader: _Reader) -> NDArray:
    (magic,) = reader.take("<I")
    if magic in (V2, V3):
        (storage,) = reader.take("<i")
        if storage in _STORAGE_TYPES:
            found: NDArray = _read_sparse(reader, _STORAGE_TYPES[storage])
            return found
        if storage != 0:
            reader.fail(f"{storage} is not a storage type")
        shape = _read_shape(reader, "q")
    elif magic == V1:
        shape = _read_shape(reader, "q")
    else:  # V0 has no magic: its first number is the number of axes
        shape = _read_shape(reader, "I", magic)
    if shape is None or (not shape and magic != V3):
        return reader.fail("it holds an array without a shape")  # type: ignore[no-any-return]
    if 0 in shape and np_semantics.is_np_shape() != (magic == V3):
        raise DataError(
            f"{reader.source}: an array of shape {shape} was saved with np_shape "
            f"{'on' if magic == V3 else 'off'}, and 0 means something else now. Load "
            f"it in `with mx.np_shape({magic == V3}):`."
        )
    _, _, code = reader.take("<iii")
    dtype = _dtype_of(reader, code)
    numbers = _read_numbers(reader, shape, dtype)
    return make_array(numbers, ctx=cpu(), dtype=dtype)


def _read_numbers(reader: _Reader, shape: Shape, dtype: DType) -> Any:
    """So many numbers, row by row."""
    nbytes = prod(shape) * dtype.itemsize
    raw = reader.raw(nbytes, f"an array of shape {shape}, {dtype.name},")
    # A byte other than 0 and 1 is no bool to NumPy; compare instead of trusting it.
    stored = np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("<")
    try:
        return np.frombuffer(raw, stored).astype(dtype).reshape(shape)
    except ValueError as reason:  # no elements, along axes of impossible lengths
        raise DataError(
            f"{reader.source}: an array of shape {shape} cannot be ({reason})."
        ) from None


def _read_sparse(reader: _Reader, stype: str) -> Any:
    """What follows the storage type of a sparse array."""
    stored, shape = _read_shape(reader, "q"), _read_shape(reader, "q")
    axes = 1 if stype == CSR else len(shape or ())
    fits = stored is not None and bool(shape) and len(stored) == axes
    if not fits or (stype == CSR and len(shape or ()) != 2):
        return reader.fail(f"{stored} and {shape} are no shapes of a {stype} array")
    _, _, code = reader.take("<iii")
    dtype = _dtype_of(reader, code)
    heads = []
    for _ in range(2 if stype == CSR else 1):
        (code,) = reader.take("<i")
        heads.append((_dtype_of(reader, code), _read_shape(reader, "q")))
    for place, length in heads:
        if place.kind not in "iu" or length is None or len(length) != 1:
            reader.fail(f"places of {place.name}, {length}, are no list of integers")
    assert stored is not None
    assert shape is not None
    data = _read_numbers(reader, stored, dtype)
    lists = [_read_numbers(reader, n or (), t).astype(np.int64) for t, n in heads]
    spec = spec_of(shape, dtype, stype)
    assert isinstance(spec, SparseSpec)
    parts: Any = (data, lists[0]) if stype == ROW_SPARSE else (data, lists[1], lists[0])
    if stype == ROW_SPARSE and stored[1:] != shape[1:]:
        reader.fail(f"rows of {stored[1:]} are no rows of an array {shape}")
    problem = outside(spec, (Rows if stype == ROW_SPARSE else Entries)(*parts))
    if problem:
        reader.fail(problem)
    return from_parts(spec, parts, cpu())


def _read_shape(reader: _Reader, kind: str, ndim: int | None = None) -> Shape | None:
    """The lengths of the axes; None for V3's unknown shape."""
    if ndim is None:
        (ndim,) = reader.take("<i")
    assert ndim is not None
    if ndim == -1:
        return None
    if not 0 <= ndim <= MAX_NDIM:
        reader.fail(f"{ndim} is no number of axes (0 to {MAX_NDIM})")
    shape: Shape = reader.take(f"<{ndim}{kind}")
    if any(length < 0 for length in shape):
        reader.fail(f"the shape {shape} has a negative length")
    return shape


def _dtype_of(reader: _Reader, code: int) -> DType:
    try:
        return resolve(code)
    except DTypeError as reason:
        name = _UNSUPPORTED_CODES.get(code, "unknown")
        why = f"its element type {code} ({name}): {reason}"
        return reader.fail(why)  # type: ignore[no-any-return]
