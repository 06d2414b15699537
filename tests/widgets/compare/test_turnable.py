"""Which knobs a comparison offers, and which value it proposes."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.knobs import Knob, knobs
from minimx.core.record import Record
from minimx.experiments import rerun
from minimx_widgets.compare.turnable import proposed, turnable
from tests.experiments.programs import Program, perceptron

ENGINE = "MXNET_ENGINE_TYPE"


def test_only_knobs_that_act_on_what_was_recorded_are_offered() -> None:
    with Record() as record:
        mx.nd.ones((3,)).wait_to_read()
    names = turnable(record)
    assert ENGINE in names and "MXNET_CPU_WORKER_NTHREADS" in names
    assert not any("GPU" in name for name in names)
    assert "MXNET_EXEC_ENABLE_INPLACE" not in names
    for name in names:  # each can be replayed
        rerun(record, **{name: record.conditions.knobs[name]})


def test_a_network_adds_the_knobs_of_its_plan() -> None:
    program = Program(perceptron(8, 8), mx.cpu(), hybrid=True)
    program()
    with Record() as record:
        program()
        mx.nd.waitall()
    names = turnable(record, program.net)
    assert "MXNET_EXEC_ENABLE_INPLACE" in names and "NNVM_EXEC_MATCH_RANGE" in names


@pytest.mark.parametrize(
    ("name", "now", "text", "expected"),
    [
        (ENGINE, "NaiveEngine", "ThreadedEngine", "ThreadedEngine"),
        (ENGINE, "ThreadedEngine", "ThreadedEngine", "ThreadedEnginePerDevice"),
        ("MXNET_EXEC_ENABLE_INPLACE", "1", "", "0"),
        ("MXNET_EXEC_ENABLE_INPLACE", "0", "false", "1"),
        ("MXNET_CPU_WORKER_NTHREADS", "1", "3", "3"),
    ],
)
def test_what_was_typed_is_tried_else_another_value(
    name: str, now: str, text: str, expected: str
) -> None:
    assert proposed(name, now, text) == expected


def test_a_number_that_was_not_typed_is_one_of_its_example() -> None:
    assert proposed("MXNET_CPU_WORKER_NTHREADS", "1") != "1"


def test_where_nothing_is_known_to_try_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    knob = Knob(name="MXNET_FREE", type="int", default=1, meaning="", status="live")
    declared = {**knobs.declared, "MXNET_FREE": knob}
    monkeypatch.setattr(knobs, "declared", declared)
    monkeypatch.setattr(Knob, "example", None)
    with pytest.raises(ArgumentError, match="Alt\\+Enter"):
        proposed("MXNET_FREE", "1")
