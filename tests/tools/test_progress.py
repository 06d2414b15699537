"""Progress bars: on terminals, in notebooks and in logs."""

from __future__ import annotations

import io

import pytest

from minimx.core.knobs import knobs
from minimx.tools.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_in_a_file_is_a_few_lines() -> None:
    out = io.StringIO()
    bar = Bar(out)
    for done in range(1, 501):
        bar.show(done, 500, f"kernel {done}")
    bar.close()
    assert len(out.getvalue().splitlines()) == 11
    assert out.getvalue().splitlines()[-1] == "500 of 500  kernel 500"


def test_a_bar_does_not_run_over_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = Terminal()
    Bar(out).show(1, 2, "x" * 100)
    assert len(out.getvalue()) == 40


def test_a_notebook_is_like_a_terminal() -> None:
    class Cell(io.StringIO):
        pass

    Cell.__module__ = "ipykernel.iostream"
    out = Cell()
    with Bar(out) as bar:
        bar.show(1, 2, "one")
        bar.show(2, 2, "two")
    first, second = out.getvalue().split("\r")[1:]
    assert "1 of 2" in first and "s left" in first
    assert "2 of 2" in second and "s left" not in second
    assert second.endswith("\n")


def test_the_end_may_be_unknown() -> None:
    out = Terminal()
    Bar(out).show(2.5, 0, "file", unit="MiB")
    assert "] 2.5 MiB  file" in out.getvalue()
    Bar(out).show(0, 3)


def test_no_bar_where_none_is_wanted() -> None:
    out = Terminal()
    with knobs(MINIMX_PROGRESS=0), Bar(out) as bar:
        bar.show(1, 2)
    assert out.getvalue() == ""
