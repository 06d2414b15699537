"""What layers compute. The numbers were measured with MXNet 1.9.1.

Each row: the layer, its input, the shape that comes out, the first four numbers and the
sum of them all, the sum of the input's gradient and those of the parameters' gradients,
for the loss (out ** 2).sum(). Parameters hold evenly spaced numbers from -0.5 to 0.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx import initializer, nd
from minimx.core import autograd
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError, ShapeError
from minimx.gluon import nn

IMAGE = np.linspace(-1, 1, 2 * 3 * 5 * 6).reshape(2, 3, 5, 6)
LINE = np.linspace(-1, 1, 2 * 3 * 7).reshape(2, 3, 7)
ROWS = np.linspace(-1, 1, 12).reshape(3, 4)

Row = tuple[Any, Any, tuple[int, ...], list[float], float, float | None, list[float]]
WITH_PARAMETERS: list[Row] = [
    (
        lambda: nn.Dense(3, activation="tanh"),
        ROWS,
        (3, 3),
        [0.521, -0.0915, -0.6418, -0.3807],
        0.823,
        0.8747,
        [1.6646, 0.6876],
    ),
    (
        lambda: nn.Dense(2, flatten=False, use_bias=False),
        LINE,
        (2, 3, 2),
        [1.4591, -2.4021, 0.9259, -1.3908],
        1.5129,
        2.1181,
        [39.9929],
    ),
    (
        lambda: nn.Conv2D(4, 3, strides=(2, 1), padding=1, activation="relu"),
        IMAGE,
        (2, 4, 3, 6),
        [2.2689, 3.6835, 3.6157, 3.5478],
        242.5026,
        2192.1401,
        [1933.1937, 485.0052],
    ),
    (
        lambda: nn.Conv2D(6, (2, 3), dilation=(1, 2), groups=3, use_bias=False),
        IMAGE,
        (2, 6, 4, 2),
        [2.3603, 2.3325, 2.1936, 2.1658],
        54.2442,
        128.6415,
        [230.4144],
    ),
    (
        lambda: nn.Conv1D(2, 3, padding=1),
        LINE,
        (2, 2, 7),
        [0.4882, 1.1489, 1.0534, 0.9578],
        14.039,
        110.1614,
        [102.509, 28.078],
    ),
    (
        nn.LayerNorm,
        ROWS,
        (3, 4),
        [0.1707, -0.0553, 0.4341, 1.639],
        6.5659,
        0.0,
        [13.1312, 13.1318],
    ),
    (
        lambda: nn.LayerNorm(axis=1),
        LINE,
        (2, 3, 7),
        [0.1123] * 4,
        24.7744,
        0.0,
        [49.5477, 49.5488],
    ),
    (
        nn.PReLU,
        ROWS,
        (3, 4),
        [0.5, 0.4091, 0.3182, 0.2273],
        4.9091,
        4.9091,
        [-2.3636],
    ),
    (
        lambda: nn.PReLU(in_channels=4),
        ROWS,
        (3, 4),
        [0.5, 0.0818, -0.1909, -0.3182],
        3.4909,
        5.3309,
        [-0.6777],
    ),
]
# The gradient is 2 * out, spread over the windows; MXNet 1.9.1 computes another one for
# maxima in prediction mode, which is wrong.
POOLING: list[Row] = [
    (
        lambda: nn.MaxPool2D((2, 3), strides=2, padding=(1, 0)),
        IMAGE,
        (2, 3, 3, 2),
        [-0.9777, -0.9553, -0.8436, -0.8212],
        0.2011,
        0.4022,
        [],
    ),
    (
        lambda: nn.MaxPool2D(2, ceil_mode=True),
        IMAGE,
        (2, 3, 3, 3),
        [-0.9218, -0.8994, -0.8771, -0.7877],
        2.7151,
        5.4302,
        [],
    ),
    (
        lambda: nn.AvgPool2D(3, 2, 1),
        IMAGE,
        (2, 3, 3, 3),
        [-0.4271, -0.6294, -0.6145, -0.5736],
        -0.0521,
        0.0281,
        [],
    ),
    (
        lambda: nn.AvgPool2D(3, 2, 1, count_include_pad=False),
        IMAGE,
        (2, 3, 3, 3),
        [-0.9609, -0.9441, -0.9218, -0.8603],
        -0.2011,
        -0.4022,
        [],
    ),
    (
        lambda: nn.AvgPool2D(2, ceil_mode=True),
        IMAGE,
        (2, 3, 3, 3),
        [-0.9609, -0.9385, -0.9162, -0.8268],
        1.2067,
        2.4134,
        [],
    ),
    (
        lambda: nn.MaxPool1D(3, 2),
        LINE,
        (2, 3, 3),
        [-0.9024, -0.8049, -0.7073, -0.561],
        0.878,
        1.7561,
        [],
    ),
    (
        lambda: nn.AvgPool1D(2),
        LINE,
        (2, 3, 3),
        [-0.9756, -0.878, -0.7805, -0.6341],
        -0.439,
        -0.878,
        [],
    ),
    (
        nn.GlobalMaxPool2D,
        IMAGE,
        (2, 3, 1, 1),
        [-0.676, -0.3408, -0.0056, 0.3296],
        0.9721,
        1.9441,
        [],
    ),
    (
        nn.GlobalAvgPool2D,
        IMAGE,
        (2, 3, 1, 1),
        [-0.838, -0.5028, -0.1676, 0.1676],
        0.0,
        0.0,
        [],
    ),
    (
        nn.GlobalMaxPool1D,
        LINE,
        (2, 3, 1),
        [-0.7073, -0.3659, -0.0244, 0.3171],
        0.878,
        1.7561,
        [],
    ),
    (
        nn.GlobalAvgPool1D,
        LINE,
        (2, 3, 1),
        [-0.8537, -0.5122, -0.1707, 0.1707],
        0.0,
        0.0,
        [],
    ),
]
ACTIVATIONS: list[Row] = [
    (make, ROWS, (3, 4), first, total, gradient, [])
    for make, first, total, gradient in [
        (lambda: nn.Activation("relu"), [0.0] * 4, 3.2727, 6.5455),
        (
            lambda: nn.Activation("sigmoid"),
            [0.2689, 0.3061, 0.3461, 0.3883],
            6.0,
            2.7355,
        ),
        (
            lambda: nn.Activation("softrelu"),
            [0.3133, 0.3655, 0.4248, 0.4915],
            8.8923,
            10.0102,
        ),
        (lambda: nn.Activation("softsign"), [-0.5, -0.45, -0.3889, -0.3125], 0, 0),
        (lambda: nn.LeakyReLU(0.1), [-0.1, -0.0818, -0.0636, -0.0455], 2.9455, 6.48),
        (lambda: nn.ELU(0.5), [-0.3161, -0.2794, -0.2354, -0.1826], 2.0965, 5.9349),
        (nn.SELU, [-1.1113, -0.9824, -0.8277, -0.6422], -0.6973, None),
        (nn.GELU, [-0.1587, -0.1691, -0.1669, -0.1476], 1.6899, 4.7222),
        (
            lambda: nn.Swish(1.5),
            [-0.1824, -0.1854, -0.1769, -0.1527],
            1.5754,
            4.3921,
        ),
    ]
]
CASES = WITH_PARAMETERS + POOLING + ACTIVATIONS


@pytest.mark.parametrize("ctx", [cpu(0), gpu(0)], ids=str)
@pytest.mark.parametrize("row", CASES, ids=range(len(CASES)))
def test_layers_compute_what_mxnet_does(row: Row, ctx: Any) -> None:
    make, numbers, shape, first, total, gradient, parameters = row
    layer = make()
    layer.initialize(ctx=ctx)
    x: Any = nd.array(numbers, ctx=ctx)
    x.attach_grad()
    layer(x)
    for parameter in layer.collect_params().values():
        spaced = np.linspace(-0.5, 0.7, int(np.prod(parameter.shape)))
        parameter.set_data(nd.array(spaced.reshape(parameter.shape)))
    with autograd.record(train_mode=False):
        out = layer(x)
        loss = (out * out).sum()
    loss.backward()
    found = out.asnumpy()
    assert found.shape == shape
    np.testing.assert_allclose(found.ravel()[:4], first, atol=1e-4)
    assert found.sum() == pytest.approx(total, abs=2e-4)
    if gradient is not None:
        assert x.grad.asnumpy().sum() == pytest.approx(gradient, rel=1e-4, abs=2e-4)
    sums = [p.grad().asnumpy().sum() for p in layer.collect_params().values()]
    assert sums == pytest.approx(parameters, rel=1e-4)


# -- batch normalization --------------------------------------------------------------


def test_batch_norm_in_training() -> None:
    layer = nn.BatchNorm(momentum=0.8)
    layer.initialize()
    x = np.random.default_rng(0).normal(2.0, 3.0, (8, 3, 4)).astype(np.float32)
    with autograd.record():
        out = layer(nd.array(x)).asnumpy()
    np.testing.assert_allclose(out.mean((0, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(out.std((0, 2)), 1, rtol=1e-4)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    kept = layer.running_mean.data().asnumpy(), layer.running_var.data().asnumpy()
    np.testing.assert_allclose(kept[0], 0.2 * mean, rtol=1e-4)
    np.testing.assert_allclose(kept[1], 0.8 + 0.2 * var, rtol=1e-4)
    assert layer.running_mean.grad_req == "null"
    predicted = layer(nd.array(x)).asnumpy()
    expected = (x - kept[0][:, None]) / np.sqrt(kept[1][:, None] + 1e-5)
    np.testing.assert_allclose(predicted, expected, rtol=1e-4, atol=1e-5)


def test_batch_norm_without_scale_and_center() -> None:
    layer = nn.BatchNorm(axis=-1, scale=False, center=False, use_global_stats=True)
    layer.initialize()
    x = nd.array(np.arange(6).reshape(2, 3))
    with autograd.record():
        out = layer(x)
    np.testing.assert_allclose(out.asnumpy(), x.asnumpy(), rtol=1e-4)
    assert layer.gamma.grad_req == layer.beta.grad_req == "null"


def test_batch_norm_statistics_stay_float32() -> None:
    layer = nn.BatchNorm(in_channels=2)
    layer.initialize()
    layer.cast("float16")
    assert layer.running_mean.data().dtype is np.float32
    layer.cast("float64")
    assert layer.running_mean.data().dtype is np.float64


# -- dropout, embedding, containers ---------------------------------------------------


def test_dropout_drops_in_training_only() -> None:
    layer = nn.Dropout(0.4)
    x = nd.ones((100, 100))
    assert (layer(x).asnumpy() == 1).all()
    with autograd.record():
        out = layer(x).asnumpy()
    assert (out == 0).mean() == pytest.approx(0.4, abs=0.03)
    np.testing.assert_allclose(out[out > 0], 1 / 0.6, rtol=1e-6)
    assert nn.Dropout(0.0)(x) is x


def test_dropout_shares_decisions_along_axes() -> None:
    with autograd.record():
        out = nn.Dropout(0.5, axes=(0,))(nd.ones((4, 50))).asnumpy()
    assert (out == out[0]).all()
    assert 0 < (out == 0).mean() < 1


def test_embedding_looks_up_and_adds_up_gradients() -> None:
    layer = nn.Embedding(5, 2)
    layer.initialize()
    layer.weight.set_data(nd.array(np.arange(10).reshape(5, 2)))
    with autograd.record():
        out = layer(nd.array([[0, 3], [3, 4]]))
    out.backward()
    assert out.asnumpy().tolist() == [[[0, 1], [6, 7]], [[6, 7], [8, 9]]]
    assert layer.weight.grad().asnumpy()[:, 0].tolist() == [1, 0, 0, 2, 1]


def test_flatten_identity_and_functions() -> None:
    x = nd.array(IMAGE)
    assert nn.Flatten()(x).shape == (2, 90)
    assert nn.Identity()(x) is x
    tanh = np.tanh(IMAGE)
    for layer in (nn.Lambda("tanh"), nn.HybridLambda("tanh")):
        np.testing.assert_allclose(layer(x).asnumpy(), tanh, rtol=1e-5)
    assert nn.Lambda(lambda a, b: a + b)(nd.ones((1,)), nd.ones((1,))).asscalar() == 2
    twice = nn.HybridLambda(lambda F, a: F.square(a) * 2)
    assert twice(nd.ones((1,)) * 3).asscalar() == 18
    assert repr(nn.Lambda(np.sin)) == "Lambda(sin)"


def test_a_stack_is_a_sequence() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(1), nn.Dense(2), nn.Dense(3))
    assert len(net) == 3
    assert net[-1] is net[2] is list(net)[2]
    head = net[:2]
    assert isinstance(head, nn.HybridSequential)
    assert len(head) == 2
    assert head[0] is net[0]
    net.initialize()
    assert net(nd.ones((1, 4))).shape == (1, 3)
    assert head(nd.ones((1, 4))).shape == (1, 2)


def test_a_stack_passes_several_values_on() -> None:
    net = nn.Sequential()
    net.add(nn.Lambda(lambda a, b: (a + b, a)), nn.Lambda(lambda s, a: (s * 2, a)))
    total, first = net(nd.ones((1,)), nd.ones((1,)))
    assert (total.asscalar(), first.asscalar()) == (4, 1)


@pytest.mark.parametrize("kind", [nn.Concatenate, nn.HybridConcatenate])
def test_branches_side_by_side(kind: Any) -> None:
    net = kind(axis=1)
    net.add(nn.Dense(2), nn.Identity())
    net.initialize()
    assert net(nd.ones((3, 4))).shape == (3, 6)


def test_layers_print_as_in_mxnet() -> None:
    relu = "Activation(relu)"
    for layer, text in [
        (nn.Dense(3, in_units=4, activation="relu"), f"Dense(4 -> 3, {relu})"),
        (nn.Dense(3), "Dense(None -> 3, linear)"),
        (
            nn.Conv2D(20, 5, activation="relu"),
            f"Conv2D(None -> 20, kernel_size=(5, 5), stride=(1, 1), {relu})",
        ),
        (
            nn.Conv1D(3, 2, padding=1, dilation=2, groups=3, use_bias=False),
            "Conv1D(None -> 3, kernel_size=(2,), stride=(1,), padding=(1,), "
            "dilation=(2,), groups=3, bias=False)",
        ),
        (
            nn.MaxPool2D(2, 2),
            "MaxPool2D(size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False, "
            "global_pool=False, pool_type=max, layout=NCHW)",
        ),
        (
            nn.GlobalAvgPool2D(),
            "GlobalAvgPool2D(size=(1, 1), stride=(1, 1), padding=(0, 0), "
            "ceil_mode=True, global_pool=True, pool_type=avg, layout=NCHW)",
        ),
        (
            nn.BatchNorm(in_channels=8),
            "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, "
            "use_global_stats=False, in_channels=8)",
        ),
        (
            nn.LayerNorm(),
            "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=0)",
        ),
        (nn.Dropout(0.5), "Dropout(p = 0.5, axes=())"),
        (nn.Embedding(3, 4), "Embedding(3 -> 4, float32)"),
        (nn.LeakyReLU(0.1), "LeakyReLU(0.1)"),
        (nn.Flatten(), "Flatten"),
        (nn.PReLU(), "PReLU(\n\n)"),
    ]:
        assert repr(layer) == text


def test_initializers_of_weights_and_biases() -> None:
    layer = nn.Dense(2, in_units=1, bias_initializer=initializer.Constant(3.0))
    layer.initialize(initializer.One())
    assert layer.weight.data().asnumpy().tolist() == [[1.0], [1.0]]
    assert layer.bias.data().asnumpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: nn.Conv2D(4, (3, 3, 3)), ArgumentError, "or 2 of them"),
        (lambda: nn.Conv2D(4, 3, layout="NWC"), ArgumentError, "NCHW or NHWC"),
        (lambda: nn.Conv2D(4, 3, groups=3), ShapeError, "groups=3 does not divide"),
        (lambda: nn.MaxPool1D(2, layout="NHWC"), ArgumentError, "NCW or NWC"),
        (lambda: nn.Dropout(1.5), ArgumentError, "rate=1.5"),
        (lambda: nn.LeakyReLU(-1), ArgumentError, "alpha=-1"),
        (lambda: nn.Lambda(3), ArgumentError, "not 3"),
        (lambda: nn.HybridLambda("tahn"), AttributeError, "Did you mean tan"),
    ],
)
def test_wrong_settings_are_explained(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_features_that_do_not_fit_are_explained() -> None:
    layer = nn.Dense(2, in_units=3)
    layer.initialize()
    with pytest.raises(ShapeError, match=r"brings 4 features.*expects 3"):
        layer(nd.ones((1, 4)))
