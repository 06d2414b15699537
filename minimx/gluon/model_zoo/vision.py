"""`gluon.model_zoo.vision`: networks for images, by name.

>>> net = get_model("resnet18_v1", classes=10, thumbnail=True)
>>> len(net.collect_params())
98
"""

from __future__ import annotations

from functools import partial
from typing import Any

from minimx.errors import ArgumentError, did_you_mean
from minimx.gluon.block import HybridBlock
from minimx.gluon.model_zoo.resnet import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    get_resnet,
)

resnet18_v1 = partial(get_resnet, 1, 18)
resnet34_v1 = partial(get_resnet, 1, 34)
resnet50_v1 = partial(get_resnet, 1, 50)
resnet101_v1 = partial(get_resnet, 1, 101)
resnet152_v1 = partial(get_resnet, 1, 152)
resnet18_v2 = partial(get_resnet, 2, 18)
resnet34_v2 = partial(get_resnet, 2, 34)
resnet50_v2 = partial(get_resnet, 2, 50)
resnet101_v2 = partial(get_resnet, 2, 101)
resnet152_v2 = partial(get_resnet, 2, 152)

_MODELS = {
    name: value for name, value in list(globals().items()) if isinstance(value, partial)
}

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_model",
    "get_resnet",
    *_MODELS,
]


def get_model(name: str, **kwargs: Any) -> HybridBlock:
    """A network by name, such as `resnet18_v1`; kwargs are those of its maker."""
    maker = _MODELS.get(name.lower())
    if maker is None:
        raise ArgumentError(
            f"there is no model called {name!r}; there are: {', '.join(_MODELS)}."
            + did_you_mean(name, _MODELS)
        )
    net: HybridBlock = maker(**kwargs)
    return net
