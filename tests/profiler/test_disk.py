"""Where a trace is written: files that may not grow, and what is no file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import minimx as mx
from minimx import profiler
from minimx.core.errors import ProfilerError

FILLS_UP = """
import resource
import minimx as mx
from minimx import profiler
from minimx.core.errors import ProfilerError

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


def _run(path: Path | str) -> None:
    profiler.set_config(profile_all=True, filename=str(path), continuous_dump=False)
    profiler.set_state("run")


def _named(path: Path) -> list[str]:
    record = profiler.load(path)
    return record.texts(record.ops()["name"])


def test_events_that_a_full_device_does_not_take_go_to_the_next_file(
    tmp_path: Path,
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is always full")
    _run("/dev/full")
    (mx.nd.ones((2, 2)) + 1).asnumpy()
    with pytest.raises(ProfilerError, match="Nothing is lost"):
        profiler.dump()
    path = tmp_path / "next.json"
    with pytest.warns(profiler.ProfilerWarning, match="No space .* go to .*next.json"):
        profiler.set_config(filename=str(path), continuous_dump=False)
    profiler.dump()
    profiler.check_trace(path)
    assert _named(path) == ["_ones", "_plus_scalar"]


def test_a_file_that_vanishes_under_way_keeps_only_what_it_had(tmp_path: Path) -> None:
    _run(tmp_path / "gone" / "one.json")
    (tmp_path / "gone").mkdir()
    mx.nd.ones((2, 2)).asnumpy()
    profiler.dump(finished=False)
    shutil.rmtree(tmp_path / "gone")
    mx.nd.zeros((2, 2)).asnumpy()
    with pytest.warns(profiler.ProfilerWarning, match="two.json instead"):
        _run(tmp_path / "two.json")
    profiler.dump()
    profiler.check_trace(tmp_path / "two.json")
    assert _named(tmp_path / "two.json") == ["_zeros"]


@pytest.mark.filterwarnings("ignore:.*1 ends, put where the trace ends")
def test_a_profile_that_moves_to_another_file_leaves_two_whole_ones(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    _run(one)
    task = profiler.Task(profiler.Domain("d"), "across")
    task.start()
    ones = mx.nd.ones((2, 2))
    mx.nd.waitall()
    _run(two)
    (ones + 1).asnumpy()
    task.stop()
    profiler.dump()
    for path, name in ((one, "_ones"), (two, "_plus_scalar")):
        profiler.check_trace(path)
        record = profiler.load(path)
        assert record.texts(record.ops()["name"]) == [name]
        assert record.texts(record.ops()["worker"]) == ["cpu(0)/0"]
