"""The weights of a first layer become tiles, whatever the layer is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.gluon import nn
from minimx_widgets.training.first_layer import (
    LOST,
    MOST_SIDE,
    MOST_TILES,
    ZERO,
    filters_of,
    picture,
)


def filled(layer: Any, weights: Any) -> Any:
    layer.initialize()
    layer.weight.set_data(mx.nd.array(weights))
    return layer


def test_a_filter_is_coded_by_sign_and_size() -> None:
    weights = np.array([[[[-2.0, 0.0], [1.0, 2.0]]], [[[np.nan, 0], [0, np.inf]]]])
    found = filters_of(filled(nn.Conv2D(2, 2, in_channels=1), weights), (1, 8, 8))
    assert found is not None
    assert found.largest == 2.0
    assert found.tiles[0, ..., 0].tolist() == [[0, ZERO], [191, 254]]
    assert found.tiles[1, ..., 0].tolist() == [[LOST, ZERO], [ZERO, LOST]]


def test_neurons_of_a_dense_layer_are_images() -> None:
    net = nn.Sequential()
    net.add(nn.Flatten(), nn.Dense(40, in_units=12))
    net.initialize()
    found = filters_of(net, (3, 2, 2))
    assert found is not None
    assert (found.tiles.shape, found.many) == ((MOST_TILES, 2, 2, 3), 40)
    found = filters_of(net, (1, 5, 5))  # other inputs than pixels
    assert found is not None
    assert found.tiles.shape == (MOST_TILES, 1, 12, 1)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2D(4, 3, in_channels=3), (4, 3, 3, 3)),
        (nn.Conv2D(4, 3, in_channels=5), (4, 3, 3, 1)),
        (nn.Conv1D(4, 7, in_channels=2), (4, 2, 7, 1)),
        (nn.Conv3D(4, 3, in_channels=1), (4, 3, 3, 1)),
    ],
)
def test_other_layers(layer: Any, shape: tuple[int, ...]) -> None:
    layer.initialize()
    found = filters_of(layer, (1, 8, 8))
    assert found is not None
    assert found.tiles.shape == shape


def test_a_network_without_weights_has_no_filters() -> None:
    assert filters_of(nn.Flatten(), (1, 8, 8)) is None


def test_zero_weights_have_no_colour() -> None:
    found = filters_of(filled(nn.Dense(2, in_units=4), np.zeros((2, 4))), (1, 2, 2))
    assert found is not None
    assert set(found.tiles.ravel().tolist()) == {ZERO}


def test_large_images_are_shrunk_by_means() -> None:
    image = np.zeros((3, 224, 150), np.float32)
    image[:, :, 75:] = 1.0
    pixels = picture(image)
    assert max(pixels.shape[:2]) <= MOST_SIDE
    assert pixels.shape[2] == 3
    assert pixels[0, 0].tolist() == [0, 0, 0]
    assert pixels[0, -1].tolist() == [255, 255, 255]


def test_images_of_other_channels_are_their_mean() -> None:
    image = np.stack([np.zeros((2, 2)), np.ones((2, 2))])
    assert picture(image).tolist() == [[[128], [128]], [[128], [128]]]
