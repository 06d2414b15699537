"""What a first step needs is loaded beforehand; nothing that is measured changes."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from minimx_widgets.training import warm_up

lock: Any = global_compiler_lock

PROGRAM = """
import sys
import minimx as mx
from minimx import storage
from minimx_widgets.training import warm_up
def books():
    found = storage.stats(mx.cpu())
    return found.live_requested, found.cached, found.n_malloc
before = books()
warm_up.load()
assert all(name in sys.modules for name in warm_up.MODULES)
assert books() == before
known = set(sys.modules)
from minimx_widgets import Lab
from minimx_widgets.training.training import load
load("glyphs")
lab = Lab("lenet")
lab.step()
lab.wait()
left = sorted(name for name in set(sys.modules) - known if "numba" in name)
print(len(left))
lab.close()
"""


def test_a_first_step_finds_the_compiler_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 20


def test_tables_are_filled_while_no_other_thread_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without the compiler's lock a training's first step fails now and then:
    # "ValueError: generator already executing".
    alone: list[tuple[str, bool]] = []

    def refresh(table: str) -> None:
        alone.append((table, lock.is_locked()))

    for table in ("typing_context", "target_context"):
        monkeypatch.setattr(
            getattr(cpu_target, table), "refresh", partial(refresh, table)
        )
    warm_up.load.__wrapped__()  # once more, as another test may have loaded it
    assert {("typing_context", True), ("target_context", True)} <= set(alone)
    assert not lock.is_locked()
