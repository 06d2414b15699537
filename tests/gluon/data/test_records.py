"""Datasets of records."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from minimx.core.errors import DataError
from minimx.gluon.data import DataLoader, RecordFileDataset
from minimx.recordio import MXIndexedRecordIO


@pytest.fixture
def path(tmp_path: Path) -> Path:
    writer = MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w")
    for key in (3, 1, 2):
        writer.write_idx(key, bytes([key]) * key)
    writer.close()
    return tmp_path / "x.rec"


def test_records_by_number(path: Path) -> None:
    records = RecordFileDataset(path)
    assert [records[number] for number in range(3)] == [b"\3\3\3", b"\1", b"\2\2"]
    assert len(records) == 3
    assert records[-1] == b"\2\2"
    with pytest.raises(IndexError):
        records[3]
    copy = pickle.loads(pickle.dumps(records))
    assert copy[0] == b"\3\3\3"
    lengths = DataLoader(records.transform(len), 3, num_workers=2)
    assert [batch.asnumpy().tolist() for batch in lengths] == [[3, 1, 2]]


def test_without_an_index(path: Path) -> None:
    path.with_suffix(".idx").unlink()
    with pytest.raises(DataError, match="cannot open the index"):
        RecordFileDataset(path)
