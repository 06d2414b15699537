"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minimx import nd, npx, symbol
from minimx.core.errors import DataError
from minimx.core.files import write_whole


def test_a_file_is_written_and_written_again(tmp_path: Path) -> None:
    for content in (b"first", b"second, and longer"):
        write_whole(tmp_path / "x", content, "save")
        assert (tmp_path / "x").read_bytes() == content
    assert os.listdir(tmp_path) == ["x"]


def test_the_old_file_stays_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nd.save(tmp_path / "x", [nd.ones(3)])
    before = (tmp_path / "x").read_bytes()

    def full(self: Path, content: Any) -> None:
        with open(self, "wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match="nd.save: .* No space left"):
        nd.save(tmp_path / "x", [nd.zeros(3)])
    with pytest.raises(DataError, match="Symbol.save: .* No space left"):
        symbol.var("a").save(str(tmp_path / "x"))
    os.rename(tmp_path / "x", tmp_path / "x.npz")
    with pytest.raises(DataError, match="npx.savez: .* No space left"):
        npx.savez(tmp_path / "x", nd.zeros(3))
    os.rename(tmp_path / "x.npz", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == before
    assert os.listdir(tmp_path) == ["x"]


def test_what_a_killed_process_left_is_removed_and_what_a_running_one_writes_is_not(
    tmp_path: Path,
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = {f".x.{gone.pid}.partial", ".x.1.partial", f".other.{gone.pid}.partial"}
    for name in left:
        (tmp_path / name).write_bytes(b"half")
    write_whole(tmp_path / "x", b"new", "save")
    assert {*os.listdir(tmp_path)} == {*left, "x"} - {f".x.{gone.pid}.partial"}


def test_a_link_goes_on_pointing(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new", "save")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_is_no_file_is_written_to_directly(tmp_path: Path) -> None:
    write_whole("/dev/null", b"gone", "save")
    assert not Path("/dev/null").is_file()
    with pytest.raises(DataError, match="save: cannot write .*directory"):
        write_whole(tmp_path, b"x", "save")
    with pytest.raises(DataError, match="No such file"):
        write_whole(tmp_path / "no" / "folder", b"x", "save")
