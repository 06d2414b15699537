"""A replay as a record: the same operations, at the times of the replay."""

from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx.core.record import Record
from minimx.experiments import align, measured, rerun
from minimx_widgets.compare.replayed import as_record
from tests.experiments.programs import Program, perceptron


@pytest.fixture(scope="module")
def record() -> Record:
    with mx.knobs(MINIMX_CLOCK="virtual"), Record(calls=True) as found:
        parts = [mx.nd.ones((50, 50)) * k for k in range(5)]
        mx.nd.add_n(*[mx.nd.dot(one, one) for one in parts]).wait_to_read()
    return found


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEngine"])
def test_makespan_lanes_and_operations_are_those_of_the_replay(
    record: Record, engine: str
) -> None:
    found = rerun(record, MXNET_ENGINE_TYPE=engine, MXNET_CPU_WORKER_NTHREADS=2)
    made = as_record(found)
    assert measured(made)["makespan"] == pytest.approx(found.makespan)
    ops = made.ops()
    lanes = {
        (int(op), worker, int(start))
        for op, worker, start in zip(
            ops["op"], made.texts(ops["worker"]), ops["t_start"], strict=True
        )
    }
    assert lanes == {(one.op, one.worker, one.start) for one in found.lanes}
    assert align(record, made).shared == 1.0
    assert made.conditions.knobs["MXNET_ENGINE_TYPE"] == engine


def test_arrows_join_operations_that_are_there(record: Record) -> None:
    made = as_record(rerun(record, MXNET_ENGINE_TYPE="NaiveEngine"))
    deps, ids = made.deps(), made.ops()["op"]
    assert len(deps) > 5
    assert np.isin(deps["src"], ids).all() and np.isin(deps["dst"], ids).all()


def test_a_graph_that_is_cut_otherwise_has_operations_with_ids_of_their_own() -> None:
    program = Program(perceptron(8, 8, 8), mx.cpu(), hybrid=True)
    program()
    with Record(calls=True) as record:
        program()
        mx.nd.waitall()
    found = rerun(record, net=program.net, MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD=1)
    made = as_record(found)
    assert len(made.ops()) > len(record.pushes())
    assert len(np.unique(made.ops()["op"])) == len(made.ops())
