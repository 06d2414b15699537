"""Every network of the zoo has the parameters of MXNet's, and computes what it does.

MXNet's answers were written down by `python tests/compat/zoo.py --record`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import minimx as mx
from minimx import nd
from minimx.gluon.model_zoo import vision
from tests.compat import zoo, zoo_worker

ANSWERS = json.loads(zoo.ANSWERS.read_text())


@pytest.mark.parametrize("name", zoo_worker.NAMES)
def test_names_shapes_and_order_are_those_of_the_original(name: str) -> None:
    assert zoo_worker.structure(mx, name) == ANSWERS["structure"][name]


@pytest.mark.parametrize("name", zoo_worker.SMALL)
def test_a_step_forward_and_backward(name: str, tmp_path: Path) -> None:
    found = zoo_worker.small(mx, name, tmp_path)
    far, where = zoo.worst(found, ANSWERS["small"][name])
    assert far < 1e-6, where


def test_a_network_that_differs_is_found_out(tmp_path: Path) -> None:
    found = zoo_worker.small(mx, "DenseNet", tmp_path)
    right = ANSWERS["small"]["DenseNet"]
    far, where = zoo.worst({**found, "net_dense0_bias": [9.0]}, right)
    assert far > 1 and where == "net_dense0_bias"
    far, where = zoo.worst({"output": found["output"]}, right)
    assert far == float("inf") and "net_dense0_bias" in where


def test_inception_bn_has_two_forms() -> None:
    net = vision.inception_bn(classes=5, prefix="")
    zoo_worker.fill(mx, net, 224)
    symbol = vision.inception_bn_symbol(5)
    renamed = {
        name.replace("running", "moving"): parameter.data()
        for name, parameter in net.collect_params().items()
    }
    names = symbol.list_arguments() + symbol.list_auxiliary_states()
    assert sorted(renamed) == sorted(set(names) - {"data", "softmax_label"})
    assert sum(array.size for array in renamed.values()) == 10_295_397
    x = mx.nd.random.uniform(-1, 1, (1, 3, 224, 224))
    bound = symbol.bind(
        mx.cpu(),
        {**renamed, "data": x, "softmax_label": nd.zeros((1,))},
        aux_states={name: renamed[name] for name in symbol.list_auxiliary_states()},
    )
    (scores,) = bound.forward()
    expected = nd.softmax(net(x))
    mx.test_utils.assert_almost_equal(scores, expected, rtol=1e-4, atol=1e-6)
