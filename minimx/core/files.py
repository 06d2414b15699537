"""Files that are written whole, or not at all.

A program that is stopped while it saves, or a disk that is full, must not cost what was
saved before. So the bytes go to a neighbour of the file first, which then takes its
place in one step. A program that is killed leaves such a neighbour behind; the next one
that saves the same file removes it.
"""

from __future__ import annotations

import contextlib
import glob
import os
from pathlib import Path
from typing import Any

from minimx.core.errors import DataError


def read_whole(path: Any, caller: str, most: int = -1) -> bytes:
    """The bytes of a file, or its first few; DataError, naming the caller, for none."""
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except (OSError, ValueError, MemoryError) as reason:  # a name with a zero byte
        raise DataError(
            f"{caller}: cannot read {str(path)!r}: "
            f"{getattr(reason, 'strerror', '') or reason or 'out of memory'}."
        ) from reason


def write_whole(path: str | os.PathLike[str], content: Any, caller: str) -> None:
    """Put bytes into a file; what was there stays as it is until all are written.

    Raises DataError, in the name of the `caller`, where that is not possible.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        _remove_left_over(target)
        if target.exists() and not target.is_file():  # a device, a pipe
            target.write_bytes(content)
            return
        try:
            partial.write_bytes(content)
            partial.replace(target)
        finally:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                partial.unlink()
    except OSError as reason:
        raise DataError(
            f"{caller}: cannot write {str(path)!r}: {reason.strerror or reason}."
        ) from reason


def _remove_left_over(target: Path) -> None:
    """Remove what processes that are gone have written of a file."""
    for name in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        pid = name.name.split(".")[-2]
        if pid.isdecimal() and not process_runs(int(pid)):
            name.unlink(missing_ok=True)


def process_runs(pid: int) -> bool:
    """Whether there is a process of this number on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OverflowError, PermissionError):
        return True
    return True
