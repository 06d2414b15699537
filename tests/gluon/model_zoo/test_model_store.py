"""Stored weights: fetched from a repository, checked, kept; and what goes wrong."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from minimx import nd
from minimx.core.errors import ArgumentError, DataError
from minimx.core.knobs import knobs
from minimx.gluon.model_zoo import model_store, vision

NAME = "squeezenet1.1"


class Repository:
    """A server on this machine; `files` are what it has."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut_short = 0  # bytes that it promises and does not send
        self.failures = 0  # how many requests it answers with "unavailable" first
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                repository.asked.append(self.path)
                body = repository.files.get(self.path)
                if repository.failures:
                    repository.failures -= 1
                    self.send_error(503)
                elif body is None:
                    self.send_error(404)
                else:
                    self.send_response(200)
                    length = len(body) + repository.cut_short
                    self.send_header("Content-Length", str(length))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    found = Repository()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    with knobs(MXNET_GLUON_REPO=found.url, MXNET_HOME=str(tmp_path), MINIMX_PROGRESS=0):
        yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    """Weights of a network, which count as the published ones."""
    net = vision.squeezenet1_1(prefix="original_")
    net.initialize()
    net(nd.zeros((1, 3, 224, 224)))
    file = tmp_path / "original"
    net.save_parameters(str(file))
    content = file.read_bytes()
    file.unlink()
    monkeypatch.setitem(
        model_store._model_sha1, NAME, hashlib.sha1(content).hexdigest()
    )
    return content


def archive(member: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(member, content)
        bundle.writestr("../outside", b"never unpacked")
    return out.getvalue()


def file_name() -> str:
    return f"{NAME}-{model_store.short_hash(NAME)}"


def publish(repository: Repository, content: bytes) -> None:
    name = file_name()
    packed = archive(f"{name}.params", content)
    repository.files[f"/gluon/models/{name}.zip"] = packed


def kept(home: Path) -> list[str]:
    return sorted(str(file.relative_to(home)) for file in home.rglob("*.*"))


def test_weights_are_fetched_once(
    repository: Repository, weights: bytes, tmp_path: Path
) -> None:
    publish(repository, weights)
    repository.failures = 2
    net = vision.get_model(NAME, pretrained=True, prefix="net_")
    assert net(nd.zeros((1, 3, 224, 224))).shape == (1, 1000)
    assert len(repository.asked) == 3  # two refusals and an answer
    assert kept(tmp_path) == [f"models/{file_name()}.params"]
    again = model_store.get_model_file(NAME)
    assert Path(again).read_bytes() == weights
    assert len(repository.asked) == 3
    model_store.purge()
    assert kept(tmp_path) == []


def test_a_changed_file_is_fetched_again(
    repository: Repository, weights: bytes, tmp_path: Path
) -> None:
    publish(repository, weights)
    place = tmp_path / "here" / f"{file_name()}.params"
    place.parent.mkdir()
    place.write_bytes(b"something else")
    assert model_store.get_model_file(NAME, root=place.parent) == str(place)
    assert place.read_bytes() == weights


def test_the_place_of_the_weights(
    repository: Repository, weights: bytes, tmp_path: Path
) -> None:
    from minimx.core.device import gpu

    publish(repository, weights)
    net = vision.squeezenet1_1(pretrained=True, ctx=gpu(0), root=str(tmp_path / "w"))
    first = next(iter(net.collect_params().values()))
    assert first.list_ctx() == [gpu(0)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "404"),
        (b"no archive", "archive is damaged"),
        (archive("other.params", b"x"), "holds no"),
        (archive(f"{NAME}-PLACE.params", b"wrong"), "SHA-1 sum of its weights"),
    ],
)
def test_what_cannot_be_had(
    repository: Repository,
    weights: bytes,
    tmp_path: Path,
    content: bytes | None,
    words: str,
) -> None:
    url = f"/gluon/models/{file_name()}.zip"
    if content is not None:
        if b"PLACE" in content:
            content = archive(f"{file_name()}.params", b"wrong")
        repository.files[url] = content
    with pytest.raises(DataError, match=words) as refusal:
        vision.get_model(NAME, pretrained=True)
    assert "MXNET_GLUON_REPO" in str(refusal.value)
    assert "load_parameters" in str(refusal.value)
    assert kept(tmp_path) == []


def test_a_truncated_or_altered_archive(
    repository: Repository, weights: bytes, tmp_path: Path
) -> None:
    url = f"/gluon/models/{file_name()}.zip"
    publish(repository, weights)
    whole = repository.files[url]
    middle = len(whole) // 2
    altered = whole[:middle] + bytes(64) + whole[middle + 64 :]
    for damaged in (whole[:middle], altered):
        repository.files[url] = damaged
        with pytest.raises(DataError, match=r"damaged"):
            model_store.get_model_file(NAME)
        assert kept(tmp_path) == []


def test_a_connection_that_ends_early(
    repository: Repository, weights: bytes, tmp_path: Path
) -> None:
    publish(repository, weights)
    repository.cut_short = 1
    with pytest.raises(DataError, match=r"connection ended after|IncompleteRead"):
        model_store.get_model_file(NAME)
    assert len(repository.asked) == 6  # it was tried again
    assert kept(tmp_path) == []


def test_a_bar_shows_a_large_download(
    repository: Repository, weights: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(repository, weights)
    with knobs(MINIMX_PROGRESS=1):
        model_store.get_model_file(NAME)
    assert f"MiB  {file_name().split('.')[0]}" in capsys.readouterr().err


def test_nobody_there(tmp_path: Path) -> None:
    with (
        knobs(MXNET_GLUON_REPO="http://127.0.0.1:9/", MXNET_HOME=str(tmp_path)),
        pytest.raises(DataError, match=r"is missing.*cannot fetch.*Connection refused"),
    ):
        vision.alexnet(pretrained=True)
    assert kept(tmp_path) == []


def test_an_archive_that_claims_too_much(
    repository: Repository, weights: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(repository, weights)
    monkeypatch.setattr(model_store, "MAX_BYTES", len(weights) - 1)
    with pytest.raises(DataError, match="more than any network"):
        model_store.get_model_file(NAME)


def test_names_without_stored_weights() -> None:
    with pytest.raises(ArgumentError, match="Did you mean"):
        model_store.short_hash("resnet50v1")
    with pytest.raises(ArgumentError, match="no stored weights called 'mobilenet0.3'"):
        vision.get_mobilenet(0.3, pretrained=True)
