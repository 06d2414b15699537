"""Numbers that say nothing are found, in weights, outputs and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import minimx as mx
from minimx_widgets.training.layer_health import (
    GRADIENTS,
    OUTPUTS,
    WEIGHTS,
    Health,
    count,
    outputs_seen,
    parameters,
)
from tests.widgets.sights import images, ready


def test_signs_and_sentences() -> None:
    assert Health("a", WEIGHTS, 4, zeros=4).word == "all 0"
    assert Health("a", WEIGHTS, 4, zeros=3).word == ""
    assert Health("a", WEIGHTS, 4, infinite=1).word == "∞"
    assert Health("a", WEIGHTS, 4, infinite=1, nan=1).word == "NaN"
    sick = Health("net/conv0", GRADIENTS, 400, zeros=20, nan=12)
    assert sick.sentence == "net/conv0: 400 gradients, 20 are zero, 12 are NaN."
    assert Health("a", WEIGHTS, 4).sentence == "a: 4 weights, all finite."


def test_each_kind_is_counted_by_layer() -> None:
    net = ready(images())
    net[0].weight.set_data(net[0].weight.data() * np.nan)
    net[4].weight.set_data(mx.nd.zeros(net[4].weight.shape))
    net[4].bias.set_data(mx.nd.zeros(net[4].bias.shape))
    found = {
        (one.layer, one.kind): one for one in count(parameters(net, gradients=True))
    }
    assert found["net/conv0", WEIGHTS].word == "NaN"
    assert found["net/conv0", WEIGHTS].nan == net[0].weight.data().size
    assert found["net/dense0", WEIGHTS].word == "all 0"
    assert found["net/batchnorm0", WEIGHTS].word == ""
    assert found["net/dense0", GRADIENTS].word == "all 0"  # no backward pass yet
    kinds = {kind for _, kind in found}
    assert kinds == {WEIGHTS, GRADIENTS}


@pytest.mark.parametrize("hybrid", [False, True])
def test_outputs_are_those_of_the_layers(hybrid: bool) -> None:
    data = images()
    net = ready(data)
    if hybrid:
        net.hybridize()
    x = mx.nd.array(data.test_x[:5])
    plain = net(x).asnumpy()
    with outputs_seen(net) as found:
        seen = net(x)
    np.testing.assert_array_equal(seen.asnumpy(), plain)
    assert list(found) == ["net/conv0", "net/batchnorm0", "net/dense0"]
    np.testing.assert_array_equal(found["net/dense0"].asnumpy(), plain)
    assert float(found["net/conv0"].min().asscalar()) == 0.0  # after its activation
    before = dict(found)
    net(x)
    assert found == before  # it does not look any more


def test_whole_numbers_are_left_out() -> None:
    assert count([("a", OUTPUTS, mx.nd.array([1, 2], dtype="int32"))]) == ()
