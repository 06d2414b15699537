"""Layers of lines, images, volumes: shapes, parameters, what they print and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx import nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError, OperatorError, ShapeError
from minimx.gluon import contrib, nn

CUBE = (2, 4, 5, 6, 7)

SHAPES: list[tuple[Any, tuple[int, ...], tuple[int, ...]]] = [
    (lambda: nn.Conv3D(6, 3, strides=2, padding=1), CUBE, (2, 6, 3, 3, 4)),
    (lambda: nn.Conv3D(6, (1, 2, 3), groups=2), CUBE, (2, 6, 5, 5, 5)),
    (lambda: nn.Conv1DTranspose(6, 3, strides=2), CUBE[:3], (2, 6, 11)),
    (
        lambda: nn.Conv2DTranspose(6, 4, strides=2, padding=1, groups=2),
        CUBE[:4],
        (2, 6, 10, 12),
    ),
    (
        lambda: nn.Conv3DTranspose(3, 3, strides=2, padding=1, output_padding=1),
        CUBE,
        (2, 3, 10, 12, 14),
    ),
    (lambda: nn.MaxPool3D(2), CUBE, (2, 4, 2, 3, 3)),
    (lambda: nn.AvgPool3D(3, 2, 1, ceil_mode=True), CUBE, (2, 4, 3, 4, 4)),
    (nn.GlobalMaxPool3D, CUBE, (2, 4, 1, 1, 1)),
    (nn.GlobalAvgPool3D, CUBE, (2, 4, 1, 1, 1)),
    (lambda: nn.MaxPool2D(2, layout="NHWC"), (2, 6, 8, 3), (2, 3, 4, 3)),
    (lambda: nn.GlobalAvgPool1D(layout="NWC"), (2, 6, 3), (2, 1, 3)),
    (lambda: nn.ReflectionPad2D(2), CUBE[:4], (2, 4, 9, 10)),
    (lambda: nn.PixelShuffle1D(2), CUBE[:3], (2, 2, 10)),
    (lambda: nn.PixelShuffle2D((1, 4)), CUBE[:4], (2, 1, 5, 24)),
    (lambda: nn.PixelShuffle3D((2, 1, 2)), CUBE, (2, 1, 10, 6, 14)),
    (lambda: nn.GroupNorm(2), CUBE, CUBE),
    (lambda: nn.InstanceNorm(axis=2), CUBE, CUBE),
    (nn.BatchNormReLU, CUBE, CUBE),
    (nn.SyncBatchNorm, CUBE, CUBE),
    (
        lambda: contrib.cnn.DeformableConvolution(6, 3, padding=1, groups=2),
        CUBE[:4],
        (2, 6, 5, 6),
    ),
    (
        lambda: contrib.cnn.ModulatedDeformableConvolution(
            6, (2, 3), num_deformable_group=2, use_bias=False, activation="relu"
        ),
        CUBE[:4],
        (2, 6, 4, 4),
    ),
]


@pytest.mark.parametrize(("make", "given", "wanted"), SHAPES, ids=range(len(SHAPES)))
def test_shapes_are_learnt_and_gradients_arrive(
    make: Any, given: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    layer = make()
    layer.initialize()
    x = nd.random.uniform(-1, 1, shape=given)
    x.attach_grad()
    with autograd.record():
        out = layer(x)
        total = (out * out).sum()
    total.backward()
    assert out.shape == wanted
    assert np.isfinite(x.grad.asnumpy()).all()
    assert all(0 not in p.shape for p in layer.collect_params().values())


def test_a_convolution_without_moves_is_a_convolution() -> None:
    layer = contrib.cnn.DeformableConvolution(3, (3, 2), strides=2, padding=1)
    layer.initialize()
    x = nd.random.uniform(shape=(2, 2, 6, 5))
    bent = layer(x)
    weight, bias = layer.deformable_conv_weight, layer.deformable_conv_bias
    plain = nd.Convolution(
        x, weight.data(), bias.data(), kernel=(3, 2), stride=(2, 2), pad=(1, 1),
        num_filter=3,
    )  # fmt: skip
    np.testing.assert_allclose(bent.asnumpy(), plain.asnumpy(), rtol=1e-5, atol=1e-6)


def test_the_way_back_through_a_convolution_is_its_transpose() -> None:
    forth = nn.Conv2D(3, 3, strides=2, use_bias=False, in_channels=2)
    back = nn.Conv2DTranspose(2, 3, strides=2, use_bias=False, in_channels=3)
    for layer in (forth, back):
        layer.initialize()
    back.weight.set_data(forth.weight.data())
    x, y = nd.random.uniform(shape=(1, 2, 7, 7)), nd.random.uniform(shape=(1, 3, 3, 3))
    ahead = (forth(x) * y).sum().asscalar()
    assert (back(y) * x).sum().asscalar() == pytest.approx(ahead, rel=1e-5)


def test_shuffled_pixels_come_from_channels() -> None:
    x = np.arange(2 * 12 * 2 * 3).reshape(2, 12, 2, 3)
    found = nn.PixelShuffle2D((2, 3))(nd.array(x)).asnumpy()
    for h, w, i, j in np.ndindex(2, 3, 2, 3):
        expected = x[:, [0 * 6 + i * 3 + j, 1 * 6 + i * 3 + j], h, w]
        np.testing.assert_array_equal(found[:, :, 2 * h + i, 3 * w + j], expected)


def test_group_norm_and_instance_norm_normalize_their_groups() -> None:
    x = nd.random.normal(2, 3, shape=(3, 4, 50))
    for layer, groups in ((nn.GroupNorm(2), 2), (nn.InstanceNorm(), 4)):
        layer.initialize()
        seen = layer(x).asnumpy().reshape(3, groups, -1)
        np.testing.assert_allclose(seen.mean(2), 0, atol=1e-5)
        np.testing.assert_allclose(seen.std(2), 1, rtol=1e-4)
        assert layer.gamma.shape == (groups,)


def test_branches_of_contrib_join_what_comes_out() -> None:
    for kind in (contrib.nn.Concurrent, contrib.nn.HybridConcurrent):
        net = kind(axis=1)
        net.add(nn.Dense(2), contrib.nn.Identity())
        net.initialize()
        assert net(nd.ones((3, 4))).shape == (3, 6)


def test_layers_print_as_in_mxnet() -> None:
    for layer, text in [
        (
            nn.Conv2DTranspose(3, 4, 2, 1, 1, in_channels=5),
            "Conv2DTranspose(5 -> 3, kernel_size=(4, 4), stride=(2, 2), "
            "padding=(1, 1), output_padding=(1, 1))",
        ),
        (
            nn.MaxPool3D(),
            "MaxPool3D(size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0), "
            "ceil_mode=False, global_pool=False, pool_type=max, layout=NCDHW)",
        ),
        (
            nn.GroupNorm(3),
            "GroupNorm(eps=1e-05, num_groups=3, center=True, scale=True)",
        ),
        (
            nn.InstanceNorm(in_channels=3),
            "InstanceNorm(eps=1e-05, axis=1, center=True, scale=False, in_channels=3)",
        ),
        (nn.PixelShuffle1D(2), "PixelShuffle1D(2)"),
        (nn.PixelShuffle2D(2), "PixelShuffle2D((2, 2))"),
        (
            contrib.cnn.DeformableConvolution(6, 3, padding=1),
            "DeformableConvolution(None -> 6, kernel_size=(3, 3), stride=(1, 1), "
            "padding=(1, 1))",
        ),
    ]:
        assert repr(layer) == text


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: nn.Conv2DTranspose(4, 3, groups=3), ShapeError, "does not divide"),
        (lambda: nn.PixelShuffle3D((2, 2)), ArgumentError, "or 3 of them"),
        (lambda: nn.ReflectionPad2D((1, 1)), ArgumentError, "or 8 of them"),
        (lambda: nn.MaxPool3D(layout="NCHW"), ArgumentError, "NCDHW or NDHWC"),
    ],
)
def test_wrong_settings_are_explained(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_channels_that_come_last_are_refused_when_they_come() -> None:
    layer = nn.Conv2D(4, 3, layout="NHWC", in_channels=2)
    assert layer.weight.shape == (4, 3, 3, 2)
    layer.initialize()
    with pytest.raises(OperatorError, match="channels come second"):
        layer(nd.ones((1, 5, 5, 2)))
