"""Files of arrays, byte for byte as MXNet 1.9.1 writes them."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minimx as mx
import minimx.nd as nd
from minimx.core.dtypes import CODES
from minimx.core.errors import ArgumentError, DataError
from minimx.nd import serialize

# Written by MXNet 1.9.1: {"arg:w": float32 [1, 2]}, and [int32 [7]] without names.
NAMED = bytes.fromhex(
    "1201000000000000 0000000000000000 0100000000000000"
    "c9fa93f9 00000000 01000000 0200000000000000 01000000 00000000 00000000"
    "0000803f 00000040"
    "0100000000000000 0500000000000000 6172673a77"
)
UNNAMED = bytes.fromhex(
    "1201000000000000 0000000000000000 0100000000000000"
    "c9fa93f9 00000000 01000000 0100000000000000 01000000 00000000 04000000"
    "07000000 0000000000000000"
)
# {"r": row_sparse float32 (3, 2), row 1 = [5, 6]}, {"c": csr (2, 2), (0, 1) = 9}
ROWS = bytes.fromhex(
    "1201000000000000 0000000000000000 0100000000000000"
    "c9fa93f9 01000000 02000000 0100000000000000 0200000000000000"
    "02000000 0300000000000000 0200000000000000 01000000 00000000 00000000"
    "06000000 01000000 0100000000000000 0000a040 0000c040 0100000000000000"
    "0100000000000000 0100000000000000 72"
)
CSR = bytes.fromhex(
    "1201000000000000 0000000000000000 0100000000000000"
    "c9fa93f9 02000000 01000000 0100000000000000"
    "02000000 0200000000000000 0200000000000000 01000000 00000000 00000000"
    "06000000 01000000 0300000000000000 06000000 01000000 0100000000000000"
    "00001041 0000000000000000 0100000000000000 0100000000000000 0100000000000000"
    "0100000000000000 0100000000000000 63"
)
# Sparse arrays of which nothing is stored: csr (2, 3) and row_sparse (4, 3).
EMPTY_CSR = bytes.fromhex(
    "1201000000000000 0000000000000000 0100000000000000"
    "c9fa93f9 02000000 01000000 0000000000000000"
    "02000000 0200000000000000 0300000000000000 01000000 00000000 00000000"
    "06000000 01000000 0300000000000000 06000000 01000000 0000000000000000"
    "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
)
EMPTY_ROWS = bytes.fromhex(
    "1201000000000000 0000000000000000 0100000000000000"
    "c9fa93f9 01000000 02000000 0000000000000000 0300000000000000"
    "02000000 0400000000000000 0300000000000000 01000000 00000000 00000000"
    "06000000 01000000 0000000000000000 0000000000000000"
)


def test_named_arrays_are_written_as_mxnet_does() -> None:
    assert serialize.dumps({"arg:w": nd.array([1, 2])}) == NAMED


def test_unnamed_arrays_are_written_as_mxnet_does() -> None:
    assert serialize.dumps([nd.array([7], dtype="int32")]) == UNNAMED
    assert serialize.dumps(nd.array([7], dtype="int32")) == UNNAMED


@pytest.mark.parametrize(
    ("content", "stype", "numbers"),
    [
        (ROWS, "row_sparse", [[0, 0], [5, 6], [0, 0]]),
        (CSR, "csr", [[0, 9], [0, 0]]),
        (EMPTY_CSR, "csr", [[0, 0, 0]] * 2),
        (EMPTY_ROWS, "row_sparse", [[0, 0, 0]] * 4),
    ],
)
def test_sparse_arrays_are_read_and_written_as_mxnet_does(
    content: bytes, stype: str, numbers: Any
) -> None:
    found = serialize.loads(content)
    array = next(iter(found.values())) if isinstance(found, dict) else found[0]
    assert array.stype == stype
    assert array.asnumpy().tolist() == numbers
    assert serialize.dumps(found) == content


def test_named_arrays_are_read() -> None:
    found = serialize.loads(NAMED)
    assert isinstance(found, dict)
    assert list(found) == ["arg:w"]
    assert found["arg:w"].asnumpy().tolist() == [1.0, 2.0]
    assert found["arg:w"].dtype is np.float32


def test_unnamed_arrays_are_read() -> None:
    found = serialize.load_frombuffer(UNNAMED)
    assert isinstance(found, list)
    assert found[0].asnumpy().tolist() == [7]
    assert found[0].dtype is np.int32


ARRAYS = st.sampled_from(sorted(CODES.values(), key=str)).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(max_dims=4, min_side=0))
)


@given(st.dictionaries(st.text(max_size=8), ARRAYS, max_size=4))
def test_what_was_saved_is_loaded(arrays: dict[str, Any]) -> None:
    stored = {k: nd.array(v, dtype=v.dtype) for k, v in arrays.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.params")
        nd.save(path, stored)
        found = nd.load(path)
    if not arrays:
        assert found == []
        return
    assert isinstance(found, dict)
    assert list(found) == list(arrays)
    for name, numbers in arrays.items():
        assert found[name].dtype == numbers.dtype
        np.testing.assert_array_equal(found[name].asnumpy(), numbers)


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        (struct.pack("<Iiq", 0xF993FAC8, 1, 2), (2,)),  # V1
        (struct.pack("<II", 1, 2), (2,)),  # V0: no magic, lengths of 32 bits
        (struct.pack("<Iiiq", 0xF993FACA, 0, 1, 2), (2,)),  # V3
    ],
)
def test_other_generations_are_read(head: bytes, shape: tuple[int, ...]) -> None:
    body = struct.pack("<iiiff", 1, 0, 0, 1.0, 2.0)
    content = struct.pack("<QQQ", 0x112, 0, 1) + head + body + struct.pack("<Q", 0)
    (found,) = serialize.loads(content)
    assert isinstance(found, nd.NDArray)
    assert found.shape == shape
    assert found.asnumpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("wrote", [False, True])
def test_a_length_of_zero_is_read_where_it_means_the_same(wrote: bool) -> None:
    with mx.np_shape(wrote):
        content = serialize.dumps([nd.array(np.zeros((2, 0))), nd.ones(3)])
        loaded: Any = serialize.loads(content)
        empty, full = loaded
    assert (empty.shape, full.shape) == ((2, 0), (3,))
    with mx.np_shape(not wrote), pytest.raises(DataError, match=f"np_shape.{wrote}"):
        serialize.loads(content)


@pytest.mark.parametrize("wrote", [False, True])
def test_other_arrays_are_read_anywhere(wrote: bool) -> None:
    with mx.np_shape(wrote):
        content = serialize.dumps(nd.array([1, 2]))
    with mx.np_shape(not wrote):
        loaded: Any = serialize.loads(content)
        assert loaded[0].asnumpy().tolist() == [1, 2]


def test_a_number_stays_without_axes() -> None:
    body = struct.pack("<Iiiiiif", 0xF993FACA, 0, 0, 1, 0, 0, 5.0)
    content = struct.pack("<QQQ", 0x112, 0, 1) + body + struct.pack("<Q", 0)
    (found,) = serialize.loads(content)
    assert isinstance(found, nd.NDArray)
    assert found.asnumpy().tolist() == 5.0


def test_a_csr_array_without_row_starts_is_refused() -> None:
    places = struct.pack("<iiqiiq", 6, 1, 0, 6, 1, 0)
    shapes = struct.pack("<iqiqq", 1, 0, 2, 0, 2) + struct.pack("<iii", 1, 0, 0)
    body = struct.pack("<Ii", 0xF993FAC9, 2) + shapes + places
    content = struct.pack("<QQQ", 0x112, 0, 1) + body + struct.pack("<Q", 0)
    with pytest.raises(DataError, match="indptr"):
        serialize.loads(content)


@pytest.mark.parametrize("length", range(len(NAMED)))
def test_a_file_that_ends_early_is_refused(length: int) -> None:
    with pytest.raises(DataError, match="damaged at byte"):
        serialize.loads(NAMED[:length], "'x.params'")


@given(st.sampled_from([NAMED, ROWS, CSR]), st.integers(0), st.integers(0, 255))
def test_a_changed_byte_never_crashes(file: bytes, place: int, value: int) -> None:
    content = bytearray(file)
    content[place % len(file)] = value
    try:
        for array in serialize.loads(bytes(content)).values():  # type: ignore[union-attr]
            assert len(array.shape) > 0
    except DataError as error:
        assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG" + NAMED, "is not a file of arrays"),
        (NAMED + b"x", "1 bytes follow its end"),
        (NAMED.replace(b"arg:w", b"\xff\xfe\xfd\xfc\xfb"), "not UTF-8"),
        (ROWS[:108] + b"\x07" + ROWS[109:], "no row 7"),
        (ROWS[:92] + b"\x09" + ROWS[93:], "left|places"),
        (ROWS[:84] + b"\0" + ROWS[85:], "no list of integers"),
        (CSR[:120] + b"\x05" + CSR[121:], "never fall"),
        (CSR[:136] + b"\x05" + CSR[137:], "no column 5"),
        (CSR[:32] + b"\x02" + CSR[33:], "no shapes of a csr array"),
        (
            NAMED.replace(b"\xc9\xfa\x93\xf9\0\0\0\0", b"\xc9\xfa\x93\xf9\x07\0\0\0"),
            "7",
        ),
        (struct.pack("<QQQ", 0x112, 0, 1 << 60), "arrays need"),
        (NAMED[:52] + struct.pack("<i", 9) + NAMED[56:], "uint16"),
        (NAMED[:32] + struct.pack("<i", -7) + NAMED[36:], "no number of axes"),
        (NAMED[:36] + struct.pack("<q", -2) + NAMED[44:], "negative length"),
        (
            NAMED[:36] + struct.pack("<q", 1 << 50) + NAMED[44:],
            "bytes are left|are left",
        ),
    ],
)
def test_damage_is_described(content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        serialize.loads(content)


def test_two_arrays_of_one_name_are_refused() -> None:
    one = NAMED[24:-21]
    content = struct.pack("<QQQ", 0x112, 0, 2) + one * 2 + struct.pack("<Q", 2)
    content += (struct.pack("<Q", 1) + b"w") * 2
    with pytest.raises(DataError, match="under one name"):
        serialize.loads(content)


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nope\.params"):
        nd.load(tmp_path / "nope.params")


def test_only_arrays_are_saved(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="not float"):
        nd.save(tmp_path / "x.params", {"w": 1.0})


def test_names_are_text(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="names must be text"):
        nd.save(tmp_path / "x", {1: nd.ones((1,))})


def test_arrays_of_a_gpu_come_back_on_the_cpu(tmp_path: Path) -> None:
    from minimx.core.device import cpu, gpu

    nd.save(tmp_path / "x.params", [nd.array([1, 2], ctx=gpu(0))])
    (found,) = nd.load(tmp_path / "x.params")
    assert isinstance(found, nd.NDArray)
    assert found.context is cpu(0)


def test_no_elements_along_axes_of_impossible_lengths(tmp_path: Path) -> None:
    shape = np.array([0, 2**62, 2**62], np.int64)
    file = bytearray(pickled(nd.zeros((2, 3, 4)), tmp_path))
    place = file.index(np.array([2, 3, 4], np.int64).tobytes())
    file[place : place + 24] = shape.tobytes()
    (tmp_path / "x").write_bytes(bytes(file))
    with pytest.raises(DataError, match="cannot be"):
        nd.load(str(tmp_path / "x"))


def pickled(array: Any, folder: Path) -> bytes:
    """The bytes of a file with one array."""
    nd.save(str(folder / "x"), [array])
    return (folder / "x").read_bytes()
