"""Figures of two sides, and the same operations in both."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.record import Record
from minimx.experiments import align, rerun
from minimx_widgets.compare.differences import deltas, rows
from minimx_widgets.compare.sides import Side


def chain(steps: int, loss: float | None = None) -> Record:
    with mx.knobs(MINIMX_CLOCK="virtual"), Record() as record:
        x = mx.nd.ones((1000,))
        for _ in range(steps):
            x = x * 2
        mx.nd.waitall()
    if loss is not None:
        record.metric(1, "loss", loss)
    return record


def test_every_figure_with_difference_ratio_and_direction() -> None:
    found = {row.name: row for row in rows(Side(chain(4)), Side(chain(8)))}
    assert [*found] == [
        "peak", "reserved", "driver_calls", "pushes", "moved", "makespan",
    ]  # fmt: skip
    pushes = found["pushes"]
    assert (pushes.before, pushes.after) == ("5", "9")
    assert (pushes.difference, pushes.ratio, pushes.direction) == ("+4", "1.800 ×", "▲")
    record = chain(8)
    back = {row.name: row for row in rows(Side(record), Side(chain(4)))}
    assert back["pushes"].difference == "−4" and back["pushes"].direction == "▼"
    same = {row.name: row for row in rows(Side(record), Side(record))}
    assert same["peak"].direction == "=" and same["peak"].difference == "±0 B"


def test_a_loss_that_only_one_side_knows_has_no_difference() -> None:
    record = chain(3, loss=0.25)
    both = {row.name: row for row in rows(Side(record), Side(chain(3, loss=0.5)))}
    assert both["loss"].difference == "+0.25"
    found = {row.name: row for row in rows(Side(record), Side(rerun(record)))}
    loss = found["loss"]
    assert (loss.before, loss.after, loss.difference) == ("0.25", "–", "–")


def test_what_a_run_of_a_replay_measured_stands_beside_it() -> None:
    def program() -> None:
        x = mx.nd.ones((1000,))
        for _ in range(4):
            x = x * 2
        mx.nd.waitall()

    found = rerun(chain(4), MXNET_CPU_MEM_POOL_TYPE="Round")
    trial = Side(found, trial=found.measure(program))
    row = {row.name: row for row in rows(Side(chain(4)), trial)}["pushes"]
    assert (row.after, row.measured) == ("5", "5")


@pytest.mark.parametrize("names", [("a", "a"), ("net0", "net7")])
def test_layers_with_other_numbers_are_the_same_ones(names: tuple[str, str]) -> None:
    records = []
    for place, layer in enumerate(names):
        record = Record().start()
        record.stop()
        op = record.new_op()
        times = (0, 0, 0, 100 + 50 * place)
        row = (op, "dot", layer, "forward", "cpu(0)", "cpu(0)/0", *times, 0, 0, False)
        record.op(*row)
        records.append(record)
    (found,) = deltas(align(*records))
    assert (found.layer, found.calls, found.took) == (names[0], (1, 1), (100, 150))
    assert found.change == 50
