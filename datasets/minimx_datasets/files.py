"""Reading files that we did not write: never more than was expected, never on trust."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from minimx_datasets.errors import DatasetError

#: No file of the sets that we read comes near it; a header that asks for more is a lie.
LIMIT = 1 << 30
_STEP = 1 << 20


def home(name: str, folder: str | os.PathLike[str] | None) -> Path:
    """The folder named, or where MXNet keeps a set: `$MXNET_HOME/datasets/<name>`."""
    if folder is not None:
        return Path(folder).expanduser()
    root = os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet"))
    return Path(root).expanduser() / "datasets" / name


def find(folder: Path, *names: str) -> Path:
    """The first of these files, plain or gzipped, that the folder has."""
    for name in names:
        for candidate in (folder / name, folder / f"{name}.gz"):
            if candidate.is_file():
                return candidate
    raise DatasetError(
        f"{names[0]} (or {names[0]}.gz) is not in {folder}. Put the set's original "
        "files there, or name the folder that has them: load(folder=...). "
        "Sets that need no files: load('digits'), load('glyphs')."
    )


class Reader:
    """A plain or gzipped file, read from its beginning in exact pieces.

    Every failure is a DatasetError that names the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        opened = gzip.open if path.suffix == ".gz" else open
        self._file = opened(path, "rb")

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fail(self, what: str) -> DatasetError:
        """An error about this file, to be raised."""
        return DatasetError(
            f"{self.path}: {what}. The file is damaged, or not what its name says; "
            "fetch it again from its source."
        )

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes, which hold `what`; memory grows as they arrive."""
        if count > LIMIT:
            raise self.fail(f"{what} would take {count:,} bytes")
        pieces, left = [], count
        while left > 0:
            piece = self._read(min(left, _STEP))
            if not piece:
                raise self.fail(f"{what} ends {left:,} bytes early")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def end(self) -> None:
        """Make sure that nothing follows."""
        if self._read(1):
            raise self.fail("more bytes follow after the last value")

    def _read(self, count: int) -> bytes:
        try:
            return self._file.read(count)
        except (OSError, EOFError, zlib.error) as error:
            raise self.fail(f"cannot be read ({error})") from error
