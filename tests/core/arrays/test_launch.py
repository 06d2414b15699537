"""What errors of a call say of the arrays that it was given."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.core.errors import DTypeError


class Chosen(mx.gluon.HybridBlock):
    """A layer whose type error lies in what another operator made."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = mx.gluon.nn.Dense(2, in_units=2)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.dense(x) * F.argmax(x, axis=1).astype("int32")


def test_a_clash_of_types_names_the_layers_that_made_them() -> None:
    net = Chosen(prefix="net_")
    net.initialize()
    with pytest.raises(DTypeError) as raised:
        net(mx.nd.ones((2, 2)))
    assert str(raised.value).endswith(
        "What is float32 comes from FullyConnected in net/dense0, what is int32 comes "
        "from cast in net."
    )


def test_one_number_can_be_formatted_and_several_say_how() -> None:
    assert f"{mx.nd.array([0.25]):.1f}|{mx.nd.array([3]):>4.0f}" == "0.2|   3"
    assert f"{mx.nd.ones(2)}" == str(mx.nd.ones(2))
    with pytest.raises(TypeError, match="2 elements has no format '.2f'"):
        f"{mx.nd.ones(2):.2f}"
