"""Where a trace is written: files that may not grow, and what is no file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minimx import profiler

FILLS_UP = """
import resource
import minimx as mx
from minimx import profiler
from minimx.errors import ProfilerError

profiler.set_config(profile_all=True, filename="full.json", continuous_dump=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))
profiler.set_state("run")
for _ in range(20):
    (mx.nd.ones((4, 4)) + 1).asnumpy()
profiler.set_state("stop")
try:
    profiler.dump()
except ProfilerError as trouble:
    print(trouble)
profiler.check_trace("full.json")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
profiler.dump()
print(profiler.check_trace("full.json"))
record = profiler.load("full.json")
print(record.texts(record.ops()["name"]).count("_plus_scalar"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="files have no limit of size there")
def test_a_file_that_may_not_grow_costs_no_event(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FILLS_UP],
        cwd=tmp_path,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    assert "Nothing is lost" in done.stdout
    assert int(done.stdout.split()[-1]) == 20


def test_a_device_is_written_to_and_never_deleted(tmp_path: Path) -> None:
    profiler.set_config(filename=os.devnull, continuous_dump=False)
    assert Path(os.devnull).exists()
    profiler.set_config(filename=str(tmp_path / "profile.json"), continuous_dump=False)
