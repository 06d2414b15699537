"""A policy as a test file, which pytest runs in another process."""

from __future__ import annotations

import linecache
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.policies import export_test

ROOT = Path(__file__).parents[2]
LIMIT = 2


class Rooted:
    """Uses a module: sizes are squares."""

    def size(self, nbytes: int, idle: Any) -> int:
        return (math.isqrt(nbytes - 1) + 1) ** 2


class Limited:
    def size(self, nbytes: int, idle: Any) -> int:
        return LIMIT * nbytes


def of_a_cell(source: str, name: str) -> Any:
    """A class of a notebook cell, whose source IPython leaves in `linecache`."""
    file = f"<ipython-input-{name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
    names: dict[str, Any] = {"__name__": __name__, "mx": mx}
    exec(compile(source, file, "exec"), names)
    return names[name]


def test_the_file_passes_and_fails_once_the_class_is_another(tmp_path: Path) -> None:
    path = tmp_path / "test_rooted.py"
    found = export_test(Rooted, path)
    text = path.read_text(encoding="utf-8")
    assert "import math" in text
    assert f"{found.score:.6f}" in text
    worse = text.replace("+ 1) ** 2", "+ 1) ** 2 * 3")
    assert worse != text
    (tmp_path / "test_worse.py").write_text(worse, encoding="utf-8")
    env = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "test_worse.py::test_rooted_scores_what_it_scored" in done.stdout


def test_a_class_of_a_cell_loses_its_decorator(tmp_path: Path) -> None:
    source = (
        "import math\n\n"
        "@mx.storage.register_pool\n"
        "class Cell:\n"
        "    def size(self, nbytes, idle):\n"
        "        return nbytes + 1\n"
    )
    policy = of_a_cell(source, "Cell")
    export_test(policy, tmp_path / "test_cell.py")
    text = (tmp_path / "test_cell.py").read_text(encoding="utf-8")
    assert "register_pool" not in text
    assert "\nclass Cell:\n    def size(self, nbytes, idle):\n" in text


def test_what_the_source_does_not_hold_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test_limited.py"
    with pytest.raises(ArgumentError, match="uses LIMIT from around it"):
        export_test(Limited, path)
    names: dict[str, Any] = {"__name__": "nowhere"}
    exec("class Made:\n    def size(self, nbytes, idle): return nbytes", names)
    with pytest.raises(ArgumentError, match="the source of Made is not known"):
        export_test(names["Made"], path)
    assert not path.exists()
