"""Jobs of several processes, as users start them; the programs lie beside this file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.commands.clusters.failure import RankError
from minimx.kvstore.dist import job as jobs
from minimx.kvstore.dist.liveness import alive
from minimx.tools.mpi import mpiexec

from . import faults, modules, training

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
#: Everything between a fault and the end of the job, with room for slow machines.
SOON = 20.0

#: What ranks do differently, and how that is reported.
DIFFERENT = {
    "shape": r"rank 0: init of 'w' \(2,\) .*; rank 1: init of 'w' \(3,\)",
    "key": "rank 0: sum of 'w'.*; rank 1: init of 'other'",
    "optimizer": "'lr': 0.1.*rank 1: .*'lr': 0.2",
    "compression": "rank 0: .* 2bit with threshold 0.5; rank 1: .* 0.25",
    "rows": "rank 0: sum of 'w'.* float32; rank 1: sum of .* row_sparse",
}

pytestmark = [pytest.mark.alone, pytest.mark.timeout(90)]


def begun(
    *words: str,
    ranks: int = 2,
    servers: int = 0,
    plain: bool = False,
    command: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """A job; words: a program of this folder, and its arguments, unless `command`."""
    if not command:
        start = [sys.executable, "-m", "minimx", "launch", "-s", str(servers)]
        start = [mpiexec()] if plain else start
        python = [sys.executable] if plain else []
        program = [str(HERE / words[0]), *words[1:]]
        command = [*start, "-n", str(ranks), *python, *program]
    folders = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": folders, **(settings or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(job: subprocess.Popen[str]) -> tuple[int, str]:
    text, _ = job.communicate(timeout=80)
    for pid in re.findall(r"process (\d+)$", text, re.MULTILINE):
        assert not alive(int(pid)), text
    return job.returncode, text


@pytest.fixture(scope="module")
def trained_alone(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The weights of one process that takes all of each batch."""
    file = tmp_path_factory.mktemp("one") / "1"
    with pytest.MonkeyPatch.context() as here:
        here.setattr(jobs, "_job", None)
        training.main("dist_sync", str(file), "on")
    return dict(np.load(f"{file}-0.npz"))


@pytest.mark.parametrize(
    ("ranks", "plain", "store"),
    [(2, False, "dist_sync"), (3, False, "dist_sync_device"), (2, True, "dist")],
)
def test_sums_of_all_ranks(ranks: int, plain: bool, store: str) -> None:
    code, text = ended(begun("sums.py", store, ranks=ranks, plain=plain))
    assert code == 0, text
    for rank in range(ranks):
        assert f"rank {rank} of {ranks}: sums are right" in text


@pytest.mark.parametrize(
    ("store", "where"),
    [("dist_sync", "on"), ("dist_device_sync", "off")],
)
def test_ranks_train_as_one_process_with_all_of_the_batch(
    store: str, where: str, tmp_path: Path, trained_alone: Mapping[str, Any]
) -> None:
    code, text = ended(begun("training.py", store, str(tmp_path / "2"), where))
    assert code == 0, text
    both = [np.load(tmp_path / f"2-{rank}.npz") for rank in range(2)]
    one = trained_alone
    for name in one:
        np.testing.assert_array_equal(both[0][name], both[1][name])
        np.testing.assert_allclose(both[0][name], one[name], rtol=0, atol=1e-9)


def test_a_module_trains_as_one_process_from_the_values_of_rank_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_job", None)
    modules.main(str(tmp_path / "1"))
    code, text = ended(begun("modules.py", str(tmp_path / "2")))
    assert code == 0, text
    one, *both = (np.load(tmp_path / f"{name}.npz") for name in ("1-0", "2-0", "2-1"))
    for name in one:
        np.testing.assert_array_equal(both[0][name], both[1][name])
        np.testing.assert_allclose(both[0][name], one[name], rtol=0, atol=1e-6)


def test_sums_under_the_engine_without_threads() -> None:
    code, text = ended(
        begun("sums.py", "dist_sync", settings={"MXNET_ENGINE_TYPE": "NaiveEngine"})
    )
    assert code == 0, text


@pytest.mark.parametrize(
    ("what", "code", "found"),
    [
        (
            "kill",
            137,
            [r"rank 0 stops: rank 1 died \(process \d+\)", "rank 1 .* by SIGKILL"],
        ),
        ("raise", 1, [r"rank 0 stops: rank 1 has failed \(ValueError: the data is"]),
        (
            "exit",
            1,
            ["rank 0 stops: rank 1 has ended and takes no part in: sum of 'w'"],
        ),
        ("shape", 1, [DIFFERENT["shape"]]),
    ],
)
def test_a_fault_is_named_and_ends_all_ranks(
    what: str, code: int, found: list[str]
) -> None:
    begin = time.monotonic()
    job = begun("faults.py", what)
    got, text = ended(job)
    assert got == code, text
    for pattern in found:
        assert re.search(pattern, text), text
    assert "came to the end" not in text
    assert time.monotonic() - begin < SOON


def test_ranks_that_do_not_do_the_same_all_stop_with_what_each_does() -> None:
    with mx.cluster(2) as cluster:  # as the ranks then need not be started each time
        for what, found in DIFFERENT.items():
            with pytest.raises(RankError) as error:
                cluster.run(faults.main, what)
            whats = [one.what for one in error.value.failures.values()]
            assert len(whats) == 2
            for rank, text in enumerate(sorted(whats)):
                assert f"rank {rank} stops: the ranks do not do the same" in text
                assert re.search(found, text), text


def test_seeds_and_knobs_that_differ_are_reported_before_training() -> None:
    code, text = ended(begun("faults.py", "parity"))
    assert code == 0, text
    assert "MXNET_KVSTORE_BIGARRAY_BOUND is 'default' on rank 0; '77' on rank 1" in text
    assert "seed is '0' on rank 0; '9' on rank 1" in text


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_launcher(how: signal.Signals) -> None:
    job = begun("faults.py", "sleep")
    assert job.stdout is not None
    seen = ""
    pids: list[int] = []
    while len(pids) < 2:
        seen += job.stdout.readline()
        pids = [int(pid) for pid in re.findall(r"process (\d+)$", seen, re.MULTILINE)]
    job.send_signal(how)
    text, _ = job.communicate(timeout=SOON)
    assert job.returncode == (-9 if how is signal.SIGKILL else 130), text
    until = time.monotonic() + SOON
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.05)
