"""A job over two machines: namespaces of this one, with a network between them.

Each has its own network, name and folder of temporary files. What would be ssh is a
program that enters the namespace. It is left out where the system forbids namespaces,
as to all but root.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minimx.commands import rank
from minimx.commands.cli.launch import watch
from minimx.kvstore.dist.deaths import NOTES, deaths
from minimx.kvstore.dist.liveness import alive

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NET = "10.213.77"
#: From the death of a rank to the end of the job: what the others get to report, three
#: seconds, and room for a slow machine.
STATED = 15.0

SET_UP = """
set -e
ip netns add {a}; ip netns add {b}
ip link add {a} type veth peer name {b}
ip link set {a} netns {a}; ip link set {b} netns {b}
for n in {a} {b}; do ip -n $n link set lo up; ip -n $n link set $n up; done
ip -n {a} addr add {net}.1/24 dev {a}; ip -n {b} addr add {net}.2/24 dev {b}
ip netns exec {b} unshare -um mount -t tmpfs none {tmp}
"""
ENTER = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
shift
exec ip netns exec {b} unshare -um sh -c "
  hostname far; mount -t tmpfs none {tmp}; exec $*"
"""

pytestmark = [pytest.mark.alone, pytest.mark.timeout(90)]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Words before a command that is run on the first of two machines."""
    folder = tmp_path_factory.mktemp("machines")
    tmp = folder / "tmp"
    tmp.mkdir()
    a, b = f"mx{os.getpid()}a", f"mx{os.getpid()}b"
    words = {"a": a, "b": b, "net": NET, "tmp": str(tmp)}
    made = subprocess.run(
        ["sh", "-c", SET_UP.format(**words)],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        if made.returncode:
            pytest.skip(f"no namespaces here: {made.stderr.strip()[-80:]}")
        (folder / "enter").write_text(ENTER.format(**words))
        (folder / "enter").chmod(0o700)
        (folder / "hosts").write_text(f"{NET}.1:1\n{NET}.2:2\n")
        yield [
            *("ip", "netns", "exec", a, "unshare", "-u", "sh", "-c"),
            'hostname near; exec "$@"',
            *("sh", "env", f"TMPDIR={tmp}", "HYDRA_LAUNCHER=ssh"),
            "UCX_TLS=tcp,self",  # both have one kernel, whose memory they would share
            f"HYDRA_LAUNCHER_EXEC={folder / 'enter'}",
            *(sys.executable, "-m", "minimx", "launch"),
            *("--hostfile", str(folder / "hosts"), "-n", "3"),
        ]
    finally:
        for name in (a, b):
            subprocess.run(
                ["ip", "netns", "del", name], capture_output=True, check=False
            )


def begun(machines: list[str], *words: str) -> subprocess.Popen[str]:
    folders = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [*machines, str(HERE / words[0]), *words[1:]],
        env={**os.environ, "PYTHONPATH": folders},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def pids_in(text: str) -> list[int]:
    return [int(pid) for pid in re.findall(r"^process (\d+)$", text, re.MULTILINE)]


def test_a_rank_that_dies_on_the_other_machine_is_named_on_both(
    machines: list[str],
) -> None:
    job = begun(machines, "faults.py", "kill")
    text, _ = job.communicate(timeout=80)
    assert job.returncode == 137, text
    # Rank 2 ends because of that, perhaps before rank 0 has looked.
    assert re.search(r"rank 0 stops: rank 1(, rank 2)? died \(on far[,)]", text), text
    assert re.search(r"rank 2 stops: rank 1 died \(", text), text
    assert re.search(r"rank 1 \(process \d+ on far\) was killed by SIGKILL", text)
    assert len(pids_in(text)) == 3
    assert not any(alive(pid) for pid in pids_in(text))


def test_no_process_on_the_other_machine_outlives_the_launcher(
    machines: list[str],
) -> None:
    job = begun(machines, "faults.py", "sleep")
    assert job.stdout is not None
    seen = ""
    while len(pids_in(seen)) < 3:
        seen += job.stdout.readline()
    job.send_signal(signal.SIGKILL)
    until = time.monotonic() + STATED
    while any(alive(pid) for pid in pids_in(seen)):
        assert time.monotonic() < until
        time.sleep(0.05)
    job.communicate(timeout=STATED)


def test_a_machine_that_vanishes_is_named_without_any_setting(
    machines: list[str],
) -> None:
    job = begun(machines, "faults.py", "vanish")
    assert job.stdout is not None
    seen = ""
    while len(pids_in(seen)) < 3:
        seen += job.stdout.readline()
    far = machines[3].removesuffix("a") + "b"
    wire = ["ip", "-n", far, "link", "set", far]
    subprocess.run([*wire, "down"], check=True)
    try:
        text, _ = job.communicate(timeout=STATED)
    finally:
        subprocess.run([*wire, "up"], check=True)
    assert job.returncode == 1, text
    named = r"rank 0 stops: rank (1|2|1, rank 2) gave no sign of life for 3 s"
    assert re.search(named, text), text
    until = time.monotonic() + STATED
    while any(alive(pid) for pid in pids_in(seen)):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_deaths_are_read_in_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came, out = tmp_path / "came", tmp_path / "out"
    came.write_text(
        "Loss 1\nminimx launch: rank 0 (process 8 on near) ended with exit code 1.\n"
        "minimx launch: rank 2 (process 9 on far) was killed by SIGKILL.\n"
        "minimx launch: rank 1 (process 7 on far) was killed by SIGTERM.\nhalf a line"
    )
    with came.open() as errors, out.open("w") as to:
        watch(errors.fileno(), to.fileno(), tmp_path)
    assert out.read_text() == came.read_text()
    assert (tmp_path / "failed").read_text() == "137"
    assert NOTES == rank.NOTES
    monkeypatch.setenv(NOTES, str(tmp_path))
    assert deaths() == {2: "far", 0: "near", 1: "far"}
