"""A probe asks a network without the training noticing, and never too often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import events
from minimx.gluon import nn
from minimx_widgets.pictures.training_series import line_of
from minimx_widgets.training.predictions import (
    BROKEN,
    SAMPLE,
    Look,
    Probe,
    confused,
    most_confused,
)
from minimx_widgets.training.training import Fit, Settings
from tests.widgets.sights import images, network, ready


class Clock:
    """A clock that a test moves; `per_read` passes with every look at it."""

    def __init__(self) -> None:
        self.now, self.per_read = 0.0, 0.0

    def __call__(self) -> float:
        self.now += self.per_read
        return self.now


def watched(**settings: Any) -> Probe:
    probe = Probe(**settings)
    probe.watch(lambda look: None)
    return probe


def train(probe: Probe | None, hybrid: bool) -> tuple[list[float], list[Any]]:
    """Losses of a training with dropout, and the weights and statistics after it."""
    data, net = images(), network()
    if hybrid:
        net.hybridize()
    mx.random.seed(11)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    criterion, losses = mx.gluon.loss.SoftmaxCrossEntropyLoss(), []
    for step in range(12):
        if probe is not None:
            probe.look(net, data, mx.cpu(), step)
        rows = slice(10 * step, 10 * step + 10)
        x, y = mx.nd.array(data.train_x[rows]), mx.nd.array(data.train_y[rows])
        with mx.autograd.record():
            loss = criterion(net(x), y)
        loss.backward()
        trainer.step(10)
        losses.append(float(loss.mean().asscalar()))
    arrays = [p.data().asnumpy() for p in net.collect_params().values()]
    return losses, arrays


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_training_goes_on_as_if_nobody_had_looked(hybrid: bool) -> None:
    probe = watched()
    plain, plain_arrays = train(None, hybrid)
    looked, looked_arrays = train(probe, hybrid)
    assert looked == plain
    for one, other in zip(plain_arrays, looked_arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    assert probe.latest is not None
    assert probe.latest.asked == 60
    assert probe.latest.right > 30


@pytest.mark.parametrize("hybrid", [False, True])
def test_answers_are_those_of_the_network_in_predict_mode(hybrid: bool) -> None:
    data = images()
    net = ready(data)
    if hybrid:
        net.hybridize()
    look = watched().look(net, data, mx.cpu(), 1)
    answers = net(mx.nd.array(data.test_x)).asnumpy()
    assert look.right == int((answers.argmax(1) == data.test_y).sum())
    for one in look.strip:
        assert one.label == data.test_y[one.number]
        assert one.guess == answers[one.number].argmax()
        assert one.right == (one.guess == one.label)
        powers = np.exp(answers[one.number] - answers[one.number].max())
        assert one.chances[0][1] == pytest.approx(powers.max() / powers.sum(), rel=1e-4)


def test_the_strip_has_every_class_and_is_always_the_same() -> None:
    data = images(classes=10, count=90)
    net, probe = ready(data, 10), watched()
    first, second = (probe.look(net, data, mx.cpu(), step) for step in (1, 2))
    assert {one.label for one in first.strip} == set(range(10))
    assert len(first.strip) == 12
    assert [one.number for one in first.strip] == [one.number for one in second.strip]


def test_operations_are_those_of_evaluation() -> None:
    data = images()
    net = ready(data)
    mx.nd.waitall()
    with mx.Record() as record:
        watched().look(net, data, mx.cpu(), 1)
    ops = record.ops()
    assert len(ops) > 5
    assert set(record.texts(ops["phase"])) == {"evaluate"}
    assert events.attribution.phase == "other"


def test_mistakes_are_counted_by_label_and_answer() -> None:
    counts = confused(np.array([0, 1, 1, 2]), np.array([0, 0, BROKEN, 2]), 3)
    assert counts.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_of_many_classes_the_most_confused_are_kept() -> None:
    data = images(classes=30, count=150)
    look = watched().look(ready(data, 30), data, mx.cpu(), 1)
    assert (len(look.classes), look.all_classes) == (12, 30)
    assert look.confusion.shape == (12, 12)
    counts = np.eye(30, dtype=int)
    counts[3, 20] = counts[7, 3] = 5
    assert set(most_confused(counts, 3)) == {3, 7, 20}


def test_nobody_is_asked_unless_somebody_wants_to_see() -> None:
    probe = Probe()
    assert not probe.due(0, 0.0)
    wishes = [False]
    end = probe.watch(lambda look: None, lambda: wishes[0])
    assert not probe.due(0, 0.0)
    wishes[0] = True
    assert probe.due(0, 0.0)
    end()
    assert not probe.due(0, 0.0)


def test_looks_keep_their_distance_in_steps_and_seconds() -> None:
    data, clock = images(), Clock()
    net = ready(data)
    probe = watched(every=10, seconds=1.0, clock=clock)
    probe.look(net, data, mx.cpu(), 5)
    assert not probe.due(15, 0.5)  # too early
    assert not probe.due(10, 2.0)  # too few steps
    assert probe.due(15, 2.0)
    assert probe.due(1, 0.5)  # a new training


def test_looking_takes_a_small_share_of_the_time() -> None:
    data, clock = images(), Clock()
    net = ready(data)
    probe = watched(share=0.02, clock=clock)
    clock.per_read = 0.05
    for step in (0, 10, 20):
        probe.look(net, data, mx.cpu(), step)
    cost = 2 * clock.per_read  # the clock is read when a look begins, and twice after
    assert probe.pause == pytest.approx(cost / 0.02 - cost)
    assert probe.pause > 1.0
    assert cost / (cost + probe.pause) < 0.03


def test_the_first_look_at_a_network_does_not_set_the_pace() -> None:
    data, clock = images(), Clock()
    probe = watched(clock=clock)
    clock.per_read = 1.0
    probe.look(ready(data), data, mx.cpu(), 0)
    assert probe.pause == 1.0
    probe.look(ready(data), data, mx.cpu(), 10)  # another network
    assert probe.pause == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_answers_that_are_not_finite_are_wrong_and_named(bad: float) -> None:
    data = images()
    net = ready(data)
    weight = net[4].weight
    weight.set_data(weight.data() * bad)
    look = watched().look(net, data, mx.cpu(), 1)
    assert (look.right, look.broken) == (0, 60)
    assert {one.guess for one in look.strip} == {BROKEN}
    assert ("net/dense0", "weights") in {(one.layer, one.kind) for one in look.sick}


def test_what_cannot_be_asked_is_told_and_breaks_nothing() -> None:
    data, probe = images(), watched()
    unknown = network()  # the dense layer does not know its inputs yet
    look = probe.look(unknown, data, mx.cpu(), 0)
    assert "first batch" in look.problem
    assert len(look.strip) == 12
    assert look.strip[0].guess is None
    flat = nn.Conv2D(4, 3, in_channels=1)
    flat.initialize()
    assert "(samples, classes)" in probe.look(flat, data, mx.cpu(), 1).problem
    narrow = nn.Conv2D(4, 3, in_channels=5)
    narrow.initialize()
    assert probe.look(narrow, data, mx.cpu(), 1).problem != ""


@pytest.mark.parametrize(("channels", "classes"), [(3, 4), (1, 100)])
def test_other_shapes_of_data(channels: int, classes: int) -> None:
    data = images(classes, channels, count=250)
    look = watched().look(ready(data, classes, channels), data, mx.cpu(), 1)
    assert look.asked == SAMPLE
    assert look.strip[0].pixels.shape == (8, 8, channels)
    assert look.filters is not None
    assert look.filters.tiles.shape == (6, 3, 3, channels)


def test_images_show_before_anybody_is_asked() -> None:
    probe = Probe()
    seen: list[Look] = []
    probe.watch(seen.append)
    probe.show(images())
    assert len(seen[0].strip) == 12
    assert seen[0].asked == 0


@pytest.mark.parametrize("graph", ["imperative", "hybridized"])
def test_a_lab_trains_the_same_whether_somebody_looks_or_not(graph: str) -> None:
    def losses(probe: Probe | None) -> list[float]:
        record = mx.Record()
        settings = Settings(
            network=network, data=images(), graph=graph, batch_size=20, epochs=2, seed=5
        )
        fit = Fit(settings, record, data=images(), probe=probe)
        for _ in fit.program():
            pass
        return [float(value) for value in line_of(record, "loss").values]

    probe = watched(every=1, seconds=0.0, share=1.0)
    seen: list[int] = []
    probe.watch(lambda look: seen.append(look.step))
    looked = losses(probe)
    assert looked == losses(None)
    assert len(looked) == 12
    assert set(range(13)) == set(seen)  # 0: the images, before anybody was asked
    assert seen[-1] == 12
    assert probe.latest is not None
    assert probe.latest.health
