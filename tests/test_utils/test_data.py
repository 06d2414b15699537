"""Files that tests fetch: what is there already is not fetched."""

from __future__ import annotations

import bz2
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, DataError
from minimx.test_utils import (
    download_model,
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


def test_a_trained_network_is_fetched_under_its_name(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    weights = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))}
    mx.model.save_checkpoint(str(kept / "small"), 0, net, weights, {})
    known = {
        "one": {
            "symbol": (kept / "small-symbol.json").as_uri(),
            "params": (kept / "small-0000.params").as_uri(),
        }
    }
    prefix, epoch = download_model("one", str(tmp_path / "mine"), known)
    assert prefix == str(tmp_path / "mine" / "one") and epoch == 0
    sym, args, states = mx.model.load_checkpoint(prefix, epoch)
    assert sym.list_arguments() == net.list_arguments() and states == {}
    assert args["fc_weight"].asnumpy().tolist() == [[1] * 3] * 2
    assert download_model("two", str(tmp_path), known) == (None, 0)
    assert download_model("no-such-network") == (None, 0)
    with pytest.raises(ArgumentError, match="no address of the params"):
        download_model(
            "one", str(tmp_path), {"one": {"symbol": known["one"]["symbol"]}}
        )


def test_a_published_network_that_lies_here_is_not_fetched(tmp_path: Path) -> None:
    for ending in ("-symbol.json", "-0000.params"):
        (tmp_path / f"imagenet1k-resnet-18{ending}").touch()
    found = download_model("imagenet1k-resnet-18", str(tmp_path))
    assert found == (str(tmp_path / "imagenet1k-resnet-18"), 0)


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
