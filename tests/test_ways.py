"""The book's pages on the ways of single calls show what happens today."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import minimx as mx
from tests import ways

BOOK = Path(__file__).parents[1] / "book" / "ways"
#: The most calls of functions of ours that a way may take.
MOST = {
    "add": 18,
    "backward": 203,
    "trainer-step": 107,
    "allocation": 20,
    "knob": 42,
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The pages as they are written now, by a process of their own."""
    program = (
        "import json\nfrom tests import ways\n"
        "print(json.dumps({name: way.page() for name, way in ways.ways()}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=BOOK.parents[1],
        env={**os.environ, "MXNET_ENABLE_CYTHON": "0"},  # whose calls can be seen
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", ways.MAKERS)
def test_a_page_counts_what_happens(name: str, pages: dict[str, str]) -> None:
    stored = (BOOK / f"{name}.md").read_text(encoding="utf-8")
    assert stored == pages[name], "Run: python -m tests.ways"


@pytest.mark.parametrize("name", ways.MAKERS)
def test_a_way_gets_no_longer(name: str, pages: dict[str, str]) -> None:
    (line,) = [line for line in pages[name].splitlines() if " calls of " in line]
    assert int(line.split()[0]) <= MOST[name]


def test_what_is_followed_is_what_was_called() -> None:

    (call,) = ways.follow(lambda: mx.cpu(1))
    assert call.name == "cpu"
    assert call.file == "core/device.py"
