"""The standard image sets, on small files in their formats."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import DataError
from minimx.core.knobs import knobs
from minimx.gluon.data import DataLoader
from minimx.gluon.data.vision import CIFAR10, CIFAR100, MNIST
from minimx.gluon.data.vision.datasets import unpack
from minimx.io.idx import MAX_BYTES, read_idx

IMAGES = np.random.default_rng(1).integers(0, 256, (6, 5, 4)).astype(np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9], np.uint8)


def idx(array: Any) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + bytes(array.tobytes())


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def sha1(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


FILES = {
    "train-images-idx3-ubyte.gz": packed(idx(IMAGES)),
    "train-labels-idx1-ubyte.gz": packed(idx(LABELS)),
}


class Tiny(MNIST):
    """MNIST's loader over files of our own."""

    namespace = "tiny"
    _train_files = tuple(  # type: ignore[assignment]
        (name, sha1(content)) for name, content in FILES.items()
    )


def fill(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(autouse=True)
def _nothing_outside(tmp_path: Path) -> Iterator[None]:
    """A home and a repository that are empty, far from the user's."""
    home, repo = tmp_path / "home", tmp_path / "repo"
    with knobs(MXNET_HOME=str(home), MXNET_GLUON_REPO=repo.as_uri()):
        yield


def check(data: Any) -> None:
    assert len(data) == 6
    image, label = data[2]
    assert image.asnumpy().tolist() == IMAGES[2][..., None].tolist()
    assert image.dtype is np.uint8
    assert (label, type(label)) == (4, np.int32)


def test_files_are_read_from_home(tmp_path: Path) -> None:
    fill(tmp_path / "home" / "datasets" / "tiny")
    check(Tiny())


def test_files_are_read_from_a_given_folder(tmp_path: Path) -> None:
    check(Tiny(root=fill(tmp_path / "mine")))


def test_unpacked_files_are_read(tmp_path: Path) -> None:
    names = [name.removesuffix(".gz") for name in FILES]
    fill(tmp_path / "mine", dict(zip(names, [idx(IMAGES), idx(LABELS)], strict=True)))
    check(Tiny(root=tmp_path / "mine"))


def test_missing_files_are_fetched_once_from_a_folder(tmp_path: Path) -> None:
    source = fill(tmp_path / "repo" / "gluon" / "dataset" / "tiny")
    check(Tiny())
    for name in FILES:
        (source / name).unlink()
    check(Tiny())
    left = sorted(path.name for path in (tmp_path / "home/datasets/tiny").iterdir())
    assert left == sorted(FILES)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_missing_files_are_fetched_over_http(tmp_path: Path) -> None:
    fill(tmp_path / "served" / "gluon" / "dataset" / "tiny")
    handler = partial(Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            with knobs(MXNET_GLUON_REPO=address):
                check(Tiny())
            with (
                knobs(MXNET_GLUON_REPO=address + "/nowhere"),
                pytest.raises(DataError, match="404"),
            ):
                Tiny(root=tmp_path / "empty")
        finally:
            server.shutdown()
            thread.join()


def test_what_is_missing_everywhere_is_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is missing.*MXNET_HOME or MXNET_GLUON_REPO"):
        MNIST()
    with pytest.raises(DataError, match="cifar-10-binary"):
        CIFAR10(train=False)


def test_a_changed_file_is_not_used(tmp_path: Path) -> None:
    mine = fill(tmp_path / "mine")
    (mine / "train-labels-idx1-ubyte.gz").write_bytes(packed(idx(LABELS + 1)))
    with pytest.raises(DataError, match="is not the original file"):
        Tiny(root=mine)
    fill(tmp_path / "repo" / "gluon" / "dataset" / "tiny")
    check(Tiny(root=mine))


def test_a_changed_download_is_thrown_away(tmp_path: Path) -> None:
    wrong = dict.fromkeys(FILES, b"something else")
    fill(tmp_path / "repo" / "gluon" / "dataset" / "tiny", wrong)
    with pytest.raises(DataError, match="SHA-1 sum is"):
        Tiny(root=tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no IDX file"),
        (b"\x89PNG....", "no IDX file"),
        (idx(IMAGES)[:7], "header claims"),
        (idx(IMAGES)[:-1], "119 follow"),
        (idx(IMAGES) + b"x", "more follow"),
        (bytes([0, 0, 8, 3]) + b"\xff" * 12, "header claims the shape"),
    ],
    ids=range(6),
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_damaged_files(tmp_path: Path, content: bytes, words: str, suffix: str) -> None:
    path = tmp_path / f"images{suffix}"
    path.write_bytes(packed(content) if suffix else content)
    with pytest.raises(DataError, match=words):
        read_idx(path)


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_damaged_archive(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(packed(idx(IMAGES))[:-cut])
    with pytest.raises(DataError, match="cannot be unpacked|damaged"):
        read_idx(path)


def test_images_and_labels_must_go_together(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    fill(
        mine,
        {
            "train-images-idx3-ubyte": idx(IMAGES),
            "train-labels-idx1-ubyte": idx(LABELS[:3]),
        },
    )
    with pytest.raises(DataError, match="do not go together"):
        Tiny(root=mine)


def test_transform_sees_image_and_label(tmp_path: Path) -> None:
    data = Tiny(root=fill(tmp_path / "mine"), transform=lambda x, y: (x.shape, -y))
    assert data[1] == ((5, 4, 1), -1)
    assert data.batch([0]) is None


def test_a_loader_takes_whole_batches(tmp_path: Path) -> None:
    data = Tiny(root=fill(tmp_path / "mine"))
    images, labels = next(iter(DataLoader(data, 4)))
    np.testing.assert_array_equal(images.asnumpy(), IMAGES[:4, ..., None])
    assert labels.asnumpy().tolist() == LABELS[:4].tolist()
    assert labels.dtype is np.int32


# -- CIFAR ----------------------------------------------------------------------------

PHOTOS = np.random.default_rng(2).integers(0, 256, (4, 32, 32, 3)).astype(np.uint8)


def rows(labels: Any) -> bytes:
    flat = PHOTOS.transpose(0, 3, 1, 2).reshape(4, -1)
    return np.concatenate([labels.astype(np.uint8), flat], axis=1).tobytes()


def test_cifar10_from_files(tmp_path: Path) -> None:
    labels = np.array([[7], [0], [9], [2]])
    for folder in (tmp_path, tmp_path / "cifar-10-batches-bin"):
        fill(folder, {"test_batch.bin": rows(labels)})
        data = CIFAR10(root=tmp_path, train=False)
        assert len(data) == 4
        np.testing.assert_array_equal(data[3][0].asnumpy(), PHOTOS[3])
        assert [data[i][1] for i in range(4)] == [7, 0, 9, 2]
        (folder / "test_batch.bin").unlink()


def test_cifar100_has_coarse_and_fine_labels(tmp_path: Path) -> None:
    labels = np.array([[1, 50], [2, 60], [3, 70], [4, 80]])
    fill(tmp_path, {"test.bin": rows(labels)})
    coarse = CIFAR100(root=tmp_path, train=False)
    fine = CIFAR100(root=tmp_path, fine_label=True, train=False)
    assert [coarse[i][1] for i in range(4)] == [1, 2, 3, 4]
    assert [fine[i][1] for i in range(4)] == [50, 60, 70, 80]


def test_cifar_of_the_wrong_length(tmp_path: Path) -> None:
    fill(tmp_path, {"test_batch.bin": b"x" * 3000})
    with pytest.raises(DataError, match="no whole number of images"):
        CIFAR10(root=tmp_path, train=False)


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("deep/c.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return buffer.getvalue()


def test_cifar_from_an_archive(tmp_path: Path) -> None:
    content = archive({"cifar/test_batch.bin": rows(np.zeros((4, 1)))})

    class Packed(CIFAR10):
        namespace = "packed"
        _archive = ("photos.tar.gz", sha1(content))

    fill(tmp_path / "repo" / "gluon" / "dataset" / "packed", {"photos.tar.gz": content})
    assert len(Packed(train=False)) == 4
    with pytest.raises(DataError, match="does not hold data_batch_1"):
        Packed(train=True)


def test_an_archive_writes_nothing_but_what_was_asked_for(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    fill(inside, {"x.tar.gz": archive({"../a.bin": b"a", "/b.bin": b"b", "d": b"d"})})
    unpack(inside / "x.tar.gz", ["a.bin", "b.bin"], inside)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "a.bin",
        "b.bin",
        "inside",
        "x.tar.gz",
    ]
    assert (inside / "a.bin").read_bytes() == b"a"
    with pytest.raises(DataError, match=r"does not hold c\.bin"):
        unpack(inside / "x.tar.gz", ["c.bin"], inside)
    (inside / "x.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(inside / "x.tar.gz", ["a.bin"], inside)


def test_the_limit_is_larger_than_any_of_the_sets() -> None:
    assert MAX_BYTES > 60_000 * 28 * 28


MASK = LABELS > 3


@pytest.mark.parametrize("key", [slice(0, 5), slice(None, None, 2), MASK])
def test_parts_of_a_set_are_arrays(tmp_path: Path, key: Any) -> None:
    data = Tiny(root=fill(tmp_path / "mine"))
    images, labels = data[key]
    assert type(images) is mx.nd.NDArray
    assert type(labels) is np.ndarray  # as in MXNet, which keeps them with NumPy
    assert images.asnumpy().tolist() == IMAGES[key][..., None].tolist()
    assert labels.tolist() == LABELS[key].tolist()


@pytest.mark.parametrize("key", [2, slice(0, 5), slice(None, None, 2), MASK])
def test_with_numpy_arrays_images_and_labels_are_both_of_mx_np(
    tmp_path: Path, key: Any
) -> None:
    with mx.util.np_array(True), mx.util.np_shape(True):
        data = Tiny(root=fill(tmp_path / "mine"))
        images, labels = data[key]
        assert type(images) is type(labels) is mx.np.ndarray
        assert labels.dtype == np.int32
        assert labels.tolist() == LABELS[key].tolist()
        assert images.tolist() == IMAGES[key][..., None].tolist()
        batch = next(iter(mx.gluon.data.DataLoader(data, batch_size=4)))
        assert [type(part) for part in batch] == [mx.np.ndarray] * 2
        assert batch[1].tolist() == LABELS[:4].tolist()
