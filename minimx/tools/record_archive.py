"""Records as files: one `.npz` with a JSON manifest inside.

The file is an ordinary NumPy archive: `manifest` is UTF-8 text in a uint8 array, every
table a structured array. It holds no pickles, and of the machine only its number of
cores and what the caller gave as `more`: plain values beside the record, such as the
versions of the libraries and the views that were open.

A file from elsewhere may be damaged or made to hurt. So nothing in it is believed: the
manifest is checked field by field, a table is read only if the size that it declares is
the size that the manifest, the archive and a fixed limit allow, and every value of a
table is checked before anybody uses it. All complaints are `DataError`.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from minimx.core.dtypes import POWERS
from minimx.core.errors import DataError
from minimx.core.files import write_whole
from minimx.core.record.tables import (
    ADDED,
    MARK_EVENTS,
    MEMORY_EVENTS,
    SIGNED,
    TABLES,
    TENSOR_KINDS,
    TEXT,
    WHOLE,
    Array,
    Contents,
    dtype_of,
)

FORMAT = "minimx-record"
VERSION = 6
OLDEST = 3  # that is still read
MOST_BYTES = 1 << 30  # of everything in a file, unpacked
MOST_MANIFEST_BYTES = 64 << 20

_MAGIC = b"\x93NUMPY\x01\x00"
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def save(
    path: Path,
    tables: Mapping[str, Array],
    strings: Sequence[str],
    dropped: Mapping[str, int],
    conditions: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> Path:
    """Write a record; the file appears whole or not at all. Returns its path.

    more: plain values to be kept beside it. Raises `DataError` if its folder does not
    exist.
    """
    if not path.parent.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist.")
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "rows": {name: len(table) for name, table in tables.items()},
        "dropped": dict(dropped),
        "conditions": dict(conditions),
        "strings": list(strings),
        "more": dict(more or {}),
    }
    text = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in {"manifest": text, **tables}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, (1, 0), allow_pickle=False)
    write_whole(path, content.getbuffer(), "Record.save")
    return path


def load(path: Path) -> Contents:
    """Read and check a record. Raises `DataError`."""
    return load_with_more(path)[0]


def load_with_more(path: Path) -> tuple[Contents, dict[str, Any]]:
    """A record, and what was kept beside it: plain values, not checked yet.

    Raises `DataError`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _Reader(path, archive).contents()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,  # an encrypted member
        RecursionError,
        ValueError,
    ) as trouble:
        if isinstance(trouble, DataError):
            raise
        raise DataError(
            f"{path} cannot be read as a minimx record ({trouble}). It is damaged, or "
            "something else. Record.save writes such files."
        ) from trouble


class _Reader:
    """Reads one archive; keeps account of what is still allowed."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self.archive = archive
        self.allowance = MOST_BYTES

    def contents(self) -> tuple[Contents, dict[str, Any]]:
        self._check_members()
        raw = self._array("manifest", np.dtype(np.uint8), None, MOST_MANIFEST_BYTES)
        manifest = self._checked_manifest(json.loads(raw.tobytes().decode()))
        strings = [*dict.fromkeys([*manifest["strings"], ""])]
        tables = {name: np.empty(0, dtype_of(name)) for name in TABLES}
        for name in manifest["rows"]:
            found = dtype_of(name, manifest["version"])
            table = self._array(name, found, manifest["rows"][name])
            table = _widened(name, table, strings.index(""))
            self._check_values(name, table, len(strings))
            tables[name] = table
        self._check_sense(tables, strings)
        dropped = dict.fromkeys(TABLES, 0) | manifest["dropped"]
        contents = Contents(tables, strings, dropped, manifest["conditions"])
        return contents, dict(manifest.get("more", {}))

    def _check_members(self) -> None:
        """The archive holds what a record has, each once, and nothing else."""
        names = self.archive.namelist()
        strange = set(names) - {f"{name}.npy" for name in ("manifest", *TABLES)}
        self._demand(not strange, f"it holds {sorted(strange)[:3]}, no part of one")
        self._demand(len(names) == len(set(names)), "it holds a table twice")

    # Arrays

    def _array(
        self, name: str, dtype: np.dtype[Any], rows: int | None, most: int = MOST_BYTES
    ) -> Array:
        """One member, if it is a flat array of this dtype and this many rows."""
        try:
            member = self.archive.getinfo(f"{name}.npy")
        except KeyError:
            raise self._wrong(f"the table {name!r} is missing") from None
        most = min(most, self.allowance)
        self._demand(
            member.compress_type in _READABLE and member.file_size <= most,
            f"{name!r} is packed in an unknown way, or claims {member.file_size:,} "
            f"bytes where at most {most:,} are allowed",
        )
        with self.archive.open(member) as stream:
            content = stream.read(member.file_size + 1)
        self.allowance -= len(content)
        start, header = self._header(name, content)
        body = len(content) - start
        count = body // dtype.itemsize if rows is None else rows
        self._demand(
            header == _header_text(dtype, count),
            f"{name!r} does not hold {count:,} rows of the columns that it should have",
        )
        said = f"{name!r} declares {count:,} rows and brings {body:,} bytes"
        self._demand(body == count * dtype.itemsize, said)
        return np.frombuffer(content, dtype, count, start)

    def _header(self, name: str, content: bytes) -> tuple[int, str]:
        """Where an array's bytes begin, and the text in which it describes itself."""
        start = 10 + int.from_bytes(content[8:10], "little")
        fine = content[:8] == _MAGIC and start <= len(content)
        self._demand(fine, f"{name!r} is not an array in NumPy's format 1.0")
        return start, content[10:start].decode("latin-1").strip()

    # Values

    def _check_values(self, name: str, table: Array, strings: int) -> None:
        """Texts must exist; whole numbers are counts, ids and times, never negative."""
        for column, kind in TABLES[name].items():
            values = table[column]
            if not len(values):
                continue
            if kind == TEXT:
                fine = values.min() >= 0 and values.max() < strings
            elif kind == WHOLE:
                fine = column in SIGNED or values.min() >= 0
            else:
                fine = (
                    kind != "bool" or np.ascontiguousarray(values).view("u1").max() < 2
                )
            self._demand(fine, f"{name}.{column} holds values that cannot be")

    def _check_sense(self, tables: Mapping[str, Array], strings: list[str]) -> None:
        """What ends must have begun, and events must be ours."""
        ops, calls = tables["ops"], tables["calls"]
        forward = (ops["t_start"] <= ops["t_end"]).all()
        self._demand(forward, "an operation ends before it starts")
        forward = (calls["t0"] <= calls["t1"]).all()
        self._demand(forward, "a call ends before it starts")
        powers = tables["exponents"]["power"]
        within = ((powers >= POWERS[0]) & (powers <= POWERS[-1])).all()
        self._demand(within, "there are powers of two that no number has")
        for table in ("tensors", "scaling"):
            scales = tables[table]["scale"]
            fine = bool((np.isfinite(scales) & (scales > 0)).all())
            self._demand(fine, f"a scale in {table} is no positive number")
        known = {
            "memory events": (tables["mem"]["event"], MEMORY_EVENTS),
            "profile events": (tables["marks"]["event"], MARK_EVENTS),
            "kinds of tensors": (tables["tensors"]["kind"], TENSOR_KINDS),
        }
        for what, (column, names) in known.items():
            strange = {strings[number] for number in np.unique(column).tolist()}
            strange.difference_update(names)
            self._demand(not strange, f"unknown {what} {sorted(strange)[:3]}")

    # The manifest

    def _checked_manifest(self, found: Any) -> dict[str, Any]:
        self._demand(isinstance(found, dict), "the manifest is not an object")
        self._demand(found.get("format") == FORMAT, "it is another kind of file")
        version = found.get("version")
        self._demand(
            version in range(OLDEST, VERSION + 1),
            f"it has version {version!r}, this minimx reads {OLDEST} to {VERSION}",
        )
        strings = found.get("strings")
        fine = isinstance(strings, list) and all(isinstance(s, str) for s in strings)
        self._demand(fine, "the string table is not a list of texts")
        later = {name for v, names in ADDED.items() if v > version for name in names}
        tables = tuple(name for name in TABLES if name not in later)
        for part in ("rows", "dropped"):
            self._check_counts(part, found.get(part), exactly=tables)
        self._check_conditions(found.get("conditions"))
        self._demand(isinstance(found.get("more", {}), dict), "'more' is no object")
        return dict(found)

    def _check_counts(
        self, part: str, counts: Any, exactly: tuple[str, ...] | None = None
    ) -> None:
        fine = isinstance(counts, dict) and all(map(_is_count, counts.values()))
        fine = fine and (exactly is None or set(counts) == set(exactly))
        self._demand(fine, f"{part!r} in the manifest is no table of counts")

    def _check_conditions(self, found: Any) -> None:
        counts = ("seed", "cores", "t_start", "t_stop")
        names = {"knobs", "clock", "devices", *counts}
        self._demand(
            isinstance(found, dict) and set(found) == names,
            f"the conditions are not {', '.join(sorted(names))}",
        )
        fine = all(_is_count(found[name]) for name in counts)
        self._demand(fine, f"one of {', '.join(counts)} is not a whole number")
        self._demand(found["clock"] in ("wall", "virtual"), "the clock is unknown")
        self._check_counts("devices", found["devices"])
        knobs = found["knobs"]
        self._demand(
            isinstance(knobs, dict) and all(map(_is_knob_value, knobs.values())),
            "the knobs hold values that no knob can take",
        )
        found["knobs"] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in knobs.items()
        }

    # Complaints

    def _demand(self, fine: object, else_say: str) -> None:
        if not fine:
            raise self._wrong(else_say)

    def _wrong(self, what: str) -> DataError:
        return DataError(
            f"{self.path} is not a sound minimx record: {what}. Take another copy, or "
            "record again."
        )


def _widened(name: str, table: Array, empty: int) -> Array:
    """A table with all columns of today; those that it lacks are 0, texts are empty."""
    whole = np.zeros(len(table), dtype_of(name))
    for column, kind in TABLES[name].items():
        known = column in (table.dtype.names or ())
        whole[column] = table[column] if known else empty * (kind == TEXT)
    return whole


def _header_text(dtype: np.dtype[Any], count: int) -> str:
    """How NumPy describes an array of our kind.

    Descriptions are compared, never parsed: NumPy would give them to Python's parser.

    >>> _header_text(np.dtype("u1"), 3)
    "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"
    """
    descr = npy.dtype_to_descr(dtype)
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({count},), }}"


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63  # True is none


def _is_knob_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, int | str) for item in value)
    return isinstance(value, bool | int | float | str)
