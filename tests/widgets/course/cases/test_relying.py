"""Devices, checkpoints, graphs in files and batches: probes, exercise and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minimx as mx
from minimx_widgets.course.cases import relying
from minimx_widgets.course.cases.relying import Loop, Mixed, check_checkpoint


def test_copies_are_there_and_back_in_both_passes() -> None:
    gpu, cpu = mx.gpu(0), mx.cpu()
    assert relying.crossing_kib(16) == 64.0
    assert relying.crossing(relying.step(Mixed([gpu, gpu, gpu]), 16)) == (0, 0)
    assert relying.crossing(relying.step(Mixed([gpu, cpu, cpu]), 16)) == (2, 2 * 16384)


def test_half_a_state_gives_one_loss_and_a_whole_one_all() -> None:
    weights = relying.save_weights, relying.load_weights
    assert relying.equal_losses(*weights, steps=4) == 1
    assert relying.equal_losses(*weights, steps=4, optimizer="adam") == 1
    assert relying.equal_losses(relying.save_all, relying.load_all, steps=4) == 4


@pytest.mark.parametrize("before", range(7, 11))
def test_a_state_comes_back_however_many_layers_were_named_before(before: int) -> None:
    with mx.name.NameManager():
        for _ in range(before):
            mx.gluon.nn.Dense(1)
        whole = relying.save_all, relying.load_all
        assert relying.equal_losses(*whole, steps=1) == 1


def nothing(folder: str, net: Any, trainer: Any) -> None:
    """A checkpoint that was forgotten."""


def broken(folder: str, net: Any, trainer: Any) -> None:
    net.load_parameters(f"{folder}/other.params")


@pytest.mark.parametrize(
    ("save", "load", "words"),
    [
        (relying.save_weights, relying.load_weights, "loss 2"),
        (relying.save_all, relying.load_weights, "loss 2"),
        (nothing, nothing, "loss 1"),
        (relying.save_all, broken, "other.params"),
    ],
)
def test_half_a_checkpoint_is_refused(
    save: Callable[..., None], load: Callable[..., None], words: str
) -> None:
    feedback = check_checkpoint((save, load))
    assert not feedback.passed
    assert words in feedback.seen


def test_a_whole_checkpoint_passes() -> None:
    assert check_checkpoint((relying.save_all, relying.load_all)).passed
    assert not check_checkpoint(...).passed
    assert not check_checkpoint(3).passed


def test_a_loop_is_its_steps_in_the_file() -> None:
    assert relying.operators(7) == 7
    assert relying.exported(Loop(7, at_once=True)).total() == 2


def test_fewer_steps_learn_less() -> None:
    few, many = relying.accuracy(512), relying.accuracy(64)
    assert (few[0], many[0]) == (12, 96)
    assert many[1] > few[1] + 10
