"""ResNets. Their parameters carry the names that MXNet 1.9.1 gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx import gluon, initializer, nd, random
from minimx.core import autograd
from minimx.core.errors import ArgumentError
from minimx.gluon import loss
from minimx.gluon.model_zoo import vision


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("layers", [18, 50])
@pytest.mark.parametrize("thumbnail", [True, False])
def test_images_go_in_and_scores_come_out(
    version: int, layers: int, thumbnail: bool
) -> None:
    net = vision.get_resnet(version, layers, classes=7, thumbnail=thumbnail)
    net.initialize()
    size = 8 if thumbnail else 32
    assert net(nd.zeros((2, 3, size, size))).shape == (2, 7)


def test_names_and_shapes() -> None:
    net = vision.resnet18_v1(classes=10, thumbnail=True, prefix="r_")
    net.initialize()
    net(nd.zeros((1, 1, 8, 8)))
    shapes = {name: p.shape for name, p in net.collect_params().items()}
    assert len(shapes) == 98
    assert shapes["r_conv0_weight"] == (64, 1, 3, 3)
    assert shapes["r_stage2_conv2_weight"] == (128, 64, 1, 1)
    assert shapes["r_stage4_batchnorm4_running_var"] == (512,)
    assert shapes["r_dense0_weight"] == (10, 512)
    assert "features.2.0.downsample.0.weight" in net.collect_params()


def test_a_small_resnet_learns() -> None:
    random.seed(0)
    net = vision.ResNetV2(
        vision.BasicBlockV2, [1, 1], [4, 4, 8], classes=2, thumbnail=True
    )
    net.initialize(initializer.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    draw = np.random.default_rng(0)
    x = draw.normal(size=(16, 1, 6, 6)).astype(np.float32)
    x[8:, :, :3] += 2.0
    images, labels = nd.array(x), nd.array([0] * 8 + [1] * 8)
    judge = loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(12):
        with autograd.record():
            wrong = judge(net(images), labels)
        wrong.backward()
        trainer.step(16)
        losses.append(float(wrong.mean().asscalar()))
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: vision.get_resnet(3, 18), "no ResNet v3"),
        (lambda: vision.get_resnet(1, 19), "of 19 layers"),
        (lambda: vision.get_vgg(12), "no VGG 12; there are 11, 13, 16, 19"),
        (lambda: vision.SqueezeNet("1.2"), "no SqueezeNet 1.2"),
        (lambda: vision.VGG([1, 1], [8]), "2 stages need as many"),
        (lambda: vision.get_model("resnet18v1"), "Did you mean resnet18_v1"),
        (
            lambda: vision.ResNetV1(vision.BasicBlockV1, [1, 1], [4, 4]),
            "2 stages need 3",
        ),
    ],
)
def test_wrong_wishes_are_explained(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()
