"""Weight and bias of a layer that multiplies, and the activation after it."""

from __future__ import annotations

from typing import Any

from minimx.gluon.block import HybridBlock
from minimx.gluon.nn.activations import Activation


def weight_and_bias(
    block: HybridBlock,
    shape: tuple[int, ...],
    outputs: int,
    initializers: tuple[Any, Any],
    use_bias: bool,
    prefix: str = "",
    **kwargs: Any,
) -> tuple[Any, Any]:
    """The Parameters `weight` and `bias` of a block; None for a bias it does without.

    shape: of the weight, with 0 for what is inferred from the first batch. outputs: the
    length of the bias. initializers: of weight and bias. kwargs: of both, such as
    dtype.
    """
    weight, bias = initializers
    kwargs["allow_deferred_init"] = True
    made = block.params.get(f"{prefix}weight", shape=shape, init=weight, **kwargs)
    if not use_bias:
        return made, None
    name, length = f"{prefix}bias", (outputs,)
    return made, block.params.get(name, shape=length, init=bias, **kwargs)


def activation_after(name: str | None) -> Activation | None:
    """The activation at the end of a layer; None without a name."""
    return None if name is None else Activation(name, prefix=name + "_")
