"""What a profiler writes without being told where lies with the files of its test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that another test left on a GPU go to a table in the working folder."""
    monkeypatch.chdir(tmp_path)
