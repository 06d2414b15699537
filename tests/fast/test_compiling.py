"""While numba compiles: no garbage is collected, a terminal says what goes on."""

from __future__ import annotations

import gc
import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from minimx.core.kernels import find, threads
from minimx.core.kernels.parts import dealt
from minimx.core.knobs import knobs
from minimx.fast import compiling


@threads.jit(parallel=True)
def added(part: Any, x: Any, out: Any) -> None:
    for i in dealt(x.size, part):
        out[i] += x[i]


def test_there_is_one_listener() -> None:
    assert compiling.watch() is compiling.watch()


def test_no_garbage_is_collected_while_kernels_are_compiled() -> None:
    whole, inner = (SimpleNamespace(data={"dispatcher": added.run}) for _ in "ab")
    notice: Any = compiling.CompileNotice()
    notice.on_start(whole)
    notice.on_start(inner)
    notice.on_end(inner)
    assert not gc.isenabled()
    notice.on_end(whole)
    assert gc.isenabled()
    notice.on_start(whole)
    notice.collect()  # as after a fork
    assert gc.isenabled()
    gc.disable()
    try:  # a program that wants it so
        notice.on_start(whole)
        notice.on_end(whole)
        assert not gc.isenabled()
    finally:
        gc.enable()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_reads_once_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    ours: Any = SimpleNamespace(data={"dispatcher": find("updates.sgd").run})
    theirs: Any = SimpleNamespace(data={"dispatcher": added.run})
    for screen, on, said in (
        (Terminal(), True, f"{compiling.NOTICE}\n"),
        (Terminal(), False, ""),
        (io.StringIO(), True, ""),  # a log
    ):
        monkeypatch.setattr(sys, "stderr", screen)
        notice = compiling.CompileNotice()
        with knobs(MINIMX_PROGRESS=on):
            notice.on_start(theirs)
            assert screen.getvalue() == ""
            notice.on_start(ours)
            notice.on_start(ours)
        assert screen.getvalue() == said
        notice.collect()
