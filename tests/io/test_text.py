"""Tables of numbers and sparse rows in text files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.errors import ArgumentError, DataError, Unavailable
from minimx.io import CSVIter, LibSVMIter


def rows(it: Any) -> list[Any]:
    found = [batch.data[0].asnumpy().tolist() for batch in it]
    it.reset()
    return found


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "x.csv"
    path.write_text("".join(f"{i},{i + 0.5}\n" for i in range(5)))
    return str(path)


def test_a_table(table: str, tmp_path: Path) -> None:
    it = CSVIter(table, (2,), 2)
    assert it.provide_data == [("data", (2, 2))]
    assert it.provide_label == [("softmax_label", (2,))]
    assert rows(it)[2] == [[4, 4.5], [0, 0.5]]
    assert rows(it) == [[[1, 1.5], [2, 2.5]], [[3, 3.5], [4, 4.5]]]
    assert [batch.pad for batch in it] == [0, 0, 1]
    stays = CSVIter(table, (1, 2), 2, round_batch=False)
    assert rows(stays) == rows(stays)
    assert rows(stays)[2] == [[[4, 4.5]], [[3, 3.5]]]
    label = tmp_path / "y.csv"
    label.write_text("".join(f"{-i}\n" for i in range(5)))
    both = CSVIter(data_csv=table, data_shape=(2,), label_csv=str(label), batch_size=5)
    (batch,) = both
    assert batch.label is not None
    assert batch.label[0].asnumpy().tolist() == [0, -1, -2, -3, -4]
    assert batch.index.tolist() == [0, 1, 2, 3, 4]


def test_the_batch_at_hand(table: str) -> None:
    it = CSVIter(table, (2,), 2)
    with pytest.raises(ArgumentError, match="no batch here"):
        it.getdata()
    assert it.iter_next()
    assert it.getdata().shape == (2, 2)
    assert (it.getlabel().shape, it.getpad()) == ((2,), 0)
    assert it.getindex().tolist() == [0, 1]
    it.debug_skip_load()
    assert it.next() is it.next()
    it.reset()
    assert it.next().index.tolist() == [0, 1]


def test_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("9007199254740993\n2\n")
    (batch,) = CSVIter(str(path), (1,), 2, dtype="int64")
    assert batch.data is not None
    assert batch.data[0].asnumpy().tolist() == [[9007199254740993], [2]]
    path.write_text("1.7\n-2.7\n")
    assert rows(CSVIter(str(path), (1,), 2, dtype="int32")) == [[[1], [-2]]]


def test_several_files(tmp_path: Path) -> None:
    for name, text in (("a", "1\n2"), ("b", "3\n")):
        (tmp_path / name).write_text(text)
    assert rows(CSVIter(str(tmp_path), (1,), 3)) == [[[1], [2], [3]]]
    names = f"{tmp_path / 'b'};{tmp_path / 'a'}"
    assert rows(CSVIter(names, (1,), 3)) == [[[3], [1], [2]]]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,2\n3,x\n", "no table of numbers.*'x'"),
        ("1,2\n3\n", "no table of numbers"),
        ("1,2,3\n", r"has 3 numbers, which are no array of shape \(2,\)"),
        ("", "has 0 numbers"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=what):
        CSVIter(str(path), (2,), 1)


def test_settings_that_are_none(
    table: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(DataError, match="cannot read.*No such file"):
        CSVIter(str(tmp_path / "none"), (2,), 1)
    with pytest.raises(ArgumentError, match="dtype='float16'"):
        CSVIter(table, (2,), 1, dtype="float16")
    short = tmp_path / "y.csv"
    short.write_text("1\n")
    with pytest.raises(DataError, match="5 rows, and .* only 1"):
        CSVIter(table, (2,), 1, label_csv=str(short))
    with caplog.at_level(logging.WARNING):
        CSVIter(table, (2,), 1, prefetch_buffer=3)
        assert caplog.text == ""
        CSVIter(table, (2,), 1, colour="red")
    assert "CSVIter has no colour; it is left alone" in caplog.text


SPARSE = "1.0 0:0.5 2:1.2\n-2.0\n\n-3.0 0:0.6 1:2.4 2:1.2  # last\n4 2:-1.2\n"


def test_sparse_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.t"
    path.write_text(SPARSE)
    it = LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=3)
    first, second = it
    assert first.data is not None
    assert first.label is not None
    assert second.data is not None
    assert first.data[0].stype == "csr"
    first.data[0].check_format(True)
    wanted = np.array([[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2]], np.float32)
    assert (first.data[0].asnumpy() == wanted).all()
    assert first.label[0].asnumpy().tolist() == [1, -2, -3]
    assert second.data[0].asnumpy()[0].tolist() == pytest.approx([0, 0, -1.2])
    assert second.pad == 2
    part = LibSVMIter(str(path), (3,), 1, num_parts=2, part_index=1)
    assert len(rows(part)) == 1


def test_sparse_labels(tmp_path: Path) -> None:
    data, label = tmp_path / "x.t", tmp_path / "y.t"
    data.write_text(SPARSE)
    label.write_text("1.0\n-2.0 0:0.125\n-3.0 1:1.5\n4 1:1.0\n")
    it = LibSVMIter(str(data), (3,), 4, label_libsvm=str(label), label_shape=(2,))
    assert it.provide_label == [("softmax_label", (4, 2))]
    it.iter_next()
    assert it.getlabel().asnumpy().tolist() == [[0, 0], [0.125, 0], [0, 1.5], [0, 1]]
    label.write_text("1\n")
    with pytest.raises(DataError, match="has 4 rows, and .* 1"):
        LibSVMIter(str(data), (3,), 4, label_libsvm=str(label), label_shape=(2,))


@pytest.mark.parametrize(
    "line", ["1 -1:0.6 1:2.4", "1 3:1", "1 2:1 1:1", "1 x:1", "1 1", "a 1:1", "1 1:b"]
)
def test_sparse_rows_that_are_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.t"
    path.write_text(f"1 0:1\n{line}\n")
    with pytest.raises(DataError, match="line 2 of"):
        LibSVMIter(str(path), (3,), 1)


def test_settings_of_sparse_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.t"
    path.write_text(SPARSE)
    with pytest.raises(Unavailable, match="need round_batch=True"):
        LibSVMIter(str(path), (3,), 1, round_batch=False)
    with pytest.raises(ArgumentError, match="one axis, not the shape"):
        LibSVMIter(str(path), (3, 1), 1)
    with pytest.raises(ArgumentError, match="must be float32"):
        LibSVMIter(str(path), (3,), 1, dtype="int32")
