"""Files that tests fetch: what is there already is not fetched."""

from __future__ import annotations

import bz2
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.errors import ArgumentError, DataError
from minimx.test_utils import (
    get_bz2_data,
    get_cifar10,
    get_mnist_ubyte,
    get_zip_data,
)


def test_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("inner/a.txt", "a")
    get_zip_data(str(tmp_path), "http://localhost:1/x.zip", "x.zip")
    assert (tmp_path / "inner" / "a.txt").read_text() == "a"
    (tmp_path / "x.bz2").write_bytes(bz2.compress(b"b"))
    for _ in range(2):
        get_bz2_data(str(tmp_path), "x.txt", "http://localhost:1/x.bz2", "x.bz2")
    assert (tmp_path / "x.txt").read_text() == "b"
    (tmp_path / "y.zip").write_bytes(b"no archive")
    with pytest.raises(DataError, match="cannot be unpacked"):
        get_zip_data(str(tmp_path), "http://localhost:1/y.zip", "y.zip")
    with pytest.raises(DataError, match="cannot be unpacked"):
        get_bz2_data(str(tmp_path), "y", "http://localhost:1/y.zip", "y.zip")


def test_sets_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "cifar").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "data" / "mnist.zip", "w") as archive:
        archive.writestr("train-images-idx3-ubyte", "")
    get_mnist_ubyte()
    assert (tmp_path / "data" / "train-images-idx3-ubyte").exists()
    for name in ("train.rec", "test.rec"):
        (tmp_path / "data" / "cifar" / name).touch()
    get_cifar10()
    assert not (tmp_path / "data" / "cifar10.zip").exists()


def test_one_batch_without_an_end_and_how_long_a_symbol_takes() -> None:
    real = mx.io.NDArrayIter(np.arange(6), np.arange(6), 2)
    dummy = mx.test_utils.DummyIter(real)
    batches: Any = [next(dummy) for _ in range(5)]
    firsts = [batch.data[0].asnumpy().tolist() for batch in batches]
    assert firsts == [[0, 1]] * 5 and dummy.provide_data == real.provide_data
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)
    for typ in ("whole", "forward"):
        assert 0 < mx.test_utils.check_speed(net, N=2, typ=typ, x=(3, 4)) < 10
    with pytest.raises(ArgumentError, match="typ"):
        mx.test_utils.check_speed(net, typ="backward", x=(3, 4))
