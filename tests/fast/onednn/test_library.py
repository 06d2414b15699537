"""Where oneDNN is looked for: what is found is what loads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackagePath
from pathlib import Path

import numpy as np
import pytest

from minimx.commands.cli import doctor
from minimx.fast.onednn import library as dnnl

# A library that loads on any machine of the tests: one of NumPy's own.
LOADS = next(Path(np.__file__).parent.rglob("_multiarray_umath*.so"))


class Listed(PackagePath):
    """A file that a package says it has, at a place of the test's choice."""

    at: Path

    def locate(self) -> Path:
        return self.at


def listed(at: Path) -> Listed:
    file = Listed("../../lib/libdnnl.so")
    file.at = at
    return file


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Listed]]:
    """The files that pip's package lists; the system has none."""
    files: list[Listed] = []
    monkeypatch.setattr("importlib.metadata.files", lambda name: files)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    dnnl.found.cache_clear()
    yield files
    dnnl.found.cache_clear()


def test_nothing_is_there(installed: list[Listed]) -> None:
    assert dnnl.found() == ("", "not installed")


def test_a_listed_file_that_is_not_there_is_no_library(
    installed: list[Listed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "libdnnl.so"
    installed.append(listed(gone))
    assert dnnl.library() == ""
    assert dnnl.found()[1].startswith(f"{gone} does not load: ")
    monkeypatch.setattr(dnnl, "loaded", lambda: None)
    finding = next(one for one in doctor.examine() if one.part == "oneDNN")
    assert finding.state == "absent"
    assert f"{gone} does not load" in finding.found
    assert "pip install 'minimx[onednn]'" in finding.advice


def test_the_first_file_that_loads_is_taken(
    installed: list[Listed], tmp_path: Path
) -> None:
    torn = tmp_path / "libdnnl.so"
    torn.write_bytes(b"no library")
    installed += [listed(torn), listed(LOADS)]
    assert dnnl.found() == (str(LOADS), "")


def test_the_system_s_is_taken_where_pip_s_does_not_load(
    installed: list[Listed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.append(listed(tmp_path / "libdnnl.so"))
    monkeypatch.setattr("ctypes.util.find_library", lambda name: str(LOADS))
    assert dnnl.library() == str(LOADS)
