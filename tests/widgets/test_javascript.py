"""The pure functions of the views' JavaScript, tested by Node's own test runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

FILES = sorted((Path(__file__).parent / "javascript").glob("*.test.js"))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_javascript(file: Path) -> None:
    node = compute_driver_executable()[0]
    done = subprocess.run(
        [node, "--test", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
