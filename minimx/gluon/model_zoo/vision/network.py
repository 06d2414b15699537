"""What the networks of the zoo share: two parts, stored weights, and named variants.

A network of the zoo looks at images with its `features` and chooses a class with its
`output`. Fine-tuning keeps the first and replaces the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from minimx.core.device import cpu
from minimx.core.errors import ArgumentError
from minimx.gluon import nn
from minimx.gluon.block import HybridBlock
from minimx.gluon.model_zoo.model_store import get_model_file

Net = TypeVar("Net", bound=HybridBlock)
Spec = TypeVar("Spec")

#: What `get_model` knows; each family adds its own.
MODELS: dict[str, Callable[..., HybridBlock]] = {}


class Network(HybridBlock):
    """`features`, then `output`: images (N, 3, H, W) in, scores (N, classes) out."""

    features: Any
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes)."""
        return self.output(self.features(x))


def row(*blocks: Any, prefix: str = "") -> nn.HybridSequential:
    """Blocks in a row, named as if they stood in the network itself."""
    stack = nn.HybridSequential(prefix=prefix)
    stack.add(*blocks)
    return stack


def chosen(family: str, specs: Mapping[Any, Spec], which: Any) -> Spec:
    """One entry of a family's table. Raises ArgumentError for one it does not have."""
    if which not in specs:
        raise ArgumentError(
            f"there is no {family} {which}; there are {', '.join(map(str, specs))}."
        )
    return specs[which]


def with_weights(
    net: Net, name: str, pretrained: bool, ctx: Any = None, root: Any = None
) -> Net:
    """The network; if `pretrained`, with the weights that are stored as `name`.

    ctx: device or devices of the weights, the CPU by default.
    root: the folder of weights, MXNET_HOME/models by default.
    """
    if pretrained:
        file = get_model_file(name, root=root)
        net.load_parameters(file, ctx=cpu() if ctx is None else ctx)
    return net


def variant(
    name: str,
    maker: Callable[..., Net],
    *choice: Any,
    known_as: str = "",
    **settings: Any,
) -> Callable[..., Net]:
    """The maker of one member of a family, as a function of its own name.

    known_as: what `get_model` calls it, if not that.
    """

    def make(**kwargs: Any) -> Net:
        return maker(*choice, **settings, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return `{maker.__name__}({', '.join(map(repr, choice))}, …)`.\n\n"
        "kwargs: pretrained, ctx, root, classes, prefix, params."
    )
    MODELS[known_as or name] = make
    return make
