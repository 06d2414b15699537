"""The probe's kinds, for some seconds: no raw error, no wrong answer, no damage."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from minimx import _interrupts, gluon
from tests.probe import interrupts, operators, readers
from tests.probe.faults import ours

SEED = 20
#: More of everything: `MINIMX_PROBE=20 pytest tests/probe`, or `python -m tests.probe`.
TIMES = int(os.environ.get("MINIMX_PROBE", "1"))


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(readers.probe(tmp_path, SEED, each=20 * TIMES)) == []


def test_every_reader_refuses_something(tmp_path: Path) -> None:
    """A reader that takes whatever it is given would pass the test above."""
    for name, reader in readers.readers().items():
        for file, content in reader.files.items():
            (tmp_path / file).write_bytes(content)
        for file in reader.files:
            (tmp_path / file).write_bytes(b"\xff{" if "vectors" in file else b"")
        with pytest.raises(Exception) as found:
            reader.read(tmp_path)
        assert ours(found.value), (name, found.value)


def test_training_goes_on_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest replaces the hook that sends the interrupt of a finalizer again.
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    _interrupts.install()
    assert list(interrupts.probe(SEED, each=12 * TIMES)) == []


def test_what_is_interrupted_would_be_seen() -> None:
    loop = interrupts.Loop(hybrid=False)
    loop.net[0].weight.data()[:] = 3
    loop.check()
    loop.net.add(gluon.nn.HybridLambda("tanh"))
    with pytest.raises(AssertionError, match="wrong prediction"):
        loop.check()


def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file_or_the_new() -> (
    None
):
    # A process of its own: children are forked from one without threads.
    command = [sys.executable, "-m", "tests.probe", "kills", "--seconds", "600"]
    asked = ["--seed", str(SEED), "--each", str(5 * TIMES)]
    done = subprocess.run([*command, *asked], capture_output=True, text=True)
    assert done.stdout == "0 faults\n", done.stdout + done.stderr
    assert done.returncode == 0


def test_operators_with_settings_that_no_program_means() -> None:
    assert list(operators.probe(SEED, every=150 // TIMES)) == []
