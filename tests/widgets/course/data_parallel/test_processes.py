"""Real processes in notebook 13: two ranks train as one; what goes wrong is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

import minimx as mx
from minimx_widgets.course.data_parallel.processes import (
    compared,
    differences_named,
    train,
)

pytestmark = [pytest.mark.alone, pytest.mark.timeout(120)]


def test_two_ranks_train_as_one_process_unless_they_do_not_add() -> None:
    alone = train(steps=5)
    with mx.cluster(n=2) as cluster:
        together = cluster.run(train, steps=5)
        without = cluster.run(train, steps=5, add=False)
        seeds = cluster.run(train, steps=5, seed_by_rank=True)
    good = compared(alone, together)
    assert good.apart_first == good.apart_last == 0
    assert good.off < 1e-6
    assert "the loss is as in one process" in repr(good)
    forgotten = compared(alone, without)
    assert forgotten.apart_first == 0 < forgotten.apart_last
    own = compared(alone, seeds)
    assert own.apart_last == 0 < own.apart_first
    assert own.off > 1e-3  # rank 1's first gradient is of its own weights


def test_ranks_name_what_differs_and_only_that() -> None:
    (sentence,) = differences_named(2, {1: {"MXNET_SAFE_ACCUMULATION": 1}})
    assert (
        "MXNET_SAFE_ACCUMULATION is 'default' on rank 0; 'True' on rank 1" in sentence
    )


def test_one_process_compared_with_itself_is_the_same() -> None:
    alone = train(steps=2)
    found = compared(alone, [alone])
    assert found.off == found.apart_last == 0
    half = replace(alone, losses=tuple(one / 2 for one in alone.losses))
    assert "not as" in repr(compared(alone, [half]))
