"""Kernel threads stay on the cores that `KMP_AFFINITY` gives them."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.errors import KnobError
from minimx.core.knobs import knobs
from minimx.core.knobs.knob import KnobWarning
from minimx.fast import pinning
from minimx.fast.affinity import Place, places, read
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

linux = pytest.mark.skipif(
    not pinning.POSSIBLE, reason="this system does not bind threads to cores"
)


def team_of(device_id: int = 0) -> list[Place]:
    """Where the kernel threads of a CPU's worker may run."""
    found: list[list[Place]] = []
    engine.push(lambda: found.append(pinning.team()), cpu(device_id), [], [], "ask")
    engine.wait_all()
    return found[0]


@linux
@proves("KMP_AFFINITY")
def test_every_thread_gets_its_place() -> None:
    everywhere = frozenset(one.number for one in pinning.machine())
    with knobs(OMP_NUM_THREADS=2):
        free, bound = turned(team_of, KMP_AFFINITY="granularity=fine,compact,1,0")
        assert free == [everywhere] * 2
        order = places(read("granularity=fine,compact,1,0"), pinning.machine(), 2)
        assert bound == order
        last = max(everywhere)
        text = f"granularity=fine,explicit,proclist=[{last}]"
        assert turned(team_of, KMP_AFFINITY=text)[1] == [frozenset({last})] * 2


@linux
def test_the_team_of_the_second_worker_follows_that_of_the_first() -> None:
    with knobs(OMP_NUM_THREADS=1, KMP_AFFINITY="granularity=fine,compact"):
        found = team_of(0) + team_of(1)
        assert found == places(read("granularity=fine,compact"), pinning.machine(), 2)


@linux
def test_a_new_number_of_threads_is_bound_as_well() -> None:
    with knobs(KMP_AFFINITY="granularity=fine,compact", OMP_NUM_THREADS=1):
        assert len(team_of()) == 1
        with knobs(OMP_NUM_THREADS=2):
            assert team_of() == places(
                read("granularity=fine,compact"), pinning.machine(), 2
            )


@linux
@pytest.mark.parametrize("text", ["kompakt", "explicit,proclist=[1023]"])
def test_a_text_that_cannot_be_is_refused_and_changes_nothing(text: str) -> None:
    before = team_of()
    with pytest.raises(KnobError, match="KMP_AFFINITY"):
        knobs.set(KMP_AFFINITY=text)
    assert knobs.get("KMP_AFFINITY") == ""
    assert team_of() == before


def test_a_system_that_cannot_bind_threads_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pinning, "POSSIBLE", False)
    with (
        pytest.warns(KnobWarning, match="does not bind threads"),
        knobs(KMP_AFFINITY="compact"),
    ):
        engine.wait_all()
    assert pinning.pin not in engine.on_worker_start


def test_a_bad_text_in_the_environment_does_not_stop_a_program() -> None:
    program = (
        "import os; os.environ['KMP_AFFINITY'] = 'kompakt'\n"
        "import minimx as mx; print(mx.nd.ones((2,)).sum().asscalar())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2.0"
    assert "KMP_AFFINITY='kompakt'" in done.stderr


@proves("MXNET_ENGINE_INFO")
@pytest.mark.parametrize("engine_type", ["ThreadedEngine", "ThreadedEnginePerDevice"])
def test_waits_are_told(engine_type: str, capsys: pytest.CaptureFixture[str]) -> None:
    def observe() -> list[str]:
        var, hold = engine.Var(), threading.Event()
        engine.push(hold.wait, cpu(), [], [var], "slow")
        threading.Timer(0.05, hold.set).start()
        engine.wait_to_read(var)
        hold.clear()
        engine.push(hold.wait, cpu(), [var], [], "reader")
        threading.Timer(0.05, hold.set).start()
        engine.wait_to_write(var)
        engine.push(hold.wait, cpu(), [], [], "free")
        engine.wait_all()
        return capsys.readouterr().out.splitlines()

    with knobs(MXNET_ENGINE_TYPE=engine_type):
        before, during = turned(observe, MXNET_ENGINE_INFO=1)
    assert before == []
    lines = "\n".join(during)
    place = re.escape(f"{Path(__file__).name}")
    assert re.search(rf"Wait for slow, pushed at .*{place}:\d+, on cpu\(0\)", lines)
    assert "Wait for those who read\n" in lines
    waited = [float(ms) for ms in re.findall(r"Waited ([\d.]+) ms", lines)]
    assert len(waited) == lines.count("Wait for ") >= 2
    assert all(ms > 10 for ms in waited[:2])


def test_an_engine_that_never_waits_tells_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_ENGINE_INFO=1):
        var = engine.Var()
        engine.push(lambda: None, cpu(), [], [var], "quick")
        engine.wait_to_read(var)
    assert capsys.readouterr().out == ""
