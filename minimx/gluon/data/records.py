"""`RecordFileDataset`: the records of a file, by number."""

from __future__ import annotations

import os
from typing import Any

from minimx.core.errors import DataError
from minimx.gluon.data.dataset import Dataset
from minimx.recordio import MXIndexedRecordIO


class RecordFileDataset(Dataset):
    """The records of a file, as bytes; its index has the same name and ends in .idx.

    Threads may read at the same time, and a copy in another process opens the file
    anew.
    """

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: Any) -> Any:
        record = self._record.read_idx(self._record.keys[idx])
        if record is None:
            raise DataError(f"{self.filename!r} ends before its record {idx}.")
        return record

    def __len__(self) -> int:
        return len(self._record.keys)
