"""Graphs that are cut into other operations take the time that a run then takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minimx.core.device import cpu, gpu
from minimx.experiments import rerun
from tests.experiments.programs import (
    NAIVE,
    VIRTUAL,
    Program,
    convolution,
    perceptron,
    recorded,
)

PROGRAMS: dict[str, Callable[[], Program]] = {
    "dense layers": lambda: Program(perceptron(64, 48, 10), cpu(), hybrid=True),
    "a convolution": lambda: Program(convolution(), gpu(), hybrid=True),
    "static": lambda: Program(perceptron(64, 10), gpu(), hybrid=True, static=True),
}
TRAIN = "MXNET_EXEC_BULK_EXEC_TRAIN"
KNOBS: list[dict[str, Any]] = [
    {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": 3},
    {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": 1},
    {"MXNET_BACKWARD_DO_MIRROR": True},
    {"MXNET_EXEC_ENABLE_INPLACE": False, "NNVM_EXEC_MATCH_RANGE": 0},
]


@pytest.mark.parametrize("which", PROGRAMS)
@pytest.mark.parametrize("base", [{}, NAIVE, {TRAIN: False}], ids=str)
def test_makespans_and_pushes_are_those_of_a_run(
    which: str, base: dict[str, Any]
) -> None:
    program = PROGRAMS[which]()
    record = recorded(program, **VIRTUAL, **base)
    for knobs in (*KNOBS, {TRAIN: not base.get(TRAIN, True)}):
        found = rerun(record, net=program.net, **knobs)
        rows = {name: rest for name, *rest in found.measure(program).rows}
        assert rows["makespan"][0] == rows["makespan"][1], knobs
        assert rows["pushes"][0] == rows["pushes"][1], knobs


def test_without_the_network_graphs_stay_as_they_are() -> None:
    program = PROGRAMS["dense layers"]()
    record = recorded(program, **VIRTUAL)
    found = rerun(record, MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD=2)
    graphs = [name for name in record.texts(record.ops()["name"]) if name[0] == "["]
    assert sorted(one.name for one in found.lanes if one.name[0] == "[") == sorted(
        graphs
    )
    assert any("Give the network as net=" in each for each in found.unknown)
