"""The kernel refuses what an attempt may not do, whatever its text says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minimx_widgets.course.teaching.grading import confining

pytestmark = pytest.mark.skipif(
    bool(confining.missing()), reason=f"lacks {confining.missing()}"
)

PROGRAM = """
import os, pathlib, socket, subprocess, sys, threading, resource
from minimx_widgets.course.teaching.grading.confining import Limits, confine
scratch, secret, parent = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
libraries = [pathlib.Path(p) for p in ("/usr", "/lib", "/lib64", sys.base_prefix)]
confine(scratch, libraries, Limits(memory=1 << 30, disk=1 << 20))

def tried(name, work):
    try:
        work()
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__)
    else:
        print(name, "done")

tried("write here", lambda: (scratch / "a").write_text("a"))
tried("read here", lambda: (scratch / "a").read_text())
tried("a thread", lambda: threading.Thread(target=len, args=("",)).start())
tried("write there", lambda: open(secret, "a"))
tried("read there", lambda: open(secret).read())
tried("delete", lambda: os.remove(secret))
tried("list", lambda: os.listdir(os.path.dirname(secret)))
tried("mode", lambda: os.chmod(secret, 0))
tried("times", lambda: os.utime(secret, (0, 0)))
tried("socket", lambda: socket.socket())
tried("fork", lambda: os.fork())
tried("program", lambda: subprocess.run(["true"]))
tried("kill", lambda: os.kill(parent, 9))
tried("a large file", lambda: (scratch / "b").write_bytes(bytes(2 << 20)))
tried("memory", lambda: bytearray(20 << 30))
tried("limits of others", lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)))
"""


def test_a_confined_process_can_compute_and_nothing_else(tmp_path: Path) -> None:
    scratch, secret = tmp_path / "scratch", tmp_path / "there" / "answers.md"
    scratch.mkdir()
    secret.parent.mkdir()
    secret.write_text("the answers")
    before = secret.stat()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, scratch, secret, str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    said = dict(line.rsplit(" ", 1) for line in done.stdout.split("\n") if " " in line)
    allowed = {"write here", "read here", "a thread"}
    assert {name for name, how in said.items() if how == "done"} == allowed, done
    assert said["memory"] == "MemoryError"
    assert len(said) == 16
    assert secret.read_text() == "the answers"
    assert secret.stat().st_mode == before.st_mode
    assert secret.stat().st_mtime == before.st_mtime


def test_a_machine_without_such_a_kernel_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(confining.Unconfined, match="Linux"):
        confining.confine(tmp_path, [], confining.Limits())
