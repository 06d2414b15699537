"""The command `minimx`."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import minimx.core.kernels
from minimx.commands.cli import main
from minimx.commands.cli.compile import run as compile_kernels
from minimx.core.knobs import knobs
from minimx.version import __version__
from tests.core.knobs import made_up


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    knobs.reset()


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    text = capsys.readouterr()
    return code, text.out, text.err


# knobs


def test_the_table_lists_every_knob(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output(capsys, "knobs")
    assert code == 0
    for knob in knobs:
        assert re.search(rf"^[* ] +{knob.name} ", out, re.MULTILINE), knob.name


@pytest.mark.parametrize(("flag", "live"), [("--live", True), ("--planned", False)])
def test_the_table_of_live_and_of_planned_knobs(
    capsys: pytest.CaptureFixture[str], flag: str, live: bool
) -> None:
    with made_up.declared(knobs):
        _, out, _ = output(capsys, "knobs", flag)
        for knob in knobs:
            assert (f" {knob.name} " in out) == (knob.live is live)


def test_the_table_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = output(capsys, "knobs", "--group", "pools")
    assert "MXNET_GPU_MEM_POOL_TYPE" in out
    assert "MXNET_ENGINE_TYPE" not in out


def test_the_table_of_turned_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "knobs", "--changed")[1] == "No knob is like that.\n"
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    _, out, _ = output(capsys, "knobs", "--changed")
    assert re.search(
        r"^\*  MXNET_ENGINE_TYPE  NaiveEngine  Threaded", out, re.MULTILINE
    )
    assert "1 knob, 1 live" in out


def test_one_knob_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output(capsys, "knobs", "MXNET_GPU_MEM_POOL_RESERVE")
    assert code == 0
    assert out == f"{knobs.describe('MXNET_GPU_MEM_POOL_RESERVE')!r}\n"


def test_a_misspelt_knob(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = output(capsys, "knobs", "MXNET_ENGIN_TYPE")
    assert (code, out) == (2, "")
    assert "Did you mean MXNET_ENGINE_TYPE?" in err


@pytest.mark.parametrize("group", ["kvstor", "e"])
def test_a_group_that_is_none_or_many(
    capsys: pytest.CaptureFixture[str], group: str
) -> None:
    code, out, err = output(capsys, "knobs", "--group", group)
    if group == "kvstor":
        assert code == 0
    else:
        assert (code, out) == (2, "")
        assert "means no single group" in err


def test_a_misspelt_group(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = output(capsys, "knobs", "--group", "profiller")
    assert code == 2
    assert "Did you mean profiler?" in err


# the command line itself


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out.startswith(f"minimx {__version__} ")


@pytest.mark.parametrize(
    "arguments",
    [[], ["knob"], ["knobs", "--liv", "--bad"], ["port"], ["compile", "--fast"]],
)
def test_a_mistake_in_the_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 2
    assert "usage: minimx" in capsys.readouterr().err


def test_the_command_starts_without_what_it_does_not_need() -> None:
    code = (
        "import sys, minimx.commands.cli; minimx.commands.cli.parser();"
        "print(*{'numba', 'scipy', 'jupyterlab', 'matplotlib'} & set(sys.modules))"
    )
    assert _python("-c", code).stdout == "\n"


def test_python_m_minimx_is_the_command() -> None:
    assert _python("-m", "minimx", "--version").stdout.startswith("minimx ")


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(minimx.__file__).parents[1]),
        },
    )


# compile


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def three_steps() -> Iterator[tuple[int, int, str]]:
    for done, name in enumerate(["add", "mul", "conv"], start=1):
        yield done, 3, name


def test_compiling_shows_every_step_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(minimx.core.kernels, "warm_up", three_steps)
    out = Terminal()
    assert compile_kernels(out) == 0
    bars = out.getvalue().split("\r")[1:]
    assert [bar[27:33] for bar in bars] == ["1 of 3", "2 of 3", "3 of 3"]
    assert "[########................]" in bars[0]
    assert "3 kernels are ready" in out.getvalue()


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "minimx", "knobs"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
    process.stderr.close()
