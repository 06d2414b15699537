"""Processes that compile at the same time never read each other's code."""

import pickle
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from minimx.core.kernels import threads
from minimx.core.kernels.code_files import CodeFiles


def _files(folder: Path) -> CodeFiles:
    return CodeFiles(str(folder), "double-1.py311", "stamp")


class _SawAnEmptyIndex(CodeFiles):
    """What a process is that read the index before the other one wrote it."""

    def _load_index(self) -> dict[object, str]:
        return {}


def test_two_that_saw_an_empty_index_share_no_file(tmp_path: Path) -> None:
    for key in ("float32", "float64"):
        _SawAnEmptyIndex(str(tmp_path), "double-1.py311", "stamp").save(key, key)
    found = [_files(tmp_path).load(key) for key in ("float32", "float64")]
    assert found == [None, "float64"]
    assert len(list(tmp_path.glob("*.nbc"))) == 2


def test_many_writers_and_readers_never_find_anothers_code(tmp_path: Path) -> None:
    def write_and_read(worker: int) -> None:
        for turn in range(20):
            key = f"signature {(worker + turn) % 7}"
            _files(tmp_path).save(key, key)
            assert _files(tmp_path).load(key) in (None, key)

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(write_and_read, range(8)))


def test_code_of_an_older_source_is_not_found(tmp_path: Path) -> None:
    _files(tmp_path).save("float32", "old")
    assert CodeFiles(str(tmp_path), "double-1.py311", "newer").load("float32") is None


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_file_that_was_cut_short_is_compiled_again(
    tmp_path: Path, suffix: str
) -> None:
    _files(tmp_path).save("float32", ["code"] * 100)
    (path,) = tmp_path.glob(f"*.{suffix}")
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
