"""Files of records: the bytes, the index, processes, and damage."""

from __future__ import annotations

import os
import pickle
import struct
import tracemalloc
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx import nd
from minimx.core.errors import ArgumentError, DataError
from minimx.recordio import (
    MAGIC,
    IRHeader,
    MXIndexedRecordIO,
    MXRecordIO,
    _encoded,
    pack,
    pack_img,
    unpack,
    unpack_img,
)


def written(path: Path, records: list[bytes]) -> Path:
    writer = MXRecordIO(path, "w")
    for record in records:
        writer.write(record)
    writer.close()
    return path


def read(path: Path) -> list[bytes]:
    reader = MXRecordIO(path, "r")
    found = list(iter(reader.read, None))
    reader.close()
    return found


def indexed(folder: Path, records: dict[int, bytes]) -> tuple[Path, Path]:
    idx, rec = folder / "x.idx", folder / "x.rec"
    writer = MXIndexedRecordIO(idx, rec, "w")
    for key, record in records.items():
        writer.write_idx(key, record)
    writer.close()
    return idx, rec


def test_the_bytes_are_those_of_mxnet(tmp_path: Path) -> None:
    path = written(tmp_path / "x", [b"abc", MAGIC + b"xy", b""])
    golden = "0a23d7ce 03000000 61626300" + "0a23d7ce 00000020 0a23d7ce 02000060"
    golden += "78790000 0a23d7ce 00000000"
    assert path.read_bytes() == bytes.fromhex(golden)
    record = pack(IRHeader(0, 3.0, 7, 0), b"zz")
    assert record.hex() == "00000000000040400700000000000000" + 16 * "0" + "7a7a"


@given(
    st.lists(
        st.lists(st.sampled_from([MAGIC, b"a", b"bcde", MAGIC[:3]])).map(b"".join),
        max_size=5,
    )
)
def test_what_is_written_is_read(records: list[bytes]) -> None:
    content = b"".join(map(_encoded, records))
    assert len(content) % 4 == 0
    # Every aligned magic number in the file begins a part, so readers find their way.
    parts = [i for i in range(0, len(content), 4) if content[i : i + 4] == MAGIC]
    at = 0
    for place in parts:
        assert place == at
        (word,) = struct.unpack_from("<I", content, at + 4)
        at += 8 + (word & (2**29 - 1)) + 3 & ~3
    assert at == len(content)


@given(st.lists(st.lists(st.sampled_from([MAGIC, b"a", b"bcd"])).map(b"".join)))
def test_records_with_magic_numbers(tmp_path_factory: Any, parts: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("rec") / "x.rec"
    assert read(written(path, parts)) == parts


def test_reset_and_tell(tmp_path: Path) -> None:
    reader = MXRecordIO(written(tmp_path / "x", [b"one", b"two"]), "r")
    assert (reader.read(), reader.tell()) == (b"one", 12)
    reader.reset()
    assert (reader.read(), reader.read(), reader.read()) == (b"one", b"two", None)
    assert reader.read() is None
    reader.close()
    with pytest.raises(DataError, match="is closed"):
        reader.read()


def test_a_reader_sees_what_is_appended(tmp_path: Path) -> None:
    writer = MXRecordIO(tmp_path / "x", "w")
    reader = MXRecordIO(tmp_path / "x", "r")
    assert reader.read() is None
    writer.write(b"new")
    assert reader.read() == b"new"
    writer.close()
    reader.close()


def test_the_wrong_direction(tmp_path: Path) -> None:
    writer = MXRecordIO(tmp_path / "x", "w")
    with pytest.raises(ArgumentError, match="opened for a writer; it cannot be read"):
        writer.read()
    writer.close()
    reader = MXRecordIO(tmp_path / "x", "r")
    with pytest.raises(ArgumentError, match="cannot be written"):
        reader.write(b"")
    reader.close()
    with pytest.raises(ArgumentError, match="'r' or 'w'"):
        MXRecordIO(tmp_path / "x", "a")
    with pytest.raises(DataError, match="No such file"):
        MXRecordIO(tmp_path / "nowhere" / "x", "r")


def test_an_index(tmp_path: Path) -> None:
    idx, rec = indexed(tmp_path, {5: b"five", 0: b"nothing", 3: b""})
    assert idx.read_text() == "5\t0\n0\t12\n3\t28\n"
    reader = MXIndexedRecordIO(idx, rec, "r")
    assert reader.keys == [5, 0, 3]
    assert [reader.read_idx(key) for key in (3, 5, 0)] == [b"", b"five", b"nothing"]
    reader.seek(0)
    assert (reader.read(), reader.read()) == (b"nothing", b"")
    with pytest.raises(DataError, match="no record 4 among its 3"):
        reader.read_idx(4)
    reader.close()
    words = MXIndexedRecordIO(idx, rec, "r", key_type=str)
    assert words.keys == ["5", "0", "3"]
    words.close()


def test_threads_share_an_index(tmp_path: Path) -> None:
    records = {key: bytes([key]) * (key + 1) for key in range(100)}
    reader = MXIndexedRecordIO(*indexed(tmp_path, records), "r")
    found: list[bool] = []

    def look() -> None:
        for key in np.random.default_rng().permutation(100).tolist():
            found.append(reader.read_idx(key) == records[key])

    threads = [Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader.close()
    assert found == [True] * 400


def _in_child(pipe: Any, reader: MXRecordIO, writer: MXRecordIO) -> None:
    words = [str(reader.read())]
    try:
        writer.write(b"child")
    except DataError as error:
        words.append(str(error))
    pipe.send(words)
    pipe.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_reads_from_the_beginning_and_never_writes(tmp_path: Path) -> None:
    reader = MXRecordIO(written(tmp_path / "x", [b"one", b"two"]), "r")
    writer = MXRecordIO(tmp_path / "y", "w")
    writer.write(b"parent")
    assert reader.read() == b"one"
    ours, theirs = get_context("fork").Pipe()
    child = get_context("fork").Process(target=_in_child, args=(theirs, reader, writer))
    child.start()
    theirs.close()
    first, refused = ours.recv()
    child.join()
    ours.close()
    assert first == str(b"one")
    assert f"belongs to process {os.getpid()}" in refused
    assert reader.read() == b"two"
    reader.close()
    writer.close()
    assert read(tmp_path / "y") == [b"parent"]


def test_a_reader_travels_and_a_writer_does_not(tmp_path: Path) -> None:
    idx, rec = indexed(tmp_path, {1: b"one", 2: b"two"})
    reader = MXIndexedRecordIO(idx, rec, "r")
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.read_idx(2) == b"two"
    reader.close()
    copy.close()
    closed = pickle.loads(pickle.dumps(reader))
    assert not closed.is_open
    writer = MXRecordIO(rec, "w")
    with pytest.raises(ArgumentError, match="Close it first"):
        pickle.dumps(writer)
    writer.close()


def damaged(path: Path, at: int, content: bytes) -> Path:
    found = bytearray(path.read_bytes())
    found[at : at + len(content)] = content
    path.write_bytes(found)
    return path


@pytest.mark.parametrize(
    ("at", "content", "what"),
    [
        (8, b"", "good"),
        (12, b"magi", "of the record at byte 12, it begins with"),
        (16, b"\xff\xff\xff\x1f", "of the record at byte 12, 536870911 bytes of it"),
        (16, b"\x03\x00\x00\x20", "of the record at byte 12, the file ends"),
        (16, b"\x03\x00\x00\x60", "of the record at byte 12, its parts are out"),
        (4, b"\x03\x00\x00\x20", "of the record at byte 0, its parts are out"),
    ],
)
def test_damage(tmp_path: Path, at: int, content: bytes, what: str) -> None:
    path = damaged(written(tmp_path / "x", [b"one", b"two"]), at, content)
    if what == "good":
        assert read(path) == [b"one", b"two"]
        return
    tracemalloc.start()
    with pytest.raises(DataError, match=what):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("length", range(1, 12))
def test_a_file_that_is_cut_off(tmp_path: Path, length: int) -> None:
    path = written(tmp_path / "x", [b"one"])
    os.truncate(path, length)
    with pytest.raises(DataError, match="cut off or damaged, or no file of records"):
        read(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("1\t0\n2\n", r"line 2 is b'2\\n', not a key"),
        ("1\tx\n", "line 1"),
        ("one\t0\n", "line 1"),
        ("1\t0\n2\t4000\n", "is not the index of.*24 bytes: line 2 looks.* 4000"),
        ("1\t-4\n", "line 1"),
        ("1\t0\n2\t1", "line 2"),
        ("\xff\n", "line 1"),
    ],
)
def test_an_index_that_does_not_fit(tmp_path: Path, content: str, what: str) -> None:
    idx, rec = indexed(tmp_path, {1: b"one", 2: b"two"})
    idx.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match=what):
        MXIndexedRecordIO(idx, rec, "r")
    idx.unlink()
    with pytest.raises(DataError, match="cannot open the index"):
        MXIndexedRecordIO(idx, rec, "r")


def test_an_offset_between_two_records(tmp_path: Path) -> None:
    idx, rec = indexed(tmp_path, {1: b"one", 2: b"two"})
    idx.write_text("1\t4\n2\t12\n")
    reader = MXIndexedRecordIO(idx, rec, "r")
    with pytest.raises(DataError, match="byte 4"):
        reader.read_idx(1)
    assert reader.read_idx(2) == b"two"
    reader.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk(tmp_path: Path) -> None:
    writer = MXRecordIO(tmp_path / "x", "w")
    writer.write(b"one")
    full = open("/dev/full", "wb", buffering=0)  # noqa: SIM115

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, content: memoryview) -> int:
            self.file.write(content[:5])
            return full.write(content[5:])

    real, writer._file = writer._file, Full(writer._file)  # type: ignore[assignment]
    with pytest.raises(DataError, match=r"No space left.*written before is whole"):
        writer.write(b"two")
    writer._file = real
    writer.write(b"three")
    writer.close()
    full.close()
    assert read(tmp_path / "x") == [b"one", b"three"]


@pytest.mark.parametrize(
    "label", [3, 2.5, np.float32(1.5), [1.0, 2.0], np.arange(3), nd.array([4, 5])]
)
def test_headers(label: Any) -> None:
    header, content = unpack(pack((9, label, 12, 34), b"image"))
    assert content == b"image"
    assert (header.id, header.id2) == (12, 34)
    assert np.array_equal(header.label, np.asarray(label, np.float32))
    assert header.flag == np.size(np.asarray(label)) * (np.ndim(label) > 0)


def test_headers_that_cannot_be() -> None:
    with pytest.raises(DataError, match="5 bytes has no header of 24"):
        unpack(b"abcde")
    with pytest.raises(DataError, match="claims 4000000000 numbers of a label, but 4"):
        unpack(struct.pack("<IfQQ", 4_000_000_000, 0, 0, 0) + b"abcd")
    with pytest.raises(ArgumentError, match="whole numbers from 0 on"):
        pack((0, 1.0, -1, 0), b"")


def test_images() -> None:
    image = np.random.default_rng(0).integers(0, 256, (6, 5, 3)).astype(np.uint8)
    header, found = unpack_img(pack_img((0, 1.0, 2, 3), image, 3, ".png"))
    assert header == (0, 1.0, 2, 3)
    assert np.array_equal(found, image)
    grey = unpack_img(pack_img((0, 1, 2, 3), image, img_fmt=".jpg"), iscolor=0)[1]
    assert grey.shape == (6, 5)
    _, found = unpack_img(pack_img((0, 1, 2, 3), image[..., 0], 9, ".png"))
    assert np.array_equal(found, image[..., 0])
