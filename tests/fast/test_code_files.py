"""Processes that compile at the same time never read each other's code."""

import hashlib
import importlib
import pickle
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

from minimx.core.kernels import threads
from minimx.fast.code_files import CodeFiles, sources


def _files(folder: Path) -> CodeFiles:
    return CodeFiles(str(folder), "double-1.py311", "stamp")


def test_each_signature_has_a_file_of_its_own(tmp_path: Path) -> None:
    for key in ("float32", "float64"):
        _files(tmp_path).save(key, key)
    assert [_files(tmp_path).load(key) for key in ("float32", "float64")] == [
        "float32",
        "float64",
    ]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_numbered_files_of_numba_are_not_read(tmp_path: Path) -> None:
    """An index of numba's can name the code of another signature."""
    numba_files: Any = caching.IndexDataCacheFile
    numbered = numba_files(str(tmp_path), "double-1.py311", "stamp")
    numbered.save("float64", "the code for float32")
    assert _files(tmp_path).load("float64") is None
    _files(tmp_path).save("float64", "float64")
    assert _files(tmp_path).load("float64") == "float64"


def test_many_writers_and_readers_never_find_anothers_code(tmp_path: Path) -> None:
    def write_and_read(worker: int) -> None:
        for turn in range(20):
            key = f"signature {(worker + turn) % 7}"
            _files(tmp_path).save(key, key)
            assert _files(tmp_path).load(key) == key

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(write_and_read, range(8)))


def test_code_of_an_older_source_is_not_found(tmp_path: Path) -> None:
    _files(tmp_path).save("float32", "old")
    newer = CodeFiles(str(tmp_path), "double-1.py311", "newer")
    assert newer.load("float32") is None
    newer.save("float32", "new")
    assert newer.load("float32") == "new"
    assert _files(tmp_path).load("float32") is None
    assert len(list(tmp_path.iterdir())) == 1


def test_flush_deletes_the_code_of_one_function(tmp_path: Path) -> None:
    other = CodeFiles(str(tmp_path), "double-10.py311", "stamp")
    for files in (_files(tmp_path), other):
        files.save("float32", "code")
    _files(tmp_path).flush()
    assert _files(tmp_path).load("float32") is None
    assert other.load("float32") == "code"


def test_sources_are_those_of_all_kernels_that_are_compiled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba looks at the function's own file alone."""
    from minimx.core.kernels import compiled_parts, mathematics, native, parts

    (tmp_path / "fresh.py").write_text(
        "from minimx.core.kernels.mathematics import (\n    exp,\n)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("fresh")
    before = sources("fresh")
    digest = {
        module: hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()
        for module in (mathematics, native, parts, compiled_parts)  # in this order
    }
    assert set(digest.values()) < set(before)
    changed = tmp_path / "native.py"
    changed.write_text("# another text")
    monkeypatch.setattr(native, "__file__", str(changed))
    sources.cache_clear()
    assert set(before) - set(sources("fresh")) == {
        digest[native],
        digest[parts],
        digest[compiled_parts],
    }
    sources.cache_clear()


def test_a_file_that_was_cut_short_is_compiled_again(tmp_path: Path) -> None:
    _files(tmp_path).save("float32", ["code"] * 100)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    assert _files(tmp_path).load("float32") is None
    _files(tmp_path).save("float32", "whole")
    assert _files(tmp_path).load("float32") == "whole"


def test_what_an_older_version_kept_is_compiled_again(tmp_path: Path) -> None:
    gone = types.ModuleType("minimx_gone")
    gone.Shape = type("Shape", (), {"__module__": "minimx_gone"})  # type: ignore[attr-defined]
    gone.Shape.__qualname__ = "Shape"
    sys.modules["minimx_gone"] = gone
    _files(tmp_path).save("float32", pickle.dumps)
    (path,) = tmp_path.glob("*.nbc")
    path.write_bytes(pickle.dumps(gone.Shape()))
    del sys.modules["minimx_gone"]
    assert _files(tmp_path).load("float32") is None


@threads.jit()
def _doubled(x: np.ndarray) -> float:
    return float(2 * x.sum())


def test_kernels_are_kept_so_and_numba_keeps_its_own_way() -> None:
    assert _doubled(np.ones(3, "float32")) == 6
    assert isinstance(_doubled._cache._cache_file, CodeFiles)
    own: Any = numba.njit(cache=True)(lambda x: x)
    assert not isinstance(own._cache._cache_file, CodeFiles)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_another_process_finds_the_code(dtype: str) -> None:
    _doubled(np.ones(3, dtype))
    again = threads.jit()(_doubled.py_func)
    assert again(np.ones(3, dtype)) == 6
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_full_disk_does_not_stop_the_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "a file"
    folder.write_text("where a folder should be")
    _files(folder).save("float32", "code")
    assert "compiled code is not kept" in caplog.text
    assert _files(folder).load("float32") is None
