"""The cases of large networks and the LSTM run: as they are, on a small network.

In this process and under minimx alone; what they say about speed is for `make bench`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.gluon.model_zoo import vision
from tests.benchmarks import __main__ as command
from tests.benchmarks import worker
from tests.benchmarks.cases import CASES, NETWORKS

PROGRAMS = Path(worker.__file__).parent / "programs"


@pytest.fixture(scope="module")
def program() -> Any:
    """Our program with small images, and LeNet in the place of large networks."""
    found = worker.load(str(PROGRAMS / "mxnet_api.py"), "minimx")
    found.side = 28
    found.network = lambda name: found.lenet_net()
    return found


@pytest.mark.parametrize(
    "case",
    ["resnet_score_1", "resnet_train_8", "score_alexnet_2", "lstm", "lenet_graph"],
)
def test_a_case_runs(program: Any, case: str) -> None:
    run = getattr(program, case)()
    run(1)
    assert worker.measure(run, 0.001) > 0


def test_scoring_gives_a_row_for_each_image_of_the_batch(program: Any) -> None:
    outputs: list[Any] = []
    program.repeat, repeat = lambda step: outputs.append(step()), program.repeat
    program.score_alexnet_2()
    program.repeat = repeat
    assert outputs[0].shape == (2, 10)


def test_the_program_has_each_of_our_cases_and_no_other(program: Any) -> None:
    ours = [case for case in CASES if case.kind not in ("import", "first")]
    assert all(hasattr(program, case.program or case.name) for case in ours)
    assert not hasattr(program, "score_alexnet")
    assert not hasattr(program, "another")
    for name in NETWORKS:
        assert vision.get_model(name, classes=10)


def test_the_network_that_mxnet_lacks_is_written_as_a_graph(tmp_path: Path) -> None:
    command.write_graphs(tmp_path)
    graph = json.loads((tmp_path / "inceptionbn.json").read_text())
    assert graph["nodes"][-1]["op"] == "FullyConnected"
    net = mx.gluon.SymbolBlock.imports(str(tmp_path / "inceptionbn.json"), ["data"])
    assert "fc1_weight" in net.collect_params()


def test_the_memory_of_a_process_is_read_in_bytes() -> None:
    assert 10e6 < worker.resident("VmRSS") <= worker.resident("VmHWM") < 1e12
    with pytest.raises(LookupError, match="VmNothing"):
        worker.resident("VmNothing")
