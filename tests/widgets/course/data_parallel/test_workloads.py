"""The tables of layers of notebook 13 are those of real networks, or round numbers."""

from __future__ import annotations

from math import prod

import pytest

from minimx import nd
from minimx.gluon.model_zoo import vision
from minimx.kvstore.simulation import simulate
from minimx_widgets.course.data_parallel.workloads import (
    ALEXNET,
    LANGUAGE_MODEL,
    alexnet,
    language_model,
    line,
    three_layers,
)


def test_alexnet_is_that_of_the_model_zoo() -> None:
    net = vision.alexnet()
    net.infer_shape(nd.zeros((1, 3, 224, 224)))
    shapes = [one.shape for one in net.collect_params().values()]
    sizes = [
        prod(weight) + prod(bias)
        for weight, bias in zip(shapes[::2], shapes[1::2], strict=True)
    ]
    assert sizes == [one.elements for one in ALEXNET]
    sides = (55, 27, 13, 13, 13, 1, 1, 1)  # of what comes out of each layer
    products = [
        prod(weight) * side**2 for weight, side in zip(shapes[::2], sides, strict=True)
    ]
    assert products == [one.products for one in ALEXNET]


def test_one_device_trains_as_many_images_as_the_report() -> None:
    assert 64 / alexnet(64).compute_seconds == pytest.approx(409, rel=0.01)


def test_a_hand_can_compute_the_three_layers() -> None:
    found = simulate(three_layers(10), line(), "ring", 2)
    assert found.step_seconds == pytest.approx(0.055, rel=1e-6)


def test_the_language_model_is_in_backward_order() -> None:
    names = [layer.name for layer in language_model().layers]
    assert names == [name for name, *_ in reversed(LANGUAGE_MODEL)]
