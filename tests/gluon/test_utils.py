"""Splitting, clipping, downloading."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from minimx import nd
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError, DataError, ShapeError
from minimx.core.knobs import knobs
from minimx.gluon import utils


def test_splitting_evenly_and_unevenly() -> None:
    x = nd.array(np.arange(10).reshape(5, 2))
    pieces = utils.split_data(x, 2, even_split=False)
    assert [piece.shape for piece in pieces] == [(3, 2), (2, 2)]
    columns = utils.split_data(x, 2, batch_axis=1)
    assert [piece.shape for piece in columns] == [(5, 1), (5, 1)]
    whole = np.concatenate([piece.asnumpy() for piece in pieces])
    np.testing.assert_array_equal(whole, x.asnumpy())


def test_the_first_pieces_are_longer() -> None:
    pieces = utils.split_data(nd.arange(10), 4, even_split=False)
    assert [len(piece) for piece in pieces] == [3, 3, 2, 2]


def test_what_cannot_be_split() -> None:
    with pytest.raises(ShapeError, match=r"2 equal pieces.*even_split=False"):
        utils.split_data(nd.ones((5,)), 2)
    with pytest.raises(ShapeError, match="3 pieces"):
        utils.split_data(nd.ones((2,)), 3, even_split=False)


def test_each_device_gets_its_piece() -> None:
    first, second = utils.split_and_load(np.arange(4), [cpu(0), gpu(0)])
    assert (first.context, second.context) == (cpu(0), gpu(0))
    assert second.asnumpy().tolist() == [2, 3]
    (only,) = utils.split_and_load(nd.ones((3,)), [gpu(0)])
    assert only.context is gpu(0)


@pytest.mark.parametrize("check", [True, False])
def test_clipping_by_the_norm_of_all(check: bool) -> None:
    arrays = [nd.array([3.0, 0.0]), nd.array([[4.0]], ctx=gpu(0))]
    norm = utils.clip_global_norm(arrays, 1.0, check_isfinite=check)
    value = norm if isinstance(norm, float) else norm.asscalar()
    assert value == pytest.approx(5.0)
    np.testing.assert_allclose(arrays[0].asnumpy(), [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(arrays[1].asnumpy(), [[0.8]], rtol=1e-6)
    utils.clip_global_norm(arrays, 10.0, check_isfinite=check)
    np.testing.assert_allclose(arrays[0].asnumpy(), [0.6, 0.0], rtol=1e-6)


def test_clipping_an_infinite_norm_warns() -> None:
    with pytest.warns(UserWarning, match="norm is inf"):
        utils.clip_global_norm([nd.array([np.inf])], 1.0)
    with pytest.raises(ArgumentError, match="empty"):
        utils.clip_global_norm([], 1.0)


def test_download_to_a_file_or_a_folder(tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("one")
    url = source.as_uri()
    target = utils.download(url, path=tmp_path / "new" / "target.txt")
    assert Path(target).read_text() == "one"
    into = tmp_path / "into"
    into.mkdir()
    assert utils.download(url, path=into) == str(into / "source.txt")


def test_download_keeps_what_is_there(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("new")
    target.write_text("old")
    utils.download(source.as_uri(), path=target)
    assert target.read_text() == "old"
    utils.download(source.as_uri(), path=target, overwrite=True)
    assert target.read_text() == "new"
    target.write_text("old")
    known = hashlib.sha1(b"new").hexdigest()
    utils.download(source.as_uri(), path=target, sha1_hash=known)
    assert target.read_text() == "new"
    assert utils.check_sha1(target, known.upper())


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("file:///no/such/file", DataError, "cannot fetch"),
        ("http://127.0.0.1:9/x", DataError, "cannot fetch"),
        ("ftp://example.org/x", ArgumentError, "no http://"),
        ("http://example.org/", ArgumentError, "names no file"),
    ],
)
def test_what_cannot_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, error: type, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        utils.download(url, retries=0)
    assert list(tmp_path.iterdir()) == []


def test_the_repository_is_where_the_knob_says() -> None:
    for address in ("http://x.org/repo", "http://x.org/repo/"):
        with knobs(MXNET_GLUON_REPO=address):
            assert utils.repository_url("a/b") == "http://x.org/repo/a/b"


def test_a_hook_must_be_callable() -> None:
    with pytest.raises(ArgumentError, match="must be callable"):
        utils.HookHandle({}, 3)
