"""`gluon.model_zoo.vision`: networks for images, by name.

>>> net = get_model("resnet18_v1", classes=10, thumbnail=True)
>>> len(net.collect_params())
98

One file holds one family. All take images (N, 3, H, W) and give scores (N, classes).
Stored weights expect pixels from 0 to 1, from which the mean (0.485, 0.456, 0.406) was
subtracted and which were divided by (0.229, 0.224, 0.225), channel by channel.
"""

from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.gluon.block import HybridBlock
from minimx.gluon.model_zoo.vision.alexnet import *  # noqa: F403
from minimx.gluon.model_zoo.vision.densenet import *  # noqa: F403
from minimx.gluon.model_zoo.vision.inception import *  # noqa: F403
from minimx.gluon.model_zoo.vision.inception_bn import *  # noqa: F403
from minimx.gluon.model_zoo.vision.mobilenet import *  # noqa: F403
from minimx.gluon.model_zoo.vision.network import MODELS
from minimx.gluon.model_zoo.vision.resnet import *  # noqa: F403
from minimx.gluon.model_zoo.vision.squeezenet import *  # noqa: F403
from minimx.gluon.model_zoo.vision.vgg import *  # noqa: F403


def get_model(name: str, **kwargs: Any) -> HybridBlock:
    """A network by name, such as `resnet18_v1`.

    kwargs: pretrained (load stored weights), ctx and root (where to put them, where
    they are kept), classes, prefix, params, and what the family has besides.
    """
    maker = MODELS.get(name.lower())
    if maker is None:
        raise ArgumentError(
            f"there is no model called {name!r}; there are: {', '.join(MODELS)}."
            + did_you_mean(name, MODELS)
        )
    return maker(**kwargs)


#: What the families define, and `get_model`.
__all__ = [
    name
    for name, value in list(globals().items())
    if getattr(value, "__module__", "").startswith(__name__)
]
